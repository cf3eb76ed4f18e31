//! The course of a recording: what is missing is put in until nothing is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::seen::Seen;
use super::writing;
use crate::explore::{Mark, Order, rehearse};
use crate::ids::MessageName;
use crate::manifest::{Editor, Manifest, ManifestError};
use crate::rehearsal::{RehearsalError, Title, Venue};

/// How often it is watched at most.
const MOST_ROUNDS: u32 = 8;
/// How long a system that is not understood yet is given to come to rest.
const PATIENCE: Duration = Duration::from_secs(6);
/// Where ids of databases begin, in one run and the other.
const OFFSETS: [i64; 2] = [700_000, 810_000];

/// A recording that is under way.
pub struct Recording {
    path: PathBuf,
    editor: Editor,
    /// What was put in, in words.
    added: Vec<String>,
    rounds: u32,
    /// Whether all ids can be followed: what they pass may be named.
    understood: bool,
    /// The text without names of ends, while they are rehearsed.
    without_ends: Option<Editor>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It has to be watched again.
    Again,
    /// Nothing more is missing.
    Done,
}

/// What a watch needs to know.
pub struct Watch {
    /// The run that it belongs to.
    pub run: String,
    /// Where histories go.
    pub directory: PathBuf,
    /// Every random choice comes from it.
    pub seed: u64,
}

impl Recording {
    /// Of a manifest with this text.
    pub fn new(path: &Path, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            editor: Editor::new(text),
            added: Vec::new(),
            rounds: 0,
            understood: false,
            without_ends: None,
        }
    }

    /// The messages that are submitted.
    pub fn messages() -> Vec<MessageName> {
        vec!["M1".into(), "M2".into()]
    }

    /// The manifest as it is by now, made to run where something is missing that a manifest
    /// must have.
    ///
    /// # Errors
    /// What else is wrong with it.
    pub fn manifest(&self) -> Result<Manifest, ManifestError> {
        let text = writing::runnable(&self.editor);
        let mut manifest = Manifest::parse(&self.path, text.text())?;
        if !self.understood {
            manifest.limits.quiet = manifest.limits.quiet.min(PATIENCE);
        }
        Ok(manifest)
    }

    /// The text with all that was put in.
    pub fn text(&self) -> &str {
        self.editor.text()
    }

    /// What was put in, in words.
    pub fn added(&self) -> &[String] {
        &self.added
    }

    /// Learns from what was seen.
    pub fn learn(&mut self, manifest: &Manifest, runs: &[Seen]) -> Step {
        self.rounds += 1;
        if let Some(without) = self.without_ends.take() {
            return self.tried(manifest, runs, without);
        }
        let last_round = self.rounds >= MOST_ROUNDS;
        if !last_round {
            // A slow machine may show so late what passes that the first watch saw nothing.
            let added = writing::put_places(&mut self.editor, manifest, runs);
            if !added.is_empty() {
                self.added.extend(added);
                return Step::Again;
            }
            let first = !std::mem::replace(&mut self.understood, true);
            let unsound = runs.iter().any(|run| run.mark != Mark::Survived);
            if first && unsound && self.is_cut_short(manifest) {
                return Step::Again;
            }
        }
        let before = self.editor.clone();
        let (added, ends) =
            writing::put_stages(&mut self.editor, manifest, runs, &Self::messages());
        if added.is_empty() {
            return Step::Done;
        }
        self.added.extend(added);
        if ends {
            self.without_ends = Some(before);
        }
        Step::Again
    }

    /// Whether it had less time than its manifest gives it.
    fn is_cut_short(&self, manifest: &Manifest) -> bool {
        let text = writing::runnable(&self.editor);
        Manifest::parse(&self.path, text.text())
            .is_ok_and(|whole| whole.limits.quiet > manifest.limits.quiet)
    }

    /// Ends were rehearsed: they stay if all is right with them, and are candidates else.
    fn tried(&mut self, manifest: &Manifest, runs: &[Seen], without: Editor) -> Step {
        if runs.iter().all(|run| run.mark == Mark::Survived) {
            return Step::Done;
        }
        self.editor = without;
        self.added
            .retain(|line| !line.starts_with("terminal") && !line.starts_with("totals"));
        let added = writing::put_candidates(&mut self.editor, manifest, runs, &Self::messages());
        self.added.extend(added);
        Step::Done
    }

    /// What is still in the way of a manifest that can be explored, in words.
    pub fn doubts(&self, manifest: &Manifest, runs: &[Seen]) -> Vec<String> {
        let mut doubts = writing::doubts(&self.editor, manifest, runs, &Self::messages());
        for run in runs {
            if run.mark != Mark::Survived && doubts.is_empty() {
                let reasons = run.reasons.join("; ");
                doubts.push(format!(
                    "without any fault the system {}: {reasons}",
                    run.mark.without_faults()
                ));
            }
        }
        doubts
    }
}

/// Two rehearsals without faults, two messages each.
///
/// # Errors
/// When the system cannot be run at all.
pub async fn watch(venue: &Arc<Venue>, watch: &Watch) -> Result<Vec<Seen>, RehearsalError> {
    let order = |number: usize| Order {
        title: Title {
            run: watch.run.clone(),
            scenario: "no fault".to_owned(),
            place: format!("recording {}", number + 1),
            seed: watch.seed,
            real_time: false,
        },
        messages: Recording::messages(),
        faults: Vec::new(),
        offset: OFFSETS[number],
        directory: watch.directory.join(format!("recording-{}", number + 1)),
        instances: Vec::new(),
        recorded: true,
        rest: None,
    };
    let (first, second) = futures::join!(rehearse(venue, order(0)), rehearse(venue, order(1)));
    let seen = [first?, second?].map(|trial| {
        let (mark, reasons) = Mark::of(&trial, &[]);
        let (calls, known) = trial.recording;
        Seen::new(calls, known, mark, reasons)
    });
    Ok(seen.into())
}
