//! Whom a call can only be about, while its id is not told yet.

use std::collections::BTreeSet;

use super::Board;
use super::state::State;
use super::unclear::{About, Open, UnclearOnes, Whom};
use crate::history::Event;
use crate::ids::{Author, MessageName};
use crate::manifest::{ReplyBody, Route};
use crate::place;
use crate::stage::{Effect, Subject};
use crate::tap::{Call, Request};

impl State {
    /// Messages whose job's id nobody was told yet.
    pub(super) fn untold(&self) -> BTreeSet<MessageName> {
        self.submitting.union(&self.unanswered).cloned().collect()
    }

    /// The one message that these ids can mean.
    fn presume(&self, author: &Author, ids: &[String], instead: &[String]) -> Option<MessageName> {
        let untold = self.untold();
        let company = &self.unclear.company;
        let by_company = company
            .presume(ids, &untold)
            .or_else(|| company.presume(instead, &untold));
        if by_company.is_some() {
            return by_company;
        }
        let hand = author
            .incarnation()
            .map(|owner| self.deliveries.unsettled_of(owner))
            .unwrap_or_default();
        let copy = match hand.as_slice() {
            [] => None,
            [one] if one.message.is_none() => Some(&one.message_id),
            // Whatever it is, it need not be what nobody was told of.
            _ => return None,
        };
        let sent_with = copy.map(|copy| self.unclear.ids_of_copy(copy));
        let by_copy = sent_with.and_then(|ids| company.presume(&ids, &untold));
        by_copy.or_else(|| match untold.len() {
            1 => untold.into_iter().next(),
            _ => None,
        })
    }

    /// Whether somebody has something in hand that nobody can name yet.
    pub(super) fn may_have_in_hand(&self, author: &Author) -> BTreeSet<MessageName> {
        let owner = author.incarnation();
        let hand = owner.map(|owner| self.deliveries.unsettled_of(owner));
        let unnamed = hand.is_some_and(|hand| hand.iter().any(|one| one.message.is_none()));
        if unnamed {
            self.untold()
        } else {
            BTreeSet::new()
        }
    }
}

impl Board {
    /// Whom a call is about by these ids, now or as it may be told later.
    pub(super) fn whom(&self, call: &Call, subject: &Subject) -> Whom {
        let state = self.state();
        let own = state.aliases.messages(&subject.ids);
        let mut messages = state.aliases.of_subject(subject);
        let guessed = own.is_empty();
        if messages.is_empty() {
            messages.extend(state.sole_in_hand(&call.author));
        }
        let untold = state.untold();
        let unknown = |ids: &[String]| -> Vec<String> {
            let unknown = |id: &&String| !id.is_empty() && state.aliases.get(id).is_none();
            ids.iter().filter(unknown).cloned().collect()
        };
        let ids = unknown(&subject.ids);
        let mut instead = Vec::new();
        if messages.is_empty() {
            instead = unknown(&subject.inherited);
            let owner = call.author.incarnation();
            let hand = owner.map(|owner| state.deliveries.unsettled_of(owner));
            if let Some([one]) = hand.as_deref() {
                instead.push(one.message_id.clone());
            }
        }
        let nothing = ids.is_empty() && instead.is_empty();
        if untold.is_empty() || nothing {
            return Whom {
                messages,
                presumed: None,
                open: None,
            };
        }
        let presumed = messages
            .is_empty()
            .then(|| state.presume(&call.author, &ids, &instead))
            .flatten();
        let others = untold.difference(&messages).count();
        let more = if guessed {
            others.saturating_sub(1)
        } else {
            others
        };
        let more = match subject.effect {
            Effect::Rows(rows) => {
                let rows = usize::try_from(rows).unwrap_or(usize::MAX);
                more.min(rows.saturating_sub(messages.len().max(1)))
            }
            Effect::Whole | Effect::Untold(_) => more,
        };
        let more = more.min(ids.len().saturating_sub(usize::from(guessed)));
        if !guessed && more == 0 {
            return Whom {
                messages,
                presumed: None,
                open: None,
            };
        }
        Whom {
            messages,
            presumed,
            open: Some(Open {
                ids,
                instead,
                guessed,
                more,
            }),
        }
    }

    /// Values that stand together in a call, while somebody waits for an id.
    pub(super) fn note_company(&self, state: &mut State, call: &Call) {
        if state.submitting.is_empty() {
            return;
        }
        let State {
            unclear, aliases, ..
        } = state;
        for together in call.together(&self.0.manifest) {
            unclear.company.note(&together, aliases);
        }
    }

    /// The message whose job these ids can only be, although its client was never told:
    /// its submission got no answer.
    pub(super) fn adopt(&self, state: &mut State, ids: &[String]) -> Option<MessageName> {
        let UnclearOnes { company, .. } = &state.unclear;
        let message = company.presume(ids, &state.unanswered)?;
        let of = BTreeSet::from([message.clone()]);
        let meant = ids
            .iter()
            .filter(|id| company.presume([*id], &of).is_some());
        for id in meant.cloned().collect::<Vec<_>>() {
            if state.learn(&id, &message) {
                self.0.history.append(Event::Alias {
                    id,
                    message: message.clone(),
                });
            }
        }
        Some(message)
    }

    /// Copies whose client was not told adopt the message that they can only be of.
    pub(super) fn adopt_copies(&self, state: &mut State) {
        let copies = state.unclear.all.values();
        let ids: Vec<Vec<String>> = copies
            .filter(|unclear| matches!(unclear.about, About::Copy { .. }))
            .map(|unclear| unclear.ids.clone())
            .collect();
        for ids in ids {
            self.adopt(state, &ids);
        }
        self.clear(state);
    }

    /// The job in a request to a service that the harness plays, which answers with what
    /// the job's message carries.
    pub(super) fn job_served(&self, call: &Call) -> Option<String> {
        let Request::Http(request) = &call.request else {
            return None;
        };
        let service = self.0.manifest.dependencies.get(&call.dependency)?;
        let serves = |route: &&Route| {
            let replies = &mut route.replies.iter();
            replies.any(|reply| matches!(reply.body, ReplyBody::Message))
                && (route.method == "*" || route.method == request.method)
        };
        let mut routes = service.routes().iter().filter(serves);
        routes.find_map(|route| {
            let captures = place::match_path(&route.path, &request.path)?;
            let paths = [route.path.as_str()];
            let found = route.job.as_ref();
            let found = found.and_then(|job| place::lookup(job, request, paths).into_iter().next());
            found.or_else(|| captures.get("job").map(str::to_owned))
        })
    }

    /// The message that a job can only be one of.
    pub(in crate::rehearsal) fn job_can_only_be(&self, job: &str) -> Option<MessageName> {
        let state = self.state();
        if let Some(message) = state.aliases.get(job) {
            return Some(message.clone());
        }
        let untold = state.untold();
        let by_company = state.unclear.company.presume([&job.to_owned()], &untold);
        by_company.or_else(|| match untold.len() {
            1 => untold.into_iter().next(),
            _ => None,
        })
    }

    /// Resolves once it can be told whose job it is, or nobody is going to be told.
    pub(super) async fn until_told(&self, job: &str) {
        let nobody_is_told = || self.state().submitting.is_empty();
        self.until(|| (self.job_can_only_be(job).is_some() || nobody_is_told()).then_some(()))
            .await;
    }
}
