//! Proving a suite: what could be wrong without any scenario noticing.
//!
//! Every try is a scenario of the suite with something changed, and runs like any other on
//! the same warm servers: fault lines left out (a control), or a few lines set up first that
//! break the system (a defect of the team's own, a call that misbehaves, a setting that is
//! off by one).
//!
//! ```text
//! suite as it is ─▶ green scenarios ─▶ controls: without their faults ─▶ what decides nothing
//!                        │
//!                        └─▶ defects, wire, settings ─▶ scenarios meant for them ─▶ seen?
//!                                                        └─ no ─▶ the others, some at a time
//! ```

mod accepted;
mod answer;
mod control;
mod course;
mod defect;
mod found;
mod meant;
mod merge;
mod page;
mod results;
mod setting;
mod stage;
mod unused;
mod variant;
mod wire;

pub use accepted::Accepted;
pub use answer::Answer;
pub use course::{Course, Only, Progress, ProveError, Request, prove};
pub use found::{Found, Seen};
pub use merge::{MergeError, merge};
pub use results::{Results, Tried, VariantResult};
pub use unused::unused;
pub use variant::{Kind, Made, Mark, Variant};
