//! Which route a request takes and what it leads to. How a stub misbehaves (fails k
//! times, performs and closes, hangs) will be decided here, per route.

use std::sync::Arc;

use super::contents::{Content, Contents};
use crate::manifest::{ReplyBody, Route};
use crate::place::{Captures, lookup, match_path};
use crate::tap::HttpRequest;
use crate::tap::http::message::ResponseMessage;

/// What a request leads to.
pub(super) struct Outcome {
    pub(super) job: Option<String>,
    pub(super) message: Option<String>,
    /// Whether a write is performed.
    pub(super) write: bool,
    pub(super) response: ResponseMessage,
}

/// The routes of one stub.
pub(super) struct Routes {
    routes: Vec<Route>,
    contents: Arc<dyn Contents>,
}

impl Routes {
    pub(super) fn new(routes: Vec<Route>, contents: Arc<dyn Contents>) -> Self {
        Self { routes, contents }
    }

    pub(super) fn outcome(&self, request: &HttpRequest) -> Outcome {
        let fitting = self.routes.iter().find_map(|route| {
            let method = route.method == "*" || route.method == request.method;
            method
                .then(|| match_path(&route.path, &request.path).map(|captures| (route, captures)))?
        });
        match fitting {
            Some((route, captures)) => self.take(route, &captures, request),
            None => Outcome {
                job: None,
                message: None,
                write: false,
                response: self.unknown(request),
            },
        }
    }

    fn take(&self, route: &Route, captures: &Captures, request: &HttpRequest) -> Outcome {
        let place = route.job.as_ref();
        let job = place
            .and_then(|place| lookup(place, request, [route.path.as_str()]))
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
            .routes
            .iter()
            .map(|route| format!("{} {}", route.method, route.path))
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
    ResponseMessage::new(404, "text/plain; charset=utf-8", format!("{text}\n"))
}

fn text_type(text: &str) -> &'static str {
    let json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if json {
        "application/json"
    } else {
        "text/plain; charset=utf-8"
    }
}
