//! What processes talk to, as the manifest describes it.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::{Place, Template};
use crate::ids::RoleName;
use crate::protocol::redis::RedisQueue;
use crate::protocol::table::TableQueue;

/// What processes talk to.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// How it is talked to, with what the protocol needs.
    pub protocol: Protocol,
    /// Where it comes from.
    pub provide: Provide,
    /// Whether an address beyond loopback is accepted.
    pub allow_external: bool,
}

impl Dependency {
    /// The routes of a service that the harness plays.
    pub fn routes(&self) -> &[Route] {
        match &self.protocol {
            Protocol::Http { routes } => routes,
            Protocol::Postgres { .. } | Protocol::Sqs { .. } | Protocol::Redis { .. } => &[],
        }
    }
}

/// How a dependency is talked to.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// PostgreSQL v3.
    Postgres {
        /// Tables that serve as queues, by the name used in the manifest.
        queues: IndexMap<String, TableQueue>,
    },
    /// SQS, JSON protocol.
    Sqs {
        /// The queues that each rehearsal gets, by the name used in the manifest.
        queues: IndexMap<String, Queue>,
    },
    /// Plain HTTP/1.1.
    Http {
        /// What is asked of it, and what the harness answers when it plays it.
        routes: Vec<Route>,
    },
    /// Redis, or what speaks like it.
    Redis {
        /// What serves as a queue there, by the name used in the manifest.
        queues: IndexMap<String, RedisQueue>,
    },
}

impl Protocol {
    /// The names of its queues in the manifest.
    pub fn queues(&self) -> Vec<&String> {
        match self {
            Self::Sqs { queues } => queues.keys().collect(),
            Self::Redis { queues } => queues.keys().collect(),
            Self::Postgres { queues } => queues.keys().collect(),
            Self::Http { .. } => Vec::new(),
        }
    }

    /// Whether another of its queues gives up to this one.
    pub fn is_dead_letter(&self, queue: &str) -> bool {
        match self {
            Self::Sqs { queues } => queues.values().any(|other| {
                let policy = other.dead_letter.as_ref();
                policy.is_some_and(|policy| policy.queue == queue)
            }),
            Self::Redis { queues } => {
                let mut others = queues.values();
                others.any(|other| other.dead_letter.as_deref() == Some(queue))
            }
            Self::Postgres { queues } => {
                let mut others = queues.values();
                others.any(|other| other.dead_letter.as_deref() == Some(queue))
            }
            Self::Http { .. } => false,
        }
    }
}

/// Where a dependency comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provide {
    /// Started by the harness.
    Embedded,
    /// Played by the harness.
    Stub,
    /// Started by the harness in a container.
    Container {
        /// The image; if none, one that the harness builds.
        image: Option<String>,
        /// The port that it listens on.
        port: u16,
        /// Its environment.
        environment: BTreeMap<String, String>,
    },
    /// A process of the system, which listens.
    Process {
        /// Which.
        process: RoleName,
    },
    /// Somebody else's, at this URL.
    External {
        /// Where it answers.
        url: String,
    },
}

/// A queue that each rehearsal gets afresh.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// SQS attributes by their AWS names, except the redrive policy. Values may hold
    /// placeholders of settings.
    pub attributes: BTreeMap<String, Template>,
    /// The queue that takes what was received too often, and how often is allowed.
    pub dead_letter: Option<DeadLetter>,
    /// Whether nobody takes messages from it: what is sent there stays.
    pub unconsumed: bool,
}

/// The attribute that makes a queue a FIFO queue.
pub const FIFO_QUEUE: &str = "FifoQueue";
/// How the name of a FIFO queue ends.
pub const FIFO_NAME: &str = ".fifo";

impl Queue {
    /// Whether the queue of this name in the manifest is a FIFO queue.
    pub fn is_fifo(&self, name: &str) -> bool {
        let attribute = self.attributes.get(FIFO_QUEUE);
        name.ends_with(FIFO_NAME) || attribute == Some(&Template::literal("true"))
    }

    /// What the queue of this name in the manifest is called at its service.
    pub fn name(&self, name: &str) -> String {
        let lacks_end = self.is_fifo(name) && !name.ends_with(FIFO_NAME);
        format!("{name}{}", if lacks_end { FIFO_NAME } else { "" })
    }
}

/// A redrive policy.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The dead-letter queue's name in the manifest.
    pub queue: String,
    /// `maxReceiveCount`.
    pub max_receives: Template,
    /// How many failed attempts the system allows before it gives a message up itself.
    pub attempts: Option<Template>,
    /// How many receives beyond those are to be expected.
    pub setbacks: Option<Template>,
}

/// One route of an outside service.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: String,
    /// The path; a segment `{message}` takes the message's name, `{job}` its job id,
    /// `*` anything.
    pub path: String,
    /// Whether a request here is a write that counts toward the outside requests, where
    /// the manifest says so; else its method tells ([`Route::writes`]).
    pub write: Option<bool>,
    /// Whether what is put, posted and deleted here is kept by key.
    pub store: bool,
    /// Where the request says which job it is for, or which jobs.
    pub job: Option<Place>,
    /// Where the request says for which group of jobs it is: a group has one write.
    pub group: Option<Place>,
    /// The header whose value is honoured as an idempotency key: a write that was
    /// performed under a key is not performed under it again. Empty is none.
    pub key_header: Option<Template>,
    /// What it answers, one after the other; the last repeats. Never empty.
    pub replies: Vec<RouteReply>,
}

impl Route {
    /// Whether a request with this method is an outside write. What a stub keeps by key is
    /// state of its own, and no write unless the manifest says so.
    pub fn writes(&self, method: &str) -> bool {
        self.write
            .unwrap_or_else(|| writes_by_method(method, self.store))
    }

    /// Whether it may take a write at all.
    pub fn may_write(&self) -> bool {
        self.writes(&self.method)
    }

    /// How the manifest writes it: `POST /parcels`.
    pub fn on(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Whether a route is an outside write where the manifest does not say.
pub(super) fn writes_by_method(method: &str, store: bool) -> bool {
    !store && !matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// One answer of a route.
#[derive(Clone, Debug)]
pub struct RouteReply {
    /// The status code.
    pub status: u16,
    /// What it holds.
    pub body: ReplyBody,
}

/// What a stub answers with.
#[derive(Clone, Debug)]
pub enum ReplyBody {
    /// Nothing.
    Empty,
    /// This text.
    Text(String),
    /// The content of the message that the request is about, with its media type.
    Message,
}
