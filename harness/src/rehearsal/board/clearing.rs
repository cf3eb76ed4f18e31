//! Naming what passed unclearly, once its ids are known.

use std::collections::BTreeSet;

use super::Board;
use super::state::State;
use super::unclear::{About, Unclear, Waiting};
use crate::history::Event;
use crate::ids::{Author, Incarnation, MessageName, StageName};

impl Board {
    /// Names whatever can be named since ids became known. Called after each
    /// [`State::learn`].
    pub(super) fn clear(&self, state: &mut State) {
        let mut late = Vec::new();
        while let Some(number) = state.unclear.due.pop() {
            late.extend(self.clear_one(state, number));
        }
        if let (false, Ok(runtime)) = (late.is_empty(), tokio::runtime::Handle::try_current()) {
            let outages = self.0.outages.clone();
            runtime.spawn(async move {
                for (stage, message, incarnation) in late {
                    outages.named(&stage, &message, &incarnation).await;
                }
            });
        }
    }

    fn clear_one(
        &self,
        state: &mut State,
        number: u64,
    ) -> Vec<(StageName, MessageName, Incarnation)> {
        let mut late = Vec::new();
        let Some(mut unclear) = state.unclear.all.remove(&number) else {
            return late;
        };
        let own = state.aliases.messages(&unclear.ids);
        let by_itself = !own.is_empty();
        let found = if by_itself {
            own
        } else {
            state.aliases.messages(&unclear.instead)
        };
        if by_itself {
            // What was guessed right stands; a wrong guess is put right by what is named.
            let right = unclear.guessed.take().filter(|guess| found.contains(guess));
            if let Some(right) = right {
                unclear.entries.pop_front();
                unclear.named.insert(right);
            }
            let fresh: Vec<MessageName> = found.difference(&unclear.named).cloned().collect();
            for message in fresh {
                late.extend(self.name_one(state, &mut unclear, &message, true));
                unclear.named.insert(message);
            }
        } else if unclear.guessed.is_none()
            && let Some(message) = found.first()
        {
            late.extend(self.name_one(state, &mut unclear, message, false));
        }
        for doubt in unclear
            .struck
            .iter()
            .filter_map(|strike| strike.mistaken(&found))
        {
            self.0.history.append(Event::Doubt { reason: doubt });
        }
        if !found.is_empty() {
            unclear.struck.clear();
        }
        let waiting = std::mem::take(&mut unclear.waiting);
        self.missed_for(state, &found, waiting);
        let named = state.unclear.cleared.entry(number).or_default();
        named.extend(found);
        let is_over = unclear.entries.is_empty()
            || (by_itself && !matches!(unclear.about, About::Passage { .. }));
        if !is_over {
            let unknown = unclear
                .ids
                .iter()
                .filter(|id| state.aliases.get(id).is_none());
            for id in unknown {
                state.unclear.await_id(id, number);
            }
            state.unclear.all.insert(number, unclear);
        }
        late
    }

    /// The next entry tells of this message.
    fn name_one(
        &self,
        state: &mut State,
        unclear: &mut Unclear,
        message: &MessageName,
        by_itself: bool,
    ) -> Option<(StageName, MessageName, Incarnation)> {
        if let About::Passage { stage, untold, .. } = &unclear.about {
            let ended = (stage.clone(), message.clone());
            // A row that stood already: it met a conflict.
            if *untold && state.ended.contains(&ended) {
                return None;
            }
        }
        let entry = if by_itself {
            unclear.entries.pop_front()?
        } else {
            unclear.guessed = Some(message.clone());
            *unclear.entries.front()?
        };
        let at = self.0.history.append(Event::Named {
            entry,
            message: message.clone(),
        });
        match unclear.about.clone() {
            About::Passage {
                stage,
                incarnation,
                job,
                told,
                ..
            } => {
                if self.0.manifest.is_end(&stage) {
                    state.ended.insert((stage.clone(), message.clone()));
                }
                state
                    .effects
                    .note(&Author::Process(incarnation.clone()), at);
                if let Some(job) = job.filter(|job| state.learn(job, message)) {
                    self.0.history.append(Event::Alias {
                        id: job,
                        message: message.clone(),
                    });
                }
                (told.as_ref() != Some(message)).then(|| (stage, message.clone(), incarnation))
            }
            About::Copy {
                message_id,
                receipt,
                body,
            } => {
                state.deliveries.name(&message_id, message);
                state.learn(&message_id, message);
                if let Some(receipt) = receipt {
                    state.learn(&receipt, message);
                }
                if let Some(body) = body {
                    state.bodies.entry(message.clone()).or_insert(body);
                }
                None
            }
            About::Entry => None,
        }
    }

    /// Faults that waited for these messages: it is known too late that they passed.
    pub(super) fn missed_for(
        &self,
        state: &mut State,
        named: &BTreeSet<MessageName>,
        waiting: Vec<Waiting>,
    ) {
        for Waiting { fault, at, .. } in waiting {
            let armed = state.faults.iter_mut().find(|armed| armed.id == fault);
            let Some(armed) = armed else { continue };
            for message in named {
                if armed.passes_unseen(message) {
                    let reason = format!("{message} passed {at} before its id was known");
                    self.0.history.append(Event::Missed { fault, reason });
                }
            }
        }
    }
}
