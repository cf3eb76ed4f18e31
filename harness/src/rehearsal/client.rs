//! The harness in the part of the system's client: it submits messages and reads
//! their state, through a tap like everybody else.

use std::time::Duration;

use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::Value;

use super::messages::key_of;
use super::{ProcessError, Rehearsal, RehearsalError};
use crate::ids::{MessageName, RoleName};
use crate::manifest::{PathStep, UnknownPlaceholder, render_json};
use crate::place;
use crate::tap::HttpRequest;

/// How long the client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a submission ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The client knows the job's id.
    Accepted {
        /// The id.
        job: String,
    },
    /// The system refused, or did not answer.
    Refused {
        /// What it said.
        reason: String,
    },
}

impl Rehearsal {
    /// Submits a message once.
    ///
    /// # Errors
    /// When the process that takes submissions does not run.
    pub async fn submit(&mut self, message: &MessageName) -> Result<Submission, RehearsalError> {
        self.board.submitting(message);
        let submission = self.try_submit(message).await;
        match &submission {
            Ok(Submission::Accepted { job }) => {
                self.contents.accepted(message, job);
                self.board.accepted(message, job);
            }
            Ok(Submission::Refused { reason }) => self.board.refused(message, reason),
            Err(error) => self.board.refused(message, &error.to_string()),
        }
        submission
    }

    async fn try_submit(&self, message: &MessageName) -> Result<Submission, RehearsalError> {
        let submit = &self.manifest.messages.submit;
        let front = self.processes.front(&submit.role).await?;
        let key = key_of(message);
        let kind = self.contents.kind(message);
        let lookup = |name: &str| match name {
            "message.name" => Some(message.as_str().to_owned()),
            "message.key" => Some(key.clone()),
            "message.kind" => kind.clone(),
            _ => self.dependencies.settings().get(name).cloned(),
        };
        let refused = |reason: String| Ok(Submission::Refused { reason });
        let path = match submit.path.render(&lookup) {
            Ok(path) => path,
            Err(source) => return Err(placeholder(&submit.role, source)),
        };
        let body = match render_json(&submit.body, &lookup) {
            Ok(body) => body,
            Err(error) => return refused(error.to_string()),
        };
        let method = Method::from_bytes(submit.method.as_bytes()).unwrap_or(Method::POST);
        let mut request = http_client().request(method, format!("http://{front}{path}"));
        for (name, value) in &submit.headers {
            match value.render(&lookup) {
                Ok(value) => request = request.header(name, value),
                Err(source) => return Err(placeholder(&submit.role, source)),
            }
        }
        let answer = match request.json(&body).send().await {
            Ok(answer) => answer,
            Err(error) => return refused(innermost(&error)),
        };
        let status = answer.status();
        let headers: Vec<(String, String)> = answer
            .headers()
            .iter()
            .filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();
        let body = match answer.bytes().await {
            Ok(body) => body,
            Err(error) => return refused(innermost(&error)),
        };
        if !status.is_success() {
            return refused(format!("{status}: {}", String::from_utf8_lossy(&body)));
        }
        // An answer has the same places as a request: a body and headers.
        let as_request = HttpRequest {
            method: String::new(),
            path,
            query: None,
            headers,
            body,
        };
        match place::lookup(&submit.job, &as_request, std::iter::empty::<&str>()) {
            Some(job) => Ok(Submission::Accepted { job }),
            None => refused(format!(
                "{status} without a job id where `messages.submit.job` says: {}",
                String::from_utf8_lossy(&as_request.body)
            )),
        }
    }

    /// Reads a member of the JSON that a process answers to a GET.
    pub(super) async fn ask(
        &self,
        role: &RoleName,
        path: &str,
        json: &[PathStep],
    ) -> Result<Result<Option<String>, String>, RehearsalError> {
        let front = self.processes.front(role).await?;
        let answer = match http_client()
            .get(format!("http://{front}{path}"))
            .send()
            .await
        {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(innermost(&error))),
        };
        let status = answer.status();
        match answer.json::<Value>().await {
            Ok(body) if status.is_success() => Ok(Ok(place::lookup_body(&body, json))),
            Ok(body) => Ok(Err(format!("GET {path}: {status}: {body}"))),
            Err(error) => Ok(Err(format!("GET {path}: {status}: {}", innermost(&error)))),
        }
    }
}

fn placeholder(role: &RoleName, source: UnknownPlaceholder) -> RehearsalError {
    let role = role.clone();
    ProcessError::Placeholder { role, source }.into()
}

/// One connection a request: what happens to one call concerns no other.
fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .pool_max_idle_per_host(0)
        .timeout(PATIENCE)
        .build()
        .expect("a client without TLS always builds")
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
