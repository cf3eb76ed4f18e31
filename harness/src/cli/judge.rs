//! `rehearse judge`: what a history proves, by itself. Executes nothing.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::{Halt, ManifestArgument, Surroundings};
use crate::gherkin::Exit;
use crate::history::{self, Entry, Event};
use crate::judge::{self, Evidence, Finding, Judgement, Verdict};
use crate::manifest::Manifest;

#[derive(Clone, Debug, Args)]
pub(super) struct JudgeArguments {
    /// The `history.jsonl` of a scenario
    #[arg(value_name = "HISTORY")]
    history: PathBuf,
    #[command(flatten)]
    manifest: ManifestArgument,
}

pub(super) fn judge(
    arguments: &JudgeArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let manifest = Manifest::load(&arguments.manifest.path()).map_err(Halt::invalid)?;
    let entries = history::read(&arguments.history)
        .map_err(|error| Halt::invalid(miette::miette!("{error}")))?;
    if let Some(Event::Began { system, .. }) = entries.first().map(|entry| &entry.event)
        && !system.is_empty()
        && *system != manifest.name
    {
        return Err(Halt::invalid(miette::miette!(
            help = "name the system's own manifest with `--manifest FILE`",
            "the history is of `{system}`, and {} describes `{}`",
            arguments.manifest.path().display(),
            manifest.name
        )));
    }
    let mut judgement = judge::judge_concluded(Evidence {
        manifest: &manifest,
        entries: &entries,
    });
    if !matches!(
        entries.last().map(|entry| &entry.event),
        Some(Event::Ended { .. })
    ) {
        judgement.unproven.push(Finding::new(
            "the history breaks off before the rehearsal ended",
        ));
        if judgement.verdict == Verdict::Passed {
            judgement.verdict = Verdict::Unproven;
        }
    }
    surroundings
        .out
        .write_all(told(&entries, &judgement).as_bytes())
        .map_err(|error| Halt::output(&error))?;
    Ok(match judgement.verdict {
        Verdict::Passed => Exit::Passed,
        Verdict::Failed => Exit::Failed,
        Verdict::Error => Exit::Broken,
        Verdict::Unproven => Exit::Unproven,
    })
}

fn told(entries: &[Entry], judgement: &Judgement) -> String {
    let mut text = String::new();
    if let Some(Event::Began {
        scenario,
        place,
        run,
        ..
    }) = entries.first().map(|entry| &entry.event)
    {
        let count = entries.len();
        let _ = writeln!(text, "{scenario} ({place}), run {run}, {count} entries");
    }
    for violation in &judgement.violations {
        let places: Vec<String> = violation.evidence.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "  broken: {}: {} (entries {})",
            violation.invariant,
            violation.text,
            places.join(", ")
        );
    }
    for error in &judgement.errors {
        let _ = writeln!(text, "  error: {error}");
    }
    for reason in &judgement.unproven {
        let _ = writeln!(text, "  unproven: {reason}");
    }
    for warning in &judgement.warnings {
        let places: Vec<String> = warning.evidence.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "  warning: {}: {} (entries {})",
            warning.invariant,
            warning.text,
            places.join(", ")
        );
    }
    let verdict = match judgement.verdict {
        Verdict::Passed => "passed: the history breaks no rule",
        Verdict::Failed => "failed: the system broke a promise",
        Verdict::Error => "error: the harness or its environment failed, or could not tell",
        Verdict::Unproven => "unproven: a fault never landed, or no call was witnessed",
    };
    let _ = writeln!(text, "{verdict}");
    let concluded = entries
        .iter()
        .any(|entry| matches!(entry.event, Event::Concluded { .. }));
    let steps = if concluded {
        "(what the scenario's own steps found is as the run told it)"
    } else {
        "(the figures that the scenario's own steps expect are not part of this)"
    };
    let _ = writeln!(text, "{steps}");
    text
}
