//! What is done at a point.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
    /// The queue hands the message out again while the process works on it.
    DeliveredTwice,
    /// The call arrives so late that somebody else has got the message meanwhile.
    Delayed,
    /// The process stands still so long that somebody else has got the message meanwhile.
    Paused,
}

/// How long what is to outlast the visibility of a message takes: its visibility ends at
/// once, and whoever gets it then has this time for it.
const OUTLASTING: Duration = Duration::from_millis(1500);

impl Strike {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Kill,
        Self::Terminate,
        Self::LostRequest,
        Self::LostReply,
        Self::Refused,
        Self::Twice,
        Self::DeliveredTwice,
        Self::Delayed,
        Self::Paused,
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
            Self::DeliveredTwice => "delivered-twice",
            Self::Delayed => "delayed",
            Self::Paused => "paused",
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
            Self::LostRequest
            | Self::Refused
            | Self::Twice
            | Self::DeliveredTwice
            | Self::Delayed
            | Self::Paused => Some(Side::Before),
        }
    }

    /// Whether it can be done to a call of this protocol.
    pub fn suits(self, protocol: DependencyProtocol) -> bool {
        self != Self::Twice || protocol != DependencyProtocol::Postgres
    }

    /// Whether it strikes somebody who has a message of a queue in hand, and gives that to
    /// somebody else.
    pub fn gives_away(self) -> bool {
        matches!(self, Self::DeliveredTwice | Self::Delayed | Self::Paused)
    }

    pub(super) fn effects(self, protocol: DependencyProtocol) -> Vec<Effect> {
        vec![match self {
            Self::Kill => Effect::Signal(Signal::SIGKILL),
            Self::Terminate => Effect::Signal(Signal::SIGTERM),
            Self::LostRequest => Effect::LoseRequest,
            Self::LostReply => Effect::LoseReply,
            Self::Refused => Effect::Answer(refusal(protocol).to_owned()),
            Self::Twice => Effect::Duplicate,
            Self::DeliveredTwice => Effect::Reappear,
            Self::Delayed => return vec![Effect::Reappear, Effect::Delay(OUTLASTING)],
            Self::Paused => return vec![Effect::Reappear, Effect::Pause(OUTLASTING)],
        }]
    }

    /// What a feature says of a process, for each of its effects: `is killed before`.
    pub(super) fn phrases(self, side: Side, protocol: DependencyProtocol) -> Vec<String> {
        let at = match side {
            Side::Before => "before",
            Side::After => "after",
        };
        let outlasts = || "outlasts the visibility before".to_owned();
        let time = format!("{}ms", OUTLASTING.as_millis());
        vec![match self {
            Self::Kill => format!("is killed {at}"),
            Self::Terminate => format!("gets SIGTERM {at}"),
            Self::LostRequest => "loses its request at".to_owned(),
            Self::LostReply => "loses the reply at".to_owned(),
            Self::Refused => format!("is refused with {} at", refusal(protocol)),
            Self::Twice => "is heard twice at".to_owned(),
            Self::DeliveredTwice => outlasts(),
            Self::Delayed => return vec![outlasts(), format!("is delayed by {time} at")],
            Self::Paused => return vec![outlasts(), format!("is paused for {time} before")],
        }]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_outlasts_a_visibility_gives_the_message_away_first() {
        let sqs = DependencyProtocol::Sqs;
        for strike in [Strike::Delayed, Strike::Paused] {
            assert!(strike.gives_away() && !strike.ends_its_process());
            let effects = strike.effects(sqs);
            assert!(
                matches!(effects.first(), Some(Effect::Reappear)),
                "{strike}"
            );
            assert_eq!(effects.len(), strike.phrases(Side::Before, sqs).len());
        }
        let paused = Strike::Paused.effects(sqs);
        assert!(matches!(paused.last(), Some(Effect::Pause(long)) if *long == OUTLASTING));
        let phrases = Strike::Paused.phrases(Side::Before, sqs);
        assert_eq!(
            phrases.last().map(String::as_str),
            Some("is paused for 1500ms before")
        );
        let delayed = Strike::Delayed.effects(sqs);
        assert!(matches!(delayed.last(), Some(Effect::Delay(long)) if *long == OUTLASTING));
    }

    #[test]
    fn each_effect_is_read_as_it_is_written() {
        for strike in Strike::ALL {
            assert_eq!(strike.name().parse(), Ok(strike));
        }
        let refused = "kil".parse::<Strike>().expect_err("no effect");
        assert!(refused.contains("known: kill"), "{refused}");
    }
}
