//! `rehearse show`: the course of a rehearsal, a line an entry.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Halt, ManifestArgument, Surroundings};
use crate::gherkin::{Exit, ScenarioOutcome};
use crate::history::{self, Entry, Event};
use crate::ids::MessageName;
use crate::judge::{self, Evidence};
use crate::manifest::{Manifest, nearest};
use crate::report::Recorded;
use crate::report::terminal::paint::Paint;
use crate::timeline::{self, Line, Mark, Weight};

#[derive(Clone, Debug, Args)]
pub(super) struct ShowArguments {
    /// A scenario's folder, its `history.jsonl`, or a run's folder for what did not pass
    #[arg(value_name = "HISTORY")]
    history: PathBuf,
    /// Only what is about this message, and the steps
    #[arg(long, value_name = "NAME")]
    message: Option<String>,
    /// Only what this process did or suffered: worker, worker-1 or worker-1#2
    #[arg(long, value_name = "NAME")]
    process: Option<String>,
    /// All that stands around this entry
    #[arg(long, value_name = "SEQ")]
    around: Option<u64>,
    /// Also calls, connections, polls, and other details
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    manifest: ManifestArgument,
}

/// So many entries are shown on both sides of one.
const AROUND: u64 = 20;

pub(super) fn show(
    arguments: &ShowArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let text = match history_in(&arguments.history)? {
        Place::History(path) => course(&path, arguments, surroundings)?,
        Place::Run(recorded) => of_run(&recorded, arguments, surroundings)?,
    };
    surroundings
        .out
        .write_all(text.as_bytes())
        .map_err(|error| Halt::output(&error))?;
    Ok(Exit::Passed)
}

enum Place {
    History(PathBuf),
    Run(Recorded),
}

/// The history of a scenario's folder.
fn history_of(folder: &Path) -> Option<PathBuf> {
    ["history.jsonl", "history.jsonl.gz"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

fn history_in(path: &Path) -> Result<Place, Halt> {
    if !path.is_dir() {
        return Ok(Place::History(path.to_owned()));
    }
    if let Some(history) = history_of(path) {
        return Ok(Place::History(history));
    }
    Recorded::read(path).map(Place::Run).map_err(Halt::invalid)
}

/// What did not pass in a run: the whole course of one scenario, or what convicts each of
/// several.
fn of_run(
    recorded: &Recorded,
    arguments: &ShowArguments,
    surroundings: &mut Surroundings,
) -> Result<String, Halt> {
    let with_history = |outcome: &ScenarioOutcome| {
        let folder = recorded.folder_of(outcome)?;
        history_of(&folder)
    };
    let scenarios = &recorded.result.scenarios;
    let failed: Vec<_> = scenarios
        .iter()
        .filter(|(_, outcome)| outcome.ran && outcome.verdict != Exit::Passed)
        .collect();
    if let [(_, outcome)] = failed[..]
        && let Some(history) = with_history(outcome)
    {
        return course(&history, arguments, surroundings);
    }
    let mut text = String::new();
    let told = if failed.is_empty() {
        text += "every scenario of this run passed; name one to see its course:\n";
        scenarios.iter().collect()
    } else {
        failed
    };
    for (scenario, outcome) in told {
        let _ = writeln!(text, "{} {}", outcome.verdict, scenario.name);
        for line in &outcome.excerpt {
            let _ = writeln!(text, "    {line}");
        }
        if let Some(history) = with_history(outcome) {
            let folder = history.parent().unwrap_or(&history).display();
            let _ = writeln!(text, "    all of it: rehearse show {folder}");
        }
    }
    Ok(text)
}

/// The course of one history.
fn course(
    path: &Path,
    arguments: &ShowArguments,
    surroundings: &mut Surroundings,
) -> Result<String, Halt> {
    let (entries, broken_off) =
        history::read_as_far(path).map_err(|error| Halt::invalid(miette::miette!("{error}")))?;
    let lines = timeline::lines(&entries);
    let cited = cited(path, &entries, &arguments.manifest.path());
    let chosen = choose(&lines, &cited, arguments)?;
    let paint = Paint {
        colour: surroundings.colours_out(),
    };
    let mut text = String::new();
    if let Some(Event::Began {
        scenario,
        place,
        run,
        ..
    }) = entries.first().map(|entry| &entry.event)
    {
        let count = format!("{} of {} entries", chosen.len(), lines.len());
        let _ = writeln!(text, "{scenario} ({place}), run {run}, {count}");
    }
    let painted = |mark, line: &str| match mark {
        Mark::Cited => paint.bold(&paint.failure(line)),
        Mark::Grave => paint.failure(line),
        Mark::Step => paint.bold(line),
        Mark::Notable => line.to_owned(),
        Mark::Dim => paint.dim(line),
    };
    let fits = |line: String| match surroundings.width {
        Some(width) => console::truncate_str(&line, width, "…").into_owned(),
        None => line,
    };
    for line in timeline::printed(&chosen, |seq| cited.contains(&seq), painted) {
        text += &fits(line);
        text.push('\n');
    }
    if let Some(why) = broken_off {
        let _ = writeln!(text, "it breaks off here: {why}");
    }
    Ok(text)
}

/// The lines that are asked for. What convicts is always among those of a message or a
/// process, if it is about them.
fn choose<'l>(
    lines: &'l [Line],
    cited: &BTreeSet<u64>,
    arguments: &ShowArguments,
) -> Result<Vec<&'l Line>, Halt> {
    if let Some(message) = &arguments.message {
        let known = lines.iter().flat_map(|line| &line.messages);
        let known: BTreeSet<&str> = known.map(MessageName::as_str).collect();
        check_known("message", message, known)?;
    }
    if let Some(process) = &arguments.process {
        let known = lines.iter().filter_map(|line| line.process.as_ref());
        let known: BTreeSet<String> = known
            .flat_map(|of| [of.role.to_string(), of.process(), of.to_string()])
            .collect();
        check_known(
            "process",
            process,
            known.iter().map(String::as_str).collect(),
        )?;
    }
    if let Some(seq) = arguments.around
        && !lines.iter().any(|line| line.seq == seq)
    {
        return Err(Halt::invalid(miette::miette!(
            help = format!("its entries are 1 to {}", lines.len()),
            "the history has no entry {seq}"
        )));
    }
    let is_wanted = |line: &&Line| {
        let is_step = line.kind == timeline::Kind::Step;
        let of_message = arguments.message.as_ref().is_none_or(|message| {
            is_step || line.messages.iter().any(|name| name.as_str() == message)
        });
        let of_process = arguments.process.as_ref().is_none_or(|process| {
            is_step
                || line.process.as_ref().is_some_and(|of| {
                    [of.role.to_string(), of.process(), of.to_string()].contains(process)
                })
        });
        let around = arguments
            .around
            .is_none_or(|seq| line.seq.abs_diff(seq) <= AROUND);
        // Calls matter to whoever looks at one message, or at one process.
        let least = match (&arguments.message, &arguments.process) {
            (None, None) => Weight::Notable,
            _ => Weight::Plain,
        };
        let matters = arguments.all
            || arguments.around.is_some()
            || line.weight >= least
            || cited.contains(&line.seq);
        of_message && of_process && around && matters
    };
    Ok(lines.iter().filter(is_wanted).collect())
}

fn check_known(what: &str, name: &str, known: BTreeSet<&str>) -> Result<(), Halt> {
    if known.contains(name) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().copied().collect();
    let known_are = if names.is_empty() {
        format!("it has no {what} at all")
    } else {
        format!("it has {}", names.join(", "))
    };
    let help = match nearest(name, known) {
        Some(nearest) => format!("did you mean `{nearest}`? ({known_are})"),
        None => known_are,
    };
    Err(Halt::invalid(miette::miette!(
        help = help,
        "the history knows no {what} `{name}`"
    )))
}

/// The entries that show why the scenario did not pass: as its run found, or as this
/// manifest's rules find.
fn cited(path: &Path, entries: &[Entry], manifest: &Path) -> BTreeSet<u64> {
    if let Some(cited) = cited_by_run(path) {
        return cited;
    }
    let Some(Event::Began { system, .. }) = entries.first().map(|entry| &entry.event) else {
        return BTreeSet::new();
    };
    match Manifest::load(manifest) {
        Ok(manifest) if *system == manifest.name => {
            let judgement = judge::judge(Evidence {
                manifest: &manifest,
                entries,
            });
            let broken = judgement.violations.into_iter().map(|one| one.evidence);
            let errors = judgement.errors.into_iter().map(|one| one.evidence);
            broken.chain(errors).flatten().collect()
        }
        _ => BTreeSet::new(),
    }
}

fn cited_by_run(history: &Path) -> Option<BTreeSet<u64>> {
    let folder = history.parent()?;
    let recorded = Recorded::read(folder.parent()?).ok()?;
    let of_folder = |outcome: &ScenarioOutcome| {
        let written = outcome.history.as_ref();
        written.and_then(|path| path.parent()?.file_name()) == folder.file_name()
    };
    let (_, outcome) = recorded
        .result
        .scenarios
        .iter()
        .find(|(_, outcome)| of_folder(outcome))?;
    let evidence = outcome.evidence.iter();
    Some(evidence.flat_map(|one| one.entries.clone()).collect())
}
