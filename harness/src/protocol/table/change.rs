//! What became of one row between two looks.

use super::TableQueue;
use super::evidence::Evidence;
use super::state::{At, Copy, Row, Rows};
use crate::ids::{Author, ConnectionId};
use crate::protocol::queue::QueueEffect;

/// Who may have done it.
pub(super) struct By<'a> {
    pub(super) author: &'a Author,
    pub(super) connection: ConnectionId,
    pub(super) evidence: &'a Evidence,
}

/// Whether anything became of a row that one who said this could have done.
pub(super) fn is_changed(
    queue: &TableQueue,
    copy: Option<&Copy>,
    now: Option<&Row>,
    by: &By<'_>,
) -> bool {
    match (copy, now) {
        (None, None) => false,
        (Some(copy), Some(now)) => match &copy.at {
            At::Waiting => now.in_hand,
            At::Hand => !now.in_hand || is_claimed_again(queue, copy, now, by),
            At::Taken(on, _) => *on == by.connection,
        },
        _ => true,
    }
}

/// Whether a row in hand was claimed once more: what is another with each claim is another,
/// or, where nobody says what that is, a reply handed it over that wrote it.
fn is_claimed_again(queue: &TableQueue, copy: &Copy, now: &Row, by: &By<'_>) -> bool {
    if queue.claim.is_some() {
        // Who only forgets whose it was claims nothing.
        return now.turn.is_some() && copy.seen.turn != now.turn;
    }
    copy.seen.version != now.version
        && by.evidence.brought(queue, &copy.row)
        && !by.evidence.names(queue, &copy.row)
}

/// Takes a change in, and says what it was. A row that came and is in hand already, and not by
/// this call, waits here until the call that claimed it is looked at.
pub(super) fn apply(
    (name, queue): (&str, &TableQueue),
    rows: &mut Rows,
    (id, now): (&str, Option<&Row>),
    by: &By<'_>,
    may_claim: bool,
) -> Vec<QueueEffect> {
    let mut effects = Vec::new();
    let Some(copy) = rows.copies.get_mut(id) else {
        if let Some(now) = now {
            let copy = rows.come(name, id, now);
            effects.push(QueueEffect::Sent(copy.item(name)));
            if now.in_hand && may_claim {
                effects.push(copy.deliver(name, by.author, At::Hand));
            }
        }
        return effects;
    };
    let Some(now) = now else {
        let popped = matches!(copy.at, At::Waiting) && by.evidence.brought(queue, id);
        if popped {
            effects.push(copy.deliver(name, by.author, At::Hand));
        }
        effects.push(QueueEffect::Deleted(copy.item(name), copy.receipt()));
        rows.copies.remove(id);
        return effects;
    };
    match (&copy.at, now.in_hand) {
        (At::Waiting, true) => effects.push(copy.deliver(name, by.author, At::Hand)),
        (At::Hand | At::Taken(..), false) => effects.push(copy.release()),
        (At::Taken(..), true) => copy.at = At::Hand,
        (At::Hand, true) if is_claimed_again(queue, copy, now, by) => {
            effects.push(copy.deliver(name, by.author, At::Hand));
        }
        (At::Hand, true) | (At::Waiting, false) => {}
    }
    let turn = now.turn.clone().or(copy.seen.turn.take());
    copy.seen = Row {
        turn,
        ..now.clone()
    };
    effects
}
