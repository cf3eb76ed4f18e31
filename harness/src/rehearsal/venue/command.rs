//! The manifest's own commands: `build` and `prepare`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::VenueError;
use crate::deployment::{Child, Logs, Registry, Start};
use crate::manifest::{Command, Manifest};

pub(super) fn root_of(manifest: &Manifest) -> String {
    manifest.root.display().to_string()
}

pub(super) fn shown(command: &Command) -> String {
    command
        .words
        .iter()
        .map(|word| {
            word.render(&|name: &str| Some(format!("${{{name}}}")))
                .unwrap_or_default()
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs one command of the manifest to its end.
pub(super) async fn run_command(
    manifest: &Manifest,
    command: &Command,
    section: &'static str,
    values: &BTreeMap<String, String>,
    log: PathBuf,
    registry: &Registry,
) -> Result<(), VenueError> {
    let in_manifest = manifest.path.display().to_string();
    let rendered = command
        .render(&|name: &str| values.get(name).cloned())
        .map_err(|source| VenueError::Placeholder {
            section,
            manifest: in_manifest.clone(),
            source,
        })?;
    let shown = rendered.words.join(" ");
    let (program, arguments) = rendered
        .words
        .split_first()
        .expect("a command has a program");
    let start = Start {
        name: section.to_owned(),
        program: PathBuf::from(program),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: rendered
            .environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        directory: manifest.root.clone(),
        logs: Logs::together(&log),
        account: None,
        memory: None,
        namespace: false,
    };
    let child = Child::start(start, registry)
        .await
        .map_err(|source| VenueError::Command {
            section,
            manifest: in_manifest.clone(),
            source,
        })?;
    let within = manifest.limits.build;
    let Ok(outcome) = tokio::time::timeout(within, child.exited()).await else {
        child.kill().await;
        return Err(VenueError::CommandTooLong {
            section,
            manifest: in_manifest,
            command: shown,
            within,
            log: log.display().to_string(),
        });
    };
    if outcome.is_success() {
        return Ok(());
    }
    Err(VenueError::CommandFailed {
        section,
        manifest: in_manifest,
        command: shown,
        outcome,
        output: child.logs().last_lines(20).join("\n"),
        log: log.display().to_string(),
    })
}
