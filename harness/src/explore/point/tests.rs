use super::*;
use crate::shape::Asked;

fn site(shape: &str, messages: &[&str], durable: bool) -> Site {
    let messages: Vec<MessageName> = messages.iter().copied().map(Into::into).collect();
    Site {
        incarnation: Incarnation {
            role: "worker".into(),
            instance: 1,
            start: 1,
        },
        shape: Shape {
            dependency: "database".into(),
            asked: Asked::Statements(shape.to_owned()),
        },
        before: messages.clone(),
        after: Some(messages),
        durable,
    }
}

fn places(sites: &[Site], classes: fn(&[Call]) -> Vec<Class>) -> Vec<(String, usize)> {
    let calls = calls_of(&"worker".into(), sites, &"M1".into());
    classes(&calls)
        .into_iter()
        .map(|class| (class.boundary.place(), class.merged.len()))
        .collect()
}

/// A worker that polls, reads, inserts, updates, and polls again.
fn handling_of_m1() -> Vec<Site> {
    vec![
        site("select next", &[], false),
        site("select a from t", &["M1"], false),
        site("insert into t (a) values (?)", &["M1"], true),
        site("begin", &[], false),
        site("update t set a = ?", &["M1"], true),
        site("select next", &[], false),
    ]
}

#[test]
fn boundaries_between_which_nothing_is_durable_are_one_point() {
    assert_eq!(
        places(&handling_of_m1(), merged),
        [
            ("before \"select a from t\" of M1".to_owned(), 2),
            ("after \"insert into t\" of M1".to_owned(), 3),
            ("after \"update t\" of M1".to_owned(), 0),
            ("before \"select next\" of any message".to_owned(), 1),
        ]
    );
}

#[test]
fn what_leaves_the_process_alive_strikes_every_call_and_the_second_poll() {
    let places = places(&handling_of_m1(), each_alive);
    assert_eq!(places.len(), 10);
    assert_eq!(
        places[0].0,
        "before \"select next\" of any message (time 2)"
    );
    assert!(places.iter().all(|(_, merged)| *merged == 0));
}

#[test]
fn calls_of_one_shape_are_numbered_as_the_fault_counts_them() {
    let twice = [
        site("update t set a = ?", &["M1"], true),
        site("update t set a = ?", &["M2"], true),
        site("update t set a = ?", &["M1"], true),
    ];
    assert_eq!(
        places(&twice, merged),
        [
            ("before \"update t\" of M1".to_owned(), 0),
            ("after \"update t\" of M1".to_owned(), 1),
            ("after \"update t\" of M1 (time 2)".to_owned(), 0),
        ]
    );
}

#[test]
fn a_shape_gets_the_shortest_name_that_means_no_other() {
    let alike = [
        site("update t set a = ?", &["M1"], true),
        site("update t set b = ?", &["M1"], true),
    ];
    let names: Vec<String> = places(&alike, each)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        names.contains(&"before \"update t set a = ?\" of M1".to_owned()),
        "{names:?}"
    );
}

#[test]
fn whoever_has_a_message_in_hand_is_struck_before_each_call_that_leaves_a_trace() {
    let asked = |action: &str| {
        let mut site = site("", &["M1"], true);
        site.shape = Shape {
            dependency: "queue".into(),
            asked: Asked::Action {
                action: action.to_owned(),
                queue: Some("jobs".to_owned()),
            },
        };
        site
    };
    let sites = [
        asked("ReceiveMessage"),
        site("select a from t", &["M1"], false),
        site("insert into t (a) values (?)", &["M1"], true),
        asked("DeleteMessage"),
        site("insert into log (a) values (?)", &["M1"], true),
    ];
    assert_eq!(
        places(&sites, in_hand),
        [
            ("before \"insert into t\" of M1".to_owned(), 0),
            ("before \"DeleteMessage\" of M1".to_owned(), 0),
        ]
    );
}
