//! A service that the harness does not play, as its taps see it: its routes tell which of the
//! requests that it answered were writes.

use std::sync::Arc;

use super::contents::Contents;
use super::performed::Performed;
use super::routes::{PlayedRoute, Routes};
use crate::tap::HttpRequest;

/// The routes of a service that somebody else, or a process of the system, plays.
pub(crate) struct Witnessed {
    routes: Routes,
}

impl Witnessed {
    pub(crate) fn new(routes: Vec<PlayedRoute>, contents: Arc<dyn Contents>) -> Self {
        Self {
            routes: Routes::new(routes, contents),
        }
    }

    /// What it performed when it gave this answer; nothing where no route fits, or where it
    /// answered with an error.
    pub(crate) fn performed(&self, request: &HttpRequest, status: u16) -> Option<Performed> {
        if status >= 400 {
            return None;
        }
        let outcome = self.routes.outcome(request);
        let performed = Performed {
            sequence: 0,
            request: request.clone(),
            route: outcome.route,
            job: outcome.job,
            others: outcome.others,
            group: outcome.group,
            message: outcome.message,
            write: outcome.write,
            repeated: outcome.repeated,
            stray: false,
            status,
        };
        (!outcome.stray).then_some(performed)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::manifest::{ReplyBody, Route, RouteReply, Template};

    struct Nobody;

    impl Contents for Nobody {
        fn of_message(&self, _: &str) -> Option<super::super::Content> {
            None
        }

        fn of_job(&self, _: &str) -> Option<super::super::Content> {
            None
        }
    }

    fn route(key_header: Option<&str>) -> PlayedRoute {
        let route = Route {
            method: "POST".to_owned(),
            path: "/payments/{job}".to_owned(),
            write: None,
            store: false,
            job: None,
            group: None,
            key_header: key_header.map(Template::literal),
            replies: vec![RouteReply {
                status: 200,
                body: ReplyBody::Empty,
            }],
        };
        PlayedRoute::new(route, &|_| None).unwrap()
    }

    fn request(method: &str, path: &str, key: &str) -> HttpRequest {
        HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: None,
            headers: vec![("idempotency-key".to_owned(), key.to_owned())],
            body: Bytes::new(),
            is_cut: false,
        }
    }

    #[test]
    fn what_was_answered_well_was_performed() {
        let witnessed = Witnessed::new(vec![route(None)], Arc::new(Nobody));
        let payment = request("POST", "/payments/j1", "k");
        let performed = witnessed.performed(&payment, 201).unwrap();
        assert_eq!(performed.job.as_deref(), Some("j1"));
        assert!(performed.write && !performed.repeated);
        assert!(witnessed.performed(&payment, 201).unwrap().write);
        assert!(witnessed.performed(&payment, 503).is_none());
        assert!(
            witnessed
                .performed(&request("GET", "/rates", "k"), 200)
                .is_none()
        );
    }

    #[test]
    fn a_key_that_it_honours_performs_once() {
        let witnessed = Witnessed::new(vec![route(Some("Idempotency-Key"))], Arc::new(Nobody));
        let payment = request("POST", "/payments/j1", "k");
        assert!(witnessed.performed(&payment, 503).is_none());
        assert!(witnessed.performed(&payment, 201).unwrap().write);
        let again = witnessed.performed(&payment, 201).unwrap();
        assert!(again.repeated && !again.write);
        let other = request("POST", "/payments/j1", "l");
        assert!(witnessed.performed(&other, 201).unwrap().write);
    }
}
