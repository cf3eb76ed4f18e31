//! Which route a request takes and what it leads to. How a stub misbehaves (fails k
//! times, performs and closes, hangs) will be decided here, per route.

use std::sync::Arc;

use reqwest::header::HeaderName;

use super::contents::{Content, Contents};
use super::keys::Keys;
use crate::manifest::{Lookup, ReplyBody, Route, UnknownPlaceholder};
use crate::place::{Captures, lookup, lookup_header, match_path};
use crate::tap::HttpRequest;
use crate::tap::http::message::ResponseMessage;

/// A route as it is played in one rehearsal.
#[derive(Clone, Debug)]
pub struct PlayedRoute {
    route: Route,
    key_header: Option<HeaderName>,
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
        let on = || format!("{} {}", route.method, route.path);
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
        Ok(Self { route, key_header })
    }
}

/// What a request leads to.
#[derive(Clone)]
pub(super) struct Outcome {
    pub(super) job: Option<String>,
    pub(super) message: Option<String>,
    /// Whether a write is performed.
    pub(super) write: bool,
    /// Whether it was answered like the earlier write with its key.
    pub(super) repeated: bool,
    /// Whether no route fits.
    pub(super) stray: bool,
    pub(super) response: ResponseMessage,
}

/// The routes of one stub.
pub(super) struct Routes {
    played: Vec<PlayedRoute>,
    contents: Arc<dyn Contents>,
    keys: Keys,
}

impl Routes {
    pub(super) fn new(routes: Vec<PlayedRoute>, contents: Arc<dyn Contents>) -> Self {
        Self {
            played: routes,
            contents,
            keys: Keys::default(),
        }
    }

    pub(super) fn outcome(&self, request: &HttpRequest) -> Outcome {
        let fitting = self.played.iter().find_map(|played| {
            let PlayedRoute { route, key_header } = played;
            let method = route.method == "*" || route.method == request.method;
            method.then(|| {
                match_path(&route.path, &request.path).map(|captures| (route, key_header, captures))
            })?
        });
        match fitting {
            Some((route, key_header, captures)) => {
                let outcome = self.take(route, &captures, request);
                let key = key_header
                    .as_ref()
                    .and_then(|header| lookup_header(&request.headers, header.as_str()))
                    .filter(|key| !key.is_empty());
                match key {
                    Some(key) if outcome.write => self.keys.honour(key, request, outcome),
                    _ => outcome,
                }
            }
            None => Outcome {
                job: None,
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
            let mut names = outcome.job.iter().chain(&outcome.message);
            names.any(|name| meant(name))
        };
        self.keys.forget(for_whom)
    }

    fn take(&self, route: &Route, captures: &Captures, request: &HttpRequest) -> Outcome {
        let place = route.job.as_ref();
        let job = place
            .and_then(|place| {
                lookup(place, request, [route.path.as_str()])
                    .into_iter()
                    .next()
            })
            .or_else(|| captures.get("job").map(str::to_owned));
        let message = captures.get("message").map(str::to_owned);
        let response = match &route.reply {
            ReplyBody::Empty => ResponseMessage::new(route.status, "", ""),
            ReplyBody::Text(text) => {
                ResponseMessage::new(route.status, text_type(text), text.clone())
            }
            ReplyBody::Message => {
                let Some(Content { bytes, media_type }) =
                    self.content(message.as_deref(), job.as_deref())
                else {
                    let name = message
                        .as_deref()
                        .or(job.as_deref())
                        .unwrap_or("(none named)");
                    let response = not_found(&format!("no message is known by `{name}`"));
                    return Outcome {
                        job,
                        message,
                        write: false,
                        repeated: false,
                        stray: false,
                        response,
                    };
                };
                ResponseMessage::new(route.status, &media_type, bytes)
            }
        };
        Outcome {
            job,
            message,
            write: route.write,
            repeated: false,
            stray: false,
            response,
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
            .map(|PlayedRoute { route, .. }| format!("{} {}", route.method, route.path))
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
