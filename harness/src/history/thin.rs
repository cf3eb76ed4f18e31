//! What memory keeps of a long history: a call that is over and that nothing else tells of
//! is in the file, and needed no more.
//!
//! Only ordinary calls go: made by a process of the system, answered well, with nobody who
//! missed the answer. What judges and steps ask of them is kept elsewhere or by others of
//! their kind: the calls by their shape are counted in the [`Tally`](super::Tally), the
//! first call of each incarnation stays, and so does the first that named a message.

use std::collections::{HashMap, HashSet};

use super::{Attribution, Entry, Event};
use crate::ids::{CallId, Incarnation, MessageName};

/// Drops what is over.
pub(crate) fn thin(entries: &mut Vec<Entry>) {
    let over = over(entries);
    entries.retain(|entry| match &entry.event {
        Event::Called { call, .. } | Event::Replied { call, .. } => !over.contains(call),
        _ => true,
    });
}

/// A call that may be over.
struct Open {
    at: u64,
    /// Whether it is about a message.
    named: bool,
    answered: bool,
}

/// The calls that are over.
fn over(entries: &[Entry]) -> HashSet<CallId> {
    let (passed, told_of) = told_of(entries);
    let mut callers: HashSet<&Incarnation> = HashSet::new();
    let mut named: HashSet<&MessageName> = HashSet::new();
    let mut calls: HashMap<CallId, Open> = HashMap::new();
    // A reading of what is on record at the attempt limit asks which calls were open then.
    let mut read_at = 0;
    for entry in entries {
        match &entry.event {
            Event::Called {
                call,
                author,
                messages,
                attribution,
                receipts,
                ..
            } => {
                let is_first = author.incarnation().is_none_or(|by| callers.insert(by));
                let is_new = *attribution == Attribution::Id
                    && messages
                        .iter()
                        .fold(false, |any, one| named.insert(one) | any);
                if !is_first && !is_new && receipts.is_empty() && !told_of.contains(call) {
                    let open = Open {
                        at: entry.seq,
                        named: !messages.is_empty(),
                        answered: false,
                    };
                    calls.insert(*call, open);
                }
            }
            Event::Replied {
                call,
                wrote,
                deliverable,
                ok,
                ..
            } => {
                let Some(open) = calls.get_mut(call) else {
                    continue;
                };
                let is_plain = *ok && *deliverable && open.at > read_at;
                let is_nameless = *wrote && open.named && !passed.contains(call);
                open.answered = is_plain && !is_nameless && !open.answered;
                if !open.answered {
                    calls.remove(call);
                }
            }
            Event::Exhausted { .. } => read_at = entry.seq,
            Event::Stage {
                message: Some(message),
                ..
            }
            | Event::Alias { message, .. } => {
                named.insert(message);
            }
            _ => {}
        }
    }
    calls.retain(|_, open| open.answered);
    calls.into_keys().collect()
}

/// The calls at which a stage was passed, and those that something else tells of.
fn told_of(entries: &[Entry]) -> (HashSet<CallId>, HashSet<CallId>) {
    let (mut passed, mut told_of) = (HashSet::new(), HashSet::new());
    for entry in entries {
        match &entry.event {
            Event::Stage { call, .. } => {
                passed.insert(*call);
            }
            Event::NotForwarded { call, .. }
            | Event::Injected { call, .. }
            | Event::Abandoned { call, .. }
            | Event::Sent { call, .. }
            | Event::Placed { call, .. }
            | Event::Delivered { call, .. }
            | Event::Deleted { call, .. }
            | Event::VisibilityChanged { call, .. }
            | Event::Streamed { call, .. }
            | Event::Unclear { call, .. }
            | Event::Made { call, .. }
            | Event::Triggered {
                call: Some(call), ..
            } => {
                told_of.insert(*call);
            }
            _ => {}
        }
    }
    (passed, told_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Text;
    use crate::judge::story::{Story, packer};

    fn answered(story: Story, wrote: bool, ok: bool) -> Story {
        let call = story.last_call();
        story.then(Event::Replied {
            call,
            summary: Text::default(),
            status: None,
            wrote,
            deliverable: true,
            ok,
            content: None,
        })
    }

    fn kept(story: &Story) -> Vec<u64> {
        let mut entries = story.entries();
        thin(&mut entries);
        entries.iter().map(|entry| entry.seq).collect()
    }

    fn called(story: Story) -> Story {
        story.called(&packer(1), "Look")
    }

    #[test]
    fn an_ordinary_call_that_was_answered_is_over() {
        let first = answered(called(Story::new()), false, true);
        let story = answered(called(first), true, true);
        assert_eq!(kept(&story), [1, 2, 3]);
    }

    #[test]
    fn what_is_open_failed_or_told_of_stays() {
        let first = || called(Story::new());
        let open = called(first());
        assert_eq!(kept(&open).len(), 3);
        let failed = answered(called(first()), false, false);
        assert_eq!(kept(&failed).len(), 4);
        let story = called(first());
        let call = story.last_call();
        let told_of = answered(story, false, true).then(Event::Abandoned {
            call,
            side: crate::tap::Side::After,
        });
        assert_eq!(kept(&told_of).len(), 5);
    }

    #[test]
    fn what_was_open_when_a_record_was_read_stays() {
        let story = called(called(Story::new())).then(Event::Exhausted {
            message: "M1".into(),
            limit: 1,
            counted: None,
            content: None,
            last_stage: None,
        });
        assert_eq!(kept(&answered(story, false, true)).len(), 5);
    }

    #[test]
    fn thinning_twice_is_thinning_once() {
        let mut story = called(Story::new()).accepted("M1").sent("M1", "copy");
        for _ in 0..5 {
            story = answered(story.called(&packer(1), "Look"), true, true).passed("tried", "M1");
        }
        let mut once = story
            .delivered("M1", "copy")
            .passed("shipped", "M1")
            .entries();
        thin(&mut once);
        let places = |entries: &[Entry]| entries.iter().map(|one| one.seq).collect::<Vec<_>>();
        let kept = places(&once);
        thin(&mut once);
        assert_eq!(places(&once), kept);
    }
}
