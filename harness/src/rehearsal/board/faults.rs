//! Armed faults: when they trigger, and what was seen of their effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use nix::sys::signal::Signal;

use super::doom::Doom;
use super::state::Armed;
use super::unclear::{self, Waiting};
use super::{Board, Delivery, Life, decision};
use crate::fault::{Effect, Fault, Point, Whose};
use crate::history::Event;
use crate::ids::{CallId, FaultId, MessageName, StageName};
use crate::manifest::Binding;
use crate::shape::Shape;
use crate::tap::{Call, Reply, Request, Side};

impl Board {
    /// The stages at which faults wait that never came about, though they had to.
    pub(crate) fn awaited_stages(&self) -> Vec<StageName> {
        let state = self.state();
        let waiting = state
            .faults
            .iter()
            .filter(|armed| armed.triggered == 0 && !armed.fault.may);
        let stages = waiting.filter_map(|armed| match &armed.fault.point {
            Point::Stage { stage, .. } => Some(stage.clone()),
            _ => None,
        });
        let stages: BTreeSet<StageName> = stages.collect();
        stages.into_iter().collect()
    }

    pub(in crate::rehearsal) fn arm(&self, fault: Fault) -> FaultId {
        if matches!(fault.point, Point::Call { .. }) {
            self.begin_survey();
        }
        let id = self.next_fault();
        let mut state = self.state();
        let (text, expected) = (fault.to_string(), fault.expected(state.declared));
        let side = self.side_of(&fault);
        state.faults.push(Armed {
            id,
            side,
            fault,
            passages: BTreeMap::new(),
            invocations: BTreeMap::new(),
            triggered: 0,
            landed: 0,
            missed: 0,
            disarmed: false,
        });
        drop(state);
        self.0.history.append(Event::Armed {
            fault: id,
            text,
            expected,
            outage: None,
        });
        id
    }

    /// Whether all faults landed but for some that need not come to it.
    pub(in crate::rehearsal) fn lacks_what_may_be(&self) -> bool {
        let state = self.state();
        let mut missing = state
            .faults
            .iter()
            .filter(|armed| armed.landed == 0)
            .peekable();
        missing.peek().is_some() && missing.all(|armed| armed.fault.may)
    }

    /// Whether some fault was triggered whose effect was not seen yet.
    pub(in crate::rehearsal) fn has_faults_at_work(&self) -> bool {
        self.state().faults.iter().any(Armed::is_at_work)
    }

    /// Whether some fault waits for submissions of the client: it may be told from others
    /// only while it is the only one.
    pub(in crate::rehearsal) fn waits_for_submissions(&self) -> bool {
        let state = self.state();
        let mut faults = state.faults.iter();
        faults.any(|armed| !armed.disarmed && matches!(armed.fault.point, Point::Submission))
    }

    /// A stage that a process announces has no call, and so no boundaries of one.
    fn side_of(&self, fault: &Fault) -> Option<Side> {
        if fault.effect == Effect::AskOn {
            return None;
        }
        if let Point::Call { side, .. } = &fault.point {
            return Some(*side);
        }
        let Point::Stage { stage, .. } = &fault.point else {
            return fault.effect.side();
        };
        let stage = &self.0.manifest.stages[stage];
        let announced = matches!(stage.binding, Binding::Checkpoint(_));
        match fault.effect {
            // What was received is known with the reply: it waits there.
            Effect::Delay(_) | Effect::Reappear if stage.is_at_receive(Side::After) => {
                Some(Side::After)
            }
            Effect::Reappear => (!announced).then_some(Side::Before),
            _ => fault.effect.side(),
        }
    }

    pub(in crate::rehearsal) fn disarm_all(&self) {
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

    /// Finds the faults that a passage triggers. `side` is none for those that act where
    /// the stage is bound, else the boundary at which a call is interfered with. `later`:
    /// it may be told later whose it was.
    pub(super) fn trigger(
        &self,
        call: &Call,
        place: Place<'_>,
        side: Option<Side>,
        message: Option<&MessageName>,
        mut later: Option<&mut Vec<Waiting>>,
    ) -> Vec<Triggered> {
        let mut triggered = Vec::new();
        let mut doubts = Vec::new();
        {
            let mut now = self.state();
            let mut in_hand = now.in_hand(&call.author);
            in_hand.extend(now.may_have_in_hand(&call.author));
            let in_flight = decision::in_flight(&now, call, message);
            let invocation = invocation(call);
            for armed in &mut now.faults {
                if armed.disarmed || armed.side != side || !place.is(&armed.fault.point, call) {
                    continue;
                }
                match whose(&armed.fault.whose, message, &in_hand) {
                    Match::No => continue,
                    Match::Doubt => {
                        let doubt = format!(
                            "{place} passed at {} and it cannot be told whose it was, which \
                             `{}` waits for; {}",
                            call.id,
                            armed.fault,
                            self.0.manifest.how_to_recognise(&call.dependency)
                        );
                        match &mut later {
                            Some(later) => later.push(Waiting {
                                fault: armed.id,
                                at: unclear::at(place, call.id),
                                doubt,
                            }),
                            None => doubts.push(doubt),
                        }
                        continue;
                    }
                    Match::Yes => {}
                }
                if armed.acts_on(invocation, message) {
                    triggered.push(Triggered {
                        fault: armed.id,
                        effect: armed.fault.effect.clone(),
                        message: message.cloned(),
                        in_flight: in_flight.clone(),
                        doom: None,
                    });
                }
            }
            if let Some(author) = call.author.incarnation() {
                self.doom(&mut now, author, &mut triggered);
            }
            for one in &triggered {
                self.0.history.append(Event::Triggered {
                    fault: one.fault,
                    call: Some(call.id),
                    message: message.cloned(),
                });
            }
        }
        for reason in doubts {
            self.doubt(reason);
        }
        triggered
    }

    /// Those of them that wait for particular messages, in words.
    pub(super) fn aimed(&self, triggered: &[Triggered]) -> Vec<String> {
        let state = self.state();
        let faults = state.faults.iter();
        faults
            .filter(|armed| armed.fault.whose != Whose::Any)
            .filter(|armed| triggered.iter().any(|one| one.fault == armed.id))
            .map(|armed| armed.fault.to_string())
            .collect()
    }

    /// Sends a signal on behalf of faults and returns once it was seen to arrive.
    pub(super) async fn send_signal(&self, call: &Call, faults: Vec<FaultId>, signal: Signal) {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            for fault in faults {
                self.miss(fault, "it was no process that made the call".to_owned());
            }
            return;
        };
        // A task of its own: the dying client's end of connection makes the tap drop the
        // held future, and the kill must go on.
        let _ = tokio::spawn(self.strike(&incarnation, faults, signal)).await;
    }

    /// Resolves once a stopped author goes on, or is gone.
    pub(super) async fn while_stopped(&self, call: &Call) {
        let Some(incarnation) = call.author.incarnation() else {
            return;
        };
        self.until(|| {
            let life = self.state().living.get(incarnation).copied();
            (life != Some(Life::Stopped)).then_some(())
        })
        .await;
    }

    pub(in crate::rehearsal) fn miss(&self, fault: FaultId, reason: String) {
        self.with_armed(fault, |armed| armed.missed += 1);
        self.0.history.append(Event::Missed { fault, reason });
    }

    fn with_armed(&self, fault: FaultId, change: impl FnOnce(&mut Armed)) {
        let mut state = self.state();
        if let Some(armed) = state.faults.iter_mut().find(|armed| armed.id == fault) {
            change(armed);
        }
    }

    /// One copy of a doubled call was answered, or broke off.
    pub(super) fn note_copy(&self, call: &Call, reply: &Reply) {
        let broken = matches!(reply, Reply::Broken { .. });
        let done = {
            let mut state = self.state();
            let Some((_, answered)) = state.doubled.get_mut(&call.id) else {
                return;
            };
            *answered += 1;
            if !broken && *answered < 2 {
                return;
            }
            state.doubled.remove(&call.id)
        };
        for fault in done.into_iter().flat_map(|(faults, _)| faults) {
            if broken {
                let reason = format!("one of the two copies of {} got no answer", call.id);
                self.miss(fault, reason);
            } else {
                self.land(fault, format!("was passed on twice ({})", call.id));
            }
        }
    }

    /// A fault acts that is triggered by no passage.
    pub(super) fn with_triggered(&self, fault: FaultId, call: CallId) {
        self.with_armed(fault, |armed| armed.triggered += 1);
        self.0.history.append(Event::Triggered {
            fault,
            call: Some(call),
            message: None,
        });
    }

    pub(super) fn land(&self, fault: FaultId, evidence: String) {
        self.with_armed(fault, |armed| armed.landed += 1);
        self.0.history.append(Event::Landed { fault, evidence });
    }
}

/// A fault whose moment has come.
pub(super) struct Triggered {
    pub(super) fault: FaultId,
    pub(super) effect: Effect,
    pub(super) message: Option<MessageName>,
    /// The deliveries of the message that somebody had in hand at this moment.
    pub(super) in_flight: Vec<Delivery>,
    /// Of a kill.
    pub(super) doom: Option<Doom>,
}

/// Where something was passed.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Stage(&'a StageName),
    Call(&'a Shape),
    Submission,
}

impl Place<'_> {
    fn is(self, point: &Point, call: &Call) -> bool {
        let author = call.author.incarnation();
        match (self, point) {
            (Self::Stage(passed), Point::Stage { stage, instance }) => {
                passed == stage
                    && instance
                        .is_none_or(|wanted| author.is_some_and(|author| author.instance == wanted))
            }
            (Self::Stage(_), Point::AnyStage { role }) => {
                author.is_some_and(|author| author.role == *role)
            }
            (
                Self::Call(shape),
                Point::Call {
                    role,
                    instance,
                    wanted,
                    ..
                },
            ) => author.is_some_and(|author| {
                author.role == *role
                    && instance.is_none_or(|wanted| author.instance == wanted)
                    && wanted.is(shape)
            }),
            (Self::Submission, Point::Submission) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stage(stage) => write!(f, "{stage}"),
            Self::Call(shape) => write!(f, "\"{shape}\""),
            Self::Submission => write!(f, "the submission"),
        }
    }
}

enum Match {
    Yes,
    No,
    Doubt,
}

fn whose(whose: &Whose, seen: Option<&MessageName>, in_hand: &BTreeSet<MessageName>) -> Match {
    match (whose, seen) {
        (Whose::Any, _) | (Whose::Each, Some(_)) => Match::Yes,
        (Whose::Each, None) => Match::Doubt,
        (Whose::These(wanted), Some(seen)) => {
            if wanted.contains(seen) {
                Match::Yes
            } else {
                Match::No
            }
        }
        // What its author has in hand may rule the wanted messages out.
        (Whose::These(wanted), None) => {
            if in_hand.is_empty() || wanted.iter().any(|wanted| in_hand.contains(wanted)) {
                Match::Doubt
            } else {
                Match::No
            }
        }
    }
}

/// What all wire attempts of one call have in common.
pub(super) fn invocation(call: &Call) -> Option<&str> {
    match &call.request {
        Request::Sqs(request) => request.invocation.as_deref(),
        _ => None,
    }
}

impl Armed {
    /// Counts a passage that could not be told in time; says whether the fault would have
    /// acted on it.
    pub(super) fn passes_unseen(&mut self, message: &MessageName) -> bool {
        let meant = match &self.fault.whose {
            Whose::Any => false,
            Whose::Each => true,
            Whose::These(wanted) => wanted.contains(message),
        };
        if !meant || self.disarmed {
            return false;
        }
        let passages = self.passages.entry(Some(message.clone())).or_default();
        *passages += 1;
        self.fault.times.includes(*passages)
    }

    /// Counts a matching passage; says whether the fault acts on it.
    fn acts_on(&mut self, invocation: Option<&str>, message: Option<&MessageName>) -> bool {
        let key = invocation.map(|invocation| (invocation.to_owned(), message.cloned()));
        if let Some(known) = key.as_ref().and_then(|key| self.invocations.get(key)) {
            let acts = *known;
            self.triggered += u32::from(acts);
            return acts;
        }
        let counted_for = match self.fault.whose {
            Whose::Any => None,
            Whose::Each | Whose::These(_) => message.cloned(),
        };
        let passages = self.passages.entry(counted_for).or_default();
        *passages += 1;
        let acts = self.fault.times.includes(*passages);
        self.triggered += u32::from(acts);
        if let Some(key) = key {
            self.invocations.insert(key, acts);
        }
        acts
    }
}
