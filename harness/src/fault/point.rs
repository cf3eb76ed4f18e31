//! Where a fault acts.

use std::fmt;

use crate::ids::{RoleName, StageName};
use crate::shape::Wanted;
use crate::tap::Side;

/// Where a fault acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// When a process passes this stage; what is done to a call is done to the call that
    /// the stage is bound to.
    Stage {
        /// The stage.
        stage: StageName,
        /// By this instance alone.
        instance: Option<u32>,
    },
    /// When a process of this role passes any of its stages.
    AnyStage {
        /// Whose stages.
        role: RoleName,
    },
    /// When a process of this role makes a call of this shape.
    Call {
        /// Whose calls.
        role: RoleName,
        /// By this instance alone.
        instance: Option<u32>,
        /// Before its dependency gets it, or once it took effect.
        side: Side,
        /// Which calls.
        wanted: Wanted,
    },
    /// When the client submits a message.
    Submission,
}

impl Point {
    /// A stage, whichever instance passes it.
    pub fn stage(stage: impl Into<StageName>) -> Self {
        Self::Stage {
            stage: stage.into(),
            instance: None,
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stage {
                stage,
                instance: None,
            } => write!(f, "{stage}"),
            Self::Stage {
                stage,
                instance: Some(instance),
            } => write!(f, "{stage} by instance {instance}"),
            Self::AnyStage { role } => write!(f, "any stage of the {role}"),
            Self::Call {
                role,
                instance,
                side,
                wanted,
            } => {
                let side = match side {
                    Side::Before => "before",
                    Side::After => "after",
                };
                write!(f, "{side} \"{wanted}\" by the {role}")?;
                match instance {
                    Some(instance) => write!(f, "-{instance}"),
                    None => Ok(()),
                }
            }
            Self::Submission => write!(f, "the submission"),
        }
    }
}
