//! Both boundaries of every call: what the taps ask, and what they are told.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::super::facts;
use super::Board;
use super::interference::{Held, Misdeed};
use crate::checkpoint;
use crate::history::{Event, hex};
use crate::ids::{Author, CallId, ConnectionId, DependencyName};
use crate::protocol::queue::QueueEffect;
use crate::stage::{self, Passage};
use crate::tap::{After, Before, Call, Director, Discard, Extent, HttpReply, Reply, Request, Side};

impl Director for Board {
    fn next_call(&self) -> CallId {
        let mut state = self.state();
        state.calls += 1;
        CallId(state.calls)
    }

    fn connected(&self, author: &Author, dependency: &DependencyName) -> ConnectionId {
        let connection = {
            let mut state = self.state();
            state.connections += 1;
            ConnectionId(state.connections)
        };
        self.0.history.append(Event::Connected {
            connection,
            author: author.clone(),
            dependency: dependency.clone(),
        });
        connection
    }

    fn reached(&self, dependency: &DependencyName, local: SocketAddr) {
        let mut state = self.state();
        let ports = state.tap_ports.entry(dependency.clone()).or_default();
        ports.insert(local.port());
    }

    fn reads_bodies(&self, dependency: &DependencyName) -> bool {
        stage::reads_bodies(&self.0.manifest, dependency)
    }

    fn reads_replies(&self, dependency: &DependencyName) -> bool {
        let submit = self.0.manifest.messages.submit.role();
        submit.is_some_and(|role| role.as_str() == dependency.as_str())
    }

    fn streamed(&self, call: &Call, side: Side, len: u64, sha256: &[u8], whole: bool) {
        self.0.history.append(Event::Streamed {
            call: call.id,
            side,
            len,
            sha256: hex(sha256),
            whole,
        });
    }

    fn disconnected(&self, connection: ConnectionId, reason: &str) {
        {
            let mut state = self.state();
            state.writing.remove(&connection);
            state.transactions.remove(&connection);
            state.open.retain(|_, (of, _)| *of != connection);
        }
        self.0.history.append(Event::Disconnected {
            connection,
            reason: reason.to_owned(),
        });
    }

    fn before(&self, call: Arc<Call>) -> BoxFuture<'static, Before> {
        let messages = self.record_call(&call);
        self.survey_call(&call);
        self.keep_call(&call);
        let board = self.clone();
        Box::pin(async move {
            if board.is_ending(&call.author) {
                board.inject(&call, Side::Before, "dropped: its author is ending", None);
                return Before::Discard(Discard::Close);
            }
            if let Some(job) = board.job_served(&call) {
                board.until_told(&job).await;
            }
            let passages = match &call.request {
                Request::Http(request) if call.dependency.as_str() == checkpoint::DEPENDENCY => {
                    match board.checkpoint(&call, request) {
                        Ok(passages) => passages,
                        Err(reason) => {
                            board.doubt_once(&reason);
                            board.inject(&call, Side::Before, "answered 404", None);
                            return Before::Answer(no_such_stage(&reason));
                        }
                    }
                }
                _ => stage::passed_before(&board.0.manifest, &call, &board.0.queues),
            };
            match board.hold(&call, Side::Before, None, passages).await {
                Held::Free => match board.outlast(&call, &messages).await {
                    Before::Forward if board.asks_on(&call).is_some() => Before::ForwardAgain(None),
                    before => before,
                },
                Held::Drop(fault) => {
                    board.inject(&call, Side::Before, "dropped", Some(fault));
                    Before::Discard(Discard::Close)
                }
                Held::Reply(fault, reply) => {
                    let what = format!("answered {}", reply.summary());
                    board.inject(&call, Side::Before, &what, Some(fault));
                    Before::Answer(reply)
                }
                Held::Twice(fault) => {
                    board.note_injection(&call, Side::Before, "passed on twice", Some(fault));
                    Before::ForwardTwice
                }
                Held::Alter(fault, body) => {
                    let what = "passed on with another body";
                    board.note_injection(&call, Side::Before, what, Some(fault));
                    Before::ForwardInstead(body)
                }
                Held::Misbehave(fault, misdeed) => {
                    let (what, before) = match misdeed {
                        Misdeed::TakeBack => ("to be taken back", Before::TakeBack),
                        Misdeed::AnswerFirst(later) => {
                            ("to be answered first", Before::AnswerFirst(later))
                        }
                        Misdeed::Again(later) => {
                            ("to be made again", Before::ForwardAgain(Some(later)))
                        }
                        Misdeed::Spoil => ("to get there altered", Before::Spoil),
                    };
                    board.note_injection(&call, Side::Before, what, Some(fault));
                    before
                }
            }
        })
    }

    fn forwarded(&self, call: &Call, extent: Extent) {
        if extent != Extent::Whole {
            self.0.history.append(Event::NotForwarded {
                call: call.id,
                extent,
            });
        }
    }

    fn after(
        &self,
        call: Arc<Call>,
        reply: Arc<Reply>,
        deliverable: bool,
    ) -> BoxFuture<'static, After> {
        self.note_copy(&call, &reply);
        self.survey_reply(&call, &reply);
        self.keep_reply(&call, &reply);
        self.learn_told(&call, &reply);
        let orphans = self.record_reply(&call, &reply, deliverable);
        self.give_back(orphans);
        let board = self.clone();
        Box::pin(async move {
            board.doubt_hidden(&call, &reply);
            board.doubt_unbacked(&reply);
            let passages = stage::passed_after(&board.0.manifest, &call, &reply, &board.0.queues);
            if !deliverable || board.is_ending(&call.author) {
                // The effect took place: the passage counts, but nobody is there to act on.
                board.note_passages(&call, passages).await;
                return After::Discard(Discard::Close);
            }
            match board.hold(&call, Side::After, Some(&reply), passages).await {
                Held::Drop(fault) => {
                    board.inject(&call, Side::After, "reply dropped", Some(fault));
                    // Nobody has what a lost reply hands over.
                    board.give_back(board.forget_delivered(&call, &reply));
                    After::Discard(Discard::Close)
                }
                Held::Reply(fault, reply) => {
                    let what = format!("replaced by {}", reply.summary());
                    board.inject(&call, Side::After, &what, Some(fault));
                    After::Replace(reply)
                }
                Held::Free | Held::Twice(_) | Held::Alter(..) | Held::Misbehave(..) => {
                    match board.with_refused_entries(&call, &reply) {
                        Some(reply) => After::Replace(reply),
                        None => board.aftermath(&call, &reply).await,
                    }
                }
            }
        })
    }

    fn misannounced(&self, author: &Author, reason: &str) {
        let who = author.incarnation().map_or_else(
            || "something".to_owned(),
            |incarnation| format!("the {}", incarnation.role),
        );
        self.doubt_once(&format!("{who} announced no stage: {reason}"));
    }

    fn is_late(&self, call: &Call) -> bool {
        self.state().late.contains(&call.id)
    }

    fn queue_effects(&self, call: &Call, effects: &[QueueEffect]) {
        let mut orphans = Vec::new();
        for effect in effects {
            let fact = facts::of_effect(&self.0.manifest, call, effect);
            orphans.extend(self.learn(call, fact, true));
        }
        self.give_back(orphans);
        self.0.history.nudge();
    }

    fn misbehaved(&self, call: &Call, outcome: Result<&str, &str>) {
        self.note_misdeed(call, outcome);
    }

    fn moment(&self, call: &Call) -> BoxFuture<'static, bool> {
        self.moment_to_ask(call)
    }

    fn abandoned(&self, call: &Call, side: Side) {
        let mut state = self.state();
        state.open.remove(&call.id);
        state.late.remove(&call.id);
        drop(state);
        self.0.history.append(Event::Abandoned {
            call: call.id,
            side,
        });
    }
}

fn no_such_stage(reason: &str) -> Reply {
    Reply::Http(HttpReply {
        status: 404,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: Bytes::from(format!("{reason}\n")),
    })
}

impl Board {
    /// Runs a decision and marks the call as held meanwhile; an author that dies of
    /// something else ends it.
    async fn hold(
        &self,
        call: &Call,
        side: Side,
        reply: Option<&Reply>,
        passages: Vec<Passage>,
    ) -> Held {
        let interfered = self.interfered(call, side, reply);
        if passages.is_empty() && interfered.is_empty() {
            return Held::Free;
        }
        let guard = HeldGuard::new(self.clone(), call, side);
        let mut triggered = self.pass(call, passages).await;
        triggered.extend(self.interfere(call, side, interfered));
        let held = self.carry_out(call, triggered).await;
        drop(guard);
        held
    }
}

/// Marks a call as held for as long as it lives.
pub(super) struct HeldGuard {
    board: Board,
    call: CallId,
}

impl HeldGuard {
    pub(super) fn new(board: Board, call: &Call, side: Side) -> Self {
        let what = format!(
            "{} of {} ({side:?})",
            call.request.asks().summary(),
            call.author
        );
        board.state().held.insert(call.id, what);
        Self {
            board,
            call: call.id,
        }
    }
}

impl Drop for HeldGuard {
    fn drop(&mut self) {
        self.board.state().held.remove(&self.call);
        self.board.0.history.nudge();
    }
}
