//! How scenarios and runs ended, in words.

use std::collections::HashMap;
use std::time::Duration;

use super::super::repeat::Repeat;
use super::paint::{Paint, sign};
use super::table;
use crate::gherkin::{Exit, RunResult, ScenarioInfo, ScenarioOutcome};

/// How a scenario ended; if not well, all a person needs to go on.
pub(crate) fn of_scenario(
    scenario: &ScenarioInfo,
    outcome: &ScenarioOutcome,
    paint: Paint,
    repeat: &Repeat,
) -> String {
    let verdict = format!("{} {:<8}", sign(outcome.verdict), outcome.verdict);
    let mut lines = vec![format!(
        "{} {}  {}",
        paint.verdict(outcome.verdict, &verdict),
        paint.bold(&scenario.name),
        paint.dim(&format!(
            "{}  {}",
            scenario.selector(),
            seconds(outcome.took)
        )),
    )];
    let warnings = outcome.warnings.iter().map(|warning| {
        let entries: Vec<String> = warning.entries.iter().map(u64::to_string).collect();
        let text = format!("{} (history: {})", warning.message, entries.join(", "));
        paint.warning(&format!("warning: {text}"))
    });
    lines.extend(warnings);
    if outcome.verdict == Exit::Passed {
        return lines.join("\n    ");
    }
    for evidence in &outcome.evidence {
        if let Some(step) = evidence.step.and_then(|step| outcome.steps.get(step)) {
            lines.push(format!(
                "in {} ({}:{})",
                step.text, scenario.path, step.line
            ));
        }
        let mut message = evidence.message.lines().map(str::to_owned);
        if evidence.verdict != outcome.verdict {
            let first = message.next().unwrap_or_default();
            lines.push(format!("{}: {first}", evidence.verdict));
        }
        lines.extend(message);
        if !evidence.rows.is_empty() {
            lines.extend(table::comparison(&evidence.rows).lines().map(str::to_owned));
        }
        lines.extend(evidence.help.iter().map(|help| format!("help: {help}")));
    }
    if !outcome.excerpt.is_empty() {
        lines.push("what led there (`▶` shows it, `!` disturbed):".to_owned());
        lines.extend(outcome.excerpt.iter().map(|line| format!("  {line}")));
    }
    lines.extend(totals(outcome));
    lines.extend(
        outcome
            .history
            .iter()
            .map(|path| format!("history: {}", path.display())),
    );
    lines.push(format!("repeat:  {}", repeat.of(scenario)));
    lines.join("\n    ")
}

/// An outcome whose errors of the environment were all told before says where.
pub(super) fn told_once(
    scenario: &ScenarioInfo,
    outcome: &ScenarioOutcome,
    told: &mut HashMap<String, String>,
) -> ScenarioOutcome {
    let mut outcome = outcome.clone();
    for evidence in &mut outcome.evidence {
        if evidence.verdict != Exit::Broken || evidence.message.len() < LONG {
            continue;
        }
        // Logs of the same process stand in each scenario's own folder.
        let key = evidence.message.replace(&scenario.slug(), "");
        match told.get(&key) {
            Some(first) => {
                let begin = evidence.message.lines().next().unwrap_or_default();
                let begin: String = begin.chars().take(LONG).collect();
                evidence.message = format!("{begin}… (the same as in {first})");
                evidence.help = None;
            }
            None => {
                told.insert(key, scenario.selector());
            }
        }
    }
    outcome
}

/// What is not longer than this is told again.
const LONG: usize = 60;

/// The key figures in one line, if there are any.
pub(super) fn totals(outcome: &ScenarioOutcome) -> Option<String> {
    let figures = outcome
        .figures
        .iter()
        .map(|figure| format!("{} {}", figure.name, figure.value));
    let figures = figures.collect::<Vec<_>>().join(" · ");
    (!figures.is_empty()).then(|| format!("totals:  {figures}"))
}

/// How a run ended.
pub(super) fn of_run(result: &RunResult, paint: Paint) -> String {
    let mut lines = vec![String::new()];
    for evidence in &result.evidence {
        let verdict = paint.verdict(evidence.verdict, &evidence.verdict.to_string());
        lines.push(format!("{verdict} {}", evidence.message));
        lines.extend(evidence.help.iter().map(|help| format!("    help: {help}")));
    }
    lines.extend(result.remarks.iter().map(|remark| paint.dim(remark)));
    // One that is alone stands right above.
    if result.scenarios.len() > 1 {
        let ends = table::not_passed(result);
        if !ends.is_empty() {
            lines.extend([ends, String::new()]);
        }
    }
    if let Some(steadiness) = table::steadiness(result) {
        lines.extend([steadiness, String::new()]);
    }
    let all = [
        Exit::Passed,
        Exit::Failed,
        Exit::Unproven,
        Exit::Broken,
        Exit::Invalid,
        Exit::Interrupted,
    ];
    let mut counts: Vec<String> = all
        .into_iter()
        .map(|exit| (exit, result.count(exit)))
        .filter(|(_, count)| *count > 0)
        .map(|(exit, count)| paint.verdict(exit, &format!("{count} {exit}")))
        .collect();
    if result.left_out() > 0 {
        counts.push(format!("{} not run", result.left_out()));
    }
    lines.push(format!(
        "{}: {}",
        scenarios(result.scenarios.len()),
        counts.join(", ")
    ));
    let meaning = match result.exit {
        Exit::Passed => String::new(),
        exit => format!("  exit {}: {}", exit.code(), exit.meaning()),
    };
    let directory = result.directory.display();
    lines.push(format!(
        "{}{meaning}",
        paint.dim(&format!("{}  {directory}", seconds(result.took)))
    ));
    // Alone on its line and without colour: CI counts the tests by it.
    let passed = result.count(Exit::Passed);
    let failed = result.scenarios.len() - result.left_out() - passed;
    let skipped = match result.left_out() {
        0 => String::new(),
        more => format!(", {more} skipped"),
    };
    lines.push(format!("{passed} passed, {failed} failed{skipped}"));
    lines.join("\n")
}

pub(super) fn scenarios(count: usize) -> String {
    plural(count, "scenario")
}

/// `1 scenario`, `2 scenarios`.
pub(crate) fn plural(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

pub(super) fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin::{Evidence, ScenarioId};

    #[test]
    fn the_same_error_of_the_environment_is_told_once_in_full() {
        let info = |line| ScenarioInfo {
            id: ScenarioId(0),
            path: "a.feature".to_owned(),
            feature: "F".to_owned(),
            rule: None,
            name: "S".to_owned(),
            line,
            tags: Vec::new(),
            seed: 1,
            repetition: None,
        };
        let mut outcome = ScenarioOutcome::left_out();
        let mut met_by = |line| {
            let log = format!("reports/run/{}/worker.log", info(line).slug());
            let why = format!("cannot start it: {}\nall of it: {log}", "x".repeat(100));
            outcome.evidence = vec![
                Evidence::new(Exit::Broken, &*why),
                Evidence::new(Exit::Failed, &*why),
            ];
            outcome.clone()
        };
        let mut told = HashMap::new();
        let (first, second) = (met_by(1), met_by(9));
        assert_eq!(told_once(&info(1), &first, &mut told), first);
        let again = told_once(&info(9), &second, &mut told);
        assert!(
            again.evidence[0]
                .message
                .ends_with("(the same as in a.feature:1)")
        );
        // What the system did is told of each scenario.
        assert_eq!(again.evidence[1], second.evidence[1]);
    }
}
