//! Faults as values: they can be printed, compared and repeated. Something else
//! injects them.

use std::fmt;

use nix::sys::signal::Signal;

use crate::ids::{MessageName, StageName};

/// Something done to the deployment when its trigger is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is done.
    pub effect: Effect,
    /// Where: when a process passes this stage …
    pub stage: StageName,
    /// … with this message, or with any.
    pub message: Option<MessageName>,
    /// … how often.
    pub times: Times,
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The process that passes the stage gets a signal. For KILL the call is held
    /// until the process is seen dead and dropped then; for STOP until it continues;
    /// otherwise the signal is delivered first and the call goes on.
    Signal(Signal),
}

/// On which of the matching passages a fault acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// On each.
    Every,
    /// On the first so many.
    First(u32),
    /// On this one alone, from 1.
    Nth(u32),
}

impl Times {
    /// Whether it acts on the passage with this number, from 1.
    pub fn includes(self, number: u32) -> bool {
        match self {
            Self::Every => true,
            Self::First(count) => number <= count,
            Self::Nth(wanted) => number == wanted,
        }
    }

    /// How many times it must have landed for a scenario to be proven.
    pub fn expected(self) -> u32 {
        match self {
            Self::Every | Self::Nth(_) => 1,
            Self::First(count) => count,
        }
    }

    /// Whether it can act again after so many matching passages.
    pub fn is_over(self, passages: u32) -> bool {
        match self {
            Self::Every => false,
            Self::First(count) | Self::Nth(count) => passages >= count,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.effect {
            Effect::Signal(signal) => write!(f, "{signal} at {}", self.stage)?,
        }
        match &self.message {
            Some(message) => write!(f, " of {message}")?,
            None => write!(f, " of any message")?,
        }
        match self.times {
            Times::Every => write!(f, ", every time"),
            Times::First(1) => write!(f, ", the first time"),
            Times::First(count) => write!(f, ", the first {count} times"),
            Times::Nth(number) => write!(f, ", on passage {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_say_which_passages_they_include() {
        let included = |times: Times| -> Vec<u32> {
            (1..=5).filter(|number| times.includes(*number)).collect()
        };
        assert_eq!(included(Times::Every), [1, 2, 3, 4, 5]);
        assert_eq!(included(Times::First(2)), [1, 2]);
        assert_eq!(included(Times::Nth(3)), [3]);
        assert!(Times::First(2).is_over(2) && !Times::First(2).is_over(1));
    }

    #[test]
    fn a_fault_reads_like_a_sentence() {
        let fault = Fault {
            effect: Effect::Signal(Signal::SIGKILL),
            stage: "processing".into(),
            message: Some("M3".into()),
            times: Times::Every,
        };
        assert_eq!(fault.to_string(), "SIGKILL at processing of M3, every time");
    }
}
