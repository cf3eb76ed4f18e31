//! Plain sentences of people who do not know the phrases: what is told, or what they mean.

use std::path::Path;

use super::{Suite, Surroundings};
use crate::gherkin::{Compiled, Project as _, StepKind};
use crate::manifest::Manifest;

/// The manifest at the root: sentences need names.
fn vocabulary() -> Compiled<super::Scene> {
    let manifest = Manifest::load(Path::new("../rehearsal.yaml")).unwrap();
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

#[test]
fn a_plain_sentence_is_taken_or_answered_with_the_phrase_that_says_it() {
    use StepKind::{Given, Then, When};
    let told = [
        (
            Given,
            "the worker is killed after committed of M2",
            "is killed at {stage}",
        ),
        (
            Given,
            "the worker crashes at processing of M3",
            "is killed at {stage}",
        ),
        (
            When,
            "the queue is down for 10 seconds",
            "refuses connections",
        ),
        (Then, "M3 is delivered again", "received {figure} time(s)"),
        (
            Then,
            "M3 is redelivered 3 times",
            "received {figure} time(s)",
        ),
        (
            When,
            "the visibility timeout of M1 expires",
            "the visibility of {messages} ends",
        ),
        (Then, "there are 4 completed messages", "the totals are"),
        (Then, "the queue is empty", "the totals are"),
        (When, "the database is slow", "hangs"),
        (
            Given,
            "the worker receives SIGTERM while processing M1",
            "gets {signal} at {stage}",
        ),
        (Given, "5 messages", "the messages {messages}"),
        (Given, "two workers", "instances of the {process} run"),
        (When, "wait until everything is done", "everything is quiet"),
        (
            When,
            "the operator replays M3",
            "the operator runs {command} for {message}",
        ),
    ];
    let vocabulary = vocabulary();
    let mut wrong = Vec::new();
    for (kind, sentence, phrase) in told {
        let near = vocabulary.nearest(kind, sentence);
        if !near.first().is_some_and(|first| first.contains(phrase)) {
            wrong.push(format!("{sentence}: {near:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let accepted = [
        (When, "the outside is unavailable", "refuses connections"),
        (When, "the outside returns 503", "answers {int}"),
        (When, "the outside times out", "swallows everything"),
        (When, "the database goes away", "refuses connections"),
        (When, "the queue is down", "refuses connections"),
        (Then, "M3 is quarantined", "ended as {end}"),
        (Then, "M3 is completed", "ended as {end}"),
        (When, "the worker restarts", "is restarted"),
        (When, "I submit all messages", "all messages are submitted"),
    ];
    for (kind, sentence, phrase) in accepted {
        let meant = vocabulary.meaning(kind, sentence);
        assert!(
            meant.is_some_and(|meant| meant.contains(phrase)),
            "{sentence}: {meant:?}"
        );
    }
    for sentence in ["no message is lost", "nothing was processed twice"] {
        assert!(
            vocabulary
                .remark(sentence)
                .is_some_and(|told| told.contains("without being asked"))
        );
    }
    assert!(
        vocabulary
            .meaning(Given, "the concurrency is one")
            .is_some()
    );
}
