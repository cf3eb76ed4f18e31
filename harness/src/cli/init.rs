//! `rehearse init`: a first manifest, out of a compose file or a few words.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::record::{RecordArguments, record};
use super::{Application, Halt, MANIFEST, Surroundings};
use crate::gherkin::Exit;
use crate::init::{Compose, Draft, Flags, Refused, of_compose, of_flags};

#[derive(Clone, Debug, Args)]
pub(super) struct InitArguments {
    /// A compose file to make it from
    #[arg(long, value_name = "FILE", conflicts_with_all = ["process", "queue", "database", "outside", "prepare", "env"])]
    from: Option<PathBuf>,
    /// A program of the system: 'worker=python3 worker.py'; several
    #[arg(long, value_name = "NAME=COMMAND")]
    process: Vec<String>,
    /// The queue: sqs or redis, with the names of its queues: sqs:orders,shipping; of Redis a
    /// list (redis:jobs), with the list of what is in hand (redis:jobs+doing), or a stream with
    /// its group (redis:jobs@workers)
    #[arg(long, value_name = "KIND")]
    queue: Option<String>,
    /// The database: postgres
    #[arg(long, value_name = "KIND")]
    database: Option<String>,
    /// An outside service, which the harness plays; several
    #[arg(long, value_name = "NAME")]
    outside: Vec<String>,
    /// A command that prepares a fresh database; several
    #[arg(long, value_name = "COMMAND")]
    prepare: Vec<String>,
    /// A variable that every program gets; several
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// How a message comes in: 'POST /orders {"item": "${message.name}"}', or 'QUEUE {"id": "${message.key}"}'
    #[arg(long, value_name = "HOW")]
    submit: Option<String>,
    /// The system's name [default: the directory's, or the compose project's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where the manifest goes
    #[arg(long, value_name = "FILE", default_value = MANIFEST)]
    manifest: PathBuf,
    /// Write also where a file is already
    #[arg(long)]
    force: bool,
    /// Do not run the system: leave what can be learnt from it to `rehearse record --write`
    #[arg(long)]
    no_record: bool,
}

pub(super) fn init<A: Application>(
    application: &A,
    arguments: &InitArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let path = &arguments.manifest;
    if path.exists() && !arguments.force {
        return Err(Halt::invalid(miette::miette!(
            help = "`--force` writes over it; `rehearse record --write` adds what it lacks",
            "{} is there already",
            path.display()
        )));
    }
    let draft = draft(arguments)?;
    let text = draft.text();
    fs::write(path, &text).map_err(|error| {
        Halt::broken(miette::miette!("cannot write {}: {error}", path.display()))
    })?;
    let mut told = format!("written: {}\n", path.display());
    for note in draft.notes() {
        let _ = writeln!(told, "- {note}");
    }
    surroundings.say(&told);
    if arguments.no_record {
        surroundings.say("`rehearse record --write` learns the rest by watching\n");
        return Ok(Exit::Passed);
    }
    record(application, &RecordArguments::writing(path), surroundings)
}

fn draft(arguments: &InitArguments) -> Result<Draft, Halt> {
    let refused = |refused: Refused| {
        let Refused { what, help } = refused;
        Halt::invalid(if help.is_empty() {
            miette::miette!("{what}")
        } else {
            miette::miette!(help = help, "{what}")
        })
    };
    if let Some(file) = &arguments.from {
        let ambient: BTreeMap<String, String> = std::env::vars().collect();
        let compose = Compose::read(file, &ambient)
            .map_err(|error| Halt::invalid(miette::miette!("{error}")))?;
        let compose = match &arguments.name {
            Some(name) => compose.named(name),
            None => compose,
        };
        return of_compose(&compose, arguments.submit.as_deref()).map_err(refused);
    }
    let root = match arguments.manifest.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => Path::new(".").to_owned(),
    };
    let folder = fs::canonicalize(&root).unwrap_or_else(|_| root.clone());
    let folder = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let flags = Flags {
        name: arguments
            .name
            .clone()
            .or(folder)
            .unwrap_or_else(|| "system".to_owned()),
        root,
        processes: arguments.process.clone(),
        queue: arguments.queue.clone(),
        database: arguments.database.clone(),
        outside: arguments.outside.clone(),
        prepare: arguments.prepare.clone(),
        environment: arguments.env.clone(),
        submit: arguments.submit.clone(),
    };
    of_flags(&flags).map_err(refused)
}
