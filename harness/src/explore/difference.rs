//! What is durable at the end, beside what it is without faults.

use std::collections::BTreeMap;
use std::fmt;

use super::mark::Mark;

/// A place where something else is durable than without faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A table, a service, or a queue.
    pub place: Place,
    /// What is there without faults and is missing.
    pub missing: Vec<String>,
    /// What is there and should not be.
    pub surplus: Vec<String>,
}

/// Where something is durable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Rows of a table.
    Table(String),
    /// Writes of a service.
    Service(String),
    /// Messages in a queue.
    Queue(String),
}

impl Difference {
    /// What differs between two collections, each thing as often as it is there.
    pub(super) fn between(place: Place, expected: &[String], seen: &[String]) -> Option<Self> {
        let mut counts: BTreeMap<&String, i64> = BTreeMap::new();
        for thing in expected {
            *counts.entry(thing).or_default() += 1;
        }
        for thing in seen {
            *counts.entry(thing).or_default() -= 1;
        }
        let so_often = |thing: &String, times: i64| {
            std::iter::repeat_n(thing.clone(), usize::try_from(times).unwrap_or_default())
        };
        let missing: Vec<String> = counts
            .iter()
            .flat_map(|(thing, times)| so_often(thing, *times))
            .collect();
        let surplus: Vec<String> = counts
            .iter()
            .flat_map(|(thing, times)| so_often(thing, -times))
            .collect();
        (!missing.is_empty() || !surplus.is_empty()).then_some(Self {
            place,
            missing,
            surplus,
        })
    }

    /// What it comes to by itself.
    pub(super) fn mark(&self) -> Mark {
        match (
            &self.place,
            self.missing.is_empty(),
            self.surplus.is_empty(),
        ) {
            (Place::Queue(_), _, false) => Mark::Stuck,
            (_, false, true) => Mark::Lost,
            (_, true, _) => Mark::Twice,
            (_, false, false) => Mark::WrongEnd,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.place)?;
        for thing in &self.missing {
            write!(f, " missing {thing}")?;
        }
        for thing in &self.surplus {
            write!(f, " unexpected {thing}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(name) => write!(f, "table {name}"),
            Self::Service(name) => write!(f, "writes of {name}"),
            Self::Queue(name) => write!(f, "queue {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(expected: &[&str], seen: &[&str]) -> Option<Difference> {
        let owned = |things: &[&str]| -> Vec<String> {
            things.iter().map(|thing| (*thing).to_owned()).collect()
        };
        Difference::between(Place::Table("t".to_owned()), &owned(expected), &owned(seen))
    }

    fn mark(expected: &[&str], seen: &[&str]) -> Option<Mark> {
        between(expected, seen).map(|difference| difference.mark())
    }

    #[test]
    fn a_difference_is_what_is_missing_and_what_is_too_much() {
        assert_eq!(between(&["a", "b"], &["b", "a"]), None);
        let difference = between(&["a", "b"], &["b", "b", "c"]).unwrap();
        assert_eq!(difference.missing, ["a"]);
        assert_eq!(difference.surplus, ["b", "c"]);
    }

    #[test]
    fn what_differs_has_a_name() {
        assert_eq!(mark(&["a"], &["a"]), None);
        assert_eq!(mark(&["a"], &[]), Some(Mark::Lost));
        assert_eq!(mark(&["a"], &["a", "a"]), Some(Mark::Twice));
        assert_eq!(mark(&["a"], &["b"]), Some(Mark::WrongEnd));
    }

    #[test]
    fn what_lies_in_a_queue_is_stuck_unless_something_is_lost_too() {
        let queue = Difference {
            place: Place::Queue("queue/jobs".to_owned()),
            missing: Vec::new(),
            surplus: vec!["1 message".to_owned()],
        };
        assert_eq!(queue.mark(), Mark::Stuck);
        let lost = between(&["a"], &[]).unwrap();
        let marks = [queue.mark(), lost.mark()];
        assert_eq!(Mark::gravest(&marks), Some(Mark::Lost));
    }
}
