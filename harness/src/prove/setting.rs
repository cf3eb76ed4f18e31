//! Settings that are off by one: the system gets another figure than the suite means.

use std::sync::Arc;

use super::variant::{Kind, Variant};
use crate::gherkin::{Scenario, StepText};
use crate::ids::RoleName;
use crate::manifest::Manifest;

/// A variant for each whole number that a process gets, one more and one less.
pub(super) fn settings(manifest: &Manifest, scenarios: &[Arc<Scenario>]) -> Vec<Variant> {
    let mut variants = Vec::new();
    for (setting, described) in &manifest.settings {
        let Ok(default) = described.default.parse::<i64>() else {
            continue;
        };
        let roles = users(manifest, setting);
        if roles.is_empty() {
            continue;
        }
        // Where a scenario sets it, what it sets is moved, else the default.
        let setters = scenarios
            .iter()
            .enumerate()
            .filter_map(|(place, scenario)| {
                let value = scenario.steps.iter().find_map(|step| set(step, setting))?;
                Some((place, value))
            });
        let mut values: Vec<(i64, Vec<usize>)> = Vec::new();
        for (place, value) in setters {
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, places)) => places.push(place),
                None => values.push((value, vec![place])),
            }
        }
        if !values.iter().any(|(value, _)| *value == default) {
            values.push((default, Vec::new()));
        }
        let sets = |scenario: &Scenario| {
            scenario
                .steps
                .iter()
                .any(|step| set(step, setting).is_some())
        };
        let others = scenarios.iter().enumerate();
        let others = others.filter(|(_, scenario)| !sets(scenario));
        let others: Vec<usize> = others.map(|(place, _)| place).collect();
        for (value, meant) in values {
            for moved in [value - 1, value + 1] {
                if moved < 0 {
                    continue;
                }
                let given = roles.iter();
                let given = given.map(|role| format!("the {setting} of the {role} is {moved}"));
                variants.push(Variant {
                    kind: Kind::Setting,
                    name: format!("{setting} {value} is {moved}"),
                    what: format!("what gets the {setting} {value} gets {moved}"),
                    given: given.collect(),
                    left_out: Vec::new(),
                    others: if value == default {
                        others.clone()
                    } else {
                        Vec::new()
                    },
                    meant: meant.clone(),
                    made: None,
                });
            }
        }
    }
    variants
}

/// The processes whose command or environment holds a setting.
fn users(manifest: &Manifest, setting: &str) -> Vec<RoleName> {
    let wanted = format!("setting.{setting}");
    let processes = manifest.processes.iter();
    processes
        .filter(|(_, process)| {
            let words = process.command.words.iter();
            let mut templates = words.chain(process.command.environment.values());
            templates.any(|template| template.placeholders().any(|name| name == wanted))
        })
        .map(|(role, _)| role.clone())
        .collect()
}

/// The figure that a step gives a setting.
fn set(step: &StepText, setting: &str) -> Option<i64> {
    let rest = step.text.strip_prefix("the ")?.strip_prefix(setting)?;
    rest.strip_prefix(" is ")?.parse().ok()
}
