//! What the rehearsals of a run saw between them: which stages were passed, and what was
//! taken from what was seen.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::Venue;
use crate::history::{Entry, Event, History};
use crate::manifest::Binding;

impl Venue {
    /// A rehearsal has ended.
    pub fn note_passed(&self, history: &History) {
        let submits = |entry: &Entry| matches!(entry.event, Event::Submitting { .. });
        if history.read(|entries| entries.iter().any(submits)) {
            self.submitted.store(true, Ordering::Relaxed);
        }
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        history.tally(|tally| passed.extend(tally.stages().cloned()));
    }

    /// Something was taken from what was seen, because the manifest does not say it.
    pub(in crate::rehearsal) fn note_inferred(&self, told: &str) {
        let mut inferred = self.inferred.lock().unwrap_or_else(PoisonError::into_inner);
        inferred.insert(told.to_owned());
    }

    /// All that was taken from what was seen.
    pub fn inferred(&self) -> Vec<String> {
        let inferred = self.inferred.lock().unwrap_or_else(PoisonError::into_inner);
        inferred.iter().cloned().collect()
    }

    /// The stages that nobody ever passed, each with what it is bound to. None of a system
    /// that was never asked for anything.
    pub fn never_passed(&self) -> Vec<String> {
        if !self.submitted.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let stages = self.manifest.stages.iter();
        stages
            .filter(|(name, _)| !passed.contains(*name))
            .map(|(name, stage)| match &stage.binding {
                Binding::Boundary { pattern, .. } => format!("`{name}` ({})", pattern.describe()),
                Binding::Checkpoint(announced) => format!("`{name}` (announced as `{announced}`)"),
            })
            .collect()
    }
}
