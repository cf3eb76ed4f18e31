//! The rules that AWS states of FIFO queues, one test each.

use super::rules::{asked, at, attributes, bodies, outgoing, terms};
use super::*;

const Q: &str = "q.fifo";

fn with_queue(pairs: &[(&str, &str)]) -> State {
    let mut state = State::new(terms());
    create(&mut state, Q, pairs).unwrap();
    state
}

fn create(state: &mut State, name: &str, pairs: &[(&str, &str)]) -> Result<bool, Refusal> {
    let mut pairs = pairs.to_vec();
    pairs.push(("FifoQueue", "true"));
    state.create(name, &attributes(&pairs), &BTreeMap::new(), at(0))
}

/// Sends a body to a group, under itself as the deduplication id.
fn send(state: &mut State, group: &str, body: &str, now: Moment) -> Sent {
    send_as(state, group, body, body, now)
}

fn send_as(state: &mut State, group: &str, body: &str, id: &str, now: Moment) -> Sent {
    let number = u128::from(state.queue(Q).unwrap().tally.sent) + 1;
    let content = Content::new(
        body.to_owned(),
        BTreeMap::new(),
        None,
        Some(group.to_owned()),
    );
    let message = Outgoing {
        content: Arc::new(content.unwrap()),
        deduplication: Some(id.to_owned()),
        ..outgoing(number, "x", None)
    };
    state.send(Q, &[message], now).unwrap().remove(0)
}

fn receive(state: &mut State, max: usize, now: Moment) -> Vec<Delivery> {
    let received = state.receive(Q, asked(max, None), now);
    received.unwrap().deliveries
}

#[test]
fn a_receive_takes_several_of_one_group_in_order_before_another_group() {
    let mut state = with_queue(&[]);
    for (group, body) in [
        ("g", "g1"),
        ("h", "h1"),
        ("g", "g2"),
        ("h", "h2"),
        ("g", "g3"),
    ] {
        send(&mut state, group, body, at(0));
    }
    assert_eq!(
        bodies(&receive(&mut state, 4, at(0))),
        ["g1", "g2", "g3", "h1"]
    );
    assert!(
        receive(&mut state, 10, at(0)).is_empty(),
        "both groups are held up"
    );
    assert_eq!(state.queue(Q).unwrap().counts().visible, 1);
}

#[test]
fn a_group_is_held_up_until_all_that_is_in_flight_is_deleted() {
    let mut state = with_queue(&[]);
    for body in ["a", "b", "c"] {
        send(&mut state, "g", body, at(0));
    }
    let two = receive(&mut state, 2, at(0));
    assert_eq!(bodies(&two), ["a", "b"]);
    state.delete(Q, two[0].receipt, at(1)).unwrap();
    assert!(receive(&mut state, 1, at(1)).is_empty());
    state.delete(Q, two[1].receipt, at(1)).unwrap();
    assert_eq!(bodies(&receive(&mut state, 1, at(1))), ["c"]);
}

#[test]
fn what_comes_back_stands_where_it_stood() {
    let mut state = with_queue(&[("VisibilityTimeout", "5")]);
    for body in ["a", "b", "c"] {
        send(&mut state, "g", body, at(0));
    }
    let two = receive(&mut state, 2, at(0));
    state
        .change_visibility(Q, two[0].receipt, 0, at(1))
        .unwrap();
    assert!(
        receive(&mut state, 10, at(1)).is_empty(),
        "b is in flight yet"
    );
    assert_eq!(bodies(&receive(&mut state, 10, at(5))), ["a", "b", "c"]);
}

#[test]
fn the_same_id_is_taken_in_once_in_five_minutes() {
    let mut state = with_queue(&[]);
    let first = send_as(&mut state, "g", "a", "id", at(0));
    let again = send_as(&mut state, "h", "other", "id", at(299));
    assert_eq!(first, again, "the sender learns of the first message");
    let got = receive(&mut state, 10, at(299));
    assert_eq!(bodies(&got), ["a"]);
    state.delete(Q, got[0].receipt, at(299)).unwrap();
    assert_eq!(send_as(&mut state, "g", "a", "id", at(299)), first);
    let new = send_as(&mut state, "g", "a", "id", at(300));
    assert_ne!(new.id, first.id);
    assert!(new.sequence > first.sequence);
}

#[test]
fn ids_count_within_a_group_where_the_scope_says_so() {
    let mut state = with_queue(&[("DeduplicationScope", "messageGroup")]);
    let one = send_as(&mut state, "g", "a", "id", at(0));
    let other = send_as(&mut state, "h", "a", "id", at(0));
    assert_ne!(one.id, other.id);
    assert_eq!(send_as(&mut state, "g", "a", "id", at(1)), one);
}

#[test]
fn a_deduplication_can_be_ended() {
    let mut state = with_queue(&[]);
    let first = send_as(&mut state, "g", "a", "id", at(0));
    assert_eq!(state.forget_sent(first.id).as_deref(), Some(Q));
    assert_eq!(state.forget_sent(first.id), None);
    assert_ne!(send_as(&mut state, "g", "a", "id", at(1)).id, first.id);
}

#[test]
fn a_queue_delays_in_order_and_a_new_delay_holds_for_what_is_there() {
    let mut state = with_queue(&[("DelaySeconds", "10")]);
    send(&mut state, "g", "a", at(0));
    send(&mut state, "g", "b", at(5));
    assert!(receive(&mut state, 10, at(9)).is_empty());
    assert_eq!(bodies(&receive(&mut state, 10, at(10))), ["a"]);
    let mut state = with_queue(&[("DelaySeconds", "10")]);
    send(&mut state, "g", "a", at(0));
    state
        .set_attributes(Q, &attributes(&[("DelaySeconds", "2")]), at(1))
        .unwrap();
    assert!(receive(&mut state, 10, at(1)).is_empty());
    assert_eq!(bodies(&receive(&mut state, 10, at(2))), ["a"]);
}

#[test]
fn a_delayed_message_can_be_made_due_and_not_pass_one_before_it() {
    let mut state = with_queue(&[("DelaySeconds", "10")]);
    let first = send(&mut state, "g", "a", at(0));
    let second = send(&mut state, "g", "b", at(0));
    assert_eq!(state.make_due(second.id, at(1)).as_deref(), Some(Q));
    assert!(receive(&mut state, 10, at(1)).is_empty());
    assert_eq!(state.make_due(first.id, at(1)).as_deref(), Some(Q));
    assert_eq!(state.make_due(first.id, at(1)), None);
    assert_eq!(bodies(&receive(&mut state, 10, at(1))), ["a", "b"]);
}

#[test]
fn a_handle_whose_time_is_over_deletes_nothing_and_says_so() {
    let mut state = with_queue(&[("VisibilityTimeout", "5")]);
    send(&mut state, "g", "a", at(0));
    let old = receive(&mut state, 1, at(0))[0].receipt;
    let refusal = state.delete(Q, old, at(5)).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidParameterValue);
    assert!(refusal.message.contains("expired"), "{refusal}");
    let new = receive(&mut state, 1, at(5))[0].receipt;
    assert!(state.delete(Q, old, at(5)).is_err());
    assert_eq!(state.delete(Q, new, at(5)), Ok(Deletion::Deleted));
    assert_eq!(state.delete(Q, new, at(5)), Ok(Deletion::Gone));
}

#[test]
fn dead_letters_go_to_a_queue_of_the_same_type_and_the_group_goes_on() {
    let mut state = State::new(terms());
    create(&mut state, "dead.fifo", &[]).unwrap();
    state
        .create("dead", &BTreeMap::new(), &BTreeMap::new(), at(0))
        .unwrap();
    let policy = |name: &str| {
        let arn = terms().arn(name);
        format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":1}}"#)
    };
    let refused = create(&mut state, Q, &[("RedrivePolicy", &policy("dead"))]);
    assert_eq!(refused.unwrap_err().code, Code::InvalidParameterValue);
    let standard = attributes(&[("RedrivePolicy", &policy("dead.fifo"))]);
    let refused = state.create("standard", &standard, &BTreeMap::new(), at(0));
    assert_eq!(refused.unwrap_err().code, Code::InvalidParameterValue);

    create(&mut state, Q, &[("RedrivePolicy", &policy("dead.fifo"))]).unwrap();
    let sent = send(&mut state, "g", "poison", at(0));
    send(&mut state, "g", "next", at(0));
    assert_eq!(bodies(&receive(&mut state, 1, at(0))), ["poison"]);
    assert_eq!(bodies(&receive(&mut state, 1, at(30))), ["next"]);
    let dead = state
        .receive("dead.fifo", asked(1, None), at(30))
        .unwrap()
        .deliveries;
    assert_eq!(bodies(&dead), ["poison"]);
    assert_eq!(dead[0].message.id, sent.id);
    assert_eq!(dead[0].message.deduplication.as_deref(), Some("poison"));

    let to = Some(terms().arn("dead"));
    let task = Uuid::from_u128(9);
    let other_type =
        state.start_transfer(task, &terms().arn("dead.fifo"), to.as_deref(), None, at(60));
    assert_eq!(other_type.unwrap_err().code, Code::InvalidParameterValue);
    state
        .start_transfer(task, &terms().arn("dead.fifo"), None, None, at(60))
        .unwrap();
    let back = receive(&mut state, 10, at(60));
    assert_eq!(
        bodies(&back),
        ["poison"],
        "`next` is dead by now, and a group is one"
    );
}

#[test]
fn the_same_attempt_gets_the_same_deliveries_while_they_are_held() {
    let mut state = with_queue(&[("VisibilityTimeout", "5")]);
    send(&mut state, "g", "a", at(0));
    let attempt = Asked {
        attempt: Some("try"),
        ..asked(10, None)
    };
    let mut receipts = |now| {
        let deliveries = state.receive(Q, attempt, now).unwrap().deliveries;
        deliveries
            .iter()
            .map(|delivery| delivery.receipt)
            .collect::<Vec<_>>()
    };
    let first = receipts(at(0));
    assert_eq!(receipts(at(4)), first, "and they are hidden anew");
    assert_eq!(receipts(at(8)), first);
    let later = receipts(at(13));
    assert_eq!((later.len(), later == first), (1, false));
}

#[test]
fn names_end_in_fifo_and_types_stay() {
    let mut state = State::new(terms());
    for bad in [
        "q",
        ".fifo",
        "a b.fifo",
        &format!("{}.fifo", "x".repeat(76)),
    ] {
        let refused = create(&mut state, bad, &[]).unwrap_err();
        assert_eq!(refused.code, Code::InvalidParameterValue, "{bad}");
    }
    assert_eq!(create(&mut state, Q, &[]), Ok(true));
    assert_eq!(create(&mut state, Q, &[]), Ok(false));
    let changed = state.set_attributes(Q, &attributes(&[("FifoQueue", "false")]), at(0));
    assert_eq!(changed.unwrap_err().code, Code::InvalidAttributeValue);
    assert!(
        state
            .duplicate(Q, Uuid::from_u128(1), false, at(0))
            .is_err()
    );
}

#[test]
fn order_and_deduplication_survive_a_restart() {
    let mut state = with_queue(&[]);
    for body in ["a", "b"] {
        send(&mut state, "g", body, at(0));
    }
    receive(&mut state, 1, at(0));
    let text = serde_json::to_string(&state).unwrap();
    let mut state: State = serde_json::from_str(&text).unwrap();
    state.restore();
    assert!(
        receive(&mut state, 10, at(1)).is_empty(),
        "`a` is in flight"
    );
    send(&mut state, "g", "b", at(1));
    assert_eq!(bodies(&receive(&mut state, 10, at(30))), ["a", "b"]);
}

mod order {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Pass(u64),
        Send(u8),
        Receive(usize, Option<u32>),
        Delete(usize),
        Change(usize, u32),
        Expire(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let visibility = prop_oneof![Just(None), (0_u32..9).prop_map(Some)];
        prop_oneof![
            1 => (0_u64..8).prop_map(Step::Pass),
            4 => (0_u8..3).prop_map(Step::Send),
            4 => (1_usize..=10, visibility).prop_map(|(max, hidden)| Step::Receive(max, hidden)),
            3 => any::<usize>().prop_map(Step::Delete),
            1 => (any::<usize>(), 0_u32..9).prop_map(|(which, hidden)| Step::Change(which, hidden)),
            1 => any::<usize>().prop_map(Step::Expire),
        ]
    }

    /// What a group holds, in order, and what of it is in somebody's hand until when.
    type Model = BTreeMap<String, Vec<(Uuid, Option<Moment>)>>;

    fn check(model: &mut Model, delivered: &[Delivery], until: Moment, now: Moment) {
        let mut seen = BTreeMap::<&str, usize>::new();
        for delivery in delivered {
            let group = delivery.message.group();
            let place = seen.entry(group).or_default();
            let members = model.get_mut(group).unwrap();
            let free = |held: &Option<Moment>| held.is_none_or(|until| until <= now);
            if *place == 0 {
                assert!(
                    members.iter().all(|(_, held)| free(held)),
                    "{group} is held up"
                );
            }
            assert_eq!(
                members[*place].0, delivery.message.id,
                "out of order in {group}"
            );
            *place += 1;
        }
        for delivery in delivered {
            let members = model.get_mut(delivery.message.group()).unwrap();
            let member = members
                .iter_mut()
                .find(|(id, _)| *id == delivery.message.id);
            member.unwrap().1 = Some(until);
        }
    }

    proptest! {
        #[test]
        fn a_group_is_taken_from_its_first_message_on_and_by_one_at_a_time(
            steps in prop::collection::vec(step(), 1..120)
        ) {
            let mut state = with_queue(&[("VisibilityTimeout", "5")]);
            let mut now = at(0);
            let mut model = Model::new();
            let mut receipts: Vec<(Receipt, String, Uuid)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                let pick = |which: usize| receipts.get(which % receipts.len().max(1)).cloned();
                match step {
                    Step::Pass(seconds) => now = now.plus(Duration::from_secs(seconds)),
                    Step::Send(group) => {
                        let sent = send(&mut state, &group.to_string(), &number.to_string(), now);
                        model.entry(group.to_string()).or_default().push((sent.id, None));
                    }
                    Step::Receive(max, hidden) => {
                        let got = state.receive(Q, asked(max, hidden), now).unwrap().deliveries;
                        let hidden = Duration::from_secs(hidden.unwrap_or(5).into());
                        check(&mut model, &got, now.plus(hidden), now);
                        receipts.extend(got.iter().map(|delivery| {
                            let group = delivery.message.group().to_owned();
                            (delivery.receipt, group, delivery.message.id)
                        }));
                    }
                    Step::Delete(which) => {
                        if let Some((receipt, group, id)) = pick(which)
                            && state.delete(Q, receipt, now) == Ok(Deletion::Deleted)
                        {
                            model.get_mut(&group).unwrap().retain(|(known, _)| *known != id);
                        }
                    }
                    Step::Change(which, hidden) => {
                        if let Some((receipt, group, id)) = pick(which)
                            && state.change_visibility(Q, receipt, hidden, now).is_ok()
                        {
                            let until = now.plus(Duration::from_secs(hidden.into()));
                            let members = model.get_mut(&group).unwrap();
                            members.iter_mut().find(|(known, _)| *known == id).unwrap().1 = Some(until);
                        }
                    }
                    Step::Expire(which) => {
                        if let Some((receipt, group, id)) = pick(which)
                            && state.expire(receipt, now) == Expiry::MadeVisible
                        {
                            let members = model.get_mut(&group).unwrap();
                            members.iter_mut().find(|(known, _)| *known == id).unwrap().1 = None;
                        }
                    }
                }
            }
        }
    }
}
