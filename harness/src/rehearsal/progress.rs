//! Whether a system that is not quiet gets on: whether something happened that had not
//! happened before. A message that is received again and again gets nobody any further.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::unrest::Pace;
use crate::deployment::readiness::at_most;
use crate::history::{Entry, Event};
use crate::ids::{Incarnation, RoleName};
use crate::manifest::Manifest;

/// Nobody stands who did something new within this time, however short the limit is.
const BREATH: Duration = Duration::from_secs(2);

/// What was new so far, read entry by entry.
#[derive(Debug)]
pub(super) struct Progress {
    /// The last entry that was read.
    read: u64,
    seen: BTreeSet<New>,
    backlogs: BTreeMap<RoleName, i64>,
    /// When something new happened last, and where.
    mark: Instant,
    seq: u64,
    /// Deliveries since then, by message or copy.
    round: BTreeMap<String, usize>,
    /// Who was started and is not ready yet: where that stands, and since when.
    starts: BTreeMap<Incarnation, (u64, Instant)>,
}

/// One that was started so often and is not ready again gets nobody any further.
const STARTS: u32 = 5;

/// Something that is new once.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum New {
    Accepted(String),
    Sent(String),
    Delivered(String),
    Deleted(String),
    Performed(String),
    Passed(String, String),
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            read: 0,
            seen: BTreeSet::new(),
            backlogs: BTreeMap::new(),
            mark: Instant::now(),
            seq: 0,
            round: BTreeMap::new(),
            starts: BTreeMap::new(),
        }
    }

    /// Reads what was appended since.
    pub(super) fn read(&mut self, entries: &[Entry]) {
        let later = entries.partition_point(|entry| entry.seq <= self.read);
        for entry in &entries[later..] {
            if let Event::Delivered {
                message,
                message_id,
                ..
            } = &entry.event
            {
                let whose = message.as_ref().map_or(message_id.as_str(), |m| m.as_str());
                *self.round.entry(whose.to_owned()).or_default() += 1;
            }
            match &entry.event {
                Event::Started { incarnation, .. } => {
                    let start = (entry.seq, Instant::now());
                    self.starts.insert(incarnation.clone(), start);
                }
                Event::Ready { incarnation } | Event::Exited { incarnation, .. } => {
                    self.starts.remove(incarnation);
                }
                _ => {}
            }
            if new(&entry.event).is_some_and(|new| self.seen.insert(new)) {
                self.note(entry.seq);
            }
        }
        self.read = entries.last().map_or(self.read, |last| last.seq);
    }

    /// A backlog that shrinks is progress too.
    pub(super) fn waits(&mut self, role: &RoleName, waiting: i64) {
        let before = self.backlogs.insert(role.clone(), waiting);
        if before.is_some_and(|before| waiting < before) {
            self.note(self.seq);
        }
    }

    /// Who is starting and has not had the time for it that it may take: where that stands.
    pub(super) fn start_under_way(&self, manifest: &Manifest) -> Option<u64> {
        let under_way = |(by, (_, since)): &(&Incarnation, &(u64, Instant))| {
            let process = manifest.processes.get(&by.role);
            by.start <= STARTS
                && process.is_some_and(|it| since.elapsed() < at_most(it.ready_within))
        };
        let latest = self.starts.iter().filter(under_way);
        latest.map(|(_, (seq, _))| *seq).max()
    }

    fn note(&mut self, seq: u64) {
        self.mark = Instant::now();
        self.seq = seq;
        self.round.clear();
    }

    /// Whether it got on in the latter half of the limit that is over now.
    pub(super) fn pace(&self, within: Duration) -> Pace {
        let since = self.mark.elapsed();
        if since < BREATH.max(within / 2) {
            return Pace::GetsOn { seq: self.seq };
        }
        let most = self.round.iter().max_by_key(|(_, times)| **times);
        let round = most.filter(|(_, times)| **times > 1);
        Pace::Stands {
            since,
            seq: self.seq,
            round: round.map(|(whose, times)| (whose.clone(), *times)),
        }
    }
}

/// What is new of an event if it was never seen before. Copies count by their message: a
/// message that is sent on and on gets nowhere.
fn new(event: &Event) -> Option<New> {
    let whose = |message: &Option<crate::ids::MessageName>, copy: &str| {
        message
            .as_ref()
            .map_or_else(|| copy.to_owned(), ToString::to_string)
    };
    match event {
        Event::Accepted { message, .. } => Some(New::Accepted(message.to_string())),
        Event::Sent {
            message,
            message_id,
            queue,
            ..
        } => Some(New::Sent(format!("{queue} {}", whose(message, message_id)))),
        Event::Delivered {
            message,
            message_id,
            queue,
            ..
        } => Some(New::Delivered(format!(
            "{queue} {}",
            whose(message, message_id)
        ))),
        Event::Deleted {
            message,
            message_id: Some(copy),
            ..
        } => Some(New::Deleted(whose(message, copy))),
        Event::Performed {
            message: Some(message),
            write: true,
            ..
        } => Some(New::Performed(message.to_string())),
        Event::Stage {
            stage,
            message: Some(message),
            ..
        } => Some(New::Passed(stage.to_string(), message.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::Story;

    fn read(story: &Story) -> Progress {
        let mut progress = Progress::new();
        progress.read(&story.entries());
        progress
    }

    #[test]
    fn what_was_never_seen_before_is_progress_and_its_repetition_is_not() {
        let story = Story::new().accepted("M1").sent("M1", "copy");
        let once = story.clone().delivered("M1", "copy").passed("tried", "M1");
        let at = once.entries().len() as u64;
        assert_eq!(read(&once).seq, at);
        let again = once.delivered("M1", "copy").passed("tried", "M1");
        assert_eq!(read(&again).seq, at);
        let copied = again.sent("M1", "second").delivered("M1", "second");
        assert_eq!(
            read(&copied).seq,
            at,
            "another copy of it gets it no further"
        );
        let shipped = copied.passed("shipped", "M1");
        assert_eq!(read(&shipped).seq, shipped.entries().len() as u64);
    }

    #[test]
    fn a_message_that_goes_round_is_named() {
        let mut story = Story::new().accepted("M1").sent("M1", "copy");
        for _ in 0..5 {
            story = story.delivered("M1", "copy").passed("tried", "M1");
        }
        let mut progress = read(&story);
        progress.mark = Instant::now()
            .checked_sub(Duration::from_secs(40))
            .expect("the machine is up for that long");
        let Pace::Stands { round, .. } = progress.pace(Duration::from_secs(30)) else {
            panic!("it stands");
        };
        assert_eq!(round, Some(("M1".to_owned(), 4)));
    }

    #[test]
    fn a_limit_that_is_too_short_to_tell_convicts_nobody() {
        let progress = read(&Story::new());
        let pace = progress.pace(Duration::from_millis(200));
        assert!(matches!(pace, Pace::GetsOn { .. }));
    }

    #[test]
    fn a_backlog_is_progress_only_while_it_shrinks() {
        let mut progress = Progress::new();
        let publisher = RoleName::from("publisher");
        progress.waits(&publisher, 3);
        let mark = progress.mark;
        progress.waits(&publisher, 3);
        progress.waits(&publisher, 4);
        assert_eq!(progress.mark, mark);
        progress.waits(&publisher, 2);
        assert_ne!(progress.mark, mark);
    }

    #[test]
    fn whoever_is_starting_is_given_its_time_and_not_for_ever() {
        use crate::judge::story::{MANIFEST, packer};
        let started = |start| {
            Story::new().then(Event::Started {
                incarnation: packer(start),
                pid: 1,
            })
        };
        let under_way = |story: &Story| read(story).start_under_way(&MANIFEST);
        assert_eq!(under_way(&started(2)), Some(2));
        let ready = started(2).then(Event::Ready {
            incarnation: packer(2),
        });
        assert_eq!(under_way(&ready), None);
        let died = started(2).exited(crate::history::DeathCause::Ordered, &[]);
        assert_eq!(
            under_way(&died.then(Event::Quiet)),
            Some(2),
            "another one died"
        );
        assert_eq!(under_way(&started(STARTS + 1)), None);
        let mut late = read(&started(2));
        let within = at_most(MANIFEST.processes[&RoleName::from("packer")].ready_within);
        let long_ago = Instant::now().checked_sub(within);
        for (_, since) in late.starts.values_mut() {
            *since = long_ago.expect("the machine is up for that long");
        }
        assert_eq!(late.start_under_way(&MANIFEST), None);
    }
}
