//! Entries that are named late: a system can be quicker than its answer to the client, who
//! alone is told what an id means.

use super::{DeathCause, Entry, Event};
use crate::ids::MessageName;

/// What an entry said of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heeded {
    Nothing,
    /// Whom the entry at this place is about, which nobody knew.
    Named(u64),
    /// It is about another message than was thought.
    Renamed,
}

/// Heeds what an entry says of those before it.
pub(super) fn heed(entries: &mut [Entry], entry: &Entry) -> Heeded {
    let Event::Named {
        entry: seq,
        message,
    } = &entry.event
    else {
        return Heeded::Nothing;
    };
    let announced = entries.iter().find_map(|entry| match &entry.event {
        Event::Declared {
            message: declared,
            kills,
            ..
        } if declared == message => kills.clone(),
        _ => None,
    });
    let index = place(entries, *seq);
    match entries.get_mut(index).filter(|earlier| earlier.seq == *seq) {
        Some(earlier) => name(earlier, message, announced.as_deref()),
        None => Heeded::Nothing,
    }
}

/// Where an entry stands, if it does: those that are over are not in memory.
pub(super) fn place(entries: &[Entry], seq: u64) -> usize {
    entries.partition_point(|entry| entry.seq < seq)
}

fn name(earlier: &mut Entry, message: &MessageName, announced: Option<&str>) -> Heeded {
    let seq = earlier.seq;
    if let Event::Unclear {
        stage,
        incarnation,
        call,
        captured,
    } = &earlier.event
    {
        earlier.event = Event::Stage {
            stage: stage.clone(),
            incarnation: incarnation.clone(),
            call: *call,
            message: Some(message.clone()),
            captured: captured.clone(),
        };
        return Heeded::Named(seq);
    }
    let named = match &mut earlier.event {
        Event::Stage { message, .. }
        | Event::Sent { message, .. }
        | Event::Delivered { message, .. }
        | Event::Deleted { message, .. }
        | Event::VisibilityChanged { message, .. }
        | Event::Expired { message, .. }
        | Event::Performed { message, .. } => message,
        Event::Exited {
            incarnation,
            cause,
            in_hand,
            ..
        } => {
            if !in_hand.contains(message) {
                in_hand.push(message.clone());
            }
            // What nobody had ordered was announced after all.
            if *cause == DeathCause::Unexpected && announced == Some(incarnation.role.as_str()) {
                *cause = DeathCause::Announced;
            }
            return Heeded::Nothing;
        }
        _ => return Heeded::Nothing,
    };
    match named.replace(message.clone()) {
        None => Heeded::Named(seq),
        Some(before) if before == *message => Heeded::Nothing,
        Some(_) => Heeded::Renamed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tally;
    use super::*;
    use crate::judge::story::{Story, packer};

    fn heeded(story: &Story) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in story.entries() {
            heed(&mut entries, &entry);
            entries.push(entry);
        }
        entries
    }

    fn named(entry: u64) -> Event {
        Event::Named {
            entry,
            message: "M1".into(),
        }
    }

    #[test]
    fn what_passed_unclearly_is_a_passage_once_it_is_named() {
        let unclear = Event::Unclear {
            stage: "tried".into(),
            incarnation: packer(1),
            call: crate::ids::CallId(1),
            captured: std::collections::BTreeMap::new(),
        };
        let story = Story::new().accepted("M1").then(unclear);
        let at = story.entries().len() as u64;
        let passages =
            |story: &Story| Tally::of(&heeded(story)).passages(&"M1".into(), &"tried".into());
        assert_eq!(passages(&story), 0);
        assert_eq!(passages(&story.then(named(at))), 1);
    }

    #[test]
    fn a_passage_of_nobody_is_the_message_s_that_it_is_named_for() {
        let story = Story::new().accepted("M1").passed_by_nobody("shipped");
        let at = story.entries().len() as u64;
        let entries = heeded(&story.then(named(at)));
        let index = usize::try_from(at - 1).unwrap();
        assert!(matches!(
            &entries[index].event,
            Event::Stage { message: Some(message), .. } if message.as_str() == "M1"
        ));
    }
}
