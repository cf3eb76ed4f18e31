//! What a queue's answers prove: deliveries, aliases, effects.

use super::super::deliveries::{Delivery, DeliveryState, Known};
use super::super::facts::Fact;
use super::super::unnamed::Kind;
use super::Board;
use super::state::DeliveredMessage;
use super::unclear::About;
use crate::history::Event;
use crate::ids::MessageName;
use crate::place;
use crate::stage::WITHIN;
use crate::tap::Call;

impl Board {
    /// Takes a fact in: history, deliveries, aliases. Gives back what nobody got.
    pub(super) fn learn(&self, call: &Call, fact: Fact, deliverable: bool) -> Option<Delivery> {
        let state = &mut *self.state();
        let mut unnamed = None;
        let (event, orphan) = match fact {
            Fact::Sent {
                queue,
                message_id,
                ids,
                item,
            } => {
                let kind = Kind::Sent {
                    queue: queue.clone(),
                };
                let mut all = ids.clone();
                all.push(message_id.clone());
                let ids: Vec<String> = ids
                    .into_iter()
                    .filter(|id| !id.starts_with(WITHIN))
                    .collect();
                let message = self.name_or_note(state, call, kind, &all, &item);
                if let Some(message) = &message {
                    state.learn(&message_id, message);
                } else {
                    let about = About::Copy {
                        message_id: message_id.clone(),
                        receipt: None,
                        body: None,
                    };
                    unnamed = Some((all, about));
                }
                (
                    Event::Sent {
                        call: call.id,
                        queue,
                        message_id,
                        ids: if message.is_some() { Vec::new() } else { ids },
                        message,
                    },
                    None,
                )
            }
            Fact::Placed {
                queue,
                message_id,
                group,
                sequence,
            } => {
                let event = Event::Placed {
                    call: call.id,
                    queue,
                    message_id,
                    group,
                    sequence,
                };
                (event, None)
            }
            Fact::Delivered {
                queue,
                message_id,
                receipt,
                ids,
                item,
            } => {
                Self::note_claim(state, call);
                let body = place::message_body(&item).unwrap_or_default().to_owned();
                let mut ids = ids;
                ids.push(message_id.clone());
                if state.aliases.messages(&ids).is_empty()
                    && let Some(message) = state.take_foreign(&body)
                {
                    state.learn(&message_id, &message);
                }
                let kind = Kind::Delivered {
                    queue: queue.clone(),
                };
                let message = self.name_or_note(state, call, kind, &ids, &item);
                if let Some(message) = &message {
                    state.learn(&message_id, message);
                    state.learn(&receipt, message);
                    state
                        .bodies
                        .entry(message.clone())
                        .or_insert_with(|| DeliveredMessage::of(&body, &item));
                } else {
                    let about = About::Copy {
                        message_id: message_id.clone(),
                        receipt: Some(receipt.clone()),
                        body: Some(DeliveredMessage::of(&body, &item)),
                    };
                    unnamed = Some((ids, about));
                }
                let mut orphan = None;
                if let Some(owner) = call.author.incarnation() {
                    let mut receives = state.receives.iter_mut();
                    let receive = receives
                        .find(|((_, _, at), receive)| receive.call == call.id && *at == queue);
                    if let Some((_, receive)) = receive {
                        receive.empty_handed = false;
                    }
                    let delivery = Delivery {
                        dependency: call.dependency.clone(),
                        queue: queue.clone(),
                        message_id: message_id.clone(),
                        receipt: receipt.clone(),
                        message: message.clone(),
                        owner: owner.clone(),
                        state: DeliveryState::Held,
                    };
                    state.deliveries.deliver(delivery.clone());
                    // The owner's death expires what it held; a caller that lives and
                    // went away has lost it now.
                    // One that never goes on will never take it.
                    let lost = !deliverable || state.left_standing.contains(owner);
                    if lost && state.living.contains_key(owner) {
                        state.deliveries.end(&receipt);
                        orphan = Some(delivery);
                    }
                }
                let body = self.0.history.content(body.as_bytes());
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
            Fact::Unseen { queue, command } => {
                let reason = format!(
                    "{command} of {} did to the queue `{queue}` what no wire tells: nobody knows \
                     what was taken or put there",
                    call.author
                );
                if state.doubted.insert(reason.clone()) {
                    self.0.history.append(Event::Doubt { reason });
                }
                return None;
            }
            Fact::Deleted {
                receipt,
                message_id,
                kept,
            } => {
                let known = state.deliveries.known(&receipt).or_else(|| {
                    let message_id = message_id?;
                    let message = state.aliases.get(&message_id).cloned();
                    Some(Known {
                        message_id,
                        message,
                    })
                });
                state.deliveries.end(&receipt);
                let message_id = known.as_ref().map(|known| known.message_id.clone());
                let message = known.and_then(|known| known.message);
                unnamed = of_copy(message.as_ref(), message_id.as_ref());
                let event = Event::Deleted {
                    call: call.id,
                    author: call.author.clone(),
                    message_id,
                    message,
                    receipt,
                    kept,
                };
                (event, None)
            }
            Fact::VisibilityChanged { receipt, seconds } => {
                let known = state.deliveries.known(&receipt);
                let message_id = known.as_ref().map(|known| known.message_id.clone());
                let message = known.and_then(|known| known.message);
                unnamed = of_copy(message.as_ref(), message_id.as_ref());
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
        state.effects.note(&call.author, seq);
        if let Some((ids, about)) = unnamed {
            Self::keep_unnamed(state, seq, &ids, about);
        }
        self.clear(state);
        orphan
    }

    pub(super) fn give_back(&self, orphans: Vec<Delivery>) {
        if let (false, Some(actor)) = (orphans.is_empty(), self.actor()) {
            tokio::spawn(actor.expire(orphans));
        }
    }
}

/// What is told of a copy whose message nobody knows yet.
fn of_copy(
    message: Option<&MessageName>,
    message_id: Option<&String>,
) -> Option<(Vec<String>, About)> {
    let message_id = message_id.filter(|_| message.is_none())?;
    Some((vec![message_id.clone()], About::Entry))
}
