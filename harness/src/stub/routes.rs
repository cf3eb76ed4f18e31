//! Which route a request takes and what it leads to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::header::HeaderName;

use super::contents::{Content, Contents};
use super::keys::Keys;
use super::store::{self, Store};
use crate::manifest::{Lookup, Place, ReplyBody, Route, RouteReply, UnknownPlaceholder};
use crate::place::{Captures, lookup, lookup_header, match_path};
use crate::protocol::http::message::ResponseMessage;
use crate::tap::HttpRequest;

/// A route as it is played in one rehearsal.
#[derive(Debug)]
pub struct PlayedRoute {
    route: Route,
    key_header: Option<HeaderName>,
    /// How many requests it answered.
    answered: AtomicUsize,
}

/// A route cannot be played with these settings.
#[derive(Debug, thiserror::Error)]
pub enum UnplayableRoute {
    /// A placeholder of it has no value.
    #[error("`{on}`: {source}")]
    Placeholder {
        /// Method and path.
        on: String,
        /// Which.
        source: UnknownPlaceholder,
    },
    /// The settings make its key header something that HTTP does not allow.
    #[error("`{on}` cannot honour keys in a header `{written}`: that is no header's name")]
    KeyHeader {
        /// Method and path.
        on: String,
        /// What the settings gave.
        written: String,
    },
}

impl PlayedRoute {
    /// Fills in what the route leaves to the settings.
    ///
    /// # Errors
    /// When they give no value, or one that cannot be.
    pub fn new(route: Route, settings: &Lookup<'_>) -> Result<Self, UnplayableRoute> {
        let on = || route.on();
        let written = match &route.key_header {
            Some(header) => match header.render(settings) {
                Ok(written) => written,
                Err(source) => return Err(UnplayableRoute::Placeholder { on: on(), source }),
            },
            None => String::new(),
        };
        let key_header = match written.as_str() {
            "" => None,
            name => match HeaderName::try_from(name) {
                Ok(name) => Some(name),
                Err(_) => return Err(UnplayableRoute::KeyHeader { on: on(), written }),
            },
        };
        Ok(Self {
            answered: AtomicUsize::new(0),
            route,
            key_header,
        })
    }

    /// The next of its answers; the last repeats.
    fn next_reply(&self) -> &RouteReply {
        let number = self.answered.fetch_add(1, Ordering::Relaxed);
        let last = self.route.replies.len() - 1;
        &self.route.replies[number.min(last)]
    }
}

/// What a request leads to.
#[derive(Clone)]
pub(super) struct Outcome {
    /// The route that it took, as the manifest writes it.
    pub(super) route: Option<String>,
    pub(super) job: Option<String>,
    /// Further jobs that the same request is for.
    pub(super) others: Vec<String>,
    /// The group of jobs that it is for.
    pub(super) group: Option<String>,
    pub(super) message: Option<String>,
    /// Whether a write is performed.
    pub(super) write: bool,
    /// Whether it was answered like the earlier write with its key.
    pub(super) repeated: bool,
    /// Whether no route fits.
    pub(super) stray: bool,
    pub(super) response: ResponseMessage,
}

impl Outcome {
    /// Whom it is for.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.job.iter().chain(&self.others).chain(&self.message)
    }
}

/// The routes of one stub.
pub(super) struct Routes {
    played: Vec<PlayedRoute>,
    contents: Arc<dyn Contents>,
    keys: Keys,
    store: Store,
}

impl Routes {
    pub(super) fn new(mut played: Vec<PlayedRoute>, contents: Arc<dyn Contents>) -> Self {
        let families: Vec<String> = played
            .iter()
            .filter(|played| played.route.store)
            .map(|played| played.route.path.clone())
            .collect();
        for one in &mut played {
            let path = &one.route.path;
            let is_stored = families
                .iter()
                .any(|family| store::same_family(family, path));
            one.route.store |= is_stored;
        }
        Self {
            played,
            contents,
            keys: Keys::default(),
            store: Store::default(),
        }
    }

    pub(super) fn outcome(&self, request: &HttpRequest) -> Outcome {
        let fitting = self.played.iter().find_map(|played| {
            let route = &played.route;
            let method = route.method == "*" || route.method == request.method;
            method.then(|| {
                match_path(&route.path, &request.path).map(|captures| (played, captures))
            })?
        });
        match fitting {
            Some((played, captures)) => {
                let outcome = self.take(played, &captures, request);
                let key = played
                    .key_header
                    .as_ref()
                    .and_then(|header| lookup_header(&request.headers, header.as_str()))
                    .filter(|key| !key.is_empty());
                match key {
                    Some(key) if outcome.write => self.keys.honour(key, request, outcome),
                    _ => outcome,
                }
            }
            None => Outcome {
                route: None,
                job: None,
                others: Vec::new(),
                group: None,
                message: None,
                write: false,
                repeated: false,
                stray: true,
                response: self.unknown(request),
            },
        }
    }

    pub(super) fn forget_keys(&self, meant: impl Fn(&str) -> bool) -> usize {
        let for_whom = |outcome: &Outcome| {
            let mut names = outcome.names();
            names.any(|name| meant(name))
        };
        self.keys.forget(for_whom)
    }

    fn take(&self, played: &PlayedRoute, captures: &Captures, request: &HttpRequest) -> Outcome {
        let route = &played.route;
        let at = |place: Option<&Place>| {
            place.map_or_else(Vec::new, |place| {
                lookup(place, request, [route.path.as_str()])
            })
        };
        let mut jobs = at(route.job.as_ref()).into_iter();
        let job = jobs.next();
        let job = job.or_else(|| captures.get("job").map(str::to_owned));
        let others: Vec<String> = jobs.filter(|other| Some(other) != job.as_ref()).collect();
        let group = at(route.group.as_ref()).into_iter().next();
        let message = captures.get("message").map(str::to_owned);
        let reply = played.next_reply();
        let outcome = |write, response| Outcome {
            route: Some(route.on()),
            job: job.clone(),
            others: others.clone(),
            group: group.clone(),
            message: message.clone(),
            write,
            repeated: false,
            stray: false,
            response,
        };
        let name = message.as_deref().or(job.as_deref());
        let response = match (route.store, &reply.body) {
            (true, body) if reply.status < 400 => self.stored(
                route,
                (reply.status, body),
                request,
                (message.as_deref(), job.as_deref()),
            ),
            (_, ReplyBody::Empty) => Some(ResponseMessage::new(reply.status, "", "")),
            (_, ReplyBody::Text(text)) => Some(ResponseMessage::new(
                reply.status,
                text_type(text),
                text.clone(),
            )),
            (_, ReplyBody::Message) => self
                .content(message.as_deref(), job.as_deref())
                .map(|content| of(reply.status, content)),
        };
        let Some(response) = response else {
            let name = name.unwrap_or("(none named)");
            let response = not_found(&format!("no message is known by `{name}`"));
            return outcome(false, response);
        };
        // A scripted error is an answer instead of the deed.
        let refused = route.replies.len() > 1 && reply.status >= 400;
        outcome(route.writes(&request.method) && !refused, response)
    }

    /// What a route with a memory does: keeps, forgets, or gives back what it keeps.
    fn stored(
        &self,
        route: &Route,
        (status, body): (u16, &ReplyBody),
        request: &HttpRequest,
        (message, job): (Option<&str>, Option<&str>),
    ) -> Option<ResponseMessage> {
        let key = store::key(&route.path, &request.path, job);
        // What stands under a job's own id only the system can have put there.
        let is_filled = message.is_none()
            && self.played.iter().any(|PlayedRoute { route: other, .. }| {
                matches!(other.method.as_str(), "PUT" | "POST" | "PATCH" | "*")
                    && store::same_family(&other.path, &route.path)
            });
        let plain = || match body {
            ReplyBody::Text(text) => ResponseMessage::new(status, text_type(text), text.clone()),
            ReplyBody::Empty | ReplyBody::Message => ResponseMessage::new(status, "", ""),
        };
        match request.method.as_str() {
            "GET" | "HEAD" => {
                let first = match body {
                    _ if is_filled => None,
                    ReplyBody::Text(text) => Some(Content {
                        media_type: text_type(text).to_owned(),
                        bytes: text.clone().into(),
                    }),
                    ReplyBody::Empty | ReplyBody::Message => self.content(message, job),
                };
                self.store
                    .get(&key, first)
                    .map(|content| of(status, content))
            }
            "DELETE" => {
                self.store.delete(key);
                Some(plain())
            }
            "PUT" | "POST" | "PATCH" => {
                let media_type = lookup_header(&request.headers, "content-type");
                let content = Content {
                    bytes: request.body.clone(),
                    media_type: media_type.unwrap_or("application/octet-stream").to_owned(),
                };
                self.store.put(key, content);
                Some(plain())
            }
            _ => Some(plain()),
        }
    }

    fn content(&self, message: Option<&str>, job: Option<&str>) -> Option<Content> {
        message
            .and_then(|name| self.contents.of_message(name))
            .or_else(|| job.and_then(|job| self.contents.of_job(job)))
    }

    fn unknown(&self, request: &HttpRequest) -> ResponseMessage {
        let known: Vec<String> = self
            .played
            .iter()
            .map(|PlayedRoute { route, .. }| route.on())
            .collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        let HttpRequest { method, path, .. } = request;
        not_found(&format!(
            "this stub has no route for {method} {path}; its routes: {known}"
        ))
    }
}

fn of(status: u16, content: Content) -> ResponseMessage {
    let Content { bytes, media_type } = content;
    ResponseMessage::new(status, &media_type, bytes)
}

fn not_found(text: &str) -> ResponseMessage {
    plain(404, text)
}

pub(super) fn plain(status: u16, text: &str) -> ResponseMessage {
    ResponseMessage::new(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

fn text_type(text: &str) -> &'static str {
    let json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if json {
        "application/json"
    } else {
        "text/plain; charset=utf-8"
    }
}
