//! How much waits for somebody, asked of the system itself: past all taps, and without a
//! trace in the history, as often as quiet needs it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::client::{http_client, innermost};
use super::{ProcessError, Rehearsal, RehearsalError};
use crate::deployment::{Child, Logs, Start};
use crate::ids::RoleName;
use crate::manifest::{Backlog, Command, PathStep};
use crate::place;

/// How long an answer of a process may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Nobody could tell how much waits.
#[derive(Debug, thiserror::Error)]
pub enum BacklogError {
    /// The command did not succeed.
    #[error("`{command}`, a backlog of the manifest, {outcome}: {output}")]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        outcome: String,
        /// What it printed.
        output: String,
    },
    /// The command did not end in time.
    #[error(
        "`{command}`, a backlog of the manifest, was not over after {within:?} (`limits.quiet`): {output}"
    )]
    Late {
        /// The command.
        command: String,
        /// How long it had.
        within: Duration,
        /// What it had printed.
        output: String,
    },
    /// What it gave is no number.
    #[error("{asked}, a backlog of the manifest, gave `{seen}`; expected one whole number")]
    NotANumber {
        /// The question.
        asked: String,
        /// The answer.
        seen: String,
    },
    /// A process did not answer.
    #[error("GET {path} of the {role}, a backlog of the manifest, gave no answer: {reason}")]
    Request {
        /// Who was asked.
        role: RoleName,
        /// What.
        path: String,
        /// Why not.
        reason: String,
    },
}

impl Rehearsal {
    /// How much waits, by this backlog; none: who is asked is not there.
    pub(super) async fn waiting(&self, backlog: &Backlog) -> Result<Option<i64>, RehearsalError> {
        match backlog {
            Backlog::Query(claim) => {
                let (dependency, query) = (&claim.dependency, &claim.query);
                let figure = self.dependencies.figure(dependency, query, None).await?;
                Ok(Some(figure.values().sum()))
            }
            Backlog::Command(command) => self.waiting_by_command(command).await.map(Some),
            Backlog::Request { role, path, json } => {
                Ok(self.waiting_by_request(role, path, json).await?)
            }
        }
    }

    async fn waiting_by_command(&self, command: &Command) -> Result<i64, RehearsalError> {
        let mut values: BTreeMap<String, String> = self.dependencies.settings().clone();
        values.insert("root".to_owned(), self.manifest.root.display().to_string());
        let rendered = command.render(&|name: &str| values.get(name).cloned());
        let rendered = rendered.map_err(|source| ProcessError::Placeholder {
            role: RoleName::new("backlog"),
            source,
        })?;
        let shown = rendered.words.join(" ");
        let mut words = rendered.words.into_iter();
        let base = self.directory.join("processes").join("backlog");
        let logs = Logs {
            stdout: base.with_extension("out"),
            stderr: base.with_extension("err"),
        };
        // Output is appended, and this is another answer.
        let _ = fs::remove_file(&logs.stdout);
        let _ = fs::remove_file(&logs.stderr);
        let environment = rendered.environment.into_iter();
        let start = Start {
            name: "backlog".to_owned(),
            program: PathBuf::from(words.next().expect("a command has a program")),
            arguments: words.map(OsString::from).collect(),
            environment: environment
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: self.manifest.root.clone(),
            logs: logs.clone(),
            account: None,
            memory: None,
            namespace: false,
        };
        let child = Child::start(start, self.venue.registry())
            .await
            .map_err(ProcessError::from)?;
        let within = self.manifest.limits.quiet;
        let ended = tokio::time::timeout(within, child.exited()).await;
        let printed = fs::read_to_string(&logs.stdout).unwrap_or_default();
        let Ok(outcome) = ended else {
            child.kill().await;
            return Err(BacklogError::Late {
                command: shown,
                within,
                output: printed.trim().to_owned(),
            }
            .into());
        };
        if !outcome.is_success() {
            let errors = fs::read_to_string(&logs.stderr).unwrap_or_default();
            return Err(BacklogError::Command {
                command: shown,
                outcome: outcome.to_string(),
                output: format!("{}{}", printed.trim(), errors.trim()),
            }
            .into());
        }
        Ok(number(&format!("`{shown}`"), &printed)?)
    }

    async fn waiting_by_request(
        &self,
        role: &RoleName,
        path: &str,
        json: &[PathStep],
    ) -> Result<Option<i64>, BacklogError> {
        let failed = |reason: String| BacklogError::Request {
            role: role.clone(),
            path: path.to_owned(),
            reason,
        };
        let Some(behind) = self.processes.behind(role).await else {
            return Ok(None);
        };
        let client = http_client();
        let asking = client
            .get(format!("http://{behind}{path}"))
            .timeout(PATIENCE);
        let answer = match asking.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => return Ok(None),
            Err(error) => return Err(failed(innermost(&error))),
        };
        let status = answer.status();
        if !status.is_success() {
            return Err(failed(format!("status {status}")));
        }
        let body: serde_json::Value = answer
            .json()
            .await
            .map_err(|error| failed(innermost(&error)))?;
        let found = place::lookup_body(&body, json).unwrap_or_else(|| body.to_string());
        number(&format!("GET {path} of the {role}"), &found).map(Some)
    }
}

fn number(asked: &str, seen: &str) -> Result<i64, BacklogError> {
    seen.trim().parse().map_err(|_| BacklogError::NotANumber {
        asked: asked.to_owned(),
        seen: seen.trim().chars().take(200).collect(),
    })
}
