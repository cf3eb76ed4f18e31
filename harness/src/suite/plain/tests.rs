//! Plain sentences of people who do not know the phrases: what they mean, or what is told.

use std::path::Path;

use crate::gherkin::StepKind::{self, Given, Then, When};
use crate::gherkin::{Compiled, Project as _};
use crate::manifest::Manifest;
use crate::suite::{Scene, Suite, Surroundings};

/// Sentences need names: those of a manifest.
fn vocabulary(manifest: &str) -> Compiled<Scene> {
    let manifest = Manifest::load(Path::new(manifest)).unwrap();
    let surroundings = Surroundings {
        ambient: std::collections::BTreeMap::new(),
        state_root: std::env::temp_dir(),
        program: "rehearse".into(),
    };
    Suite::new(manifest, surroundings)
        .vocabulary()
        .compile()
        .unwrap()
}

/// Where a sentence stands, the sentence, what is told where names are those of the
/// reference system, and where they are others.
type Row = (StepKind, &'static str, &'static str, &'static str);

const TOLD: &[Row] = &include!("told.in");

/// `= phrase` is a sentence that is taken as this phrase.
fn wrong(
    vocabulary: &Compiled<Scene>,
    (kind, sentence): (StepKind, &str),
    right: &str,
) -> Option<String> {
    if let Some(phrase) = right.strip_prefix("= ") {
        let meaning = vocabulary.meaning(kind, sentence);
        return (meaning != Some(phrase)).then(|| {
            format!(
                "{sentence}\n   is {meaning:?}, not {phrase}, told {:?}",
                vocabulary.answer(kind, sentence)
            )
        });
    }
    if let Some(phrase) = vocabulary.meaning(kind, sentence) {
        return Some(format!("{sentence}\n   told: = {phrase}\n  right: {right}"));
    }
    let answer = vocabulary.answer(kind, sentence).join("\n");
    let phrase = answer.lines().next().unwrap_or_default();
    // What has to be chosen, what need not be said, and a name that there is not.
    let open =
        phrase.contains('{') || answer.contains("without being asked") || answer.starts_with("no ");
    let said_of_another_kind = [Given, When, Then]
        .into_iter()
        .all(|kind| vocabulary.meaning(kind, phrase).is_none());
    if !answer.starts_with(right) {
        Some(format!("{sentence}\n   told: {answer}\n  right: {right}"))
    } else if !open && said_of_another_kind {
        Some(format!(
            "{sentence}\n   `{phrase}` is told and is no phrase"
        ))
    } else {
        None
    }
}

#[test]
fn a_plain_sentence_is_taken_or_answered_with_what_it_means() {
    let own = vocabulary("../rehearsal.yaml");
    let foreign = vocabulary("tests/python_system/rehearsal.yaml");
    let mut found = Vec::new();
    for (kind, sentence, here, there) in TOLD {
        found.extend(wrong(&own, (*kind, sentence), here));
        found.extend(wrong(&foreign, (*kind, sentence), there).map(|it| format!("[desk] {it}")));
    }
    assert!(
        found.is_empty(),
        "{} of {}:\n{}",
        found.len(),
        2 * TOLD.len(),
        found.join("\n")
    );
}
