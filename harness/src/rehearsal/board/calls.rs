//! Calls by their shape: which of them an armed fault names, and, while somebody asks for
//! them, all that were made.

use std::sync::{MutexGuard, PoisonError};

use super::Board;
use super::interference::Interfered;
use crate::checkpoint;
use crate::fault::Point;
use crate::ids::{CallId, DependencyName, Incarnation, MessageName};
use crate::shape::Shape;
use crate::stage::Subject;
use crate::tap::{Call, Reply, Request, Side};

/// A call that a process made.
#[derive(Clone, Debug)]
pub struct Site {
    /// Who made it.
    pub incarnation: Incarnation,
    /// Its shape.
    pub shape: Shape,
    /// Whom it concerned, as far as could be told before it was made.
    pub before: Vec<MessageName>,
    /// Whom it concerned once it took effect; none: it did not.
    pub after: Option<Vec<MessageName>>,
    /// Whether it changed something for good.
    pub durable: bool,
}

impl Site {
    /// Whom it concerned, as far as could ever be told.
    pub fn messages(&self) -> &[MessageName] {
        match &self.after {
            Some(after) if !after.is_empty() => after,
            _ => &self.before,
        }
    }
}

/// A call as it is kept until the messages are known that its ids mean.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    call: CallId,
    incarnation: Incarnation,
    shape: Shape,
    before: Concerned,
    after: Option<Concerned>,
    durable: bool,
}

/// Whom a call may concern.
#[derive(Clone, Debug)]
struct Concerned {
    subjects: Vec<Subject>,
    /// The one message that its author had in hand then.
    in_hand: Option<MessageName>,
}

impl Board {
    /// From now on every call is kept.
    pub(in crate::rehearsal) fn begin_survey(&self) {
        self.sites().get_or_insert_default();
    }

    /// The calls that were kept, with the messages that they were about as far as that is
    /// known by now.
    pub(in crate::rehearsal) fn survey(&self) -> Vec<Site> {
        let kept = self.sites().clone().unwrap_or_default();
        let state = self.state();
        let messages = |concerned: &Concerned| -> Vec<MessageName> {
            let subjects = concerned.subjects.iter();
            let mut messages: Vec<MessageName> = subjects
                .flat_map(|subject| state.aliases.of_subject(subject))
                .collect();
            if messages.is_empty() {
                messages.extend(concerned.in_hand.clone());
            }
            messages.sort();
            messages.dedup();
            messages
        };
        kept.into_iter()
            .map(|kept| Site {
                before: messages(&kept.before),
                after: kept.after.as_ref().map(messages),
                incarnation: kept.incarnation,
                shape: kept.shape,
                durable: kept.durable,
            })
            .collect()
    }

    pub(super) fn survey_call(&self, call: &Call) {
        let Some(incarnation) = self.surveyed(call) else {
            return;
        };
        let kept = Kept {
            call: call.id,
            incarnation,
            shape: Shape::of(&self.0.manifest, &self.0.queues, call),
            before: Concerned {
                subjects: call.concerned(&self.0.manifest),
                in_hand: self.state().sole_in_hand(&call.author),
            },
            after: None,
            durable: false,
        };
        if let Some(sites) = self.sites().as_mut() {
            sites.push(kept);
        }
    }

    pub(super) fn survey_reply(&self, call: &Call, reply: &Reply) {
        if self.surveyed(call).is_none() {
            return;
        }
        let Some(subjects) = call.concerned_after(&self.0.manifest, reply) else {
            return;
        };
        let in_hand = self.state().sole_in_hand(&call.author);
        let durable = changes(call, reply);
        let mut sites = self.sites();
        let known = sites
            .as_mut()
            .and_then(|sites| sites.iter_mut().rev().find(|kept| kept.call == call.id));
        if let Some(kept) = known {
            kept.after = Some(Concerned { subjects, in_hand });
            kept.durable = durable;
        }
    }

    /// Who made a call that is to be kept.
    fn surveyed(&self, call: &Call) -> Option<Incarnation> {
        if self.sites().is_none() || is_announcement(&call.dependency) {
            return None;
        }
        call.author.incarnation().cloned()
    }

    /// Says of each fault whose call was never made which calls came nearest.
    pub(in crate::rehearsal) fn note_unmet(&self) {
        let sites = self.sites().clone().unwrap_or_default();
        let unmet: Vec<_> = {
            let state = self.state();
            let unmet = state
                .faults
                .iter()
                .filter(|armed| armed.triggered == 0 && !armed.fault.may);
            unmet
                .filter_map(|armed| match &armed.fault.point {
                    Point::Call { role, wanted, .. } => {
                        Some((armed.id, role.clone(), wanted.clone()))
                    }
                    _ => None,
                })
                .collect()
        };
        for (fault, role, wanted) in unmet {
            let shapes = || {
                let own = sites.iter().filter(|site| site.incarnation.role == role);
                own.map(|site| &site.shape)
            };
            let made = shapes().filter(|shape| wanted.is(shape)).count();
            if made > 0 {
                let reason = format!(
                    "the {role} made {made} such calls, and none was the one that is waited for"
                );
                self.miss(fault, reason);
                continue;
            }
            let nearest: Vec<String> = wanted
                .nearest(shapes(), 3)
                .into_iter()
                .map(|shape| format!("\"{shape}\""))
                .collect();
            let reason = if nearest.is_empty() {
                format!("the {role} made no call at all")
            } else {
                format!(
                    "the {role} made no such call; nearest: {}",
                    nearest.join(", ")
                )
            };
            self.miss(fault, reason);
        }
    }

    fn sites(&self) -> MutexGuard<'_, Option<Vec<Kept>>> {
        self.0.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shape of a call and whom it concerns, if an armed fault names such calls at this
    /// boundary.
    pub(super) fn named_call(
        &self,
        call: &Call,
        side: Side,
        reply: Option<&Reply>,
    ) -> Option<Interfered> {
        let author = call.author.incarnation()?;
        let is_named = |shape: Option<&Shape>| {
            self.state().faults.iter().any(|armed| {
                !armed.disarmed
                    && armed.side == Some(side)
                    && matches!(&armed.fault.point, Point::Call { role, wanted, .. }
                        if *role == author.role && shape.is_none_or(|shape| wanted.is(shape)))
            })
        };
        if is_announcement(&call.dependency) || !is_named(None) {
            return None;
        }
        let shape = Shape::of(&self.0.manifest, &self.0.queues, call);
        if !is_named(Some(&shape)) {
            return None;
        }
        let subjects = match reply {
            None => call.concerned(&self.0.manifest),
            Some(reply) => call.concerned_after(&self.0.manifest, reply)?,
        };
        Some(Interfered::Call(shape, subjects))
    }
}

/// Announced stages are no calls of the system.
pub(super) fn is_announcement(dependency: &DependencyName) -> bool {
    dependency.as_str() == checkpoint::DEPENDENCY
}

/// Whether a call changed something that outlives its author.
pub(super) fn changes(call: &Call, reply: &Reply) -> bool {
    match (&call.request, reply) {
        (Request::Sqs(request), _) => {
            !request.action.starts_with("Get") && !request.action.starts_with("List")
        }
        (_, Reply::Postgres(reply)) if reply.may_have_written() => true,
        _ => call.wrote(reply),
    }
}
