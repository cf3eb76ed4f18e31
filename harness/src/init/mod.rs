//! A first manifest, made of what is there already: a compose file, or a few words on the
//! command line and the sources of the programs that they name. What passes on the wires
//! is learnt by a recording afterwards.

mod compose;
mod draft;
mod flags;
mod image;
mod scan;
mod services;
mod submit;
mod substitute;
mod values;

pub use compose::{Compose, Unreadable};
pub use draft::Draft;
pub use flags::{Flags, of_flags};
pub use services::of_compose;

/// Why no manifest can be made, and what would help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    /// What is wrong.
    pub what: String,
    /// What would help.
    pub help: String,
}

impl Refused {
    fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            help: help.into(),
        }
    }
}
