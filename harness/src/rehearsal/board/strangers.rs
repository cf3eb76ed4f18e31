//! Ids that mean nothing yet: a system can be quicker than its answer to the client.
//!
//! The client learns a job's id with the answer to its submission. By then the job may
//! have been sent, received and begun. Whatever says such an id waits until every
//! submission that was under way by then is answered, so that the history names its
//! message. One that began later cannot have made it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::deliveries::Delivery;
use super::super::facts::{self, Fact};
use super::Board;
use super::state::State;
use crate::ids::{Author, MessageName};
use crate::tap::{Call, Reply};

impl Board {
    /// Whether a call of this author can be held until submissions are answered: not
    /// when the answer itself may wait for the call.
    pub(super) fn may_await_submissions(&self, author: &Author) -> bool {
        author
            .incarnation()
            .is_some_and(|by| self.0.manifest.messages.submit.role() != Some(&by.role))
    }

    /// The submissions that are under way: whatever is seen now may be of one of them.
    pub(super) fn under_way(&self) -> UnderWay {
        UnderWay(self.state().submitting.clone())
    }

    /// Resolves once each group of ids means a message, or no submission is under way that
    /// was when they were seen.
    pub(super) async fn acquainted(&self, groups: &[Vec<String>]) {
        let under_way = self.under_way();
        self.until(|| {
            let state = self.state();
            (!under_way.lasts(&state) || are_known(&state, groups)).then_some(())
        })
        .await;
    }

    fn are_strangers(&self, groups: &[Vec<String>]) -> bool {
        let state = self.state();
        !state.submitting.is_empty() && !are_known(&state, groups)
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
            board.0.history.nudge();
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

/// Submissions that were under way at one moment.
pub(super) struct UnderWay(BTreeSet<MessageName>);

impl UnderWay {
    /// Whether any of them still is.
    pub(super) fn lasts(&self, state: &State) -> bool {
        self.0
            .iter()
            .any(|message| state.submitting.contains(message))
    }
}

fn are_known(state: &State, groups: &[Vec<String>]) -> bool {
    groups
        .iter()
        .all(|ids| ids.is_empty() || !state.aliases.messages(ids).is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::task::Poll;

    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::*;
    use crate::history::{Event, History};
    use crate::ids::{CallId, ConnectionId, Incarnation};
    use crate::manifest::Manifest;
    use crate::stage::Subject;
    use crate::tap::{Before, Director, Request, SqsReply, SqsRequest};

    struct Table {
        board: Board,
        _directory: TempDir,
    }

    impl Table {
        /// An order desk on which M1 is being submitted.
        fn new() -> Self {
            let directory = TempDir::new().unwrap();
            let manifest = Manifest::load(Path::new("tests/python_system/rehearsal.yaml")).unwrap();
            let history = History::begin(directory.path(), Vec::new()).unwrap();
            let board = Board::new(Arc::new(manifest), Arc::new(history), BTreeMap::new());
            for role in ["counter", "runner", "packer"] {
                board.register(&incarnation(role), &Arc::default());
            }
            board.submitting(&"M1".into());
            Self {
                board,
                _directory: directory,
            }
        }

        fn delivered(&self) -> Vec<Option<MessageName>> {
            let of = |entry: &crate::history::Entry| match &entry.event {
                Event::Delivered { message, .. } => Some(message.clone()),
                _ => None,
            };
            self.board
                .history()
                .read(|entries| entries.iter().filter_map(of).collect())
        }
    }

    fn incarnation(role: &str) -> Incarnation {
        Incarnation {
            role: role.into(),
            instance: 1,
            start: 1,
        }
    }

    fn call(role: &str, action: &str, body: Value) -> Arc<Call> {
        Arc::new(Call {
            id: CallId(1),
            author: Author::Process(incarnation(role)),
            dependency: "belt".into(),
            connection: ConnectionId(1),
            request: Request::Sqs(SqsRequest {
                action: action.to_owned(),
                queue: Some("orders".to_owned()),
                body,
                invocation: None,
                attempt: 1,
            }),
        })
    }

    fn send(role: &str) -> Arc<Call> {
        call(
            role,
            "SendMessage",
            json!({"MessageBody": r#"{"number": 7}"#}),
        )
    }

    fn delivery() -> Arc<Reply> {
        let message = json!({"MessageId": "m", "ReceiptHandle": "r", "Body": r#"{"number": 7}"#});
        Arc::new(Reply::Sqs(SqsReply {
            status: 200,
            error: None,
            body: json!({"Messages": [message]}),
        }))
    }

    #[tokio::test]
    async fn what_is_sent_before_the_client_knows_its_id_waits_for_the_answer() {
        let table = Table::new();
        let mut before = table.board.before(send("runner"));
        assert!(futures::poll!(&mut before).is_pending());
        table.board.accepted(&"M1".into(), "7");
        assert!(matches!(before.await, Before::Forward));
    }

    #[tokio::test]
    async fn a_submission_that_began_later_is_not_waited_for() {
        let table = Table::new();
        let mut before = table.board.before(send("runner"));
        assert!(futures::poll!(&mut before).is_pending());
        table.board.submitting(&"M2".into());
        table.board.accepted(&"M1".into(), "8");
        assert!(matches!(before.await, Before::Forward));
    }

    #[tokio::test]
    async fn a_refusal_ends_the_wait() {
        let table = Table::new();
        let mut before = table.board.before(send("runner"));
        assert!(futures::poll!(&mut before).is_pending());
        table.board.refused(&"M1".into(), "503");
        assert!(matches!(before.await, Before::Forward));
    }

    #[tokio::test]
    async fn the_process_that_answers_the_client_never_waits_for_its_own_answer() {
        let table = Table::new();
        let call = send("counter");
        let mut before = table.board.before(Arc::clone(&call));
        assert!(matches!(
            futures::poll!(&mut before),
            Poll::Ready(Before::Forward)
        ));
        let subject = Subject {
            ids: vec!["7".to_owned()],
            ..Subject::default()
        };
        assert!(table.board.attribute(&call, &subject).await.is_empty());
    }

    #[tokio::test]
    async fn what_is_received_before_the_client_knows_its_id_is_recorded_with_its_message() {
        let table = Table::new();
        let receive = call("packer", "ReceiveMessage", json!({}));
        let mut after = table.board.after(receive, delivery(), true);
        assert!(futures::poll!(&mut after).is_pending());
        assert!(table.delivered().is_empty());
        table.board.accepted(&"M1".into(), "7");
        after.await;
        assert_eq!(table.delivered(), [Some("M1".into())]);
    }

    #[tokio::test]
    async fn a_receiver_that_goes_away_meanwhile_leaves_its_delivery_on_record() {
        let table = Table::new();
        let receive = call("packer", "ReceiveMessage", json!({}));
        let mut after = table.board.after(receive, delivery(), true);
        assert!(futures::poll!(&mut after).is_pending());
        drop(after);
        table.board.exited(&incarnation("packer"), None, None, None);
        assert!(table.board.drained(&incarnation("packer")).is_empty());
        table.board.accepted(&"M1".into(), "7");
        let recorded = || (!table.delivered().is_empty()).then_some(());
        table.board.until(recorded).await;
        assert_eq!(table.delivered(), [Some("M1".into())]);
        let unsettled = || {
            let state = table.board.state();
            state
                .deliveries
                .unsettled_of(&incarnation("packer"))
                .is_empty()
                .then_some(())
        };
        table.board.until(unsettled).await;
    }
}
