//! What is done when faults of a passage were triggered. All of one passage decide together,
//! and act in one order, whichever was armed first:
//!
//! ```text
//! recorded ─▶ visibility ends ─▶ signals (SIGKILL last) ─▶ delay ─▶ hold ─▶ the call's own fate
//! ```
//!
//! Each acts on this passage or on none: what it no longer finds is missed.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::doom::Doom;
use super::faults::Triggered;
use super::interference::Held;
use super::state::State;
use super::{Board, Delivery};
use crate::fault::{Effect, Until};
use crate::history::Tally;
use crate::ids::{CallId, FaultId, MessageName};
use crate::tap::{Call, Request};

/// The triggered faults of a passage, by what they ask for.
#[derive(Default)]
struct Orders {
    visibility: Vec<Triggered>,
    signals: BTreeMap<Signal, Vec<FaultId>>,
    dooms: Vec<Doom>,
    delays: Vec<(FaultId, Duration)>,
    pauses: Vec<(FaultId, Duration)>,
    holds: Vec<(FaultId, Option<Until>)>,
    /// What becomes of the call itself.
    fates: Vec<Triggered>,
}

impl Orders {
    fn of(triggered: Vec<Triggered>) -> Self {
        let mut orders = Self::default();
        for mut one in triggered {
            orders.dooms.extend(one.doom.take());
            match &one.effect {
                Effect::Reappear => orders.visibility.push(one),
                // A call with several messages may be waited for by several faults: a
                // process is signalled once for all of them, and dies once.
                Effect::Signal(signal) => {
                    orders.signals.entry(*signal).or_default().push(one.fault);
                }
                Effect::Delay(delay) => orders.delays.push((one.fault, *delay)),
                Effect::Pause(pause) => orders.pauses.push((one.fault, *pause)),
                Effect::Hold(until) => orders.holds.push((one.fault, until.clone())),
                // It is no fate of a call, but a call of its own.
                Effect::AskOn => {}
                Effect::LoseRequest
                | Effect::LoseReply
                | Effect::Answer(_)
                | Effect::Duplicate
                | Effect::Pretend
                | Effect::AnswerFirst(_)
                | Effect::Spoil
                | Effect::Lengthen
                | Effect::Again(_)
                | Effect::RefuseEntry(_) => orders.fates.push(one),
            }
        }
        orders
    }
}

impl Board {
    /// Carries the effects of triggered faults out; says what becomes of the call.
    pub(super) async fn carry_out(&self, call: &Call, triggered: Vec<Triggered>) -> Held {
        let decided = self.0.history.last();
        let orders = Orders::of(triggered);
        for one in orders.visibility {
            self.reappear(one).await;
        }
        self.pause(call, &orders.pauses).await;
        let mut left = Left::new(self);
        left.expect(orders.delays.iter().map(|(fault, _)| *fault));
        left.expect(orders.holds.iter().map(|(fault, _)| *fault));
        left.expect(orders.fates.iter().map(|one| one.fault));
        if let Some(killer) = self.signal_all(call, orders.signals, orders.dooms).await {
            for one in orders.fates {
                // What dies at a call loses it, or its reply.
                if matches!(one.effect, Effect::LoseRequest | Effect::LoseReply) {
                    left.done(one.fault);
                    self.land(
                        one.fault,
                        format!("went down with its process ({})", call.id),
                    );
                }
            }
            return Held::Drop(killer);
        }
        self.delay(call, &orders.delays, &mut left).await;
        self.wait_at_stage(call, &orders.holds, decided, &mut left)
            .await;
        if self.is_ending(&call.author) {
            return Held::Free;
        }
        let (mut held, mut decided_by) = (Held::Free, None);
        for one in orders.fates {
            left.done(one.fault);
            let effect = one.effect.clone();
            let again = decided_by.as_ref() == Some(&effect);
            held = self.treat(call, one, held, again);
            if !matches!(held, Held::Free) {
                decided_by.get_or_insert(effect);
            }
        }
        held
    }

    /// Sends every signal that is asked for, SIGKILL last. Gives back who ordered that.
    async fn signal_all(
        &self,
        call: &Call,
        mut signals: BTreeMap<Signal, Vec<FaultId>>,
        dooms: Vec<Doom>,
    ) -> Option<FaultId> {
        let kills = signals.remove(&Signal::SIGKILL);
        let stops = signals.remove(&Signal::SIGSTOP);
        for (signal, faults) in signals {
            self.send_signal(call, faults, signal).await;
        }
        if let Some(faults) = stops {
            self.send_signal(call, faults, Signal::SIGSTOP).await;
            if kills.is_none() {
                self.while_stopped(call).await;
            }
        }
        let kills = kills?;
        let killer = kills.first().copied();
        dooms.into_iter().for_each(Doom::comes_to_pass);
        self.send_signal(call, kills, Signal::SIGKILL).await;
        killer
    }

    /// Stops the process that makes a call, and lets it go on once the longest of its pauses
    /// is over.
    async fn pause(&self, call: &Call, pauses: &[(FaultId, Duration)]) {
        let Some(longest) = pauses.iter().map(|(_, pause)| *pause).max() else {
            return;
        };
        let faults = pauses.iter().map(|(fault, _)| *fault).collect();
        self.send_signal(call, faults, Signal::SIGSTOP).await;
        let (Some(actor), Some(incarnation)) = (self.actor(), call.author.incarnation().cloned())
        else {
            return;
        };
        // A task of its own: whatever becomes of the call, its author goes on.
        let awake = tokio::spawn(async move {
            tokio::time::sleep(longest).await;
            actor.signal(incarnation, Signal::SIGCONT, None).await
        });
        let _ = awake.await;
        self.while_stopped(call).await;
    }

    /// Of several delays the longest counts: each asks for so much at least.
    async fn delay(&self, call: &Call, delays: &[(FaultId, Duration)], left: &mut Left<'_>) {
        for (fault, delay) in delays {
            // What is late at its dependency gets there; a reply goes with its caller.
            left.done(*fault);
            self.land(*fault, format!("is held back for {delay:?} ({})", call.id));
        }
        if let Some(longest) = delays.iter().map(|(_, delay)| *delay).max() {
            self.state().late.insert(call.id);
            tokio::time::sleep(longest).await;
            self.state().late.remove(&call.id);
        }
    }

    /// Resolves once the process may go on: when all that it waits for came true, or it was
    /// let go. Its author may die while it is held, which ends this too.
    async fn wait_at_stage(
        &self,
        call: &Call,
        holds: &[(FaultId, Option<Until>)],
        decided: u64,
        left: &mut Left<'_>,
    ) {
        if holds.is_empty() {
            return;
        }
        for (fault, _) in holds {
            left.done(*fault);
            self.land(*fault, format!("is held ({})", call.id));
        }
        let hold = Hold::begin(self, call);
        self.until(|| {
            let all = holds.iter().all(|(fault, until)| {
                let since = |until: &Until| if until.ever { 0 } else { decided };
                hold.is_taken_back(*fault)
                    || until
                        .as_ref()
                        .is_some_and(|until| self.passed_since(since(until), until))
            });
            (all || hold.is_let_go() || self.is_ending(&call.author)).then_some(())
        })
        .await;
    }

    fn passed_since(&self, start: u64, until: &Until) -> bool {
        let last = |tally: &Tally| tally.last_passage(&until.message, &until.stage);
        self.0.history.tally(last) > start
    }

    /// Ends the visibility of what was in hand when the fault was triggered.
    async fn reappear(&self, one: Triggered) {
        let Triggered {
            fault,
            message,
            in_flight,
            ..
        } = one;
        let Some(message) = message else {
            return self.miss(fault, "it cannot be told whose stage it was".to_owned());
        };
        if in_flight.is_empty() {
            return self.miss(fault, format!("nobody had {message} in hand"));
        }
        let count = in_flight.len();
        self.expire_now(in_flight).await;
        self.land(
            fault,
            format!("{count} deliveries of {message} became visible"),
        );
    }

    /// What a fault makes of the call itself. Only one thing can become of it: the fault that
    /// was armed first decides, and another one misses unless it asks for the same (`again`).
    fn treat(&self, call: &Call, one: Triggered, held: Held, again: bool) -> Held {
        let Triggered {
            fault,
            effect,
            message,
            ..
        } = one;
        let landed = |what: &str| self.land(fault, format!("{what} ({})", call.id));
        match (effect, held) {
            (Effect::LoseRequest, Held::Free) => {
                landed("was dropped before the dependency");
                Held::Drop(fault)
            }
            (Effect::LoseReply, Held::Free) => {
                landed("took effect and its reply was dropped");
                Held::Drop(fault)
            }
            (Effect::LoseRequest | Effect::LoseReply, Held::Drop(first)) => {
                landed("was dropped with it");
                Held::Drop(first)
            }
            (Effect::Answer(code), Held::Free) => match call.request.asks().refusal(&code) {
                Ok(reply) => {
                    landed(&format!("was answered {code} in the dependency's place"));
                    Held::Reply(fault, reply)
                }
                Err(reason) => {
                    self.miss(fault, reason);
                    Held::Free
                }
            },
            (Effect::Answer(code), Held::Reply(first, reply)) if again => {
                landed(&format!("was answered {code} in the dependency's place"));
                Held::Reply(first, reply)
            }
            (Effect::Duplicate, Held::Free) => {
                if matches!(call.request, Request::Postgres(_)) {
                    self.miss(fault, "a database connection repeats no call".to_owned());
                    return Held::Free;
                }
                if matches!(&call.request, Request::Http(request) if request.is_cut) {
                    let reason = "its body is passed on as it comes: of what is not held whole there is no second copy";
                    self.miss(fault, reason.to_owned());
                    return Held::Free;
                }
                // It lands when both copies were answered.
                self.state().doubled.insert(call.id, (vec![fault], 0));
                Held::Twice(fault)
            }
            (Effect::Duplicate, Held::Twice(first)) => {
                if let Some((faults, _)) = self.state().doubled.get_mut(&call.id) {
                    faults.push(fault);
                }
                Held::Twice(first)
            }
            (
                effect @ (Effect::Pretend
                | Effect::AnswerFirst(_)
                | Effect::Spoil
                | Effect::Lengthen
                | Effect::Again(_)),
                held,
            ) => {
                match self.misbehave(call, fault, &effect, held, again) {
                    Ok((held, Some(what))) => {
                        landed(what);
                        held
                    }
                    // It lands when its tap has done it.
                    Ok((held, None)) => held,
                    Err((held, reason)) => {
                        self.miss(fault, reason);
                        held
                    }
                }
            }
            (Effect::RefuseEntry(code), held @ (Held::Free | Held::Alter(..))) => {
                match self.refuse_entry(call, fault, &code, message.as_ref()) {
                    Ok(decided) => {
                        landed(&format!("its entry was refused with {code}"));
                        decided
                    }
                    Err(reason) => {
                        self.miss(fault, reason);
                        held
                    }
                }
            }
            (effect, held) => {
                let reason = format!("no {effect}: another fault decided over {} first", call.id);
                self.miss(fault, reason);
                held
            }
        }
    }
}

/// Faults of a passage that did not act yet. Where the passage ends before they could (its
/// caller died or went away), they miss.
struct Left<'b> {
    board: &'b Board,
    faults: Vec<FaultId>,
}

impl<'b> Left<'b> {
    fn new(board: &'b Board) -> Self {
        let faults = Vec::new();
        Self { board, faults }
    }

    fn expect(&mut self, faults: impl Iterator<Item = FaultId>) {
        self.faults.extend(faults);
    }

    fn done(&mut self, fault: FaultId) {
        if let Some(position) = self.faults.iter().position(|left| *left == fault) {
            self.faults.remove(position);
        }
    }
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        for fault in self.faults.drain(..) {
            let reason = "its passage ended before it could act: the process died or went away";
            self.board.miss(fault, reason.to_owned());
        }
    }
}

/// A process that a fault holds at a stage, for as long as this lives.
struct Hold<'b> {
    board: &'b Board,
    call: CallId,
}

impl<'b> Hold<'b> {
    fn begin(board: &'b Board, call: &Call) -> Self {
        board.state().holds.insert(call.id, call.author.clone());
        board.0.history.nudge();
        Self {
            board,
            call: call.id,
        }
    }

    fn is_let_go(&self) -> bool {
        !self.board.state().holds.contains_key(&self.call)
    }

    fn is_taken_back(&self, fault: FaultId) -> bool {
        let state = self.board.state();
        let mut faults = state.faults.iter();
        faults.any(|armed| armed.id == fault && armed.disarmed)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.board.state().holds.remove(&self.call);
    }
}

/// The deliveries that a fault at a stage of a message may make visible: what its passer has
/// in hand, else what anybody has.
pub(super) fn in_flight(
    state: &State,
    call: &Call,
    message: Option<&MessageName>,
) -> Vec<Delivery> {
    let Some(message) = message else {
        return Vec::new();
    };
    let all = state.deliveries.unsettled_for(message);
    let own: Vec<_> = all
        .iter()
        .filter(|delivery| call.author.incarnation() == Some(&delivery.owner))
        .cloned()
        .collect();
    if own.is_empty() { all } else { own }
}
