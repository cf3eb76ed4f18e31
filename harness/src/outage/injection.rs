//! Injecting outages: what is on at this moment, and what it makes of each call. What an
//! [`Injection`] injected is healed when it is dropped.

mod clock;
mod refusal;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::watch;

use self::state::{Entry, Phase, State};
use super::treatment::{Aftermath, Treatment};
use super::{ErrorReply, Moment, Outage, Way};
use crate::history::{Event, History};
use crate::ids::{DependencyName, FaultId, Incarnation, MessageName, RoleName, StageName};
use crate::judge::{Count, Evidence};
use crate::manifest::Manifest;
use crate::tap::{Call, Discard, Line, Side};

/// A server that belongs to one rehearsal alone, and can be made to fail for real.
/// Each gives back what was seen.
pub trait RealServer: Send + Sync {
    /// Stops all its processes.
    fn freeze(&self) -> BoxFuture<'static, Result<String, String>>;
    /// Lets them go on.
    fn thaw(&self);
    /// Kills them.
    fn kill(&self) -> BoxFuture<'static, Result<String, String>>;
    /// Starts it again at the same address, with all it had acknowledged.
    fn restart(&self) -> BoxFuture<'static, Result<(), String>>;
}

/// All outages of one rehearsal. Clones are the same.
#[derive(Clone)]
pub struct Outages(Arc<Inner>);

struct Inner {
    manifest: Arc<Manifest>,
    history: Arc<History>,
    state: Mutex<State>,
    /// Totals that outages begin or end by, as far as they were counted.
    counts: Mutex<BTreeMap<String, Count>>,
    /// Changes whenever an outage begins or ends.
    changed: watch::Sender<u64>,
}

/// An outage that was armed; it ends with this.
#[must_use = "an outage is healed when its injection is dropped"]
pub struct Injection {
    outages: Outages,
    id: FaultId,
}

impl Injection {
    /// Ends the outage, if it is not over; waits until the dependency is reachable again.
    pub async fn heal(&self) {
        self.outages.end(self.id).await;
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        self.outages.finish(self.id);
    }
}

impl Outages {
    /// None, yet.
    pub fn new(manifest: Arc<Manifest>, history: Arc<History>) -> Self {
        Self(Arc::new(Inner {
            manifest,
            history,
            state: Mutex::default(),
            counts: Mutex::default(),
            changed: watch::Sender::new(0),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message was declared.
    pub fn declare(&self, message: &MessageName) {
        let mut state = self.state();
        if !state.declared.contains(message) {
            state.declared.push(message.clone());
        }
    }

    /// A dependency has a server of its own.
    pub fn provide(&self, dependency: DependencyName, server: Arc<dyn RealServer>) {
        self.state().servers.insert(dependency, server);
    }

    /// A line between an incarnation and a dependency is there. What is on applies to it
    /// at once.
    pub async fn attach(
        &self,
        incarnation: &Incarnation,
        dependency: &DependencyName,
        address: SocketAddr,
        line: Line,
    ) {
        let key = (incarnation.clone(), dependency.clone());
        self.state().lines.insert(key, (address, line));
        self.settle_lines().await;
        self.look_refused_anew().await;
    }

    /// An incarnation is gone.
    pub fn detach(&self, incarnation: &Incarnation) {
        self.state().lines.retain(|(of, _), _| of != incarnation);
    }

    /// Arms an outage; it begins at once unless it waits for a moment.
    pub async fn arm(&self, id: FaultId, outage: Outage) -> Injection {
        self.0.history.append(Event::Armed {
            fault: id,
            text: outage.to_string(),
            expected: u32::from(!outage.may),
            outage: Some(outage.dependency.clone()),
        });
        let at_once = outage.from.is_none();
        self.state().entries.push(Entry {
            id,
            outage,
            phase: Phase::Waiting,
            passed: 0,
            clock: None,
            treated: 0,
            landed: false,
        });
        if at_once {
            self.begin(id).await;
        } else if self.state().running {
            self.start_clock(id);
        }
        Injection {
            outages: self.clone(),
            id,
        }
    }

    async fn begin(&self, id: FaultId) {
        let (outage, server) = {
            let mut state = self.state();
            let Some(entry) = state.entry(id) else { return };
            if entry.phase != Phase::Waiting {
                return;
            }
            entry.phase = Phase::On;
            entry.passed = 0;
            let outage = entry.outage.clone();
            let server = state.servers.get(&outage.dependency).cloned();
            (outage, server)
        };
        self.0.history.append(Event::Triggered {
            fault: id,
            call: None,
            message: None,
        });
        self.change();
        match (&outage.way, server) {
            (Way::Freezes, Some(server)) => self.saw(id, server.freeze().await),
            (Way::Dies, Some(server)) => self.saw(id, server.kill().await),
            (Way::Freezes | Way::Dies, None) => self.saw(
                id,
                Err(format!("`{}` has no server of its own", outage.dependency)),
            ),
            (Way::Refuses, _) => {
                self.settle_lines().await;
                self.look_refused(id, &outage).await;
            }
            (Way::Resets, _) if outage.part.is_whole() => {
                let lines = self.state().lines_of(&outage);
                for (_, line) in &lines {
                    line.cut();
                }
                if !lines.is_empty() {
                    self.saw(id, Ok(format!("{} lines were cut", lines.len())));
                }
            }
            _ => {}
        }
        if self.state().running {
            self.start_clock(id);
        }
    }

    /// What was seen of an outage: the first sight counts.
    fn saw(&self, id: FaultId, seen: Result<String, String>) {
        let first = {
            let mut state = self.state();
            let Some(entry) = state.entry(id) else { return };
            !std::mem::replace(&mut entry.landed, true)
        };
        match seen {
            Ok(evidence) if first => {
                self.0.history.append(Event::Landed {
                    fault: id,
                    evidence,
                });
            }
            Ok(_) => {}
            Err(reason) => {
                self.0.history.append(Event::Missed { fault: id, reason });
            }
        }
    }

    /// Ends an outage and waits until the dependency can be reached again.
    async fn end(&self, id: FaultId) {
        let Some(dependency) = self.finish(id) else {
            return;
        };
        self.settle_lines().await;
        self.usable(&dependency).await;
    }

    /// Ends an outage without waiting. Gives back its dependency unless it was over.
    fn finish(&self, id: FaultId) -> Option<DependencyName> {
        let (way, dependency, began, server) = {
            let mut state = self.state();
            let entry = state.entry(id)?;
            let before = std::mem::replace(&mut entry.phase, Phase::Over);
            if before == Phase::Over {
                return None;
            }
            let (way, dependency) = (entry.outage.way.clone(), entry.outage.dependency.clone());
            let server = state.servers.get(&dependency).cloned();
            state.want_lines();
            (way, dependency, before == Phase::On, server)
        };
        self.0.history.append(Event::Disarmed { fault: id });
        match (way, server) {
            (Way::Freezes, Some(server)) if began => server.thaw(),
            (Way::Dies, Some(server)) if began => {
                let outages = self.clone();
                tokio::spawn(async move {
                    if let Err(reason) = server.restart().await {
                        outages.0.history.append(Event::Trouble { reason });
                    }
                    outages.restarted(id);
                });
                return Some(dependency);
            }
            _ => {}
        }
        self.change();
        Some(dependency)
    }

    /// A server that had died runs again.
    fn restarted(&self, id: FaultId) {
        if let Some(entry) = self.state().entry(id) {
            entry.outage.way = Way::Hangs;
        }
        self.change();
    }

    fn change(&self) {
        self.0.changed.send_modify(|version| *version += 1);
        self.0.history.nudge();
    }

    /// Ends every outage of a dependency; says how many were on.
    pub async fn heal(&self, dependency: &DependencyName) -> usize {
        let ids: Vec<FaultId> = self
            .state()
            .entries
            .iter()
            .filter(|entry| entry.phase != Phase::Over && entry.outage.dependency == *dependency)
            .map(|entry| entry.id)
            .collect();
        for id in &ids {
            self.end(*id).await;
        }
        ids.len()
    }

    /// Ends everything.
    pub async fn heal_all(&self) {
        let dependencies: BTreeSet<DependencyName> = self
            .state()
            .entries
            .iter()
            .map(|entry| entry.outage.dependency.clone())
            .collect();
        for dependency in dependencies {
            self.heal(&dependency).await;
        }
    }

    async fn settle_lines(&self) {
        let lines = self.state().want_lines();
        for (line, refused) in lines {
            if refused {
                line.refuse().await;
            } else {
                line.accept().await;
            }
        }
    }

    /// Why a dependency cannot be asked now, not even by the harness.
    pub fn unusable(&self, dependency: &DependencyName) -> Option<String> {
        self.state().entries.iter().find_map(|entry| {
            let on = match entry.outage.way {
                Way::Freezes => entry.phase == Phase::On,
                // Until it was started again.
                Way::Dies => entry.phase != Phase::Waiting,
                _ => false,
            };
            (on && entry.outage.dependency == *dependency)
                .then(|| format!("`{}` is kept down: {}", dependency, entry.outage))
        })
    }

    /// Resolves once the harness can ask a dependency.
    pub async fn usable(&self, dependency: &DependencyName) {
        let mut changed = self.0.changed.subscribe();
        while self.unusable(dependency).is_some() {
            // The sender lives in `self`, so waiting cannot fail.
            let _ = changed.changed().await;
        }
    }

    /// Resolves once the harness can ask every dependency.
    pub async fn all_usable(&self) {
        let names: Vec<DependencyName> = self.0.manifest.dependencies.keys().cloned().collect();
        for name in names {
            self.usable(&name).await;
        }
    }

    /// Outages that end by themselves before long: nothing is quiet before.
    pub fn passing(&self) -> Vec<String> {
        let state = self.state();
        let on = state.entries.iter().filter(|entry| match entry.phase {
            Phase::On => {
                entry.outage.way.is_real()
                    || entry
                        .outage
                        .until
                        .iter()
                        .any(|moment| matches!(moment, Moment::Time(_)))
            }
            Phase::Waiting => matches!(entry.outage.from, Some(Moment::Time(_))),
            Phase::Over => false,
        });
        on.map(|entry| entry.outage.to_string()).collect()
    }

    /// Outages that are on.
    pub fn in_force(&self) -> Vec<String> {
        let state = self.state();
        let on = state
            .entries
            .iter()
            .filter(|entry| entry.phase == Phase::On);
        on.map(|entry| entry.outage.to_string()).collect()
    }

    /// Whether an outage is on that only a step ends.
    pub fn any_lasting(&self) -> bool {
        self.state()
            .entries
            .iter()
            .any(|entry| entry.phase == Phase::On && entry.outage.until.is_empty())
    }

    /// Dependencies that are ill for a role until a step says otherwise.
    pub fn lasting_for(&self, role: &RoleName) -> BTreeSet<DependencyName> {
        let state = self.state();
        let lasting = state.entries.iter().filter(|entry| {
            let of = entry.outage.part.of.as_ref();
            entry.phase == Phase::On
                && entry.outage.until.is_empty()
                && of.is_none_or(|(of, _)| of == role)
        });
        lasting
            .map(|entry| entry.outage.dependency.clone())
            .collect()
    }

    /// What becomes of a call that is about to reach its dependency.
    pub fn before(&self, call: &Call, messages: &BTreeSet<MessageName>) -> Treatment {
        let Some(author) = call.author.incarnation() else {
            return Treatment::Forward;
        };
        let mut state = self.state();
        let earlier = state.calls.entry(call.connection).or_default();
        let fresh = *earlier == 0;
        *earlier += 1;
        let State {
            entries,
            declared,
            marked,
            ..
        } = &mut *state;
        let Some(entry) = entries
            .iter_mut()
            .find(|entry| entry.concerns(call, author, messages, declared))
        else {
            return Treatment::Forward;
        };
        let id = entry.id;
        let (treatment, what) = match &entry.outage.way {
            Way::Refuses if fresh && entry.outage.part.is_whole() => return Treatment::Forward,
            Way::Freezes | Way::Dies => return Treatment::Forward,
            Way::Refuses | Way::Resets => (Treatment::Discard(Discard::Reset), "reset"),
            Way::Hangs => (Treatment::Wait(self.clone().over(id)), "held"),
            Way::Swallows => (
                Treatment::Wait(Box::pin(std::future::pending())),
                "swallowed",
            ),
            Way::Answers(error) => (Treatment::Answer(error.to(call)), "answered"),
            Way::ReadsOnly => {
                let refusal = ErrorReply::Code("25006".to_owned());
                (Treatment::Answer(refusal.to(call)), "answered")
            }
            Way::PerformsAndCloses | Way::PerformsAndHangs | Way::PerformsAndAnswers(_) => {
                marked.insert(call.id, id);
                return Treatment::Forward;
            }
        };
        drop(state);
        self.treat(id, call, Side::Before, what);
        treatment
    }

    /// What becomes of the reply to a call; none for nothing.
    pub fn after(&self, call: &Call) -> Option<Aftermath> {
        let (id, way) = {
            let mut state = self.state();
            let id = state.marked.remove(&call.id)?;
            (id, state.entry(id)?.outage.way.clone())
        };
        let (aftermath, what) = match &way {
            Way::PerformsAndHangs => (Aftermath::Wait(self.clone().over(id)), "held"),
            Way::PerformsAndAnswers(error) => {
                (Aftermath::Replace(error.to(call)), "reply replaced")
            }
            _ => (Aftermath::Discard(Discard::Close), "reply dropped"),
        };
        self.treat(id, call, Side::After, what);
        Some(aftermath)
    }

    /// Notes that a call was treated; that may have been the last.
    fn treat(&self, id: FaultId, call: &Call, side: Side, what: &str) {
        self.0.history.append(Event::Injected {
            call: call.id,
            side,
            what: what.to_owned(),
            fault: Some(id),
        });
        self.saw(id, Ok(format!("{} was {what}", call.id)));
        self.start_clock(id);
        let over =
            {
                let mut state = self.state();
                state.entry(id).is_some_and(|entry| {
                    entry.treated += 1;
                    let treated = entry.treated;
                    entry.phase == Phase::On
                        && entry.outage.until.iter().any(
                            |moment| matches!(moment, Moment::Calls(count) if treated >= *count),
                        )
                })
            };
        if over {
            self.finish(id);
        }
    }

    async fn until_over(self, id: FaultId) {
        let mut changed = self.0.changed.subscribe();
        while self
            .state()
            .entry(id)
            .is_some_and(|entry| entry.phase != Phase::Over)
        {
            let _ = changed.changed().await;
        }
    }

    fn over(self, id: FaultId) -> BoxFuture<'static, ()> {
        Box::pin(self.until_over(id))
    }

    /// A stage was passed: outages begin and end by that, before the call goes on.
    pub async fn passed(
        &self,
        stage: &StageName,
        message: Option<&MessageName>,
        passer: &Incarnation,
    ) {
        self.pass(stage, message, passer, false).await;
    }

    /// Whose passage of a stage it was became known only now.
    pub async fn named(&self, stage: &StageName, message: &MessageName, passer: &Incarnation) {
        self.pass(stage, Some(message), passer, true).await;
    }

    async fn pass(
        &self,
        stage: &StageName,
        message: Option<&MessageName>,
        passer: &Incarnation,
        late: bool,
    ) {
        let (due, totals) = self.state().pass(stage, message, passer, late);
        for (id, phase) in due {
            self.turn(id, phase).await;
        }
        for (id, phase, moment) in totals {
            let Moment::Total {
                total,
                label,
                value,
            } = moment
            else {
                continue;
            };
            if self.figure(&total, label.as_deref(), stage) >= value {
                self.turn(id, phase).await;
            }
        }
    }

    async fn turn(&self, id: FaultId, phase: Phase) {
        match phase {
            Phase::Waiting => self.begin(id).await,
            Phase::On => self.end(id).await,
            Phase::Over => {}
        }
    }

    /// A total by its witness; nothing if this stage does not change it.
    fn figure(&self, total: &str, label: Option<&str>, stage: &StageName) -> i64 {
        let manifest = &*self.0.manifest;
        let witness = manifest
            .totals
            .get(total)
            .and_then(|total| total.witness.as_ref())
            .filter(|witness| witness.add.contains(stage));
        let Some(witness) = witness else {
            return i64::MIN;
        };
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(total.to_owned()).or_default();
        let figure = self
            .0
            .history
            .read(|entries| count.catch_up(Evidence { manifest, entries }, witness));
        match label {
            Some(label) => figure.get(label).copied().unwrap_or_default(),
            None => figure.values().sum(),
        }
    }
}

#[cfg(test)]
mod tests;
