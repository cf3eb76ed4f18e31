//! Each doubt, beside a history that gives no reason for it.

use crate::history::{Attribution, Event, Text};
use crate::ids::{Author, ConnectionId};
use crate::judge::story::{Story, packer};
use crate::judge::{Finding, Verdict};

/// Received, and nothing that is named became of it.
fn received() -> Story {
    Story::new()
        .accepted("M1")
        .sent("M1", "copy")
        .delivered("M1", "copy")
        .passed("tried", "M1")
        .wrote("M1")
}

fn doubts(story: &Story) -> Vec<Finding> {
    story.judged().doubts
}

fn doubted(story: &Story, of: &str) {
    let judged = story.judged();
    assert_eq!(judged.verdict, Verdict::Error, "{judged:#?}");
    assert!(
        judged.doubts.iter().any(|doubt| doubt.text.contains(of)),
        "{judged:#?}"
    );
}

/// A write of the packer for M1 that no stage names.
fn wrote_unnamed(story: Story, actions: &[&str]) -> Story {
    let called = story.called(&packer(1), "");
    let call = called.last_call();
    let mut events = called.events().to_vec();
    events.pop();
    Story::of(events)
        .calling_from(call.0)
        .then(Event::Called {
            kind: None,
            shape: None,
            call,
            connection: ConnectionId(1),
            author: Author::Process(packer(1)),
            dependency: "database".into(),
            summary: Text::default(),
            actions: actions.iter().map(ToString::to_string).collect(),
            messages: vec!["M1".into()],
            attribution: Attribution::Id,
            receipts: Vec::new(),
            content: None,
        })
        .then(Event::Replied {
            call,
            summary: Text::default(),
            status: None,
            wrote: true,
            deliverable: true,
            ok: true,
            content: None,
        })
}

#[test]
fn an_end_that_nobody_known_passed_is_no_loss() {
    let story = received()
        .passed_by_nobody("shipped")
        .deleted("M1", "copy")
        .quiet();
    doubted(
        &story,
        "`shipped` ends a message and was passed 1 times by nobody known",
    );
    // Where every message has its end, another one more is nobody's.
    let all = Story::new()
        .shipped("M1")
        .passed_by_nobody("shipped")
        .quiet();
    assert!(doubts(&all).is_empty());
}

#[test]
fn a_loss_with_nothing_to_doubt_stays_a_loss() {
    let story = received().deleted("M1", "copy").quiet();
    assert_eq!(story.judged().verdict, Verdict::Failed);
    assert!(doubts(&story).is_empty());
}

#[test]
fn a_total_that_is_claimed_and_whose_stage_was_never_seen_is_written_wrong() {
    let story = received()
        .deleted("M1", "copy")
        .quiet()
        .counted("shipments", None, "witness", 0)
        .counted("shipments", None, "claim", 1);
    doubted(
        &story,
        "is 1, and nothing that counts for it was ever seen: `shipped` (a transaction with `insert into shipments`)",
    );
    let none = received()
        .deleted("M1", "copy")
        .quiet()
        .counted("shipments", None, "witness", 0)
        .counted("shipments", None, "claim", 0);
    assert_eq!(none.judged().verdict, Verdict::Failed);
    // Once it was seen the manifest is right, and the figures speak.
    let seen = Story::new()
        .shipped("M1")
        .quiet()
        .counted("shipments", None, "witness", 1)
        .counted("shipments", None, "claim", 2);
    assert_eq!(seen.judged().verdict, Verdict::Failed);
}

#[test]
fn an_end_that_was_never_passed_is_doubted_where_something_like_it_was_written() {
    let written = wrote_unnamed(received(), &["insert"])
        .deleted("M1", "copy")
        .quiet();
    doubted(&written, "no message ever passed `shipped`");
    let another = wrote_unnamed(received(), &["update"])
        .deleted("M1", "copy")
        .quiet();
    assert_eq!(another.judged().verdict, Verdict::Failed);
    let passed_by_others = wrote_unnamed(received(), &["insert"])
        .deleted("M1", "copy")
        .shipped("M2")
        .quiet();
    assert_eq!(passed_by_others.judged().verdict, Verdict::Failed);
}

#[test]
fn job_ids_that_the_system_never_uses_are_no_job_ids() {
    let told = Story::new()
        .accepted("M1")
        .called(&packer(1), "ReceiveMessage orders");
    let call = told.last_call();
    let nobodys = told.clone().then(Event::Sent {
        call,
        queue: "orders".to_owned(),
        message_id: "copy".to_owned(),
        message: None,
        ids: vec!["another".to_owned()],
    });
    doubted(&nobodys.quiet(), "is `messages.submit.job` the id's place?");
    // A system that does nothing at all has lost it.
    assert_eq!(told.quiet().judged().verdict, Verdict::Failed);
}

#[test]
fn a_write_whose_job_cannot_be_told_is_asked_for() {
    let nameless = |job: Option<&str>| {
        Story::new().shipped("M1").quiet().then(Event::Performed {
            route: None,
            dependency: "carrier".into(),
            request: "POST /parcels".to_owned(),
            write: true,
            repeated: false,
            message: None,
            job: job.map(str::to_owned),
            others: Vec::new(),
            group: None,
            bare: false,
            status: 202,
        })
    };
    doubted(&nameless(None), "say `job` or `group` at their route");
    assert_eq!(nameless(Some("another")).judged().verdict, Verdict::Failed);
}

#[test]
fn what_was_seen_outweighs_any_doubt() {
    let story = received()
        .wrote("M1")
        .passed_by_nobody("shipped")
        .deleted("M1", "copy")
        .quiet();
    assert_eq!(story.judged().verdict, Verdict::Failed);
}

/// M1 is received by the packer, and a stage of it is passed with M2, which it never saw.
fn passed_with_another() -> Story {
    Story::new()
        .accepted("M2")
        .accepted("M1")
        .sent("M1", "copy")
        .delivered("M1", "copy")
        .passed("tried", "M2")
}

#[test]
fn an_inferred_id_of_a_message_that_was_never_received_is_doubted() {
    use crate::judge::story::MANIFEST;
    use crate::judge::{Evidence, judge};
    let told = |story: &Story, said: bool| {
        let mut manifest = MANIFEST.clone();
        if !said {
            manifest
                .messages
                .recognise
                .shift_remove(&crate::ids::DependencyName::from("database"));
        }
        let judged = judge(Evidence {
            manifest: &manifest,
            entries: &story.entries(),
        });
        let doubts = judged.doubts.into_iter().map(|doubt| doubt.text);
        doubts
            .filter(|text| text.contains("passed `tried` with M2, which it never received"))
            .count()
    };
    let strange = passed_with_another();
    assert_eq!(told(&strange, false), 1);
    assert_eq!(
        told(&strange, true),
        0,
        "the manifest says where the id stands"
    );
    let received = strange.sent("M2", "other").delivered("M2", "other");
    assert_eq!(told(&received, false), 0);
}
