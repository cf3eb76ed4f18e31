//! Each rule with histories that it must reject, beside those that it must accept.

use super::{conservation, delete_after_end, one_end, order, told, write_once};
use crate::judge::story::{Story, packer};
use crate::manifest::Submit;

fn accepts(story: &Story) {
    assert_eq!(story.broken_rules(), Vec::<&str>::new(), "{story:#?}");
}

fn rejects(story: &Story, rule: &str) {
    assert!(story.broken_rules().contains(&rule), "{story:#?}");
}

/// A message that was put aside, then replayed and sent again as `second`.
fn replayed() -> Story {
    Story::new()
        .accepted("M1")
        .sent("M1", "first")
        .delivered("M1", "first")
        .passed("tried", "M1")
        .passed("put-aside", "M1")
        .deleted("M1", "first")
        .passed("tried-again", "M1")
        .sent("M1", "second")
        .delivered("M1", "second")
}

mod deletion {
    use super::*;

    #[test]
    fn after_the_end_is_right() {
        accepts(&Story::new().shipped("M1").quiet());
    }

    #[test]
    fn before_the_end_is_wrong() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1")
            .wrote("M1")
            .deleted("M1", "copy")
            .passed("shipped", "M1");
        rejects(&story, delete_after_end::NAME);
    }

    #[test]
    fn asked_for_before_the_end_is_wrong_though_answered_after_it() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1")
            .wrote("M1")
            .called(&packer(1), "DeleteMessage orders");
        let call = story.last_call();
        let story = story.passed("shipped", "M1").deleted_by(call, "M1", "copy");
        rejects(&story, delete_after_end::NAME);
    }

    #[test]
    fn of_a_late_copy_after_the_end_is_right() {
        let story = Story::new()
            .shipped("M1")
            .sent("M1", "twin")
            .delivered("M1", "twin")
            .deleted("M1", "twin");
        accepts(&story);
    }

    #[test]
    fn in_a_later_series_needs_an_end_of_that_series() {
        let ended = replayed()
            .passed("tried", "M1")
            .wrote("M1")
            .passed("shipped", "M1")
            .deleted("M1", "second");
        accepts(&ended);
        rejects(&replayed().deleted("M1", "second"), delete_after_end::NAME);
    }

    #[test]
    fn of_a_first_series_copy_is_right_while_a_later_series_is_open() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "first")
            .sent("M1", "twin")
            .delivered("M1", "first")
            .passed("tried", "M1")
            .passed("put-aside", "M1")
            .deleted("M1", "first")
            .passed("tried-again", "M1")
            .delivered("M1", "twin")
            .deleted("M1", "twin")
            .sent("M1", "second");
        accepts(&story);
    }
}

mod conserving {
    use super::*;

    #[test]
    fn a_message_that_waits_in_its_queue_is_not_lost() {
        accepts(&Story::new().accepted("M1").sent("M1", "copy").quiet());
    }

    #[test]
    fn a_message_whose_copies_are_all_gone_without_an_end_is_lost() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .deleted("M1", "copy")
            .quiet();
        rejects(&story, conservation::NAME);
    }

    #[test]
    fn one_remaining_copy_is_enough() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .sent("M1", "twin")
            .delivered("M1", "copy")
            .deleted("M1", "copy")
            .quiet();
        assert!(!story.broken_rules().contains(&conservation::NAME));
    }

    #[test]
    fn a_message_that_no_queue_ever_got_is_lost_once_all_is_quiet() {
        accepts(&Story::new().accepted("M1"));
        rejects(&Story::new().accepted("M1").quiet(), conservation::NAME);
    }

    #[test]
    fn a_replay_that_sends_nothing_is_lost_although_the_first_series_ended() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "first")
            .passed("put-aside", "M1")
            .deleted("M1", "first")
            .passed("tried-again", "M1")
            .quiet();
        rejects(&story, conservation::NAME);
    }

    #[test]
    fn a_refused_message_is_nobody_s_loss() {
        let story = Story::new()
            .declared("M1", None)
            .then(crate::history::Event::Refused {
                message: "M1".into(),
                reason: "422".to_owned(),
            })
            .quiet();
        accepts(&story);
    }
}

mod ends {
    use super::*;

    #[test]
    fn one_for_each_series_is_right() {
        let story = replayed()
            .passed("tried", "M1")
            .wrote("M1")
            .passed("shipped", "M1")
            .deleted("M1", "second");
        accepts(&story);
    }

    #[test]
    fn the_same_one_twice_is_wrong() {
        rejects(
            &Story::new().shipped("M1").passed("shipped", "M1"),
            one_end::NAME,
        );
    }

    #[test]
    fn two_different_ones_are_wrong() {
        rejects(
            &Story::new().shipped("M1").passed("put-aside", "M1"),
            one_end::NAME,
        );
    }

    #[test]
    fn two_in_a_later_series_are_wrong() {
        let story = replayed()
            .wrote("M1")
            .passed("shipped", "M1")
            .passed("put-aside", "M1");
        rejects(&story, one_end::NAME);
    }
}

mod writing {
    use super::*;

    #[test]
    fn twice_in_a_series_is_wrong() {
        rejects(&Story::new().shipped("M1").wrote("M1"), write_once::NAME);
    }

    #[test]
    fn never_is_wrong_where_the_end_requires_it() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .passed("tried", "M1")
            .passed("shipped", "M1")
            .deleted("M1", "copy");
        rejects(&story, write_once::NEVER);
    }

    #[test]
    fn after_the_end_that_requires_it_is_wrong() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .passed("tried", "M1")
            .passed("shipped", "M1")
            .wrote("M1");
        rejects(&story, write_once::NEVER);
    }

    #[test]
    fn never_is_right_where_the_end_does_not_require_it() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .passed("put-aside", "M1")
            .deleted("M1", "copy");
        accepts(&story);
    }

    #[test]
    fn a_later_series_may_rest_on_the_write_of_an_earlier_one() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "first")
            .delivered("M1", "first")
            .passed("tried", "M1")
            .wrote("M1")
            .passed("put-aside", "M1")
            .deleted("M1", "first")
            .passed("tried-again", "M1")
            .sent("M1", "second")
            .passed("shipped", "M1")
            .deleted("M1", "second");
        accepts(&story);
    }

    #[test]
    fn once_in_each_of_two_series_is_right() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "first")
            .delivered("M1", "first")
            .passed("tried", "M1")
            .wrote("M1")
            .passed("put-aside", "M1")
            .deleted("M1", "first")
            .passed("tried-again", "M1")
            .sent("M1", "second")
            .wrote("M1")
            .passed("shipped", "M1")
            .deleted("M1", "second");
        accepts(&story);
    }

    #[test]
    fn is_found_by_job_id_when_the_service_was_asked_before_the_client_knew() {
        let story = Story::new()
            .declared("M1", None)
            .then(crate::history::Event::Performed {
                dependency: "carrier".into(),
                request: "POST /parcels".to_owned(),
                route: Some("POST /parcels".to_owned()),
                write: true,
                repeated: false,
                message: None,
                job: Some(crate::judge::story::job("M1")),
                others: Vec::new(),
                group: None,
                bare: false,
                status: 202,
            })
            .accepted("M1")
            .sent("M1", "copy")
            .wrote("M1");
        rejects(&story, write_once::NAME);
    }
}

mod ordering {
    use super::*;

    #[test]
    fn a_stage_before_the_one_it_needs_is_wrong() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .wrote("M1")
            .passed("shipped", "M1")
            .passed("tried", "M1")
            .deleted("M1", "copy");
        rejects(&story, order::NAME);
    }

    #[test]
    fn the_passage_of_another_message_does_not_count() {
        let story = Story::new()
            .shipped("M2")
            .accepted("M1")
            .sent("M1", "copy")
            .wrote("M1")
            .passed("shipped", "M1");
        rejects(&story, order::NAME);
    }
}

mod telling {
    use super::*;
    use crate::history::Event;
    use crate::judge::story::{MANIFEST, job};
    use crate::judge::{Evidence, Ledger, Violation};

    fn told(story: Story, message: &str, job: String) -> Story {
        story.declared(message, None).then(Event::Accepted {
            message: message.into(),
            job,
        })
    }

    /// A stage that captured the job's id.
    fn made(story: Story, message: &str) -> Story {
        story.passed_with("tried", message, "job", &job(message))
    }

    #[test]
    fn of_its_own_job_is_right_also_twice() {
        let story = made(Story::new(), "M1");
        let story = told(story, "M1", job("M1"));
        let broken = told(story, "M1", job("M1")).broken_rules();
        assert!(!broken.contains(&told::NAME), "{broken:?}");
    }

    #[test]
    fn of_the_job_of_another_is_wrong() {
        let story = made(made(Story::new(), "M1"), "M2");
        rejects(&told(story, "M2", job("M1")), told::NAME);
    }

    #[test]
    fn of_a_job_that_is_nobodys_is_wrong_where_ids_are_seen() {
        let story = made(Story::new(), "M1");
        rejects(&told(story, "M1", "nobody's".to_owned()), told::NAME);
    }

    #[test]
    fn two_clients_of_one_job_is_wrong_where_no_id_is_seen() {
        let story = told(Story::new(), "M1", job("M1"));
        rejects(&told(story, "M2", job("M1")), told::NAME);
    }

    #[test]
    fn before_the_job_is_durable_is_wrong() {
        let mut manifest = MANIFEST.clone();
        let Submit::Request(request) = &mut manifest.messages.submit else {
            panic!("a process takes submissions here");
        };
        request.durable = Some("tried".into());
        let judged = |story: &Story| -> Vec<Violation> {
            let entries = story.entries();
            let evidence = Evidence {
                manifest: &manifest,
                entries: &entries,
            };
            told::check(evidence, &Ledger::of(evidence))
        };
        let early = told(Story::new(), "M1", job("M1")).passed("tried", "M1");
        assert_eq!(judged(&early).len(), 1);
        let late = told(Story::new().passed("tried", "M1"), "M1", job("M1"));
        assert_eq!(judged(&late).len(), 0);
        // A passage of nobody known may have been this one's.
        let open = Story::new().passed_by_nobody("tried");
        let open = told(open, "M1", job("M1")).passed("tried", "M1");
        assert_eq!(judged(&open).len(), 0);
        // The answer to the commit may have been lost.
        let unseen = told(Story::new(), "M1", job("M1"));
        assert_eq!(judged(&unseen).len(), 0);
    }
}
