//! A tag that reads like one of those with a meaning has none: the scenario would run where
//! it cannot.

use crate::deployment::DriverKind;
use crate::gherkin::{Complaint, Scenario};
use crate::manifest::nearest;

pub(super) fn check(scenario: &Scenario) -> Vec<Complaint> {
    let special = DriverKind::ALL;
    let stray = scenario
        .tags
        .iter()
        .filter(|tag| !special.contains(&tag.as_str()));
    stray
        .filter_map(|tag| {
            let meant = nearest(tag, special.iter().copied())?;
            Some(Complaint {
                step: None,
                row: None,
                line: line_of(scenario, tag),
                message: format!("the tag `@{tag}` means nothing here"),
                help: Some(format!(
                    "did you mean `@{meant}`? It says how processes must be run; else choose a tag that cannot be taken for it"
                )),
            })
        })
        .collect()
}

/// The last line with this tag up to the scenario, or up to its row.
fn line_of(scenario: &Scenario, tag: &str) -> Option<usize> {
    let lines = scenario.text.text.lines().take(scenario.line);
    let tagged = |line: &str| {
        let mut words = line.split_whitespace();
        line.trim_start().starts_with('@') && words.any(|word| word.strip_prefix('@') == Some(tag))
    };
    (1..)
        .zip(lines)
        .filter(|(_, line)| tagged(line))
        .map(|(number, _)| number)
        .last()
}
