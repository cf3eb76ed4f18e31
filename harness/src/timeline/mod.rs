//! A history as a course of lines that a person can read: when, who, what, which message.
//! Terminal and report are made from these lines; no verdict is.

mod ended;
mod excerpt;
mod line;
mod printed;
mod record;
mod spans;

pub use ended::{Part, Place};
pub use excerpt::{Excerpt, excerpt};
pub use line::{Kind, Line, Weight, lines};
pub use printed::{Mark, printed};
pub use record::{Figure, Lane, LaneOf, Log, Moment, RECORD, Record};
pub use spans::{Lasting, Span};
