//! The rules that AWS states, one test each, in moments instead of waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::*;

pub(super) fn terms() -> Terms {
    Terms {
        account: "000000000000".to_owned(),
        region: "us-east-1".to_owned(),
        stale_handle_deletes: false,
        recreate_at_once: false,
        in_flight_limit: 120_000,
        log_bound: 1_000,
    }
}

pub(super) fn at(seconds: u64) -> Moment {
    Moment::from_secs(1_000_000 + seconds)
}

pub(super) fn attributes(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn with_queue(pairs: &[(&str, &str)]) -> State {
    let mut state = State::new(terms());
    state
        .create("q", &attributes(pairs), &BTreeMap::new(), at(0))
        .unwrap();
    state
}

/// A queue `q` whose dead letters go to `dead` after `limit` receives.
fn with_dead_letters(limit: u32) -> State {
    let mut state = State::new(terms());
    state
        .create("dead", &BTreeMap::new(), &BTreeMap::new(), at(0))
        .unwrap();
    let policy = format!(
        r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":{limit}}}"#,
        state.terms.arn("dead")
    );
    state
        .create(
            "q",
            &attributes(&[("RedrivePolicy", &policy)]),
            &BTreeMap::new(),
            at(0),
        )
        .unwrap();
    state
}

pub(super) fn outgoing(id: u128, body: &str, delay: Option<u32>) -> Outgoing {
    let content = Content::new(body.to_owned(), BTreeMap::new(), None, None).unwrap();
    Outgoing {
        id: Uuid::from_u128(id),
        content: Arc::new(content),
        delay,
        deduplication: None,
    }
}

pub(super) fn asked<'a>(max: usize, visibility: Option<u32>) -> Asked<'a> {
    Asked {
        max,
        visibility,
        ..Asked::default()
    }
}

fn send(state: &mut State, body: &str, now: Moment) {
    let id = state.queue("q").unwrap().tally.sent + 1;
    let message = outgoing(u128::from(id), body, None);
    state.send("q", &[message], now).unwrap();
}

fn receive(state: &mut State, queue: &str, now: Moment) -> Vec<Delivery> {
    state
        .receive(queue, asked(10, None), now)
        .unwrap()
        .deliveries
}

pub(super) fn bodies(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries
        .iter()
        .map(|delivery| delivery.message.content.body.as_str())
        .collect()
}

#[test]
fn a_message_is_hidden_for_its_visibility_and_not_longer() {
    let mut state = with_queue(&[("VisibilityTimeout", "5")]);
    send(&mut state, "a", at(0));
    assert_eq!(bodies(&receive(&mut state, "q", at(0))), ["a"]);
    assert!(receive(&mut state, "q", at(4)).is_empty());
    let again = receive(&mut state, "q", at(5));
    assert_eq!(bodies(&again), ["a"]);
    assert_eq!(again[0].message.receives, 2);
    assert_eq!(again[0].message.first_received, Some(at(0)));
}

#[test]
fn a_delay_counts_from_the_send_and_a_message_may_override_the_queue() {
    let mut state = with_queue(&[("DelaySeconds", "10")]);
    send(&mut state, "queue's", at(0));
    state
        .send("q", &[outgoing(2, "none", Some(0))], at(0))
        .unwrap();
    assert_eq!(bodies(&receive(&mut state, "q", at(0))), ["none"]);
    assert_eq!(state.queue("q").unwrap().counts().delayed, 1);
    assert!(receive(&mut state, "q", at(9)).is_empty());
    assert_eq!(bodies(&receive(&mut state, "q", at(10))), ["queue's"]);
}

#[test]
fn a_message_that_came_back_does_not_block_the_others() {
    let mut state = with_queue(&[]);
    for body in ["a", "b"] {
        send(&mut state, body, at(0));
    }
    let first = state
        .receive("q", asked(1, Some(0)), at(0))
        .unwrap()
        .deliveries;
    assert_eq!(bodies(&first), ["a"]);
    assert_eq!(bodies(&receive(&mut state, "q", at(0))), ["b", "a"]);
}

#[test]
fn the_last_handle_deletes_also_after_its_time_out() {
    let mut state = with_queue(&[("VisibilityTimeout", "1")]);
    send(&mut state, "a", at(0));
    let receipt = receive(&mut state, "q", at(0))[0].receipt;
    assert_eq!(
        state.delete("q", receipt, at(9)).unwrap(),
        Deletion::Deleted
    );
    assert_eq!(state.delete("q", receipt, at(9)).unwrap(), Deletion::Gone);
    assert!(receive(&mut state, "q", at(9)).is_empty());
}

#[test]
fn an_old_handle_deletes_nothing_unless_the_switch_says_so() {
    for switch in [false, true] {
        let mut state = with_queue(&[("VisibilityTimeout", "1")]);
        state.terms.stale_handle_deletes = switch;
        send(&mut state, "a", at(0));
        let old = receive(&mut state, "q", at(0))[0].receipt;
        receive(&mut state, "q", at(1));
        let expected = if switch {
            Deletion::Deleted
        } else {
            Deletion::Stale
        };
        assert_eq!(state.delete("q", old, at(1)).unwrap(), expected);
        assert_eq!(receive(&mut state, "q", at(2)).is_empty(), switch);
    }
}

#[test]
fn a_handle_of_another_queue_is_refused() {
    let mut state = with_queue(&[]);
    state
        .create("other", &BTreeMap::new(), &BTreeMap::new(), at(0))
        .unwrap();
    send(&mut state, "a", at(0));
    let receipt = receive(&mut state, "q", at(0))[0].receipt;
    assert_eq!(
        state.delete("other", receipt, at(0)).unwrap_err().code,
        Code::ReceiptHandleIsInvalid
    );
}

#[test]
fn visibility_changes_count_from_now_and_end_at_twelve_hours_in_all() {
    let mut state = with_queue(&[("VisibilityTimeout", "10")]);
    send(&mut state, "a", at(0));
    let receipt = receive(&mut state, "q", at(0))[0].receipt;
    state.change_visibility("q", receipt, 10, at(9)).unwrap();
    assert!(receive(&mut state, "q", at(18)).is_empty());
    assert_eq!(
        state
            .change_visibility("q", receipt, 43_190, at(18))
            .unwrap_err()
            .code,
        Code::InvalidParameterValue
    );
    state
        .change_visibility("q", receipt, 43_182, at(18))
        .unwrap();
    state.change_visibility("q", receipt, 0, at(20)).unwrap();
    assert_eq!(
        state
            .change_visibility("q", receipt, 5, at(20))
            .unwrap_err()
            .code,
        Code::MessageNotInflight
    );
    let again = receive(&mut state, "q", at(20));
    assert_eq!(bodies(&again), ["a"]);
    let superseded = state.change_visibility("q", receipt, 5, at(20));
    assert_eq!(superseded.unwrap_err().code, Code::InvalidParameterValue);
    state.delete("q", again[0].receipt, at(20)).unwrap();
    let gone = state.change_visibility("q", again[0].receipt, 5, at(20));
    assert_eq!(gone.unwrap_err().code, Code::InvalidParameterValue);
}

#[test]
fn the_move_to_the_dead_letters_happens_on_the_receive_after_the_last() {
    let mut state = with_dead_letters(2);
    send(&mut state, "poison", at(0));
    for seconds in [0, 30] {
        assert_eq!(
            bodies(&receive(&mut state, "q", at(seconds))),
            ["poison"],
            "{seconds}"
        );
    }
    state.advance_all(at(60));
    assert_eq!(state.queue("dead").unwrap().counts().all(), 0);
    send(&mut state, "other", at(60));
    assert_eq!(bodies(&receive(&mut state, "q", at(60))), ["other"]);
    let dead = receive(&mut state, "dead", at(61));
    assert_eq!(bodies(&dead), ["poison"]);
    assert_eq!(dead[0].message.id, Uuid::from_u128(1));
    assert_eq!(dead[0].message.sent, at(0));
    assert_eq!(dead[0].message.source, Some(state.terms.arn("q")));
    assert_eq!(dead[0].message.receives, 3);
}

#[test]
fn without_its_target_a_redrive_policy_moves_nothing() {
    let mut state = with_dead_letters(1);
    send(&mut state, "a", at(0));
    receive(&mut state, "q", at(0));
    state.delete_queue("dead", at(1)).unwrap();
    assert_eq!(bodies(&receive(&mut state, "q", at(30))), ["a"]);
}

#[test]
fn old_messages_are_dropped_also_while_in_flight() {
    let mut state = with_queue(&[("MessageRetentionPeriod", "60")]);
    send(&mut state, "a", at(0));
    send(&mut state, "b", at(1));
    receive(&mut state, "q", at(50));
    state.advance("q", at(60));
    let queue = state.queue("q").unwrap();
    assert_eq!(queue.counts().in_flight, 1);
    assert_eq!(queue.tally.expired, 1);
}

#[test]
fn at_the_in_flight_limit_a_short_poll_fails_and_a_long_one_gets_nothing() {
    let mut state = with_queue(&[]);
    state.terms.in_flight_limit = 2;
    for body in ["a", "b", "c"] {
        send(&mut state, body, at(0));
    }
    assert_eq!(receive(&mut state, "q", at(0)).len(), 2);
    let short = state.receive("q", asked(1, None), at(0));
    assert_eq!(short.unwrap_err().code, Code::OverLimit);
    let patient = Asked {
        patient: true,
        ..asked(1, None)
    };
    let long = state.receive("q", patient, at(0)).unwrap();
    assert!(long.deliveries.is_empty());
}

#[test]
fn a_queue_exists_once_with_its_attributes() {
    let mut state = with_queue(&[("DelaySeconds", "1")]);
    let mut create =
        |pairs: &[(&str, &str)]| state.create("q", &attributes(pairs), &BTreeMap::new(), at(1));
    assert_eq!(create(&[("DelaySeconds", "1")]), Ok(false));
    assert_eq!(create(&[]), Ok(false));
    let other = create(&[("DelaySeconds", "2")]);
    assert_eq!(other.unwrap_err().code, Code::QueueNameExists);
}

#[test]
fn a_minute_lies_between_deletion_and_creation_and_between_purges() {
    let mut state = with_queue(&[]);
    send(&mut state, "a", at(0));
    state.purge("q", at(0)).unwrap();
    assert_eq!(state.queue("q").unwrap().counts().all(), 0);
    assert_eq!(
        state.purge("q", at(59)).unwrap_err().code,
        Code::PurgeQueueInProgress
    );
    state.purge("q", at(60)).unwrap();
    state.delete_queue("q", at(60)).unwrap();
    let mut create = |now| state.create("q", &BTreeMap::new(), &BTreeMap::new(), now);
    assert_eq!(
        create(at(119)).unwrap_err().code,
        Code::QueueDeletedRecently
    );
    assert_eq!(create(at(120)), Ok(true));
}

#[test]
fn names_are_checked() {
    let mut state = State::new(terms());
    let mut create = |name: &str| {
        state
            .create(name, &BTreeMap::new(), &BTreeMap::new(), at(0))
            .map_err(|refusal| refusal.code)
    };
    let longest = "x".repeat(80);
    for good in ["a", "A-b_9", &longest] {
        assert_eq!(create(good), Ok(true), "{good}");
    }
    let too_long = "x".repeat(81);
    for bad in ["", "a b", "a.b", "ü", "a.fifo", &too_long] {
        assert_eq!(create(bad), Err(Code::InvalidParameterValue), "{bad}");
    }
}

#[test]
fn an_expired_receipt_is_what_the_time_out_would_have_been() {
    let mut state = with_queue(&[]);
    send(&mut state, "a", at(0));
    let receipt = receive(&mut state, "q", at(0))[0].receipt;
    assert_eq!(state.expire(receipt, at(1)), Expiry::MadeVisible);
    assert_eq!(state.expire(receipt, at(1)), Expiry::AlreadyVisible);
    let next = receive(&mut state, "q", at(1))[0].receipt;
    assert_eq!(state.expire(receipt, at(1)), Expiry::Superseded);
    assert_eq!(state.queue("q").unwrap().counts().in_flight, 1);
    state.delete("q", next, at(1)).unwrap();
    assert_eq!(state.expire(next, at(1)), Expiry::Gone);
}

#[test]
fn a_duplicate_is_in_two_hands_and_either_may_delete() {
    for ahead in [false, true] {
        let mut state = with_queue(&[]);
        send(&mut state, "a", at(0));
        let id = Uuid::from_u128(1);
        if ahead {
            assert!(state.duplicate("q", id, false, at(0)).unwrap());
        }
        let first = receive(&mut state, "q", at(0));
        assert_eq!(bodies(&first), ["a"], "one receive holds it once");
        if !ahead {
            assert!(state.duplicate("q", id, false, at(0)).unwrap());
        }
        let second = receive(&mut state, "q", at(0));
        assert_eq!(second[0].message.id, first[0].message.id);
        assert!(receive(&mut state, "q", at(0)).is_empty());
        assert_eq!(
            state.delete("q", first[0].receipt, at(1)).unwrap(),
            Deletion::Deleted
        );
        assert_eq!(
            state.delete("q", second[0].receipt, at(1)).unwrap(),
            Deletion::Gone
        );
    }
}

#[test]
fn a_lost_deletion_delivers_once_more() {
    let mut state = with_queue(&[]);
    send(&mut state, "a", at(0));
    state
        .duplicate("q", Uuid::from_u128(1), true, at(0))
        .unwrap();
    for expected in [1, 0] {
        let delivery = receive(&mut state, "q", at(0));
        state.delete("q", delivery[0].receipt, at(0)).unwrap();
        assert_eq!(state.queue("q").unwrap().counts().all(), expected);
    }
}

#[test]
fn a_move_task_takes_dead_letters_back_as_new_messages() {
    let mut state = with_dead_letters(1);
    for body in ["a", "b"] {
        send(&mut state, body, at(0));
    }
    receive(&mut state, "q", at(0));
    receive(&mut state, "q", at(30));
    assert_eq!(state.queue("dead").unwrap().counts().visible, 2);
    let dead = state.terms.arn("dead");
    state
        .start_transfer(Uuid::from_u128(7), &dead, None, None, at(40))
        .unwrap();
    let task = state.transfers_of(&dead).unwrap()[0].clone();
    assert_eq!((task.status, task.moved), (Status::Completed, 2));
    let back = receive(&mut state, "q", at(40));
    assert_eq!(bodies(&back), ["a", "b"]);
    assert_eq!(back[0].message.receives, 1);
    assert_eq!(back[0].message.sent, at(40));
    assert_ne!(back[0].message.id, Uuid::from_u128(1));
}

#[test]
fn a_move_task_keeps_its_rate_and_can_be_cancelled() {
    let mut state = with_dead_letters(1);
    let messages: Vec<_> = (1..=5).map(|n| outgoing(n, "x", None)).collect();
    state.send("dead", &messages, at(0)).unwrap();
    let (dead, q) = (state.terms.arn("dead"), state.terms.arn("q"));
    let id = Uuid::from_u128(7);
    state
        .start_transfer(id, &dead, Some(&q), Some(1), at(0))
        .unwrap();
    let second = state.start_transfer(Uuid::from_u128(8), &dead, Some(&q), None, at(0));
    assert_eq!(second.unwrap_err().code, Code::UnsupportedOperation);
    assert_eq!(state.next_due("q"), Some(at(1)));
    state.advance_all(at(2));
    assert_eq!(state.queue("q").unwrap().counts().visible, 3);
    assert_eq!(state.cancel_transfer(id, at(2)), Ok(3));
    state.advance_all(at(60));
    assert_eq!(state.queue("dead").unwrap().counts().visible, 2);
}

#[test]
fn a_message_sent_to_the_dead_letter_queue_itself_has_no_way_back() {
    let mut state = with_dead_letters(1);
    state
        .send("dead", &[outgoing(1, "x", None)], at(0))
        .unwrap();
    let dead = state.terms.arn("dead");
    state
        .start_transfer(Uuid::from_u128(7), &dead, None, None, at(0))
        .unwrap();
    let task = state.transfers_of(&dead).unwrap()[0];
    assert_eq!(task.status, Status::Failed);
    assert_eq!(
        task.failure.as_deref(),
        Some("CouldNotDetermineMessageSource")
    );
    assert_eq!(state.queue("dead").unwrap().counts().visible, 1);
}

#[test]
fn the_log_is_bounded_and_says_what_it_dropped() {
    let mut state = with_queue(&[]);
    state.agree(Terms {
        log_bound: 3,
        ..terms()
    });
    for body in ["a", "b", "c", "d"] {
        send(&mut state, body, at(0));
    }
    let numbers: Vec<u64> = state.log.after(0).map(|entry| entry.number).collect();
    assert_eq!(numbers, [2, 3, 4]);
    assert_eq!(state.log.dropped(), 1);
    assert_eq!(state.log.after(3).count(), 1);
}

#[test]
fn the_policy_of_the_target_decides_whose_dead_letters_it_takes() {
    let mut state = with_queue(&[]);
    state
        .create(
            "closed",
            &attributes(&[("RedriveAllowPolicy", r#"{"redrivePermission":"denyAll"}"#)]),
            &BTreeMap::new(),
            at(0),
        )
        .unwrap();
    for target in ["closed", "missing"] {
        let policy = format!(
            r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":1}}"#,
            state.terms.arn(target)
        );
        let set = state.set_attributes("q", &attributes(&[("RedrivePolicy", &policy)]), at(0));
        assert_eq!(
            set.unwrap_err().code,
            Code::InvalidParameterValue,
            "{target}"
        );
    }
}
