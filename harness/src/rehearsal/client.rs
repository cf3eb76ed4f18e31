//! The harness in the part of the system's client: it submits messages and reads
//! their state, through a tap like everybody else.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, future};
use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::Value;

use super::messages::key_of;
use super::{ProcessError, Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::{MessageName, RoleName};
use crate::manifest::{
    Manifest, PathStep, Place, Protocol, Submit, SubmitPut, UnknownPlaceholder, render_json,
};
use crate::place;
use crate::tap::{Call, HttpRequest, Reply, Request};

/// How long the client waits for an answer unless the scenario says otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

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
        /// The status code, if it answered.
        status: Option<u16>,
    },
}

/// What the client sends.
#[derive(Clone, Debug)]
pub struct Posting {
    /// The message whose content it carries.
    pub content: MessageName,
    /// The message whose key it carries.
    pub key: MessageName,
    /// The members of its JSON stand in the opposite order.
    pub reversed: bool,
}

impl Posting {
    /// A message, as it is submitted every time.
    pub fn of(message: &MessageName) -> Self {
        Self {
            content: message.clone(),
            key: message.clone(),
            reversed: false,
        }
    }
}

/// What the client was answered.
#[derive(Clone, Debug)]
pub struct ClientAnswer {
    /// The status code, if there was an answer at all.
    pub status: Option<u16>,
    /// The job's id, if it was told.
    pub job: Option<String>,
    /// The answer, or why there was none.
    pub said: String,
}

impl ClientAnswer {
    fn none(said: String) -> Self {
        Self {
            status: None,
            job: None,
            said,
        }
    }
}

impl Rehearsal {
    /// Submits a message once.
    ///
    /// # Errors
    /// When the process that takes submissions does not run.
    pub async fn submit(&self, message: &MessageName) -> Result<Submission, RehearsalError> {
        self.board.submitting(message);
        let submission = self.try_submit(message).await;
        match &submission {
            Ok(Submission::Accepted { job }) => {
                self.contents.accepted(message, job);
                self.board.accepted(message, job);
            }
            Ok(Submission::Refused { reason, .. }) => self.board.refused(message, reason),
            Err(error) => self.board.refused(message, &error.to_string()),
        }
        submission
    }

    /// Submits messages, so many at a time, and begins no more of them once one was not
    /// accepted. Gives back the first of those that were not, with its outcome.
    ///
    /// # Errors
    /// When the process that takes submissions does not run.
    pub async fn submit_all(
        &self,
        messages: &[MessageName],
        at_a_time: usize,
    ) -> Result<Option<(MessageName, Submission)>, RehearsalError> {
        let goes_on = AtomicBool::new(true);
        let begins = || goes_on.load(Ordering::Relaxed) && self.unexpected_stop().is_none();
        // Those that were begun are waited for: their answers tell what their ids mean.
        let outcomes = futures::stream::iter(messages)
            .take_while(|_| future::ready(begins()))
            .map(|message| async move { (message, self.submit(message).await) })
            .buffer_unordered(at_a_time.max(1));
        let mut first = Ok(None);
        let mut outcomes = std::pin::pin!(outcomes);
        while let Some((message, outcome)) = outcomes.next().await {
            let refused = match outcome {
                Ok(Submission::Accepted { .. }) => continue,
                Ok(refused) => Ok(Some((message.clone(), refused))),
                Err(error) => Err(error),
            };
            goes_on.store(false, Ordering::Relaxed);
            if matches!(first, Ok(None)) {
                first = refused;
            }
        }
        first
    }

    /// Whether the order of submissions may mean something, although the scenario does not
    /// ask for one: to a FIFO queue, or to a fault that waits for submissions.
    pub fn submits_in_order(&self) -> bool {
        let mut dependencies = self.manifest.dependencies.values();
        let has_fifo = dependencies.any(|dependency| match &dependency.protocol {
            Protocol::Sqs { queues } => queues.iter().any(|(name, queue)| queue.is_fifo(name)),
            _ => false,
        });
        has_fifo || self.board.waits_for_submissions()
    }

    async fn try_submit(&self, message: &MessageName) -> Result<Submission, RehearsalError> {
        let answer = self.send(&Posting::of(message)).await?;
        Ok(match answer.job {
            Some(job) => Submission::Accepted { job },
            None => Submission::Refused {
                reason: answer.said,
                status: answer.status,
            },
        })
    }

    /// Sends one submission; what the client learns is the caller's to tell.
    ///
    /// # Errors
    /// When the process that takes submissions does not run.
    pub async fn post(&self, posting: &Posting) -> Result<ClientAnswer, RehearsalError> {
        self.board.history().append(Event::Submitting {
            message: posting.content.clone(),
        });
        self.send(posting).await
    }

    async fn send(&self, posting: &Posting) -> Result<ClientAnswer, RehearsalError> {
        let submit = match &self.manifest.messages.submit {
            Submit::Request(request) => request,
            Submit::Put(put) => return self.send_to_queue(put, posting).await,
        };
        let front = self.processes.front(&submit.role).await?;
        let lookup = |name: &str| self.value(posting, name);
        let path = match submit.path.render(&lookup) {
            Ok(path) => path,
            Err(source) => return Err(placeholder(&submit.role, source)),
        };
        let body = match render_json(&submit.body, &lookup) {
            Ok(body) => body,
            Err(error) => return Ok(ClientAnswer::none(error.to_string())),
        };
        let body = if posting.reversed {
            reversed(&body)
        } else {
            body.to_string()
        };
        let method = Method::from_bytes(submit.method.as_bytes()).unwrap_or(Method::POST);
        let mut request = http_client()
            .request(method, format!("http://{front}{path}"))
            .timeout(self.patience)
            .header("content-type", "application/json");
        for (name, value) in &submit.headers {
            match value.render(&lookup) {
                Ok(value) => request = request.header(name, value),
                Err(source) => return Err(placeholder(&submit.role, source)),
            }
        }
        let answer = match request.body(body).send().await {
            Ok(answer) => answer,
            Err(error) => return Ok(ClientAnswer::none(innermost(&error))),
        };
        Ok(understood(&submit.job, path, answer).await)
    }

    /// The value of a placeholder in what a client sends.
    fn value(&self, posting: &Posting, name: &str) -> Option<String> {
        match name {
            "message.name" => Some(posting.content.as_str().to_owned()),
            "message.key" => Some(key_of(&posting.key)),
            "message.kind" => self.contents.kind(&posting.content),
            _ => self.dependencies.settings().get(name).cloned(),
        }
    }

    /// Puts a message on its queue: its job is its key.
    async fn send_to_queue(
        &self,
        put: &SubmitPut,
        posting: &Posting,
    ) -> Result<ClientAnswer, RehearsalError> {
        let body = match render_json(&put.body, &|name: &str| self.value(posting, name)) {
            Ok(body) if posting.reversed => reversed(&body),
            Ok(body) => body.to_string(),
            Err(error) => return Ok(ClientAnswer::none(error.to_string())),
        };
        let sent = self
            .dependencies
            .put(&put.dependency, &put.queue, &body, None);
        let message_id = sent.await?;
        let own = self.dependencies.queue_name(&put.dependency, &put.queue);
        self.board.put(&posting.content, &own, &message_id);
        Ok(ClientAnswer {
            status: None,
            job: Some(key_of(&posting.key)),
            said: format!("{message_id} is on {}", put.queue),
        })
    }

    /// Submits a message several times at the same moment, under its one key.
    ///
    /// # Errors
    /// When the process that takes submissions does not run.
    pub async fn submit_at_once(
        &mut self,
        message: &MessageName,
        times: usize,
    ) -> Result<Vec<ClientAnswer>, RehearsalError> {
        self.board.submitting(message);
        let posting = Posting::of(message);
        let posts = (0..times).map(|_| self.send(&posting));
        let answers: Vec<ClientAnswer> = futures::future::try_join_all(posts).await?;
        for answer in &answers {
            match &answer.job {
                Some(job) => {
                    self.contents.accepted(message, job);
                    self.board.accepted(message, job);
                }
                None => self.board.refused(message, &answer.said),
            }
        }
        Ok(answers)
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

async fn understood(job: &Place, path: String, answer: reqwest::Response) -> ClientAnswer {
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
        Err(error) => return ClientAnswer::none(innermost(&error)),
    };
    let said = String::from_utf8_lossy(&body).into_owned();
    let job = status
        .is_success()
        .then(|| answered_job(job, path, headers, body))
        .flatten();
    let said = match &job {
        None if status.is_success() => {
            format!("{status} without a job id where `messages.submit.job` says: {said}")
        }
        _ => format!("{status}: {said}"),
    };
    ClientAnswer {
        status: Some(status.as_u16()),
        job,
        said,
    }
}

/// The job in an answer, which has the same places as a request: a body and headers.
fn answered_job(
    job: &Place,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
) -> Option<String> {
    let as_request = HttpRequest {
        method: String::new(),
        path,
        query: None,
        headers,
        body,
        is_cut: false,
    };
    let found = place::lookup(job, &as_request, std::iter::empty::<&str>());
    found.into_iter().next()
}

/// The job that a reply to a submission tells its client.
pub(super) fn told_job(manifest: &Manifest, call: &Call, reply: &Reply) -> Option<String> {
    let (Submit::Request(submit), Request::Http(request), Reply::Http(reply)) =
        (&manifest.messages.submit, &call.request, reply)
    else {
        return None;
    };
    let told = is_submission(manifest, call) && (200..300).contains(&reply.status);
    told.then(|| {
        let (path, headers) = (request.path.clone(), reply.headers.clone());
        answered_job(&submit.job, path, headers, reply.body.clone())
    })
    .flatten()
}

/// JSON whose members stand in the opposite order, at every depth.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(name, member)| {
                    format!("{} : {}", Value::String(name.clone()), reversed(member))
                })
                .collect();
            format!("{{ {} }}", members.join(" , "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(reversed).collect();
            format!("[ {} ]", elements.join(" , "))
        }
        scalar => scalar.to_string(),
    }
}

fn placeholder(role: &RoleName, source: UnknownPlaceholder) -> RehearsalError {
    let role = role.clone();
    ProcessError::Placeholder { role, source }.into()
}

/// One connection a request: what happens to one call concerns no other.
pub(super) fn http_client() -> &'static reqwest::Client {
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
        reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .pool_max_idle_per_host(0)
            .timeout(PATIENCE)
            .build()
            .expect("a client without TLS always builds")
    });
    &CLIENT
}

pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Whether a call of the client submits a message.
pub(super) fn is_submission(manifest: &Manifest, call: &Call) -> bool {
    let Submit::Request(submit) = &manifest.messages.submit else {
        return false;
    };
    let Request::Http(request) = &call.request else {
        return false;
    };
    call.dependency.as_str() == submit.role.as_str()
        && request.method.eq_ignore_ascii_case(&submit.method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opposite_order_means_the_same() {
        let value = serde_json::json!({"a": {"b": 1, "c": [true, null]}, "d": "e"});
        let text = reversed(&value);
        assert_eq!(
            text,
            r#"{ "d" : "e" , "a" : { "c" : [ true , null ] , "b" : 1 } }"#
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
