//! Operator commands: run to their end like any process, with taps of their own, so
//! that what an operator does stands in the history too.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use base64::Engine as _;
use serde_json::Value;

use super::surroundings::Surroundings;
use super::{ProcessError, Rehearsal, RehearsalError};
use crate::deployment::{ExitOutcome, Logs, Room};
use crate::history::{DeathCause, Event};
use crate::ids::{Incarnation, MessageName};
use crate::manifest::{OPERATOR, Observation};
use crate::place;

/// How long an operator's command may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an operator's command gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAnswer {
    /// The command in a line.
    pub command: String,
    /// How it ended.
    pub outcome: ExitOutcome,
    /// What it printed.
    pub output: Vec<u8>,
    /// What it complained of.
    pub errors: String,
}

/// An operator's command, or a question about a message, gave nothing to judge.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// It failed.
    #[error("`{command}` {outcome}: {errors}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        outcome: ExitOutcome,
        /// What it complained of.
        errors: String,
    },
    /// It printed something else than JSON.
    #[error("`{command}` printed no JSON: {source}")]
    NotJson {
        /// The command.
        command: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A value was to be base64.
    #[error("`{observation}` of {message} is no base64: {source}")]
    NotBase64 {
        /// Which observation.
        observation: String,
        /// Of which message.
        message: MessageName,
        /// Why.
        source: base64::DecodeError,
    },
    /// A process answered with an error.
    #[error("{0}")]
    Answer(String),
    /// The message has no job id yet.
    #[error("{0} was not accepted, so it has no job id")]
    NoJob(MessageName),
}

impl Rehearsal {
    /// Runs an operator's command to its end.
    ///
    /// # Errors
    /// When it cannot be run. How it ends is part of the answer.
    pub async fn operate(
        &mut self,
        name: &str,
        message: Option<&MessageName>,
        argument: Option<&str>,
    ) -> Result<OperatorAnswer, RehearsalError> {
        self.operators += 1;
        let incarnation = Incarnation {
            role: OPERATOR.into(),
            instance: 1,
            start: self.operators,
        };
        let command = self.manifest.operator[name].command.clone();
        let driver = self.processes.driver();
        let near_side = driver.near_side();
        let mut around =
            Surroundings::open(&self.board, &self.dependencies, &incarnation, near_side).await?;
        around.give(self.processes.overrides(), &incarnation);
        if let Some(message) = message {
            around.set("message.name", message.to_string());
            around.set("message.job", self.job_of(message).unwrap_or_default());
        }
        around.set("argument", argument.unwrap_or_default().to_owned());
        let base = self
            .directory
            .join("processes")
            .join(incarnation.to_string());
        let logs = Logs {
            stdout: base.with_extension("out"),
            stderr: base.with_extension("err"),
        };
        let start = around.start(&self.manifest, &incarnation, &command, logs.clone())?;
        let shown = std::iter::once(start.program.display().to_string())
            .chain(
                start
                    .arguments
                    .iter()
                    .map(|word| word.to_string_lossy().into_owned()),
            )
            .collect::<Vec<_>>()
            .join(" ");
        self.board.register(&incarnation, &around.gate);
        let started = match driver.seat().await {
            Ok(seat) => driver
                .start(start, &seat, &Room::default())
                .await
                .map(|child| (child, seat)),
            Err(error) => Err(error),
        };
        let (child, _seat) = match started {
            Ok(started) => started,
            Err(error) => {
                self.board.unregister(&incarnation);
                return Err(ProcessError::from(error).into());
            }
        };
        self.board.started(&incarnation, child.pid().as_raw());
        let outcome = match tokio::time::timeout(PATIENCE, child.exited()).await {
            Ok(outcome) => outcome,
            Err(_) => child.kill().await,
        };
        around.gate.close().await;
        self.board.outages().detach(&incarnation);
        let code = match outcome {
            ExitOutcome::Code(code) => Some(code),
            ExitOutcome::Signal(_) | ExitOutcome::Unknown => None,
        };
        self.board
            .exited(&incarnation, code, None, Some(DeathCause::Ordered));
        around.drain().await;
        self.board.drained(&incarnation);
        let output = fs::read(&logs.stdout).unwrap_or_default();
        let errors = fs::read_to_string(&logs.stderr).unwrap_or_default();
        let history = self.board.history();
        history.append(Event::Operator {
            command: shown.clone(),
            code,
            output: history.blob(&output),
        });
        Ok(OperatorAnswer {
            command: shown,
            outcome,
            output,
            errors,
        })
    }

    /// Reads one value about a message.
    ///
    /// # Errors
    /// When it cannot be asked; the inner error says that the system gave no answer.
    pub async fn observe(
        &mut self,
        name: &str,
        message: &MessageName,
    ) -> Result<Result<Option<Vec<u8>>, OperatorError>, RehearsalError> {
        let Some(job) = self.job_of(message) else {
            return Ok(Err(OperatorError::NoJob(message.clone())));
        };
        let observation = self.manifest.observations[name].clone();
        match observation {
            Observation::Query { claim, base64 } => {
                self.board.outages().usable(&claim.dependency).await;
                let value = self
                    .dependencies
                    .value(&claim.dependency, &claim.query, Some(&job))
                    .await?;
                Ok(real_value(name, message, value, base64))
            }
            Observation::Operator {
                command,
                path,
                base64,
            } => {
                let answer = self.operate(&command, Some(message), None).await?;
                if !answer.outcome.is_success() {
                    let OperatorAnswer {
                        command,
                        outcome,
                        errors,
                        ..
                    } = answer;
                    return Ok(Err(OperatorError::Failed {
                        command,
                        outcome,
                        errors,
                    }));
                }
                let printed: Value = match serde_json::from_slice(&answer.output) {
                    Ok(printed) => printed,
                    Err(source) => {
                        let command = answer.command;
                        return Ok(Err(OperatorError::NotJson { command, source }));
                    }
                };
                let value = place::lookup_body(&printed, &path);
                Ok(real_value(name, message, value, base64))
            }
            Observation::Request { role, path, json } => {
                let values = BTreeMap::from([
                    ("message.job", job.clone()),
                    ("message.name", message.to_string()),
                ]);
                let path = path
                    .render(&|name: &str| values.get(name).cloned())
                    .map_err(|source| ProcessError::Placeholder {
                        role: role.clone(),
                        source,
                    })?;
                let answer = self.ask(&role, &path, &json).await?;
                Ok(answer
                    .map(|value| value.map(String::into_bytes))
                    .map_err(OperatorError::Answer))
            }
        }
    }
}

/// The bytes that an observation means. Base64 may be broken into lines.
fn real_value(
    observation: &str,
    message: &MessageName,
    value: Option<String>,
    base64: bool,
) -> Result<Option<Vec<u8>>, OperatorError> {
    let Some(mut value) = value else {
        return Ok(None);
    };
    if !base64 {
        return Ok(Some(value.into_bytes()));
    }
    value.retain(|character| !character.is_ascii_whitespace());
    let decoded = base64::engine::general_purpose::STANDARD.decode(&value);
    decoded
        .map(Some)
        .map_err(|source| OperatorError::NotBase64 {
            observation: observation.to_owned(),
            message: message.clone(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_in_lines_means_the_bytes_and_anything_else_is_named() {
        let value =
            |text: &str, base64| real_value("kept", &"M1".into(), Some(text.to_owned()), base64);
        assert_eq!(value("YWJj\nZA==\n", true).unwrap().unwrap(), b"abcd");
        assert_eq!(value("YWJj", false).unwrap().unwrap(), b"YWJj");
        assert!(
            real_value("kept", &"M1".into(), None, true)
                .unwrap()
                .is_none()
        );
        let told = value("no!", true).unwrap_err().to_string();
        assert!(told.starts_with("`kept` of M1 is no base64"), "{told}");
    }
}
