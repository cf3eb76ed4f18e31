//! The board of one rehearsal: everything known at this moment, and the decisions at
//! every boundary. Taps ask it ([`Director`]); what it learns goes to the history
//! first.
//!
//! ```text
//! tap ── before/after ──▶ board ── stage passed? fault armed? ──▶ actor (signals)
//!                          │
//!                          └──▶ history
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::future::BoxFuture;
use nix::sys::signal::Signal;

use super::aliases::Aliases;
use super::deliveries::{Deliveries, Delivery};
use super::facts::{self, Fact};
use super::summary;
use crate::checkpoint::{self, Announcement};
use crate::fault::{Effect, Fault};
use crate::history::{Attribution, DeathCause, Event, History};
use crate::ids::{
    Author, CallId, ConnectionId, DependencyName, FaultId, Incarnation, MessageName, RoleName,
    StageName,
};
use crate::manifest::{Manifest, Ready};
use crate::outage::{Aftermath, Outages, Treatment};
use crate::stage::{self, Passage, Subject};
use crate::tap::{
    After, Before, Call, Director, Discard, Extent, HttpRequest, Reply, Request, Side,
};

/// Who carries out what the board decides.
pub(super) trait Actor: Send + Sync {
    /// Sends a signal and returns what was seen of it. For KILL it returns once the
    /// process was reaped.
    fn signal(
        &self,
        incarnation: Incarnation,
        signal: Signal,
        fault: Option<FaultId>,
    ) -> BoxFuture<'static, Result<String, String>>;

    /// Makes deliveries that nobody has visible at once.
    fn expire(&self, orphans: Vec<Delivery>) -> BoxFuture<'static, ()>;
}

/// What is known of one rehearsal at this moment.
#[derive(Clone)]
pub(super) struct Board(Arc<Inner>);

struct Inner {
    manifest: Arc<Manifest>,
    history: Arc<History>,
    /// Queue names at the dependency by (dependency, name in the manifest).
    queues: BTreeMap<(DependencyName, String), String>,
    actor: OnceLock<Arc<dyn Actor>>,
    outages: Outages,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fault_ids: u64,
    calls: u64,
    connections: u64,
    faults: Vec<Armed>,
    aliases: Aliases,
    deliveries: Deliveries,
    submitting: BTreeSet<MessageName>,
    flights: BTreeMap<CallId, Flight>,
    held: BTreeMap<CallId, String>,
    living: BTreeMap<Incarnation, Life>,
    receives: BTreeMap<Incarnation, Receive>,
    /// Incarnations that made the call which shows that they are ready.
    called: BTreeSet<Incarnation>,
    ticks: BTreeMap<usize, u64>,
    effects: BTreeMap<Author, u64>,
    announced: BTreeMap<MessageName, RoleName>,
    bodies: BTreeMap<MessageName, String>,
}

struct Armed {
    id: FaultId,
    fault: Fault,
    passages: u32,
    landed: u32,
    disarmed: bool,
}

struct Flight {
    began: u64,
}

/// What an incarnation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    Stopped,
    Ending,
}

/// The latest receive of a consumer.
#[derive(Clone, Copy, Debug)]
struct Receive {
    call: CallId,
    began: u64,
    /// Still open, or ended without a message.
    empty_handed: bool,
}

/// Why it is not quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Busy(pub(super) Vec<String>);

impl Board {
    pub(super) fn new(
        manifest: Arc<Manifest>,
        history: Arc<History>,
        queues: BTreeMap<(DependencyName, String), String>,
    ) -> Self {
        let outages = Outages::new(Arc::clone(&manifest), Arc::clone(&history));
        Self(Arc::new(Inner {
            manifest,
            history,
            queues,
            actor: OnceLock::new(),
            outages,
            state: Mutex::default(),
        }))
    }

    /// Gives the board its hands. Once.
    pub(super) fn set_actor(&self, actor: Arc<dyn Actor>) {
        assert!(
            self.0.actor.set(actor).is_ok(),
            "a board gets its actor once"
        );
    }

    pub(super) fn history(&self) -> &Arc<History> {
        &self.0.history
    }

    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        &self.0.manifest
    }

    /// The outages of this rehearsal.
    pub(super) fn outages(&self) -> &Outages {
        &self.0.outages
    }

    /// A number for a fault or an outage.
    pub(super) fn next_fault(&self) -> FaultId {
        let mut state = self.state();
        state.fault_ids += 1;
        FaultId(state.fault_ids)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something, looking again after each new entry.
    pub(super) async fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let mut last = self.0.history.watch();
        loop {
            last.mark_unchanged();
            if let Some(found) = look() {
                return found;
            }
            // The sender lives as long as the history.
            let _ = last.changed().await;
        }
    }

    // Messages

    pub(super) fn declare(&self, message: &MessageName, kills: Option<RoleName>, ids: &[&str]) {
        self.0.outages.declare(message);
        let mut state = self.state();
        for id in ids {
            state.aliases.learn(id, message);
        }
        if let Some(role) = kills {
            state.announced.insert(message.clone(), role);
        }
    }

    pub(super) fn submitting(&self, message: &MessageName) {
        self.state().submitting.insert(message.clone());
        self.0.history.append(Event::Submitting {
            message: message.clone(),
        });
    }

    pub(super) fn accepted(&self, message: &MessageName, job: &str) {
        {
            let mut state = self.state();
            state.aliases.learn(job, message);
            state.submitting.remove(message);
        }
        let seq = self.0.history.append(Event::Accepted {
            message: message.clone(),
            job: job.to_owned(),
        });
        self.state().effects.insert(Author::Client, seq);
        self.0.history.nudge();
    }

    pub(super) fn refused(&self, message: &MessageName, reason: &str) {
        self.state().submitting.remove(message);
        self.0.history.append(Event::Refused {
            message: message.clone(),
            reason: reason.to_owned(),
        });
    }

    /// A service that the harness plays has answered a request.
    pub(super) fn performed(
        &self,
        dependency: &DependencyName,
        request: String,
        write: bool,
        job: Option<String>,
        status: u16,
    ) {
        let message = job
            .as_ref()
            .and_then(|job| self.state().aliases.get(job).cloned());
        let dependency = dependency.clone();
        self.0.history.append(Event::Performed {
            dependency,
            request,
            write,
            message,
            job,
            status,
        });
    }

    /// What the queue delivered of a message, the first time.
    pub(super) fn delivered_body(&self, message: &MessageName) -> Option<String> {
        self.state().bodies.get(message).cloned()
    }

    // Processes

    /// An incarnation is about to start: its calls count from now on.
    pub(super) fn register(&self, incarnation: &Incarnation) {
        self.state()
            .living
            .insert(incarnation.clone(), Life::Running);
    }

    /// It could not be started after all.
    pub(super) fn unregister(&self, incarnation: &Incarnation) {
        self.state().living.remove(incarnation);
    }

    pub(super) fn ready(&self, incarnation: &Incarnation) {
        self.0.history.append(Event::Ready {
            incarnation: incarnation.clone(),
        });
    }

    /// Resolves once an incarnation made the call that shows it is ready.
    pub(super) async fn first_call(&self, incarnation: &Incarnation) {
        self.until(|| self.state().called.contains(incarnation).then_some(()))
            .await;
    }

    pub(super) fn started(&self, incarnation: &Incarnation, pid: i32) {
        self.0.history.append(Event::Started {
            incarnation: incarnation.clone(),
            pid,
        });
    }

    pub(super) fn set_life(&self, incarnation: &Incarnation, life: Life) {
        if let Some(current) = self.state().living.get_mut(incarnation) {
            *current = life;
        }
        self.0.history.nudge();
    }

    /// A process was reaped; says why as far as the board can tell.
    pub(super) fn exited(
        &self,
        incarnation: &Incarnation,
        code: Option<i32>,
        signal: Option<String>,
        wanted: Option<DeathCause>,
    ) {
        let (cause, in_hand) = {
            let mut state = self.state();
            state.living.remove(incarnation);
            state.receives.remove(incarnation);
            let unsettled: BTreeSet<MessageName> = state
                .deliveries
                .unsettled_of(incarnation)
                .into_iter()
                .filter_map(|delivery| delivery.message.clone())
                .collect();
            let announced = unsettled
                .iter()
                .any(|message| state.announced.get(message) == Some(&incarnation.role));
            let by_message = if announced {
                DeathCause::Announced
            } else {
                DeathCause::Unexpected
            };
            (wanted.unwrap_or(by_message), unsettled)
        };
        self.0.history.append(Event::Exited {
            incarnation: incarnation.clone(),
            code,
            signal,
            cause,
            in_hand: in_hand.into_iter().collect(),
        });
    }

    /// All connections of an ended incarnation have ended: what it held is nobody's.
    pub(super) fn drained(&self, incarnation: &Incarnation) -> Vec<Delivery> {
        self.0.history.append(Event::Drained {
            incarnation: incarnation.clone(),
        });
        let mut state = self.state();
        let orphans: Vec<Delivery> = state
            .deliveries
            .unsettled_of(incarnation)
            .into_iter()
            .cloned()
            .collect();
        for orphan in &orphans {
            state.deliveries.end(&orphan.receipt);
        }
        drop(state);
        self.0.history.nudge();
        orphans
    }

    // Faults

    pub(super) fn arm(&self, fault: Fault) -> FaultId {
        let id = self.next_fault();
        let mut state = self.state();
        let (text, expected) = (fault.to_string(), fault.times.expected());
        state.faults.push(Armed {
            id,
            fault,
            passages: 0,
            landed: 0,
            disarmed: false,
        });
        drop(state);
        self.0.history.append(Event::Armed {
            fault: id,
            text,
            expected,
        });
        id
    }

    pub(super) fn disarm_all(&self) {
        let ids: Vec<FaultId> = self
            .state()
            .faults
            .iter_mut()
            .filter(|armed| !armed.disarmed)
            .map(|armed| {
                armed.disarmed = true;
                armed.id
            })
            .collect();
        for fault in ids {
            self.0.history.append(Event::Disarmed { fault });
        }
    }

    // Quiet

    /// What still goes on, by what the board knows itself: the queues' own counts are
    /// for the caller.
    pub(super) fn busy(&self, starting: &[String]) -> Result<(), Busy> {
        let state = self.state();
        let mut reasons: Vec<String> = Vec::new();
        reasons.extend(
            starting
                .iter()
                .map(|process| format!("{process} is starting")),
        );
        reasons.extend(
            state
                .submitting
                .iter()
                .map(|message| format!("{message} is being submitted")),
        );
        reasons.extend(state.held.values().map(|what| format!("held: {what}")));
        reasons.extend(self.0.outages.passing());
        reasons.extend(
            state
                .faults
                .iter()
                .filter(|armed| armed.is_pending())
                .map(|armed| format!("armed: {} (landed {} times)", armed.fault, armed.landed)),
        );
        for delivery in state.deliveries.held() {
            if state.living.contains_key(&delivery.owner) {
                let message = delivery
                    .message
                    .as_ref()
                    .map_or_else(|| delivery.message_id.clone(), ToString::to_string);
                reasons.push(format!("{} has {message} in hand", delivery.owner));
            }
        }
        for incarnation in state.living.keys() {
            let consumes = self
                .0
                .manifest
                .processes
                .get(&incarnation.role)
                .is_some_and(|process| process.consumes.is_some());
            if !consumes {
                continue;
            }
            let own = Author::Process(incarnation.clone());
            let effect = state.effects.get(&own).copied().unwrap_or_default();
            let waiting = state
                .receives
                .get(incarnation)
                .is_some_and(|receive| receive.empty_handed && receive.began > effect);
            if !waiting {
                reasons.push(format!(
                    "{incarnation} has not asked for more since its last effect"
                ));
            }
        }
        for (index, background) in self.0.manifest.background.iter().enumerate() {
            if !state
                .living
                .keys()
                .any(|incarnation| incarnation.role == background.role)
            {
                continue;
            }
            let others = state
                .effects
                .iter()
                .filter(|(author, _)| {
                    author
                        .incarnation()
                        .is_none_or(|by| by.role != background.role)
                })
                .map(|(_, seq)| *seq)
                .max()
                .unwrap_or_default();
            if state.ticks.get(&index).copied().unwrap_or_default() < others {
                reasons.push(format!(
                    "{} has not ticked since the last effect",
                    background.role
                ));
            }
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(Busy(reasons))
        }
    }

    /// Whether anybody alive consumes this queue of the manifest.
    pub(super) fn has_consumer(&self, dependency: &DependencyName, queue: &str) -> bool {
        self.state().living.iter().any(|(incarnation, life)| {
            *life == Life::Running
                && self
                    .0
                    .manifest
                    .processes
                    .get(&incarnation.role)
                    .is_some_and(|process| {
                        process
                            .consumes
                            .as_ref()
                            .is_some_and(|(of, name)| of == dependency && name == queue)
                    })
        })
    }

    // Calls

    fn record_call(&self, call: &Call) -> BTreeSet<MessageName> {
        let ids = stage::ids_of(&self.0.manifest, call);
        let summary = summary::request(call);
        let content = self.0.history.blob(&summary::request_content(call));
        let (messages, attribution) = {
            let state = self.state();
            let messages = match &call.request {
                Request::Http(request) if call.dependency.as_str() == checkpoint::DEPENDENCY => {
                    let announcement = Announcement::read(request);
                    state
                        .aliases
                        .messages(announcement.job.iter().chain(&announcement.message_id))
                }
                _ => state.aliases.messages(&ids),
            };
            if !messages.is_empty() {
                (messages, Attribution::Id)
            } else if let Some(message) = state.sole_in_hand(&call.author) {
                (BTreeSet::from([message]), Attribution::InHand)
            } else {
                (messages, Attribution::None)
            }
        };
        let shows_ready = call.author.incarnation().filter(|incarnation| {
            let process = self.0.manifest.processes.get(&incarnation.role);
            process.is_some_and(|process| match &process.ready {
                Ready::Call {
                    dependency,
                    pattern,
                } => {
                    *dependency == call.dependency
                        && stage::matches_call(call, pattern, &self.0.queues)
                }
                _ => false,
            })
        });
        if let Some(incarnation) = shows_ready {
            self.state().called.insert(incarnation.clone());
        }
        let began = self.0.history.append(Event::Called {
            call: call.id,
            connection: call.connection,
            author: call.author.clone(),
            dependency: call.dependency.clone(),
            summary,
            messages: messages.iter().cloned().collect(),
            attribution,
            content,
        });
        let mut state = self.state();
        state.flights.insert(call.id, Flight { began });
        if let (Request::Sqs(request), Some(incarnation)) =
            (&call.request, call.author.incarnation())
            && request.action == "ReceiveMessage"
        {
            let receive = Receive {
                call: call.id,
                began,
                empty_handed: true,
            };
            state.receives.insert(incarnation.clone(), receive);
        }
        drop(state);
        self.0.history.nudge();
        messages
    }

    fn record_reply(&self, call: &Call, reply: &Reply, deliverable: bool) -> Vec<Delivery> {
        let ok = summary::is_success(reply);
        self.0.history.append(Event::Replied {
            call: call.id,
            summary: summary::reply(reply),
            deliverable,
            ok,
            content: self.0.history.blob(&summary::reply_content(reply)),
        });
        let mut orphans = Vec::new();
        {
            let mut state = self.state();
            let flight = state.flights.remove(&call.id);
            if let (Some(flight), true) = (flight, ok) {
                for (index, background) in self.0.manifest.background.iter().enumerate() {
                    let by_role = call.author.incarnation().map(|by| &by.role);
                    if by_role == Some(&background.role)
                        && background.dependency == call.dependency
                        && stage::matches_call(call, &background.pattern, &self.0.queues)
                    {
                        state.ticks.insert(index, flight.began);
                    }
                }
            }
        }
        for fact in facts::of(&self.0.manifest, call, reply) {
            orphans.extend(self.learn(call, fact, deliverable));
        }
        if summary::wrote(call, reply) {
            let ids = stage::ids_of(&self.0.manifest, call);
            let mut state = self.state();
            if !state.aliases.messages(&ids).is_empty() {
                state
                    .effects
                    .insert(call.author.clone(), self.0.history.last());
            }
        }
        self.0.history.nudge();
        orphans
    }

    /// Takes a fact in: history, deliveries, aliases. Gives back what nobody got.
    fn learn(&self, call: &Call, fact: Fact, deliverable: bool) -> Option<Delivery> {
        let mut state = self.state();
        let (event, orphan) = match fact {
            Fact::Sent {
                queue,
                message_id,
                ids,
            } => {
                let message = state.aliases.messages(&ids).into_iter().next();
                if let Some(message) = &message {
                    state.aliases.learn(&message_id, message);
                }
                (
                    Event::Sent {
                        call: call.id,
                        queue,
                        message_id,
                        message,
                    },
                    None,
                )
            }
            Fact::Delivered {
                queue,
                message_id,
                receipt,
                ids,
                body,
            } => {
                let mut ids = ids;
                ids.push(message_id.clone());
                let message = state.aliases.messages(&ids).into_iter().next();
                if let Some(message) = &message {
                    state.aliases.learn(&message_id, message);
                    state.aliases.learn(&receipt, message);
                    state
                        .bodies
                        .entry(message.clone())
                        .or_insert_with(|| body.clone());
                }
                let mut orphan = None;
                if let Some(owner) = call.author.incarnation() {
                    if let Some(receive) = state.receives.get_mut(owner)
                        && receive.call == call.id
                    {
                        receive.empty_handed = false;
                    }
                    let delivery = Delivery {
                        dependency: call.dependency.clone(),
                        queue: queue.clone(),
                        message_id: message_id.clone(),
                        receipt: receipt.clone(),
                        message: message.clone(),
                        owner: owner.clone(),
                        state: super::deliveries::DeliveryState::Held,
                    };
                    state.deliveries.deliver(delivery.clone());
                    // The owner's death expires what it held; a caller that lives and
                    // went away has lost it now.
                    if !deliverable && state.living.contains_key(owner) {
                        state.deliveries.end(&receipt);
                        orphan = Some(delivery);
                    }
                }
                let body = self.0.history.blob(body.as_bytes());
                let author = call.author.clone();
                let call = call.id;
                let event = Event::Delivered {
                    call,
                    author,
                    queue,
                    message_id,
                    receipt,
                    message,
                    deliverable,
                    body,
                };
                (event, orphan)
            }
            Fact::Deleted { receipt } => {
                let known = state.deliveries.get(&receipt).cloned();
                state.deliveries.end(&receipt);
                let event = Event::Deleted {
                    call: call.id,
                    author: call.author.clone(),
                    message_id: known.as_ref().map(|delivery| delivery.message_id.clone()),
                    message: known.and_then(|delivery| delivery.message),
                    receipt,
                };
                (event, None)
            }
            Fact::VisibilityChanged { receipt, seconds } => {
                let message = state
                    .deliveries
                    .get(&receipt)
                    .and_then(|delivery| delivery.message.clone());
                if seconds == 0 {
                    state.deliveries.end(&receipt);
                } else {
                    state.deliveries.touch(&receipt);
                }
                (
                    Event::VisibilityChanged {
                        call: call.id,
                        receipt,
                        message,
                        seconds,
                    },
                    None,
                )
            }
        };
        let seq = self.0.history.append(event);
        state.effects.insert(call.author.clone(), seq);
        orphan
    }

    /// The messages of a passage. Ids that mean nothing yet are waited for while a
    /// submission is under way: its answer may be on its way.
    async fn attribute(&self, call: &Call, subject: &Subject) -> BTreeSet<MessageName> {
        let found = self
            .until(|| {
                let state = self.state();
                let messages = state.aliases.of_subject(subject);
                let nothing_to_find = subject.ids.is_empty() && subject.inherited.is_empty();
                (!messages.is_empty() || nothing_to_find || state.submitting.is_empty())
                    .then_some(messages)
            })
            .await;
        if found.is_empty() {
            self.state()
                .sole_in_hand(&call.author)
                .into_iter()
                .collect()
        } else {
            found
        }
    }

    /// Records the passages of a call and finds the faults that they trigger.
    async fn pass(&self, call: &Call, passages: Vec<Passage>) -> Vec<(FaultId, Effect)> {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return Vec::new();
        };
        let mut triggered = Vec::new();
        for passage in passages {
            for subject in &passage.subjects {
                let messages = self.attribute(call, subject).await;
                let passed: Vec<Option<MessageName>> = if messages.is_empty() {
                    vec![None]
                } else {
                    messages.into_iter().map(Some).collect()
                };
                for message in passed {
                    let seq = self.0.history.append(Event::Stage {
                        stage: passage.stage.clone(),
                        incarnation: incarnation.clone(),
                        call: call.id,
                        message: message.clone(),
                        captured: subject.captured.clone(),
                    });
                    if message.is_some() {
                        self.state().effects.insert(call.author.clone(), seq);
                    }
                    triggered.extend(self.trigger(call, &passage.stage, message.as_ref()));
                    self.0
                        .outages
                        .passed(&passage.stage, message.as_ref())
                        .await;
                }
            }
        }
        triggered
    }

    fn trigger(
        &self,
        call: &Call,
        stage: &StageName,
        message: Option<&MessageName>,
    ) -> Vec<(FaultId, Effect)> {
        let mut triggered = Vec::new();
        let mut doubts = Vec::new();
        {
            let mut state = self.state();
            let in_hand = state.in_hand(&call.author);
            for armed in &mut state.faults {
                if armed.disarmed || armed.fault.stage != *stage {
                    continue;
                }
                match (&armed.fault.message, message) {
                    (Some(wanted), Some(seen)) if wanted != seen => continue,
                    (Some(wanted), None) => {
                        // What its author has in hand may rule the wanted message out.
                        if in_hand.is_empty() || in_hand.contains(wanted) {
                            doubts.push(format!(
                                "{stage} passed at {} and it cannot be told whether it was {wanted}'s, \
                                 which `{}` waits for; say under `messages.recognise.{}` where the id stands",
                                call.id, armed.fault, call.dependency
                            ));
                        }
                        continue;
                    }
                    _ => {}
                }
                armed.passages += 1;
                if armed.fault.times.includes(armed.passages) {
                    triggered.push((armed.id, armed.fault.effect.clone()));
                }
            }
        }
        for reason in doubts {
            self.0.history.append(Event::Doubt { reason });
        }
        for (fault, _) in &triggered {
            self.0.history.append(Event::Triggered {
                fault: *fault,
                call: Some(call.id),
                message: message.cloned(),
            });
        }
        triggered
    }

    /// Carries the effects of triggered faults out. True: the call or its reply must
    /// be dropped.
    async fn carry_out(&self, call: &Call, effects: Vec<(FaultId, Effect)>) -> bool {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return false;
        };
        let mut drop_it = false;
        for (fault, effect) in effects {
            match effect {
                Effect::Signal(signal) => {
                    let actor = Arc::clone(self.0.actor.get().expect("set before any process"));
                    let sending = actor.signal(incarnation.clone(), signal, Some(fault));
                    let board = self.clone();
                    // A task of its own: the dying client's end of connection makes the
                    // tap drop the held future, and the kill must go on.
                    let sent = tokio::spawn(async move {
                        match sending.await {
                            Ok(evidence) => board.land(fault, evidence),
                            Err(reason) => {
                                board.0.history.append(Event::Missed { fault, reason });
                            }
                        }
                    });
                    let _ = sent.await;
                    match signal {
                        Signal::SIGKILL => drop_it = true,
                        Signal::SIGSTOP => {
                            self.until(|| {
                                let life = self.state().living.get(&incarnation).copied();
                                (life != Some(Life::Stopped)).then_some(())
                            })
                            .await;
                        }
                        _ => {}
                    }
                }
            }
        }
        drop_it
    }

    fn land(&self, fault: FaultId, evidence: String) {
        if let Some(armed) = self
            .state()
            .faults
            .iter_mut()
            .find(|armed| armed.id == fault)
        {
            armed.landed += 1;
        }
        self.0.history.append(Event::Landed { fault, evidence });
    }

    fn is_ending(&self, author: &Author) -> bool {
        let Some(incarnation) = author.incarnation() else {
            return false;
        };
        !matches!(
            self.state().living.get(incarnation),
            Some(Life::Running | Life::Stopped)
        )
    }

    /// Runs a decision and marks the call as held meanwhile; an author that dies of
    /// something else ends it.
    async fn hold(&self, call: &Call, side: Side, passages: Vec<Passage>) -> Held {
        if passages.is_empty() {
            return Held::Free;
        }
        let guard = HeldGuard::new(self.clone(), call, side);
        let deciding = async {
            let triggered = self.pass(call, passages).await;
            if triggered.is_empty() {
                return Held::Free;
            }
            let fault = triggered[0].0;
            if self.carry_out(call, triggered).await {
                Held::Drop(fault)
            } else {
                Held::Free
            }
        };
        let held = deciding.await;
        drop(guard);
        held
    }
}

enum Held {
    Free,
    Drop(FaultId),
}

/// Marks a call as held for as long as it lives.
struct HeldGuard {
    board: Board,
    call: CallId,
}

impl HeldGuard {
    fn new(board: Board, call: &Call, side: Side) -> Self {
        let what = format!("{} of {} ({side:?})", summary::request(call), call.author);
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

impl Armed {
    /// Whether quiet must wait for it: it was to land so often and may still do so.
    fn is_pending(&self) -> bool {
        !self.disarmed && !self.fault.times.is_over(self.passages) && self.landed < self.passages
    }
}

impl State {
    fn in_hand(&self, author: &Author) -> BTreeSet<MessageName> {
        let Some(incarnation) = author.incarnation() else {
            return BTreeSet::new();
        };
        let unsettled = self.deliveries.unsettled_of(incarnation);
        unsettled
            .into_iter()
            .filter_map(|delivery| delivery.message.clone())
            .collect()
    }

    /// The one message that an author has in hand, if it is one.
    fn sole_in_hand(&self, author: &Author) -> Option<MessageName> {
        let incarnation = author.incarnation()?;
        let held = self.deliveries.held_by(incarnation);
        let unsettled = self.deliveries.unsettled_of(incarnation);
        match (held.as_slice(), unsettled.as_slice()) {
            ([one], _) | ([], [one]) => one.message.clone(),
            _ => None,
        }
    }
}

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

    fn disconnected(&self, connection: ConnectionId, reason: &str) {
        self.0.history.append(Event::Disconnected {
            connection,
            reason: reason.to_owned(),
        });
    }

    fn before(&self, call: Arc<Call>) -> BoxFuture<'static, Before> {
        let messages = self.record_call(&call);
        let board = self.clone();
        Box::pin(async move {
            if board.is_ending(&call.author) {
                board.inject(&call, Side::Before, "dropped: its author is ending", None);
                return Before::Discard(Discard::Close);
            }
            let passages = match &call.request {
                Request::Http(request) if call.dependency.as_str() == checkpoint::DEPENDENCY => {
                    board.checkpoint(&call, request)
                }
                _ => stage::passed_before(&board.0.manifest, &call, &board.0.queues),
            };
            match board.hold(&call, Side::Before, passages).await {
                Held::Free => board.outlast(&call, &messages).await,
                Held::Drop(fault) => {
                    board.inject(&call, Side::Before, "dropped", Some(fault));
                    Before::Discard(Discard::Close)
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
        if extent == Extent::Nothing {
            self.state().flights.remove(&call.id);
        }
    }

    fn after(
        &self,
        call: Arc<Call>,
        reply: Arc<Reply>,
        deliverable: bool,
    ) -> BoxFuture<'static, After> {
        let orphans = self.record_reply(&call, &reply, deliverable);
        let board = self.clone();
        Box::pin(async move {
            board.give_back(orphans);
            let passages = stage::passed_after(&board.0.manifest, &call, &reply, &board.0.queues);
            if !deliverable || board.is_ending(&call.author) {
                // The effect took place: the passage counts, but nobody is there to act on.
                board.note_passages(&call, passages).await;
                return After::Discard(Discard::Close);
            }
            match board.hold(&call, Side::After, passages).await {
                Held::Free => board.aftermath(&call).await,
                Held::Drop(fault) => {
                    board.inject(&call, Side::After, "reply dropped", Some(fault));
                    After::Discard(Discard::Close)
                }
            }
        })
    }

    fn abandoned(&self, call: &Call, side: Side) {
        self.state().flights.remove(&call.id);
        self.0.history.append(Event::Abandoned {
            call: call.id,
            side,
        });
    }
}

impl Board {
    /// What outages make of a call.
    async fn outlast(&self, call: &Call, messages: &BTreeSet<MessageName>) -> Before {
        loop {
            match self.0.outages.before(call, messages) {
                Treatment::Forward => return Before::Forward,
                Treatment::Answer(reply) => {
                    self.state().flights.remove(&call.id);
                    return Before::Answer(reply);
                }
                Treatment::Discard(how) => {
                    self.state().flights.remove(&call.id);
                    return Before::Discard(how);
                }
                Treatment::Wait(over) => {
                    let guard = HeldGuard::new(self.clone(), call, Side::Before);
                    over.await;
                    drop(guard);
                    if self.is_ending(&call.author) {
                        return Before::Discard(Discard::Close);
                    }
                }
            }
        }
    }

    /// What outages make of a reply.
    async fn aftermath(&self, call: &Call) -> After {
        match self.0.outages.after(call) {
            None => After::Deliver,
            Some(Aftermath::Replace(reply)) => After::Replace(reply),
            Some(Aftermath::Discard(how)) => After::Discard(how),
            Some(Aftermath::Wait(over)) => {
                let guard = HeldGuard::new(self.clone(), call, Side::After);
                over.await;
                drop(guard);
                After::Deliver
            }
        }
    }

    fn inject(&self, call: &Call, side: Side, what: &str, fault: Option<FaultId>) {
        self.state().flights.remove(&call.id);
        let what = what.to_owned();
        self.0.history.append(Event::Injected {
            call: call.id,
            side,
            what,
            fault,
        });
    }

    fn checkpoint(&self, call: &Call, request: &HttpRequest) -> Vec<Passage> {
        let announcement = Announcement::read(request);
        let Some(incarnation) = call.author.incarnation() else {
            return Vec::new();
        };
        let Some(stage) = stage::announced(&self.0.manifest, incarnation, &announcement.stage)
        else {
            return Vec::new();
        };
        let ids = announcement
            .job
            .into_iter()
            .chain(announcement.message_id)
            .collect();
        let subjects = vec![Subject {
            ids,
            ..Subject::default()
        }];
        vec![Passage {
            stage: stage.clone(),
            subjects,
        }]
    }

    async fn note_passages(&self, call: &Call, passages: Vec<Passage>) {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return;
        };
        for passage in passages {
            for subject in &passage.subjects {
                let messages = self.attribute(call, subject).await;
                let passed: Vec<Option<MessageName>> = if messages.is_empty() {
                    vec![None]
                } else {
                    messages.into_iter().map(Some).collect()
                };
                for message in passed {
                    self.0.history.append(Event::Stage {
                        stage: passage.stage.clone(),
                        incarnation: incarnation.clone(),
                        call: call.id,
                        message: message.clone(),
                        captured: subject.captured.clone(),
                    });
                    self.0
                        .outages
                        .passed(&passage.stage, message.as_ref())
                        .await;
                }
            }
        }
    }

    fn give_back(&self, orphans: Vec<Delivery>) {
        if let (false, Some(actor)) = (orphans.is_empty(), self.0.actor.get()) {
            tokio::spawn(actor.expire(orphans));
        }
    }
}
