//! Outages: a dependency, or a part of it, that is ill for a while. They are values that
//! can be printed and compared; the rehearsal injects them and heals what it injected.
//!
//! ```text
//! armed ── from ──▶ on: every call that it concerns is treated its way ── until ──▶ over
//! ```

mod injection;
mod moment;
mod treatment;
mod way;

use std::collections::BTreeSet;
use std::fmt;

use crate::ids::{DependencyName, Incarnation, MessageName, RoleName};

pub use injection::{Injection, Outages, RealServer};
pub use moment::{Moment, MomentFault, Names};
pub use treatment::{Aftermath, Treatment};
pub use way::{ErrorReply, Way};

/// A dependency that is ill for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Which dependency.
    pub dependency: DependencyName,
    /// What it does instead of its work.
    pub way: Way,
    /// Which of its calls are concerned.
    pub part: Part,
    /// When it begins; none for at once.
    pub from: Option<Moment>,
    /// When it ends, whichever comes first; none for when a step says so.
    pub until: Vec<Moment>,
    /// Whether it need not come to it: the scenario is proven also where it never strikes.
    pub may: bool,
}

/// Which calls an outage concerns: all that match every member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Calls that this text describes: an action of a queue (`DeleteMessage`), method and
    /// path of a service (`POST /parcels`), a piece of a statement
    /// (`insert into quarantine`).
    pub only: Option<String>,
    /// Calls of this role, or of this instance of it.
    pub of: Option<(RoleName, Option<u32>)>,
    /// Calls of the instance whose passage of a stage began the outage.
    pub of_passer: bool,
    /// Calls for these messages.
    pub messages: BTreeSet<MessageName>,
    /// Calls for one message in so many: every n-th that was declared.
    pub one_in: Option<u32>,
}

impl Part {
    /// Whether it is the whole dependency, for some or all of its clients.
    pub fn is_whole(&self) -> bool {
        self.only.is_none() && self.messages.is_empty() && self.one_in.is_none()
    }

    /// Whether calls of this process are concerned.
    pub fn is_of(&self, incarnation: &Incarnation) -> bool {
        self.of.as_ref().is_none_or(|(role, instance)| {
            *role == incarnation.role
                && instance.is_none_or(|instance| instance == incarnation.instance)
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(only) = &self.only {
            write!(f, " for `{only}`")?;
        }
        if let Some((role, instance)) = &self.of {
            match instance {
                Some(instance) => write!(f, " for {role}-{instance}")?,
                None => write!(f, " for the {role}")?,
            }
        }
        if self.of_passer {
            write!(f, " for who passes it")?;
        }
        if !self.messages.is_empty() {
            let names: Vec<&str> = self.messages.iter().map(MessageName::as_str).collect();
            write!(f, " for {}", names.join(", "))?;
        }
        if let Some(count) = self.one_in {
            write!(f, " for one message in {count}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.dependency, self.way, self.part)?;
        if let Some(from) = &self.from {
            write!(f, ", from {from}")?;
        }
        for until in &self.until {
            write!(f, ", until {until}")?;
        }
        if self.may {
            write!(f, ", if it gets there")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_reads_like_a_sentence() {
        let outage = Outage {
            dependency: "outside".into(),
            way: Way::Answers(ErrorReply::Status(503)),
            part: Part {
                only: Some("POST /parcels".to_owned()),
                one_in: Some(3),
                ..Part::default()
            },
            from: Some(Moment::Total {
                total: "completed".to_owned(),
                label: None,
                value: 20,
            }),
            until: vec![Moment::Calls(5)],
            may: false,
        };
        assert_eq!(
            outage.to_string(),
            "outside answers 503 for `POST /parcels` for one message in 3, from 20 completed, until 5 calls"
        );
    }

    #[test]
    fn a_part_of_one_instance_concerns_no_other() {
        let part = Part {
            of: Some(("worker".into(), Some(2))),
            ..Part::default()
        };
        let incarnation = |role: &str, instance| Incarnation {
            role: role.into(),
            instance,
            start: 1,
        };
        assert!(part.is_of(&incarnation("worker", 2)));
        assert!(!part.is_of(&incarnation("worker", 1)));
        assert!(!part.is_of(&incarnation("api", 2)));
        assert!(Part::default().is_of(&incarnation("api", 2)));
    }
}
