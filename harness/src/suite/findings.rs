//! What a judgement says of a scenario: evidence, and the lines of the history that show it.

use crate::gherkin::{Evidence, Exit, ScenarioOutcome, Warning};
use crate::history::Entry;
use crate::judge::{Finding, Ground, Judgement, Verdict, Violation};
use crate::timeline;

/// What the judgement adds to what the steps found.
pub(super) fn evidence_of(judgement: &Judgement, outcome: &ScenarioOutcome) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = counted(&judgement.violations)
        .iter()
        .map(|(violation, times)| {
            let times = match times {
                1 => String::new(),
                _ => format!(", {times} times"),
            };
            let entries: Vec<String> = violation.evidence.iter().map(ToString::to_string).collect();
            let message = format!(
                "{}: {}{times} (history: {})",
                violation.invariant,
                violation.text,
                entries.join(", ")
            );
            let doubted = !judgement.doubts.is_empty() && violation.ground() == Ground::Missed;
            let exit = if doubted { Exit::Broken } else { Exit::Failed };
            Evidence::new(exit, message)
                .with_rule(violation.invariant)
                .shown_by(violation.evidence.clone())
        })
        .collect();
    let errors = judgement.errors.iter();
    // A doubt explains what seems to be broken: it stands first.
    let found = |exit, finding: &Finding| {
        Evidence::new(exit, &finding.text).shown_by(finding.evidence.clone())
    };
    let errors = errors.map(|error| found(Exit::Broken, error));
    evidence.splice(0..0, errors);
    // What did not happen proves nothing only if the scenario was played to its end.
    if judgement.verdict == Verdict::Unproven && outcome.verdict == Exit::Passed {
        evidence.extend(
            judgement
                .unproven
                .iter()
                .map(|reason| found(Exit::Unproven, reason)),
        );
    }
    // What ended a step may stand in the history too.
    let told = |message: &str| outcome.evidence.iter().any(|one| one.message == message);
    evidence.retain(|one| !told(&one.message));
    once(evidence)
}

/// What the judgement says that speaks against nobody.
pub(super) fn warnings_of(judgement: &Judgement) -> Vec<Warning> {
    let warnings = counted(&judgement.warnings).into_iter();
    warnings
        .map(|(warning, _)| Warning {
            message: format!("{}: {}", warning.invariant, warning.text),
            entries: warning.evidence,
        })
        .collect()
}

/// What is found in the same words is told once, with how often and with all entries that
/// show it.
fn once(evidence: Vec<Evidence>) -> Vec<Evidence> {
    let mut told: Vec<(Evidence, usize)> = Vec::new();
    for one in evidence {
        let same = |(other, _): &&mut (Evidence, usize)| {
            (other.verdict, &other.message) == (one.verdict, &one.message)
        };
        match told.iter_mut().find(same) {
            Some((other, times)) => {
                other.entries.extend(one.entries);
                *times += 1;
            }
            None => told.push((one, 1)),
        }
    }
    let counted = told.into_iter().map(|(mut one, times)| {
        if times > 1 {
            one.message = format!("{} ({times} times)", one.message);
        }
        one
    });
    counted.collect()
}

/// Rules that are broken in the same words are told once, with how often and with all
/// entries that show it.
fn counted(violations: &[Violation]) -> Vec<(Violation, usize)> {
    let mut counted: Vec<(Violation, usize)> = Vec::new();
    for violation in violations {
        let same = |(one, _): &&mut (Violation, usize)| {
            (one.invariant, &one.text) == (violation.invariant, &violation.text)
        };
        match counted.iter_mut().find(same) {
            Some((one, times)) => {
                one.evidence.extend(&violation.evidence);
                *times += 1;
            }
            None => counted.push((violation.clone(), 1)),
        }
    }
    counted
}

/// So many lines of a history tell why a scenario did not pass.
const EXCERPT: usize = 10;

/// The lines of the history that convict: those that the gravest findings cite, and what
/// led there.
pub(super) fn convicting(
    entries: &[Entry],
    outcome: &ScenarioOutcome,
    judged: &[Evidence],
) -> Vec<String> {
    let all = || outcome.evidence.iter().chain(judged);
    let Some(gravest) = all().map(|evidence| evidence.verdict).max() else {
        return Vec::new();
    };
    let cited: Vec<u64> = all()
        .filter(|evidence| evidence.verdict == gravest)
        .flat_map(|evidence| &evidence.entries)
        .copied()
        .collect();
    let lines = timeline::lines(entries);
    let excerpt = timeline::excerpt(&lines, &cited, EXCERPT);
    let is_cited = |seq| excerpt.cited.contains(&seq);
    timeline::printed(&excerpt.lines, is_cited, |_, text| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Event;
    use crate::judge::story::Story;

    #[test]
    fn what_is_found_again_and_again_is_told_once_with_all_its_entries() {
        let trouble = || Event::Trouble {
            reason: "a seat is lost".to_owned(),
        };
        let story = Story::new().shipped("M1").then(trouble()).then(trouble());
        let story = story.quiet().then(trouble());
        let judgement = story.judged();
        let outcome = ScenarioOutcome::left_out();
        let evidence = evidence_of(&judgement, &outcome);
        let of_trouble: Vec<_> = evidence
            .iter()
            .filter(|one| one.message.starts_with("a seat is lost"))
            .collect();
        assert_eq!(of_trouble.len(), 1, "{evidence:?}");
        assert_eq!(of_trouble[0].message, "a seat is lost (3 times)");
        assert_eq!(of_trouble[0].entries.len(), 3);
    }

    #[test]
    fn the_excerpt_marks_what_is_cited_and_shows_what_led_there() {
        let story = Story::new().shipped("M1").passed("shipped", "M1").quiet();
        let judgement = story.judged();
        let outcome = ScenarioOutcome::left_out();
        let evidence = evidence_of(&judgement, &outcome);
        let lines = convicting(&story.entries(), &outcome, &evidence);
        assert!(lines.len() > 2 && lines.len() <= EXCERPT, "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with('▶')), "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("M1")), "{lines:?}");
    }
}
