//! A scenario submits something, or puts it on a queue: else it rehearses nothing. Found
//! before anything is started.

use super::steps::{DECLARES, PUTS};
use crate::gherkin::{Arguments, Complaint, Scenario};

pub(super) fn check(_: &Scenario, steps: &[(&str, &Arguments)]) -> Vec<Complaint> {
    let submits = |phrase: &str| phrase.contains("submit") || phrase.starts_with(PUTS);
    let mut declared = false;
    for (step, (phrase, _)) in steps.iter().enumerate() {
        declared |= *phrase == DECLARES;
        if phrase.starts_with("all messages are submitted") && !declared {
            return vec![Complaint {
                step: Some(step),
                row: None,
                line: None,
                message: "there is no message to submit".to_owned(),
                help: Some(
                    "declare some in a step before this one: `Given the messages M1 to M5`"
                        .to_owned(),
                ),
            }];
        }
    }
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
