//! Which scenarios a defect means.

use std::sync::Arc;

use regex::Regex;

use super::control::stem;
use crate::gherkin::Scenario;

/// The scenarios that a line means: `features/a.feature`, `features/a.feature:12`, or
/// `a: a part of a name` (a regular expression, as `--name` takes it).
pub(super) fn meant(written: &str, scenarios: &[Arc<Scenario>]) -> Vec<usize> {
    let is_meant = |scenario: &Scenario| {
        if let Some((feature, name)) = written.split_once(": ") {
            let named = || match Regex::new(name) {
                Ok(name) => name.is_match(&scenario.name),
                Err(_) => scenario.name.contains(name),
            };
            return stem(scenario) == feature && named();
        }
        scenario.text.path == written || scenario.selector() == written
    };
    let scenarios = scenarios.iter().enumerate();
    scenarios
        .filter(|(_, scenario)| is_meant(scenario))
        .map(|(place, _)| place)
        .collect()
}
