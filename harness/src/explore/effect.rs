//! What is done at a point.

use std::fmt;
use std::str::FromStr;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::fault::Effect;
use crate::manifest::DependencyProtocol;
use crate::tap::Side;

/// What is done at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strike {
    /// The process dies of SIGKILL.
    Kill,
    /// The process is asked to stop: SIGTERM.
    Terminate,
    /// The call never reaches its dependency.
    LostRequest,
    /// The call takes effect and its reply never arrives.
    LostReply,
    /// The dependency refuses the call.
    Refused,
    /// The dependency gets the call twice.
    Twice,
}

impl Strike {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Kill,
        Self::Terminate,
        Self::LostRequest,
        Self::LostReply,
        Self::Refused,
        Self::Twice,
    ];

    /// As the command line writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Terminate => "terminate",
            Self::LostRequest => "lost-request",
            Self::LostReply => "lost-reply",
            Self::Refused => "refused",
            Self::Twice => "twice",
        }
    }

    /// Whether it ends the process, so that calls between which nothing durable happened
    /// make no difference.
    pub fn ends_its_process(self) -> bool {
        matches!(self, Self::Kill | Self::Terminate)
    }

    /// The boundary at which it strikes a call, if only one is possible.
    pub fn side(self) -> Option<Side> {
        match self {
            Self::Kill | Self::Terminate => None,
            Self::LostReply => Some(Side::After),
            Self::LostRequest | Self::Refused | Self::Twice => Some(Side::Before),
        }
    }

    /// Whether it can be done to a call of this protocol.
    pub fn suits(self, protocol: DependencyProtocol) -> bool {
        self != Self::Twice || protocol != DependencyProtocol::Postgres
    }

    pub(super) fn effect(self, protocol: DependencyProtocol) -> Effect {
        match self {
            Self::Kill => Effect::Signal(Signal::SIGKILL),
            Self::Terminate => Effect::Signal(Signal::SIGTERM),
            Self::LostRequest => Effect::LoseRequest,
            Self::LostReply => Effect::LoseReply,
            Self::Refused => Effect::Answer(refusal(protocol).to_owned()),
            Self::Twice => Effect::Duplicate,
        }
    }

    /// What a feature says of a process: `is killed before`.
    pub(super) fn phrase(self, side: Side, protocol: DependencyProtocol) -> String {
        let at = match side {
            Side::Before => "before",
            Side::After => "after",
        };
        match self {
            Self::Kill => format!("is killed {at}"),
            Self::Terminate => format!("gets SIGTERM {at}"),
            Self::LostRequest => "loses its request at".to_owned(),
            Self::LostReply => "loses the reply at".to_owned(),
            Self::Refused => format!("is refused with {} at", refusal(protocol)),
            Self::Twice => "is heard twice at".to_owned(),
        }
    }
}

/// A passing failure, as the dependency itself would tell it.
fn refusal(protocol: DependencyProtocol) -> &'static str {
    match protocol {
        DependencyProtocol::Postgres => "40001",
        DependencyProtocol::Sqs => "ServiceUnavailable",
        DependencyProtocol::Http => "503",
        DependencyProtocol::Redis => "LOADING",
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strike {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|strike| strike.name() == text);
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            format!("`{text}` is no effect; known: {}", known.join(", "))
        })
    }
}
