//! `rehearse record`: a system is watched without faults, and its manifest gets what it does
//! not say yet.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::{Application, Halt, ManifestArgument, REPORTS, Surroundings};
use crate::deployment::DriverKind;
use crate::gherkin::{self, Exit, RunInfo, new_run_id};
use crate::manifest::Manifest;
use crate::record::{Recording, Seen, Step, Watch, table, watch};
use crate::suite::Suite;

#[derive(Clone, Debug, Args)]
pub(super) struct RecordArguments {
    #[command(flatten)]
    manifest: ManifestArgument,
    /// Put what is missing into the manifest; what stands there stays as it is
    #[arg(long)]
    write: bool,
    /// Where each run gets a directory for its histories [default: reports beside the manifest]
    #[arg(
        long,
        value_name = "DIR",
        env = "REHEARSE_REPORTS",
        hide_env_values = true
    )]
    reports: Option<PathBuf>,
    /// How processes are run: processes or containers [default: as the manifest says]
    #[arg(long, value_name = "DRIVER")]
    driver: Option<DriverKind>,
    /// Every random choice comes from it
    #[arg(long, value_name = "N",
        value_parser = super::figure::whole, default_value_t = 1)]
    seed: u64,
}

impl RecordArguments {
    /// Of a manifest that was just made.
    pub(super) fn writing(manifest: &Path) -> Self {
        Self {
            manifest: ManifestArgument {
                manifest: Some(manifest.to_owned()),
            },
            write: true,
            reports: None,
            driver: None,
            seed: 1,
        }
    }
}

pub(super) fn record<A: Application>(
    application: &A,
    arguments: &RecordArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let path = arguments.manifest.path();
    let text = fs::read_to_string(&path).map_err(|error| {
        Halt::invalid(miette::miette!(
            help = "`rehearse init` makes one; `--manifest` says where it is",
            "cannot read {}: {error}",
            path.display()
        ))
    })?;
    let reports = arguments.reports.clone();
    let info = RunInfo {
        system: String::new(),
        whole: false,
        id: new_run_id(),
        seed: arguments.seed,
        directory: reports.unwrap_or_else(|| arguments.manifest.beside(REPORTS)),
        real_time: false,
        driver: arguments.driver,
    };
    let info = RunInfo {
        directory: info.directory.join(info.id.as_str()),
        ..info
    };
    let (recording, manifest, runs) = watched(application, &path, &text, &info, surroundings)?;
    surroundings.say(&table(&manifest, &runs, &Recording::messages()));
    let doubts = recording.doubts(&manifest, &runs);
    let mut told = String::new();
    if recording.added().is_empty() {
        told += "the manifest lacks nothing that can be learnt\n";
    }
    for line in recording.added() {
        let _ = writeln!(told, "+ {line}");
    }
    for doubt in &doubts {
        let _ = writeln!(told, "? {doubt}");
    }
    if !recording.added().is_empty() {
        told += &kept(arguments, &path, &text, &recording)?;
    }
    surroundings.say(&told);
    Ok(if doubts.is_empty() {
        Exit::Passed
    } else {
        Exit::Unproven
    })
}

/// Writes what was learnt, if that was asked for.
fn kept(
    arguments: &RecordArguments,
    path: &Path,
    text: &str,
    recording: &Recording,
) -> Result<String, Halt> {
    if !arguments.write {
        return Ok("`--write` puts this into the manifest\n".to_owned());
    }
    let here = fs::read_to_string(path).unwrap_or_default();
    if here != text {
        return Err(Halt::invalid(miette::miette!(
            "{} was changed while the system was watched: nothing was written",
            path.display()
        )));
    }
    fs::write(path, recording.text()).map_err(|error| {
        Halt::broken(miette::miette!("cannot write {}: {error}", path.display()))
    })?;
    Ok(format!("written: {}\n", path.display()))
}

/// Watches the system until nothing more can be learnt.
pub(super) fn watched<A: Application>(
    application: &A,
    path: &Path,
    text: &str,
    info: &RunInfo,
    surroundings: &mut Surroundings,
) -> Result<(Recording, Manifest, Vec<Seen>), Halt> {
    let mut recording = Recording::new(path, text);
    let mut round = 0;
    loop {
        round += 1;
        let manifest = recording.manifest().map_err(Halt::invalid)?;
        surroundings.say(&format!("watching {}, time {round}\n", manifest.name));
        let suite = application
            .suite_of(manifest.clone())
            .map_err(Halt::invalid)?;
        // Each has servers of its own, and so is a run of its own.
        let run = RunInfo {
            id: new_run_id(),
            directory: info.directory.join(format!("watch-{round}")),
            ..info.clone()
        };
        let runs = on_venue(&suite, &run, surroundings)?;
        if recording.learn(&manifest, &runs) == Step::Done {
            return Ok((recording, manifest, runs));
        }
    }
}

fn on_venue(suite: &Suite, info: &RunInfo, surroundings: &Surroundings) -> Result<Vec<Seen>, Halt> {
    let watching = Watch {
        run: info.id.as_str().to_owned(),
        directory: info.directory.clone(),
        seed: info.seed,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Halt::broken(miette::miette!("cannot start threads: {error}")))?;
    let interrupt = surroundings.interrupt.clone();
    let interrupted = || Halt {
        exit: Exit::Interrupted,
        report: miette::miette!("interrupted; nothing was written"),
    };
    let watched = runtime.block_on(async {
        let venue = suite.venue(info, Arc::new(|_: &str| {}));
        let venue = tokio::select! {
            venue = venue => Arc::new(venue.map_err(Halt::step)?),
            () = interrupt.raised() => return Err(interrupted()),
        };
        let watched = tokio::select! {
            watched = watch(&venue, &watching) => {
                watched.map_err(|error| Halt::broken(miette::miette!("{error}")))
            }
            () = interrupt.raised() => Err(interrupted()),
        };
        let left = venue.close().await;
        let watched = watched?;
        if left.is_empty() {
            return Ok(watched);
        }
        Err(Halt::broken(miette::miette!(
            "the run left something behind: {}",
            left.join("; ")
        )))
    });
    runtime.shutdown_timeout(gherkin::Limits::default().grace);
    watched
}
