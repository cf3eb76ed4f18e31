//! A ledger that is fed as a history grows is the one that is read from it as a whole, and
//! judging reads each entry as often whatever stands before it.

use super::*;
use crate::judge::judge;
use crate::judge::story::{MANIFEST, Story, job};

fn evidence(entries: &[Entry]) -> Evidence<'_> {
    Evidence {
        manifest: &MANIFEST,
        entries,
    }
}

/// What is entered, in words.
fn told(ledger: &Ledger) -> String {
    format!(
        "{:?} {:?} {:?}",
        ledger.accounts,
        ledger.strange_writes,
        ledger.copies_left()
    )
}

/// Fed entry by entry, looked at after each.
fn grown(entries: &[Entry]) -> Ledger {
    let mut ledger = Ledger::default();
    for end in 1..=entries.len() {
        let so_far = evidence(&entries[..end]);
        ledger.catch_up(so_far);
        assert_eq!(told(&ledger), told(&Ledger::of(so_far)), "after {end}");
    }
    ledger
}

/// The same story, told by somebody who learns of no message until its client does.
fn unnamed(story: &Story) -> Story {
    let events = story.events().iter().cloned();
    let mut accepted = Vec::new();
    let mut events: Vec<Event> = events
        .filter_map(|mut event| {
            match &mut event {
                Event::Accepted { .. } => {
                    accepted.push(event);
                    return None;
                }
                Event::Sent { message, ids, .. } => {
                    let whose = message.take().map(|message| job(message.as_str()));
                    *ids = whose.into_iter().collect();
                }
                Event::Delivered { message, .. }
                | Event::Deleted { message, .. }
                | Event::Performed { message, .. } => *message = None,
                _ => {}
            }
            Some(event)
        })
        .collect();
    events.extend(accepted);
    Story::of(events)
}

fn account<'l>(ledger: &'l Ledger, message: &str) -> &'l Account {
    &ledger.accounts[&MessageName::new(message)]
}

#[test]
fn what_becomes_known_late_is_entered_at_its_place() {
    let story = Story::new()
        .shipped("M1")
        .delivered("M1", "copy-of-M1")
        .shipped("M2");
    let known = grown(&story.entries());
    let late = grown(&unnamed(&story).entries());
    for message in ["M1", "M2"] {
        let (known, late) = (account(&known, message), account(&late, message));
        assert_eq!(known.delivered.len(), late.delivered.len());
        assert_eq!(known.writes.len(), late.writes.len());
        assert_eq!(
            known.sent.keys().collect::<Vec<_>>(),
            late.sent.keys().collect::<Vec<_>>()
        );
        assert_eq!(known.deletions.len(), late.deletions.len());
        assert!(late.delivered.is_sorted());
    }
    assert!(late.strange_writes.is_empty());
    assert_eq!(known.copies_left(), late.copies_left());
}

#[test]
fn a_write_for_a_job_that_nobody_ever_knows_stays_strange() {
    let story = unnamed(&Story::new().shipped("M1"));
    let events = story.events();
    let told = Story::of(events[..events.len() - 1].to_vec());
    let ledger = grown(&told.entries());
    let jobs: Vec<_> = ledger
        .strange_writes
        .iter()
        .map(|(_, job)| job.clone())
        .collect();
    assert_eq!(jobs, [Some(job("M1"))]);
}

#[test]
fn an_id_that_is_said_to_mean_two_messages_means_the_last_one_everywhere() {
    let twice = |story: Story| {
        story.then(Event::Accepted {
            message: "M2".into(),
            job: job("M1"),
        })
    };
    let story = unnamed(&Story::new().shipped("M1").accepted("M2"));
    let ledger = grown(&twice(story.clone()).entries());
    assert_eq!(account(&ledger, "M2").writes.len(), 1);
    assert!(account(&ledger, "M1").writes.is_empty());
    // And what is appended later finds its way too.
    let later = twice(story).sent("M3", "another").quiet();
    assert_eq!(account(&grown(&later.entries()), "M3").sent.len(), 1);
}

/// So many messages that end at the limit of two attempts, and what is on record of each.
fn at_the_limit(messages: usize) -> Vec<Entry> {
    let mut story = Story::new();
    for number in 0..messages {
        let (message, copy) = (format!("M{number}"), format!("copy-{number}"));
        story = story.accepted(&message).sent(&message, &copy);
        for _ in 0..2 {
            story = story.delivered(&message, &copy).passed("tried", &message);
        }
        story = story
            .delivered(&message, &copy)
            .passed_with("put-aside", &message, "label", "worn out")
            .deleted(&message, &copy);
    }
    story = story.quiet();
    for number in 0..messages {
        story = story.then(Event::Exhausted {
            message: MessageName::new(format!("M{number}")),
            limit: 2,
            counted: Some(2),
            content: Some(crate::history::Blob::of(b"content")),
            last_stage: Some("weighing".to_owned()),
        });
    }
    story.entries()
}

#[test]
fn judging_reads_each_entry_as_often_in_a_long_history_as_in_a_short_one() {
    let reads = |messages| {
        let entries = at_the_limit(messages);
        let read = work::during(|| {
            assert!(judge(evidence(&entries)).violations.is_empty());
        });
        assert_eq!(read % entries.len(), 0, "{read} of {}", entries.len());
        read / entries.len()
    };
    let short = reads(5);
    assert!(short > 0);
    assert_eq!(reads(500), short);
}

#[test]
fn a_ledger_that_catches_up_reads_nothing_twice() {
    let entries = at_the_limit(50);
    let mut ledger = Ledger::default();
    let read = work::during(|| {
        for end in 0..=entries.len() {
            ledger.catch_up(evidence(&entries[..end]));
        }
    });
    assert_eq!(read, entries.len());
}

/// M1 is received twice; the first receiver deletes it by its receipt at last.
fn deleted_late() -> (Story, String) {
    let first = Story::new()
        .accepted("M1")
        .sent("M1", "copy")
        .delivered("M1", "copy");
    let receipt = format!("copy-{}", first.last_call().0);
    (first.delivered("M1", "copy"), receipt)
}

fn deletes(story: Story, receipt: &str) -> Story {
    asks_to_delete(story, receipt, None)
}

/// A deletion by a receipt, and what the queue tells of it.
fn asks_to_delete(story: Story, receipt: &str, kept: Option<bool>) -> Story {
    let asked = story.called(&crate::judge::story::packer(1), "DeleteMessage orders");
    let call = asked.last_call();
    asked.then(Event::Deleted {
        call,
        author: crate::ids::Author::Process(crate::judge::story::packer(1)),
        receipt: receipt.to_owned(),
        message_id: Some("copy".to_owned()),
        message: Some("M1".into()),
        kept,
    })
}

#[test]
fn what_the_queue_kept_was_not_deleted_and_what_it_deleted_was() {
    // The receipt is the latest, and its message lies among the dead letters.
    let received = Story::new()
        .accepted("M1")
        .sent("M1", "copy")
        .delivered("M1", "copy");
    let receipt = format!("copy-{}", received.last_call().0);
    let kept = grown(&asks_to_delete(received, &receipt, Some(true)).entries());
    assert_eq!(kept.copies_left(), (1, 1));
    assert!(kept.accounts[&"M1".into()].deletions.is_empty());
    // The harness ended its time, and nobody received it since.
    let (story, outdated) = deleted_late();
    let deleted = grown(&asks_to_delete(story, &outdated, Some(false)).entries());
    assert_eq!(deleted.copies_left(), (0, 0));
    assert_eq!(deleted.accounts[&"M1".into()].deletions.len(), 1);
}

#[test]
fn an_outdated_receipt_deletes_nothing_for_sure() {
    let (story, outdated) = deleted_late();
    let ledger = grown(&deletes(story.clone(), &outdated).entries());
    assert_eq!(ledger.copies_left(), (0, 1));
    assert!(ledger.accounts[&"M1".into()].deletions.is_empty());
    let current = format!("copy-{}", story.last_call().0);
    let ledger = grown(&deletes(story, &current).entries());
    assert_eq!(ledger.copies_left(), (0, 0));
    assert_eq!(ledger.accounts[&"M1".into()].deletions.len(), 1);
}

#[test]
fn a_copy_that_comes_back_was_not_deleted() {
    let (story, _) = deleted_late();
    let current = format!("copy-{}", story.last_call().0);
    let story = deletes(story, &current).delivered_from("orders-dead", "M1", "copy");
    let ledger = grown(&story.entries());
    assert_eq!(ledger.copies_left(), (1, 1));
    assert_eq!(ledger.accounts[&"M1".into()].left().len(), 1);
}
