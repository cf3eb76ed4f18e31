//! Ids that mean nothing yet: a system can be quicker than its answer to the client.
//!
//! The client learns a job's id with the answer to its submission. By then the job may
//! have been sent, received and begun. Whatever says such an id waits until no submission
//! is under way, so that the history names its message.

use std::sync::Arc;

use super::super::deliveries::Delivery;
use super::super::facts::{self, Fact};
use super::Board;
use crate::ids::Author;
use crate::tap::{Call, Reply};

impl Board {
    /// Whether a call of this author can be held until submissions are answered: not
    /// when the answer itself may wait for the call.
    pub(super) fn may_await_submissions(&self, author: &Author) -> bool {
        author
            .incarnation()
            .is_some_and(|by| by.role != self.0.manifest.messages.submit.role)
    }

    /// Resolves once each group of ids means a message, or no submission is under way.
    pub(super) async fn acquainted(&self, groups: &[Vec<String>]) {
        self.until(|| (!self.are_strangers(groups)).then_some(()))
            .await;
    }

    fn are_strangers(&self, groups: &[Vec<String>]) -> bool {
        let state = self.state();
        !state.submitting.is_empty()
            && groups
                .iter()
                .any(|ids| !ids.is_empty() && state.aliases.messages(ids).is_empty())
    }

    /// The ids that a call sends to a queue, if it is to wait for their meaning.
    pub(super) fn strangers_sent(&self, call: &Call) -> Option<Vec<Vec<String>>> {
        let groups = facts::ids_sent(&self.0.manifest, call);
        (self.may_await_submissions(&call.author) && self.are_strangers(&groups)).then_some(groups)
    }

    /// The ids that a reply delivers from a queue, if it is to wait for their meaning.
    pub(super) fn strangers_delivered(
        &self,
        call: &Call,
        reply: &Reply,
    ) -> Option<Vec<Vec<String>>> {
        let groups: Vec<Vec<String>> = facts::of(&self.0.manifest, call, reply)
            .into_iter()
            .filter_map(|fact| match fact {
                // A message without an id of its own may never mean anything.
                Fact::Delivered { ids, .. } if ids.is_empty() => None,
                Fact::Delivered {
                    mut ids,
                    message_id,
                    ..
                } => {
                    ids.push(message_id);
                    Some(ids)
                }
                _ => None,
            })
            .collect();
        (self.may_await_submissions(&call.author) && self.are_strangers(&groups)).then_some(groups)
    }

    /// Records a reply once its ids mean something, also when its caller goes away
    /// meanwhile, and gives back what nobody got.
    pub(super) async fn record_strangers(
        &self,
        call: &Arc<Call>,
        reply: &Arc<Reply>,
        deliverable: bool,
        groups: Vec<Vec<String>>,
    ) {
        let (board, call, reply) = (self.clone(), Arc::clone(call), Arc::clone(reply));
        let recording = tokio::spawn(async move {
            board.acquainted(&groups).await;
            let mut orphans = board.record_reply(&call, &reply, deliverable);
            // Its owner's death may have been dealt with already.
            orphans.extend(board.bereaved(&call));
            board.give_back(orphans);
        });
        // Aborted with the runtime only.
        let _ = recording.await;
    }

    /// Deliveries of an author that is gone.
    fn bereaved(&self, call: &Call) -> Vec<Delivery> {
        let mut state = self.state();
        let Some(owner) = call.author.incarnation() else {
            return Vec::new();
        };
        if state.living.contains_key(owner) {
            return Vec::new();
        }
        let orphans: Vec<Delivery> = state
            .deliveries
            .unsettled_of(owner)
            .into_iter()
            .cloned()
            .collect();
        for orphan in &orphans {
            state.deliveries.end(&orphan.receipt);
        }
        orphans
    }
}
