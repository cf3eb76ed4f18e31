//! Whatever clients do, in any order, at any moment: nothing is lost, nothing is
//! in two hands, and a replay ends where the first run ended.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::rules::{asked, at, outgoing, terms};
use super::*;

#[derive(Clone, Debug)]
enum Step {
    Pass(u32),
    Send {
        dead: bool,
        delay: Option<u32>,
    },
    Receive {
        dead: bool,
        max: usize,
        visibility: Option<u32>,
    },
    Delete(usize),
    Change(usize, u32),
    Expire(usize),
    Purge,
    Move {
        rate: Option<u32>,
    },
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let visibility = || prop_oneof![Just(None), (0_u32..20).prop_map(Some)];
    prop_oneof![
        3 => (0_u32..20_000).prop_map(Step::Pass),
        4 => (prop::bool::weighted(0.1), prop_oneof![Just(None), (0_u32..10).prop_map(Some)])
            .prop_map(|(dead, delay)| Step::Send { dead, delay }),
        5 => (prop::bool::weighted(0.2), 1_usize..=10, visibility())
            .prop_map(|(dead, max, visibility)| Step::Receive { dead, max, visibility }),
        3 => any::<usize>().prop_map(Step::Delete),
        2 => (any::<usize>(), 0_u32..30).prop_map(|(which, seconds)| Step::Change(which, seconds)),
        1 => any::<usize>().prop_map(Step::Expire),
        1 => Just(Step::Purge),
        1 => prop_oneof![Just(None), (1_u32..5).prop_map(Some)].prop_map(|rate| Step::Move { rate }),
        2 => Just(Step::Look),
    ]
}

fn name(dead: bool) -> &'static str {
    if dead { "dead" } else { "q" }
}

fn fresh() -> State {
    let mut state = State::new(terms());
    let attributes = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let none = BTreeMap::new();
    state.create("dead", &none, &none, at(0)).unwrap();
    let policy = format!(
        r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":2}}"#,
        state.terms.arn("dead")
    );
    let settings = attributes(&[
        ("RedrivePolicy", &policy),
        ("VisibilityTimeout", "5"),
        ("MessageRetentionPeriod", "60"),
    ]);
    state.create("q", &settings, &none, at(0)).unwrap();
    state
}

/// Runs the steps. With `looks`, reads come in between as written; without, they
/// are left out, as they are from a journal.
fn run(steps: &[Step], looks: bool) -> State {
    let mut state = fresh();
    let mut now = at(0);
    let mut receipts: Vec<(Receipt, Uuid)> = Vec::new();
    // Until when each message is in somebody's hand.
    let mut held: BTreeMap<Uuid, Moment> = BTreeMap::new();
    for (number, step) in (1_u128..).zip(steps) {
        let pick = |which: usize| receipts.get(which % receipts.len().max(1)).copied();
        match step {
            Step::Pass(millis) => now = now.plus(Duration::from_millis(u64::from(*millis))),
            Step::Send { dead, delay } => {
                let message = outgoing(number, "x", *delay);
                state.send(name(*dead), &[message], now).unwrap();
            }
            Step::Receive {
                dead,
                max,
                visibility,
            } => {
                let received = state
                    .receive(name(*dead), asked(*max, *visibility), now)
                    .unwrap();
                let seconds = visibility.unwrap_or(if *dead { 30 } else { 5 });
                for delivery in received.deliveries {
                    let id = delivery.message.id;
                    let until = held.insert(id, now.plus(Duration::from_secs(seconds.into())));
                    assert!(
                        until.is_none_or(|until| until <= now),
                        "{id} is in two hands"
                    );
                    receipts.push((delivery.receipt, id));
                }
            }
            Step::Delete(which) => {
                if let Some((receipt, _)) = pick(*which) {
                    let queue = state.name_of(receipt.queue).unwrap().to_owned();
                    state.delete(&queue, receipt, now).unwrap();
                }
            }
            Step::Change(which, seconds) => {
                if let Some((receipt, id)) = pick(*which) {
                    let queue = state.name_of(receipt.queue).unwrap().to_owned();
                    let changed = state.change_visibility(&queue, receipt, *seconds, now);
                    if changed.is_ok() {
                        held.insert(id, now.plus(Duration::from_secs(u64::from(*seconds))));
                    }
                }
            }
            Step::Expire(which) => {
                if let Some((receipt, id)) = pick(*which)
                    && state.expire(receipt, now) == Expiry::MadeVisible
                {
                    held.insert(id, now);
                }
            }
            Step::Purge => {
                let _ = state.purge("q", now);
            }
            Step::Move { rate } => {
                let dead = state.terms.arn("dead");
                let id = Uuid::from_u128(number << 64);
                let _ = state.start_transfer(id, &dead, None, *rate, now);
            }
            Step::Look if looks => state.advance_all(now),
            Step::Look => {}
        }
        for queue in state.queues() {
            let t = queue.tally;
            assert_eq!(
                t.sent + t.moved_in,
                queue.counts().all()
                    + t.deleted
                    + t.expired
                    + t.purged
                    + t.dead_lettered
                    + t.moved_out,
                "{} loses or invents messages after {step:?}",
                queue.name
            );
        }
    }
    state.advance_all(now);
    state
}

fn as_json(state: &State) -> String {
    serde_json::to_string(state).unwrap()
}

proptest! {
    #[test]
    fn nothing_is_lost_or_in_two_hands(steps in prop::collection::vec(step(), 1..120)) {
        run(&steps, true);
    }

    #[test]
    fn what_comes_in_comes_out_of_one_queue_into_the_other(
        steps in prop::collection::vec(step(), 1..120)
    ) {
        let state = run(&steps, true);
        let tally = |name: &str| state.queue(name).unwrap().tally;
        prop_assert_eq!(
            tally("q").dead_lettered + tally("dead").moved_out,
            tally("dead").moved_in + tally("q").moved_in
        );
    }

    #[test]
    fn reads_change_nothing(steps in prop::collection::vec(step(), 1..120)) {
        prop_assert_eq!(as_json(&run(&steps, true)), as_json(&run(&steps, false)));
    }

    #[test]
    fn a_state_survives_being_written_and_read(steps in prop::collection::vec(step(), 1..60)) {
        let state = run(&steps, true);
        let mut read: State = serde_json::from_str(&as_json(&state)).unwrap();
        read.restore();
        for (ours, theirs) in state.queues().zip(read.queues()) {
            prop_assert_eq!(ours.counts(), theirs.counts());
            prop_assert_eq!(ours.next_due(), theirs.next_due());
        }
        prop_assert_eq!(as_json(&state), as_json(&read));
    }
}
