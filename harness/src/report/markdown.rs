//! `summary.md`: a run in a page for people who look at a pull request.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Repeat, Report, ReportError, Target, counts};
use crate::gherkin::{Exit, RunEvent, RunInfo, RunResult, ScenarioInfo, ScenarioOutcome};

/// Writes the summary.
pub struct Markdown {
    to: Target,
    repeat: Repeat,
    run: Option<Arc<RunInfo>>,
}

/// So many scenarios are told with their reasons; a page that long is read by nobody, and
/// CI systems cut it off.
const TOLD: usize = 50;
/// So many lines of a reason are told.
const LINES: usize = 12;

impl Markdown {
    /// Writes there.
    pub fn new(to: impl Into<Target>, repeat: Repeat) -> Self {
        Self {
            to: to.into(),
            repeat,
            run: None,
        }
    }

    /// Appends to what a CI system shows of a step: others may write there, too.
    pub fn appended(path: impl Into<PathBuf>, repeat: Repeat) -> Self {
        Self::new(Target::Appended(path.into()), repeat)
    }

    fn page(&self, run: &RunInfo, result: &RunResult) -> String {
        let mut page = format!("## Rehearsal: {}\n\n", result.exit);
        let counts: Vec<String> = counts(result)
            .into_iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let _ = writeln!(
            page,
            "{}. {} scenarios: {}. {:.2} s, run `{}`, seed {}.\n",
            capital(result.exit.meaning()),
            result.scenarios.len(),
            counts.join(", "),
            result.took.as_secs_f64(),
            run.id,
            run.seed
        );
        for evidence in &result.evidence {
            let _ = writeln!(
                page,
                "> **{}**: {}\n",
                evidence.verdict,
                quoted(&evidence.message)
            );
        }
        let failed: Vec<_> = result
            .scenarios
            .iter()
            .filter(|(_, outcome)| outcome.ran && outcome.verdict != Exit::Passed)
            .collect();
        for (scenario, outcome) in failed.iter().take(TOLD) {
            self.scenario(&mut page, scenario, outcome);
        }
        if failed.len() > TOLD {
            let _ = writeln!(page, "And {} more.\n", failed.len() - TOLD);
        }
        warnings(&mut page, result);
        page
    }

    fn scenario(&self, page: &mut String, scenario: &ScenarioInfo, outcome: &ScenarioOutcome) {
        let _ = writeln!(
            page,
            "<details><summary><b>{}</b> {} <code>{}</code></summary>\n",
            outcome.verdict,
            escaped(&scenario.name),
            escaped(&scenario.selector())
        );
        for evidence in &outcome.evidence {
            if let Some(step) = evidence.step.and_then(|step| outcome.steps.get(step)) {
                let _ = writeln!(page, "In *{}*:\n", quoted(&step.text));
            }
            let lines: Vec<&str> = evidence.message.lines().take(LINES).collect();
            let _ = writeln!(page, "{}\n", fenced(&lines.join("\n")));
            if !evidence.rows.is_empty() {
                page.push_str("| total | expected | seen | |\n|---|--:|--:|---|\n");
                for row in &evidence.rows {
                    let mark = if row.agrees() { "" } else { "✗" };
                    let _ = writeln!(
                        page,
                        "| {} | {} | {} | {mark} |",
                        cell(&row.name),
                        cell(&row.expected),
                        cell(&row.seen)
                    );
                }
                page.push('\n');
            }
        }
        if !outcome.excerpt.is_empty() {
            let _ = writeln!(page, "{}\n", fenced(&outcome.excerpt.join("\n")));
        }
        let _ = writeln!(
            page,
            "Repeat: {}\n\n</details>\n",
            fenced(&self.repeat.of(scenario)).replacen("```", "\n\n```", 1)
        );
    }
}

/// What is worth a word, of whichever scenario.
fn warnings(page: &mut String, result: &RunResult) {
    let all = result.scenarios.iter().flat_map(|(scenario, outcome)| {
        let warnings = outcome.warnings.iter();
        warnings.map(move |warning| (scenario, warning))
    });
    let count = all.clone().count();
    for (scenario, warning) in all.take(TOLD) {
        let _ = writeln!(
            page,
            "> **warning**: {} (<code>{}</code>)\n",
            quoted(&warning.message),
            escaped(&scenario.selector())
        );
    }
    if count > TOLD {
        let _ = writeln!(page, "And {} more warnings.\n", count - TOLD);
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Text in a block that shows it as it is, whatever stands in it.
fn fenced(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}text\n{text}\n{fence}")
}

/// Text in a line, with what Markdown and HTML would read as their own made harmless.
fn quoted(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut quoted = String::with_capacity(first.len());
    for c in escaped(first).chars() {
        if "\\`*_[]|".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

fn cell(text: &str) -> String {
    quoted(&text.replace('\n', " "))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Report for Markdown {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        match event {
            RunEvent::RunStarted { run, .. } => self.run = Some(Arc::clone(run)),
            RunEvent::RunEnded { result } => {
                if let Some(run) = &self.run {
                    self.to.write(&self.page(run, result))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place() {
        assert_eq!(fenced("a ```` b"), "`````text\na ```` b\n`````");
        assert_eq!(quoted("a|b <i> *c*\nsecond"), "a\\|b &lt;i&gt; \\*c\\*");
        assert_eq!(capital("the system"), "The system");
    }
}
