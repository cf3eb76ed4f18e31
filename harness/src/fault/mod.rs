//! Faults as values: they can be printed, compared and repeated. Something else
//! injects them.
//!
//! A fault has an [`Effect`], a [`Point`] at which it acts, the messages it waits for
//! ([`Whose`]), and says on which of the matching passages it acts ([`Times`]).

mod effect;
mod point;
mod times;
mod whose;

use std::fmt;

pub use effect::{Effect, Until};
pub use point::Point;
pub use times::Times;
pub use whose::Whose;

/// Something done to the deployment when its trigger is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is done.
    pub effect: Effect,
    /// Where.
    pub point: Point,
    /// With which messages.
    pub whose: Whose,
    /// How often.
    pub times: Times,
    /// Whether it need not come to it: the scenario is proven also where its point is
    /// never reached.
    pub may: bool,
}

impl Fault {
    /// How many times it must have landed for a scenario to be proven, if so many
    /// messages were declared.
    pub fn expected(&self, declared: usize) -> u32 {
        if self.may {
            return 0;
        }
        let messages = match &self.whose {
            Whose::Any => 1,
            Whose::Each => u32::try_from(declared).unwrap_or(u32::MAX),
            Whose::These(messages) => u32::try_from(messages.len()).unwrap_or(u32::MAX),
        };
        self.times.expected().saturating_mul(messages)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.effect, self.point)?;
        if self.point != Point::Submission || self.whose != Whose::Any {
            write!(f, " of {}", self.whose)?;
        }
        write!(f, ", {}", self.times)?;
        if self.may {
            write!(f, ", if it gets there")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::Signal;

    use super::*;

    #[test]
    fn a_fault_reads_like_a_sentence() {
        let fault = Fault {
            effect: Effect::Signal(Signal::SIGKILL),
            point: Point::stage("processing"),
            whose: Whose::These(vec!["M3".into()]),
            times: Times::Every,
            may: false,
        };
        assert_eq!(fault.to_string(), "SIGKILL at processing of M3, every time");
        let fault = Fault {
            effect: Effect::Answer("503".to_owned()),
            point: Point::Stage {
                stage: "outside-sent".into(),
                instance: Some(2),
            },
            whose: Whose::Each,
            times: Times::First(2),
            may: true,
        };
        assert_eq!(
            fault.to_string(),
            "answer 503 at outside-sent by instance 2 of each message, the first 2 times, if it gets there"
        );
    }

    #[test]
    fn a_fault_for_each_message_must_land_for_each() {
        let fault = |whose| Fault {
            effect: Effect::LoseReply,
            point: Point::stage("accepted"),
            whose,
            times: Times::First(2),
            may: false,
        };
        assert_eq!(fault(Whose::Any).expected(10), 2);
        assert_eq!(fault(Whose::Each).expected(10), 20);
        let these = Whose::These(vec!["M1".into(), "M2".into()]);
        assert_eq!(fault(these).expected(10), 4);
        let mut may = fault(Whose::Each);
        may.may = true;
        assert_eq!(may.expected(10), 0, "it need not come to it");
    }
}
