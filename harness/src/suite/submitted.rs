//! A scenario submits something, or puts it on a queue: else it rehearses nothing. Found
//! before anything is started.

use super::steps::PUTS;
use crate::gherkin::{Arguments, Complaint, Scenario};

pub(super) fn check(_: &Scenario, steps: &[(&str, &Arguments)]) -> Vec<Complaint> {
    let submits = |phrase: &str| phrase.contains("submit") || phrase.starts_with(PUTS);
    if steps.iter().any(|(phrase, _)| submits(phrase)) {
        return Vec::new();
    }
    vec![Complaint {
        step: None,
        row: None,
        line: None,
        message: "the scenario submits nothing, so nothing of the system would be rehearsed"
            .to_owned(),
        help: Some("add `When all messages are submitted` behind the messages".to_owned()),
    }]
}
