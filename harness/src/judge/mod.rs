//! Judges: pure functions from a history to what it proves. They order by sequence,
//! never by clock, and name the entries that convict.

mod account;
mod attempts;
mod conclusion;
#[cfg(test)]
mod correct;
mod disturbance;
mod finding;
mod hands;
mod hops;
pub mod invariant;
mod ledger;
mod names;
mod sight;
#[cfg(test)]
pub(crate) mod story;
mod totals;
mod verdict;
mod work;

pub use account::{Account, Deletion};
pub use attempts::exhausted;
pub use conclusion::judge_concluded;
pub use finding::Finding;
pub use hands::{Asked, Hands};
pub use ledger::Ledger;
pub use totals::{Count, Figure, count, count_each, performed_writes, repeated_writes};
pub(crate) use verdict::judge_by;
pub use verdict::{Fault, Judgement, Verdict, judge, submitted};

use crate::history::Entry;
use crate::manifest::Manifest;

/// The total under which the copies are counted that queues hold.
pub const COPIES: &str = "copies in queues";

/// The total under which attempts are counted that are open and have no living owner.
pub const OWNERLESS: &str = "attempts without an owner";

/// What a broken rule rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// On something that was seen: no doubt about anything else undoes it.
    Seen,
    /// On something that was not seen: whoever doubts the harness's own sight may have
    /// overlooked it.
    Missed,
}

/// A history with the manifest that gives its stages their meaning.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// What the stages mean.
    pub manifest: &'a Manifest,
    /// What was seen.
    pub entries: &'a [Entry],
}

impl<'a> Evidence<'a> {
    /// What came after an entry. Entries that are over may be missing: they are numbered,
    /// not counted.
    fn since(self, seq: u64) -> &'a [Entry] {
        &self.entries[self.entries.partition_point(|entry| entry.seq <= seq)..]
    }

    /// The last entry's number; 0: there is none.
    fn last(self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.seq)
    }
}

/// A rule that a history breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, as `reports/README.md` lists it.
    pub invariant: &'static str,
    /// What happened, in words.
    pub text: String,
    /// Sequence numbers of the entries that show it.
    pub evidence: Vec<u64>,
}

impl Violation {
    /// What it rests on.
    pub fn ground(&self) -> Ground {
        if invariant::rests_on_absence(self.invariant) || self.invariant == verdict::CONTRADICTED {
            Ground::Missed
        } else {
            Ground::Seen
        }
    }
}
