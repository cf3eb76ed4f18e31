//! The rows of one queue as they were last seen.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use super::super::queue::{Item, QueueEffect};
use super::copy_id;
use crate::ids::{Author, ConnectionId};
use crate::tap::Call;

/// A row as the table has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) in_hand: bool,
    pub(super) turn: Option<String>,
    /// Which transaction wrote it last.
    pub(super) version: String,
    pub(super) text: String,
    /// The server's process whose open transaction has locked or changed it.
    pub(super) holder: Option<i32>,
}

/// A row that is not done.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) id: String,
    pub(super) row: String,
    pub(super) at: At,
    pub(super) seen: Row,
    pub(super) deliveries: u32,
    pub(super) owner: Option<Author>,
}

/// Where a row is.
#[derive(Clone, Debug)]
pub(super) enum At {
    Waiting,
    Hand,
    /// Taken in a transaction that is open.
    Taken(ConnectionId, Arc<Call>),
}

impl Copy {
    pub(super) fn item(&self, queue: &str) -> Item {
        Item {
            queue: queue.to_owned(),
            copy: self.id.clone(),
            text: Bytes::from(self.seen.text.clone()),
            fields: Vec::new(),
            entry: Some(Bytes::from(self.row.clone())),
        }
    }

    /// Nothing where it was never handed over.
    pub(super) fn receipt(&self) -> String {
        match self.deliveries {
            0 => String::new(),
            number => format!("{}~{number}", self.id),
        }
    }

    pub(super) fn deliver(&mut self, queue: &str, author: &Author, at: At) -> QueueEffect {
        self.deliveries += 1;
        self.owner = Some(author.clone());
        self.at = at;
        QueueEffect::Delivered(self.item(queue), self.receipt())
    }

    pub(super) fn release(&mut self) -> QueueEffect {
        self.at = At::Waiting;
        QueueEffect::Released(self.receipt())
    }

    pub(super) fn is_taken_on(&self, connection: ConnectionId) -> bool {
        matches!(self.at, At::Taken(on, _) if on == connection)
    }
}

/// One queue.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) copies: BTreeMap<String, Copy>,
    /// How often a row of this id came.
    came: HashMap<String, u32>,
}

impl Rows {
    /// A row came: again, if it was done before.
    pub(super) fn come(&mut self, queue: &str, id: &str, row: &Row) -> &mut Copy {
        let came = self.came.entry(id.to_owned()).or_default();
        *came += 1;
        let mut name = copy_id(queue, id);
        if *came > 1 {
            name = format!("{name}#{came}");
        }
        let copy = Copy {
            id: name,
            row: id.to_owned(),
            at: At::Waiting,
            seen: row.clone(),
            deliveries: 0,
            owner: None,
        };
        self.copies.insert(id.to_owned(), copy);
        self.copies.get_mut(id).expect("it was just put there")
    }
}
