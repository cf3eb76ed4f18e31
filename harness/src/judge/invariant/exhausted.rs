//! A record that says a job ended at the limit of its attempts is true and complete: that
//! many attempts counted, and no fewer were seen to start; the content is kept byte for
//! byte, and the last stage is named.
//!
//! This holds wherever the message lies: one in a dead-letter queue whose attempts are
//! below the limit may not be labelled so either.

use std::collections::BTreeMap;

use crate::history::{Blob, Event};
use crate::ids::MessageName;
use crate::judge::attempts::Attempts;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "a record at the attempt limit is true";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let attempts = evidence.manifest.attempts.as_ref();
    let Some(rule) = attempts.and_then(|attempts| attempts.exhausted.as_ref()) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    let mut declared: BTreeMap<&MessageName, &Blob> = BTreeMap::new();
    let mut so_far = Attempts::new(evidence.manifest);
    for entry in evidence.entries {
        so_far.feed(entry);
        if let Event::Declared {
            message, content, ..
        } = &entry.event
        {
            declared.insert(message, content);
        }
        let Event::Exhausted {
            message,
            limit,
            counted,
            content,
            last_stage,
        } = &entry.event
        else {
            continue;
        };
        // What was read tells of the record that was there then.
        let Some(at) = so_far.exhausted_at(message) else {
            continue;
        };
        let mut convict = |text: String| {
            violations.push(Violation {
                invariant: NAME,
                text: format!(
                    "{message} ended at the limit of its attempts, which is {limit}; {text}"
                ),
                evidence: vec![at, entry.seq],
            });
        };
        if rule.counted.is_some() && *counted != Some(*limit) {
            convict(match counted {
                Some(counted) => format!("{counted} counted"),
                None => "nothing says how many counted".to_owned(),
            });
        }
        if let Some((started, unseen)) = so_far.started(message)
            && started + unseen < *limit
        {
            convict(match unseen {
                0 => format!("{started} were seen to start"),
                _ => format!("{started} were seen to start, and {unseen} more may have"),
            });
        }
        if rule.content.is_some()
            && let Some(carried) = declared.get(message)
            && content.as_ref().is_none_or(|kept| !is_same(kept, carried))
        {
            convict(match content {
                Some(kept) => format!(
                    "the content that was kept is another: {} bytes, SHA-256 {}, instead of {} bytes, SHA-256 {}",
                    kept.len, kept.sha256, carried.len, carried.sha256
                ),
                None => "its content was not kept".to_owned(),
            });
        }
        if rule.last_stage.is_some()
            && last_stage
                .as_deref()
                .is_none_or(|stage| stage.trim().is_empty())
        {
            convict("its last stage was not kept".to_owned());
        }
    }
    violations
}

fn is_same(one: &Blob, other: &Blob) -> bool {
    one.len == other.len && one.sha256 == other.sha256
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Attribution;
    use crate::ids::{Author, CallId, ConnectionId};
    use crate::judge::story::{MANIFEST, Story, packer};
    use crate::tap::Extent;

    /// Put aside at the limit of two, after so many tries.
    fn put_aside(tries: usize, label: &str) -> Story {
        let mut story = Story::new().accepted("M1").sent("M1", "copy");
        for _ in 0..tries {
            story = story.delivered("M1", "copy").passed("tried", "M1");
        }
        story
            .delivered("M1", "copy")
            .passed_with("put-aside", "M1", "label", label)
            .deleted("M1", "copy")
            .quiet()
    }

    fn read(counted: Option<i64>, content: Option<&[u8]>, last_stage: Option<&str>) -> Event {
        Event::Exhausted {
            message: "M1".into(),
            limit: 2,
            counted,
            content: content.map(Blob::of),
            last_stage: last_stage.map(str::to_owned),
        }
    }

    fn true_record() -> Event {
        read(Some(2), Some(b"content"), Some("weighing"))
    }

    fn told(story: &Story) -> Vec<String> {
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &MANIFEST,
            entries: &entries,
        };
        let told = check(evidence, &Ledger::of(evidence));
        told.into_iter().map(|violation| violation.text).collect()
    }

    fn convicted(story: &Story, of: &str) {
        let told = told(story);
        assert!(told.len() == 1 && told[0].contains(of), "{told:?}");
    }

    #[test]
    fn a_record_that_holds_everything_is_right() {
        let story = put_aside(2, "worn out").then(true_record());
        assert_eq!(told(&story), Vec::<String>::new());
        assert!(story.broken_rules().is_empty());
    }

    #[test]
    fn a_label_one_too_early_or_too_late_is_wrong() {
        for counted in [1, 3] {
            let record = read(Some(counted), Some(b"content"), Some("weighing"));
            let story = put_aside(2, "worn out").then(record);
            convicted(&story, &format!("{counted} counted"));
            assert_eq!(story.broken_rules(), [NAME]);
        }
        let record = read(None, Some(b"content"), Some("weighing"));
        convicted(
            &put_aside(2, "worn out").then(record),
            "nothing says how many",
        );
    }

    #[test]
    fn a_count_that_says_more_than_was_seen_to_start_is_wrong() {
        let story = put_aside(1, "worn out").then(true_record());
        convicted(&story, "1 were seen to start");
    }

    #[test]
    fn an_attempt_whose_start_was_not_seen_may_have_been() {
        let unseen = |story: &Story| {
            let mut story = story.clone();
            let call = CallId(900);
            story = story.then(Event::Called {
                kind: None,
                shape: None,
                call,
                connection: ConnectionId(9),
                author: Author::Process(packer(1)),
                dependency: "database".into(),
                summary: "COMMIT".into(),
                actions: vec!["commit".to_owned()].into(),
                messages: Vec::new(),
                attribution: Attribution::None,
                receipts: Vec::new(),
                content: None,
            });
            (story, call)
        };
        let one = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1")
            .delivered("M1", "copy");
        let put_aside = |story: Story| {
            story
                .passed_with("put-aside", "M1", "label", "worn out")
                .deleted("M1", "copy")
                .quiet()
                .then(true_record())
        };
        let (lost, call) = unseen(&one);
        assert_eq!(told(&put_aside(lost)), Vec::<String>::new());
        let (answered, _) = unseen(&one);
        let answered = answered.then(Event::Replied {
            call,
            summary: "ROLLBACK".into(),
            status: None,
            wrote: false,
            deliverable: true,
            ok: true,
            content: None,
        });
        convicted(&put_aside(answered), "1 were seen to start");
        let (kept, _) = unseen(&one);
        let kept = kept.then(Event::NotForwarded {
            call,
            extent: Extent::Nothing,
        });
        convicted(&put_aside(kept), "1 were seen to start");
        let of_nobody = one.passed_by_nobody("tried");
        assert_eq!(told(&put_aside(of_nobody)), Vec::<String>::new());
    }

    #[test]
    fn content_that_is_cut_or_missing_is_wrong() {
        let cut = read(Some(2), Some(b"conten"), Some("weighing"));
        convicted(
            &put_aside(2, "worn out").then(cut),
            "the content that was kept is another: 6 bytes",
        );
        let none = read(Some(2), None, Some("weighing"));
        convicted(
            &put_aside(2, "worn out").then(none),
            "its content was not kept",
        );
    }

    #[test]
    fn a_last_stage_must_be_named() {
        for stage in [None, Some(" ")] {
            let record = read(Some(2), Some(b"content"), stage);
            convicted(
                &put_aside(2, "worn out").then(record),
                "its last stage was not kept",
            );
        }
    }

    #[test]
    fn another_label_of_the_same_end_says_nothing_of_the_limit() {
        let story = put_aside(1, "deadly").then(read(Some(1), None, None));
        assert_eq!(told(&story), Vec::<String>::new());
    }

    #[test]
    fn a_message_in_the_dead_letter_queue_below_the_limit_is_not_labelled_so() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1")
            .delivered_from("orders-dead", "M1", "copy")
            .passed_with("put-aside", "M1", "label", "worn out")
            .quiet()
            .then(read(Some(1), Some(b"content"), Some("weighing")));
        assert_eq!(told(&story).len(), 2, "{:?}", told(&story));
    }

    #[test]
    fn each_series_counts_for_itself() {
        let again = put_aside(2, "worn out")
            .then(true_record())
            .passed("tried-again", "M1")
            .sent("M1", "second")
            .delivered("M1", "second")
            .passed("tried", "M1")
            .delivered("M1", "second")
            .passed_with("put-aside", "M1", "label", "worn out")
            .deleted("M1", "second")
            .quiet();
        convicted(&again.clone().then(true_record()), "1 were seen to start");
        let story = put_aside(2, "worn out").passed("tried-again", "M1");
        // What is on record belongs to a series that is over.
        assert_eq!(
            told(&story.then(read(Some(0), None, None))),
            Vec::<String>::new()
        );
    }
}
