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
            made: None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin::{FeatureText, Names, Step, StepDraft, Vocabulary, read};

    fn vocabulary() -> Compiled<()> {
        let step = |draft: StepDraft<()>, example: &str| {
            let draft = draft.doc("Does it.").example(example).group("all");
            draft.run(|(): &mut (), _, _, _| Box::pin(async { Ok(()) }))
        };
        let names = Names::new().with("process", ["worker", "shop"]);
        let steps = [
            step(
                Step::given("the {process} is held").a_fault(),
                "Given the worker is held",
            ),
            step(
                Step::when("the {process} goes on").of_a_fault(),
                "When the worker goes on",
            ),
            step(Step::when("it runs"), "When it runs"),
        ];
        Vocabulary::new(names).with(steps).compile().unwrap()
    }

    fn left_out(scenario: &str) -> Vec<(Kind, Vec<usize>)> {
        let text = format!("Feature: f\n\n{scenario}");
        let feature = read(&FeatureText::new("a.feature", &text)).unwrap();
        let variants = controls(&feature.scenarios, &vocabulary());
        let variants = variants.into_iter();
        variants.map(|one| (one.kind, one.left_out)).collect()
    }

    #[test]
    fn what_belongs_to_a_fault_goes_with_the_last_of_its_process() {
        let found = left_out(
            "  Scenario: s\n    Given the worker is held\n    And the shop is held\n    When it runs\n    And the worker goes on\n    And the shop goes on\n",
        );
        assert_eq!(
            found,
            [
                (Kind::Control, vec![0, 1, 3, 4]),
                (Kind::Line, vec![0, 3]),
                (Kind::Line, vec![1, 4]),
            ]
        );
        let twice = left_out(
            "  Scenario: s\n    Given the worker is held\n    And the worker is held\n    When the worker goes on\n",
        );
        assert_eq!(twice[1], (Kind::Line, vec![0]), "the other is still held");
    }

    #[test]
    fn one_fault_has_one_control_and_none_has_none() {
        let one = left_out("  Scenario: s\n    Given the worker is held\n    When it runs\n");
        assert_eq!(one, [(Kind::Control, vec![0])]);
        assert!(
            left_out("  Scenario: s\n    When it runs\n    And the worker goes on\n").is_empty()
        );
    }

    #[test]
    fn what_is_meant_to_hold_always_has_no_controls() {
        let always = "  @always\n  Scenario: s\n    Given the worker is held\n    When it runs\n";
        assert!(left_out(always).is_empty());
    }
}
