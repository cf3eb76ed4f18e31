//! What the history knows of each thing that keeps it from being quiet: since when it is
//! so, and which refusal came with it.

use std::fmt::Write as _;
use std::time::Duration;

use super::Rehearsal;
use super::unrest::{Reason, Told, seconds};
use crate::history::{Entry, Event};
use crate::ids::{CallId, Incarnation};
use crate::manifest::Manifest;

impl Rehearsal {
    pub(super) fn told(&self, reasons: Vec<Reason>) -> Vec<Told> {
        let hidden = |reason: Reason| (self.board.hidden(&reason), reason);
        let reasons: Vec<_> = reasons.into_iter().map(hidden).collect();
        self.board.history().read(|entries| {
            reasons
                .into_iter()
                .map(|(hidden, reason)| {
                    let forgotten = forgotten(&self.manifest, entries, &reason);
                    let mut more = more(&self.manifest, entries, &reason);
                    if let Some(end) = forgotten {
                        let _ = write!(
                            more,
                            "; it has its end (history: {end}), and was neither deleted nor given back"
                        );
                    }
                    let returns = match forgotten {
                        Some(_) => None,
                        None => self.by_clock(entries, &reason, &hidden),
                    };
                    if let Some(returns) = returns {
                        let _ = write!(
                            more,
                            "; its time in the queue is over in {}, and nothing happens before",
                            seconds(returns)
                        );
                    }
                    Told {
                        more,
                        reason,
                        forgotten: forgotten.is_some(),
                        by_clock: returns.is_some(),
                    }
                })
                .collect()
        })
    }
}

fn more(manifest: &Manifest, entries: &[Entry], reason: &Reason) -> String {
    match reason {
        Reason::InHand { owner, receipt, .. } => {
            let taken = entries.iter().rposition(|entry| {
                matches!(&entry.event, Event::Delivered { receipt: of, .. } if of == receipt)
            });
            let Some(taken) = taken else {
                return String::new();
            };
            let refused = refused(&entries[taken..], owner);
            format!("{}{}", since(entries, &entries[taken]), refused)
        }
        Reason::NotAsked { consumer, .. } => {
            let consumption = manifest.consumption.as_ref();
            let begins = consumption.filter(|consumption| consumption.role == consumer.role);
            let Some(consumption) = begins else {
                return String::new();
            };
            let turn = entries.iter().rev().find(|entry| match &entry.event {
                Event::Stage { stage, .. } => {
                    consumption.paused.as_ref() == Some(stage)
                        || consumption.resumed.contains(stage)
                }
                _ => false,
            });
            match turn {
                Some(entry)
                    if matches!(&entry.event, Event::Stage { stage, .. }
                        if consumption.paused.as_ref() == Some(stage)) =>
                {
                    format!("; consumption is paused{}", since(entries, entry))
                }
                _ => String::new(),
            }
        }
        _ => String::new(),
    }
}

/// Where a message ended that is still in the hand of an owner who asked for more after it.
fn forgotten(manifest: &Manifest, entries: &[Entry], reason: &Reason) -> Option<u64> {
    let Reason::InHand { owner, message, .. } = reason else {
        return None;
    };
    let end = entries.iter().rposition(|entry| {
        matches!(&entry.event, Event::Stage { stage, message: Some(of), .. }
            if of.as_str() == message && manifest.is_end(stage))
    })?;
    let asked = entries[end..].iter().any(|entry| {
        matches!(&entry.event, Event::Receiving { incarnation, .. } if incarnation == owner)
    });
    asked.then_some(entries[end].seq)
}

fn since(entries: &[Entry], entry: &Entry) -> String {
    let now = entries.last().map_or(entry.at_us, |last| last.at_us);
    let ago = Duration::from_micros(now.saturating_sub(entry.at_us));
    format!(" for {} (history: {})", seconds(ago), entry.seq)
}

/// The last call of an owner that failed, since it has what it has.
fn refused(entries: &[Entry], owner: &Incarnation) -> String {
    let by_owner = |wanted: CallId| {
        entries.iter().find_map(|entry| match &entry.event {
            Event::Called {
                call,
                author,
                summary,
                ..
            } if *call == wanted && author.incarnation() == Some(owner) => Some(&**summary),
            _ => None,
        })
    };
    let failed = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Replied {
            call,
            ok: false,
            summary,
            ..
        } => by_owner(*call).map(|asked| (entry.seq, asked, &**summary)),
        Event::Injected { call, what, .. } => {
            by_owner(*call).map(|asked| (entry.seq, asked, what.as_str()))
        }
        _ => None,
    });
    failed.map_or_else(String::new, |(seq, asked, answer)| {
        format!("; its last refusal was {answer} to {asked} (history: {seq})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story, packer};

    fn in_hand(receipt: &str) -> Reason {
        Reason::InHand {
            owner: packer(1),
            message: "M1".to_owned(),
            receipt: receipt.to_owned(),
        }
    }

    #[test]
    fn what_is_in_hand_is_told_with_its_delivery_and_the_refusal_that_keeps_it_there() {
        let story = Story::new().delivered("M1", "copy");
        let receipt = format!("copy-{}", story.last_call().0);
        let at = story.entries().len();
        let told = more(&MANIFEST, &story.entries(), &in_hand(&receipt));
        assert_eq!(told, format!(" for 0.0 s (history: {at})"));
        let story = story.called(&packer(1), "DeleteMessage orders");
        let call = story.last_call();
        let story = story.then(Event::Replied {
            call,
            summary: "400 ReceiptHandleIsInvalid".into(),
            deliverable: true,
            ok: false,
            status: Some(400),
            wrote: false,
            content: None,
        });
        let told = more(&MANIFEST, &story.entries(), &in_hand(&receipt));
        assert!(
            told.contains(
                "its last refusal was 400 ReceiptHandleIsInvalid to DeleteMessage orders"
            ),
            "{told}"
        );
    }

    #[test]
    fn what_has_its_end_is_forgotten_once_its_owner_asks_for_more() {
        let story = Story::new().delivered("M1", "copy");
        let receipt = format!("copy-{}", story.last_call().0);
        let forgets = |story: &Story| forgotten(&MANIFEST, &story.entries(), &in_hand(&receipt));
        assert_eq!(forgets(&story), None);
        let story = story.passed("shipped", "M1");
        let end = story.entries().len() as u64;
        assert_eq!(forgets(&story), None);
        let call = story.last_call();
        let story = story.then(Event::Receiving {
            call,
            incarnation: packer(1),
            at_most: 1,
            hides: None,
        });
        assert_eq!(forgets(&story), Some(end));
    }

    #[test]
    fn a_delivery_that_nobody_saw_tells_nothing() {
        let told = more(&MANIFEST, &Story::new().entries(), &in_hand("none"));
        assert_eq!(told, "");
    }
}
