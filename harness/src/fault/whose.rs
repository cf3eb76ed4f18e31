//! The messages that a fault waits for.

use std::fmt;

use crate::ids::MessageName;

/// The messages that a fault waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Any, known or not; their passages are counted together.
    Any,
    /// Each one, counted for itself.
    Each,
    /// These, each counted for itself.
    These(Vec<MessageName>),
}

impl Whose {
    /// The messages that are named.
    pub fn named(&self) -> &[MessageName] {
        match self {
            Self::These(messages) => messages,
            Self::Any | Self::Each => &[],
        }
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => write!(f, "any message"),
            Self::Each => write!(f, "each message"),
            Self::These(messages) => {
                let names: Vec<&str> = messages.iter().map(MessageName::as_str).collect();
                write!(f, "{}", names.join(", "))
            }
        }
    }
}
