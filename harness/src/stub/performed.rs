//! The stub's own record of what it did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::routes::Outcome;
use crate::tap::HttpRequest;

/// One request that a stub got whole.
#[derive(Clone, Debug)]
pub struct Performed {
    /// Its place among the requests of this stub, from 1.
    pub sequence: u64,
    /// The request.
    pub request: HttpRequest,
    /// The route that it took: `POST /parcels`.
    pub route: Option<String>,
    /// The job's id, where the route says where it stands and it stands there.
    pub job: Option<String>,
    /// Further jobs that the same request is for.
    pub others: Vec<String>,
    /// The group of jobs that it is for, where the route says where that stands.
    pub group: Option<String>,
    /// The message's name, where the path gives it.
    pub message: Option<String>,
    /// Whether it was a write, performed: it counts toward the outside requests.
    pub write: bool,
    /// Whether nothing was performed, because an earlier write had the same key.
    pub repeated: bool,
    /// The status of the answer.
    pub status: u16,
    /// Whether no route fits the request; it was answered with 404.
    pub stray: bool,
}

/// Headers that name nothing: of the connection, of the body, of who asks.
const PLAIN: [&str; 10] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
];

impl Performed {
    /// Whether the request carried nothing in which anybody could name anything.
    pub fn is_bare(&self) -> bool {
        let request = &self.request;
        let written = format!("{} {}", request.method, request.path);
        let plain = |(name, _): &(String, String)| {
            PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(name))
        };
        request.body.is_empty()
            && request.query.as_ref().is_none_or(String::is_empty)
            && self.route.as_ref() == Some(&written)
            && request.headers.iter().all(plain)
    }
}

type Told = Box<dyn Fn(&Performed) + Send + Sync>;

/// Counts and tells.
pub(super) struct Record {
    counts: Mutex<Counts>,
    told: Told,
}

#[derive(Default)]
struct Counts {
    requests: u64,
    writes: u64,
    by_name: BTreeMap<String, u64>,
    callers: BTreeSet<u16>,
}

impl Record {
    pub(super) fn new(told: impl Fn(&Performed) + Send + Sync + 'static) -> Self {
        Self {
            counts: Mutex::default(),
            told: Box::new(told),
        }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        // Counting can't panic half way.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reached(&self, port: u16) {
        self.counts().callers.insert(port);
    }

    pub(super) fn callers(&self) -> BTreeSet<u16> {
        self.counts().callers.clone()
    }

    pub(super) fn performed(&self, request: HttpRequest, outcome: &Outcome) {
        let sequence = {
            let mut counts = self.counts();
            counts.requests += 1;
            if outcome.write {
                counts.writes += 1;
                for name in outcome.names() {
                    *counts.by_name.entry(name.clone()).or_default() += 1;
                }
            }
            counts.requests
        };
        (self.told)(&Performed {
            sequence,
            request,
            route: outcome.route.clone(),
            job: outcome.job.clone(),
            others: outcome.others.clone(),
            group: outcome.group.clone(),
            message: outcome.message.clone(),
            write: outcome.write,
            repeated: outcome.repeated,
            stray: outcome.stray,
            status: outcome.response.status,
        });
    }

    pub(super) fn writes(&self) -> u64 {
        self.counts().writes
    }

    pub(super) fn writes_for(&self, name: &str) -> u64 {
        self.counts().by_name.get(name).copied().unwrap_or(0)
    }
}
