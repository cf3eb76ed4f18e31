//! What a history is held against: totals, ends, orders, attempts.

use super::Template;
use crate::ids::{DependencyName, StageName};

/// The names of totals that every system has.
pub mod built_in_totals {
    /// What lies in source queues: visible, in flight and delayed.
    pub const LEFT_IN_QUEUE: &str = "left in queue";
    /// What lies in dead-letter queues.
    pub const DEAD_LETTERS: &str = "dead letters";
    /// Writes that services played by the harness performed.
    pub const OUTSIDE_REQUESTS: &str = "outside requests";
    /// Requests that such services did not perform, because they had performed one with
    /// the same idempotency key.
    pub const OUTSIDE_REPETITIONS: &str = "outside repetitions";

    /// All of them.
    pub const ALL: &[&str] = &[
        LEFT_IN_QUEUE,
        DEAD_LETTERS,
        OUTSIDE_REQUESTS,
        OUTSIDE_REPETITIONS,
    ];
}

/// How one total is counted.
#[derive(Clone, Debug)]
pub struct Total {
    /// Counted by the harness from what it witnessed.
    pub witness: Option<Witness>,
    /// The system's own claim: a query that gives one number, or rows of label and number.
    pub claim: Option<Claim>,
    /// The labels that it is split by; none where it is one figure.
    pub labels: Vec<String>,
    /// What it is in every scenario, whenever all is quiet.
    pub always: Option<i64>,
}

/// Counted from the history.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Each passage of one of these stages adds one.
    pub add: Vec<StageName>,
    /// Each passage of one of these takes one away.
    pub subtract: Vec<StageName>,
    /// Count different messages instead of passages.
    pub distinct: bool,
    /// Split by the value captured under this name.
    pub by: Option<String>,
}

impl Witness {
    /// What a passage of this stage adds to the figure.
    pub fn step(&self, stage: &StageName) -> i64 {
        i64::from(self.add.contains(stage)) - i64::from(self.subtract.contains(stage))
    }
}

/// A query against a PostgreSQL dependency.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Which.
    pub dependency: DependencyName,
    /// One row with one number; or rows of (text, number) for a total that is split.
    /// `$1` is the job id where the claim is about one message.
    pub query: String,
}

/// What ends a job for good.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// Its passage makes the end durable.
    pub stage: StageName,
    /// Whether the job's outside write must have been performed (exactly once).
    pub requires_write: bool,
    /// What is read of each message that ended so.
    pub observed: Option<Observed>,
}

/// What the system itself says of a message that has its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The observation.
    pub observation: String,
    /// What it reads; none: anything but nothing.
    pub reads: Option<String>,
}

impl Observed {
    /// Whether this is what it reads of a message that ended.
    pub fn is_met_by(&self, value: Option<&str>) -> bool {
        let value = value.map(str::trim).unwrap_or_default();
        match &self.reads {
            Some(reads) => value == reads,
            None => !value.is_empty(),
        }
    }
}

/// A stage that nothing passes before another: sent before marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Each passage of this stage with a message …
    pub stage: StageName,
    /// … needs an earlier passage of this one with it.
    pub after: StageName,
}

/// How attempts are counted, and what a record holds that ends a job at their limit.
#[derive(Clone, Debug)]
pub struct Attempts {
    /// The total, with a witness, that counts attempts started.
    pub started: Option<String>,
    /// The end of a job whose attempts are exhausted.
    pub exhausted: Option<Exhausted>,
}

/// The end of a job whose attempts are exhausted, and what is then on record.
#[derive(Clone, Debug)]
pub struct Exhausted {
    /// The end.
    pub end: String,
    /// Where an end has several labels: the captured value, and what it then reads.
    pub label: Option<(String, String)>,
    /// How many attempts must have counted.
    pub limit: Template,
    /// The observation that gives the attempts that counted.
    pub counted: Option<String>,
    /// The observation that gives the content that was kept.
    pub content: Option<String>,
    /// The observation that gives the last stage that was kept.
    pub last_stage: Option<String>,
}
