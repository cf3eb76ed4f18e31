//! Controls: a scenario without its faults. What is green both ways decides nothing: the
//! scenario rests on nothing but the fault's having landed.

use std::sync::Arc;

use super::variant::{Kind, Variant};
use crate::gherkin::{Compiled, Deed, Scenario, StepText};

/// A scenario with this tag is meant to hold with and without its faults.
const ALWAYS: &str = "always";

/// The controls of a suite: of each scenario that has faults one without any, and one
/// without each, if there are several.
pub(super) fn controls<W>(scenarios: &[Arc<Scenario>], vocabulary: &Compiled<W>) -> Vec<Variant> {
    let mut variants = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        if scenario.tags.iter().any(|tag| tag == ALWAYS) {
            continue;
        }
        let lines = Lines::of(scenario, vocabulary);
        let Some(whole) = lines.without(&lines.faults) else {
            continue;
        };
        let of = format!("{}: {}", stem(scenario), scenario.name);
        let variant = |kind, name: String, what: String, left_out| Variant {
            kind,
            name,
            what,
            given: Vec::new(),
            left_out,
            meant: vec![place],
            others: Vec::new(),
            build: None,
        };
        let at = format!("{}:{}", scenario.text.path, scenario.line);
        let what = format!("{at} without its faults");
        variants.push(variant(Kind::Control, of.clone(), what, whole));
        if lines.faults.len() < 2 {
            continue;
        }
        for fault in &lines.faults {
            let step = &scenario.steps[*fault];
            let what = format!("{at} without its line {}", step.line);
            let name = format!("{of}: {} {}", step.keyword.trim(), step.text);
            let left_out = lines.without(&[*fault]).unwrap_or_default();
            variants.push(variant(Kind::Line, name, what, left_out));
        }
    }
    variants
}

/// The steps of a scenario that are faults, and those that belong to one.
struct Lines {
    faults: Vec<usize>,
    /// What each step does, and to whom.
    deeds: Vec<(Deed, Option<String>)>,
}

impl Lines {
    fn of<W>(scenario: &Scenario, vocabulary: &Compiled<W>) -> Self {
        let deed = |step: &StepText| vocabulary.deed(step);
        let deeds: Vec<_> = scenario.steps.iter().map(deed).collect();
        let faults = deeds
            .iter()
            .enumerate()
            .filter(|(_, (deed, _))| *deed == Deed::Fault)
            .map(|(place, _)| place)
            .collect();
        Self { faults, deeds }
    }

    /// What goes when these faults go: also what means nothing without them. None, if
    /// there are none.
    fn without(&self, faults: &[usize]) -> Option<Vec<usize>> {
        if faults.is_empty() {
            return None;
        }
        let whom = |place: &usize| self.deeds[*place].1.as_deref();
        let mut left_out = faults.to_vec();
        for (place, (deed, of)) in self.deeds.iter().enumerate() {
            let of_these = || faults.iter().any(|fault| whom(fault) == of.as_deref());
            let of_others = || {
                let mut others = self.faults.iter().filter(|fault| !faults.contains(fault));
                others.any(|fault| whom(fault) == of.as_deref())
            };
            if *deed == Deed::OfFault && of_these() && !of_others() {
                left_out.push(place);
            }
        }
        left_out.sort_unstable();
        Some(left_out)
    }
}

/// The name of a scenario's file, without what every feature's has.
pub(super) fn stem(scenario: &Scenario) -> &str {
    let file = scenario.text.path.rsplit('/').next().unwrap_or_default();
    file.trim_end_matches(".feature")
}
