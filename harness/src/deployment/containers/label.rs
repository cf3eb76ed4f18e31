//! The labels and names by which what a run made is found again, by whomever.

use std::collections::HashMap;
use std::path::Path;

use crate::ids::RunId;

/// Which run made it.
pub(super) const RUN: &str = "rehearsal.run";
/// Where that run's record is: other users' runs, and those of other machines that
/// share an engine, are told apart by it.
pub(super) const RECORDS: &str = "rehearsal.records";
/// What it is for, for people.
pub(super) const PART: &str = "rehearsal.part";

/// The labels of one run.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    run: String,
    records: String,
}

impl Labels {
    /// For a run whose record is in `directory`.
    pub(super) fn new(run: &RunId, directory: &Path) -> Self {
        let records = directory.parent().unwrap_or(directory);
        Self {
            run: run.to_string(),
            records: records.display().to_string(),
        }
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// What a thing of the run is called at the engine.
    pub(super) fn name(&self, thing: &str) -> String {
        format!("{}{thing}", beginning(&self.run))
    }

    /// For a thing with this part.
    pub(super) fn of(&self, part: &str) -> HashMap<String, String> {
        [
            (RUN, self.run.as_str()),
            (RECORDS, &self.records),
            (PART, part),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }
}

fn beginning(run: &str) -> String {
    format!("rehearsal-{run}-")
}

/// Whether a run calls a thing of its own so.
pub(super) fn is_name_of(name: &str, run: &str) -> bool {
    !run.is_empty() && name.starts_with(&beginning(run))
}

/// What to list at the engine.
pub(super) type Filter = HashMap<String, Vec<String>>;

/// The filter for everything with this label, and this value if any.
pub(super) fn filter(label: &str, value: Option<&str>) -> Filter {
    let wanted = match value {
        Some(value) => format!("{label}={value}"),
        None => label.to_owned(),
    };
    HashMap::from([("label".to_owned(), vec![wanted])])
}
