//! Which scenarios a defect means.

use std::sync::Arc;

use super::control::stem;
use crate::gherkin::Scenario;

/// The scenarios that a line means: `features/a.feature`, `features/a.feature:12`, or
/// `a: a part of a name`.
pub(super) fn meant(written: &str, scenarios: &[Arc<Scenario>]) -> Vec<usize> {
    let is_meant = |scenario: &Scenario| {
        if let Some((feature, name)) = written.split_once(": ") {
            return stem(scenario) == feature && scenario.name.contains(name);
        }
        scenario.text.path == written || scenario.selector() == written
    };
    let scenarios = scenarios.iter().enumerate();
    scenarios
        .filter(|(_, scenario)| is_meant(scenario))
        .map(|(place, _)| place)
        .collect()
}
