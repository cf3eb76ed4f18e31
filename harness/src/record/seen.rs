//! What one rehearsal without faults showed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::checkpoint::{self, Announcement};
use crate::explore::Mark;
use crate::ids::{DependencyName, MessageName, RoleName};
use crate::place;
use crate::rehearsal::Passed;
use crate::rehearsal::search::{self, Find, Known, Root};
use crate::sql::{Lexer, Token};
use crate::tap::{Bind, HttpRequest, Reply, Request, Statement};

/// What one rehearsal without faults showed.
pub struct Seen {
    /// Every id, and whose it is.
    pub(super) known: Known,
    pub(super) calls: Vec<Passed>,
    /// Whose each receipt is.
    receipts: BTreeMap<String, BTreeSet<MessageName>>,
    /// What the judge says of it.
    pub(super) mark: Mark,
    pub(super) reasons: Vec<String>,
}

/// Where an id stands in a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    /// As a manifest writes it: `{ body: $.id }`.
    Place(String),
    /// A segment of a path, from 0.
    Segment(usize),
    /// A bind value, from 1.
    Bind(usize),
    /// A value written out in a statement.
    Literal,
    /// The message that a receipt stands for.
    Receipt,
    /// A key, an element or a field of Redis.
    Value,
}

/// An id in a call.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub(super) spot: Spot,
    pub(super) message: MessageName,
    pub(super) id: String,
}

impl Seen {
    pub(super) fn new(calls: Vec<Passed>, known: Known, mark: Mark, reasons: Vec<String>) -> Self {
        let mut seen = Self {
            known,
            calls,
            receipts: BTreeMap::new(),
            mark,
            reasons,
        };
        seen.receipts = seen.all_receipts();
        seen
    }

    /// Whether a process announces a stage with a call, and asks nobody for anything.
    pub(super) fn is_announcement(passed: &Passed) -> bool {
        passed.call.dependency.as_str() == checkpoint::DEPENDENCY
    }

    /// The stages that a process announces, in their order.
    pub(super) fn announced(&self, role: &RoleName) -> Vec<String> {
        let mut stages = Vec::new();
        for passed in self
            .calls
            .iter()
            .filter(|one| Self::role(one) == Some(role))
        {
            if let (true, Request::Http(request)) =
                (Self::is_announcement(passed), &passed.call.request)
            {
                let stage = Announcement::read(request).stage;
                if !stages.contains(&stage) {
                    stages.push(stage);
                }
            }
        }
        stages
    }

    /// The process that made a call; none: the client.
    pub(super) fn role(passed: &Passed) -> Option<&RoleName> {
        passed.author().incarnation().map(|one| &one.role)
    }

    fn all_receipts(&self) -> BTreeMap<String, BTreeSet<MessageName>> {
        let mut receipts = BTreeMap::new();
        for passed in &self.calls {
            for message in delivered(passed) {
                let Some(receipt) = message.get("ReceiptHandle").and_then(Value::as_str) else {
                    continue;
                };
                let whose = self.finds_in_message(message);
                let whose = whose.into_iter().map(|find| find.message).collect();
                receipts.insert(receipt.to_owned(), whose);
            }
        }
        receipts
    }

    /// Where known ids stand in a message of a queue.
    pub(super) fn finds_in_message(&self, message: &Value) -> Vec<Find> {
        let body = place::message_body(message).unwrap_or_default();
        let mut finds = search::find(&self.known, &Root::Body, body.as_bytes());
        for (name, value) in place::attributes(message) {
            let root = Root::Named("attribute", name.to_owned());
            finds.extend(search::find(&self.known, &root, &value));
        }
        finds
    }

    /// Where known ids stand in a request.
    pub(super) fn finds_in_request(&self, request: &HttpRequest) -> Vec<Find> {
        let mut finds = search::find(&self.known, &Root::Body, &request.body);
        for (name, value) in &request.headers {
            let root = Root::Named("header", name.clone());
            finds.extend(search::find(&self.known, &root, value.as_bytes()));
        }
        finds
    }

    /// All known ids in a call and what it was answered.
    pub(super) fn sightings(&self, passed: &Passed) -> Vec<Sighting> {
        let mut sightings = Vec::new();
        match &passed.call.request {
            Request::Sqs(_) => {
                for message in sent(passed).chain(delivered(passed)) {
                    let finds = self.finds_in_message(message);
                    sightings.extend(finds.into_iter().map(Sighting::from));
                }
                for receipt in receipts_of(passed) {
                    for message in self.receipts.get(&receipt).into_iter().flatten() {
                        sightings.push(Sighting {
                            spot: Spot::Receipt,
                            message: message.clone(),
                            id: receipt.clone(),
                        });
                    }
                }
            }
            Request::Http(request) => {
                let finds = self.finds_in_request(request);
                sightings.extend(finds.into_iter().map(Sighting::from));
                for (index, segment) in request.path.split('/').enumerate() {
                    let segment = place::decode(segment);
                    sightings.extend(self.sighting(Spot::Segment(index), &segment));
                }
            }
            Request::Postgres(request) => {
                for statement in &request.statements {
                    sightings.extend(self.in_statement(statement));
                }
                // A commit makes durable what its transaction did.
                if passed.durable {
                    for statement in &request.transaction {
                        sightings.extend(self.in_statement(statement));
                    }
                }
            }
            Request::Redis(request) => {
                for command in &request.commands {
                    for part in &command.arguments {
                        let finds = search::find(&self.known, &Root::Body, part);
                        sightings.extend(finds.into_iter().map(|find| Sighting {
                            spot: Spot::Value,
                            message: find.message,
                            id: find.id,
                        }));
                    }
                }
            }
        }
        sightings
    }

    pub(super) fn in_statement(&self, statement: &Statement) -> Vec<Sighting> {
        let mut sightings = Vec::new();
        for (index, bind) in statement.binds.iter().enumerate() {
            if let Bind::Text(text) = bind {
                sightings.extend(self.sighting(Spot::Bind(index + 1), text));
            }
        }
        for (token, _) in Lexer::new(statement.sql.written()) {
            if let Token::Text { raw, .. } = token {
                sightings.extend(self.sighting(Spot::Literal, raw));
            }
        }
        sightings
    }

    fn sighting(&self, spot: Spot, text: &str) -> Option<Sighting> {
        self.known.get(text).map(|message| Sighting {
            spot,
            message: message.clone(),
            id: text.to_owned(),
        })
    }

    /// Whose a call is, as far as ids in it tell.
    pub(super) fn messages(&self, passed: &Passed) -> BTreeSet<MessageName> {
        let sightings = self.sightings(passed).into_iter();
        sightings.map(|sighting| sighting.message).collect()
    }

    /// What passed on one wire.
    pub(super) fn at<'s>(
        &'s self,
        dependency: &'s DependencyName,
    ) -> impl Iterator<Item = &'s Passed> {
        let calls = self.calls.iter();
        calls.filter(move |passed| passed.call.dependency == *dependency)
    }
}

impl From<Find> for Sighting {
    fn from(find: Find) -> Self {
        Self {
            spot: Spot::Place(find.place),
            message: find.message,
            id: find.id,
        }
    }
}

/// The messages that a queue handed over with a call.
pub(super) fn delivered(passed: &Passed) -> impl Iterator<Item = &Value> {
    let body = match (&passed.call.request, passed.reply.as_deref()) {
        (Request::Sqs(_), Some(Reply::Sqs(reply))) => reply.body.get("Messages"),
        _ => None,
    };
    body.and_then(Value::as_array).into_iter().flatten()
}

/// The messages that a call sends.
pub(super) fn sent(passed: &Passed) -> impl Iterator<Item = &Value> {
    let (one, many) = match &passed.call.request {
        Request::Sqs(request) if request.action == "SendMessage" => (Some(&request.body), None),
        Request::Sqs(request) if request.action == "SendMessageBatch" => {
            (None, request.body.get("Entries").and_then(Value::as_array))
        }
        _ => (None, None),
    };
    one.into_iter().chain(many.into_iter().flatten())
}

fn receipts_of(passed: &Passed) -> Vec<String> {
    let Request::Sqs(request) = &passed.call.request else {
        return Vec::new();
    };
    let entries = request.body.get("Entries").and_then(Value::as_array);
    let all = std::iter::once(&request.body).chain(entries.into_iter().flatten());
    all.filter_map(|entry| entry.get("ReceiptHandle")?.as_str().map(str::to_owned))
        .collect()
}
