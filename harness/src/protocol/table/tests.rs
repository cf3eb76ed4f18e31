use super::change::{By, apply, is_changed};
use super::evidence::{Evidence, Returned, may_write};
use super::state::{At, Row, Rows};
use super::*;
use crate::ids::{Author, ConnectionId, Incarnation};
use crate::protocol::queue::QueueEffect;

fn queue() -> TableQueue {
    TableQueue {
        table: "jobs".to_owned(),
        id: "id".to_owned(),
        waiting: "state = 'new'".to_owned(),
        in_hand: Some("state = 'taken'".to_owned()),
        calls: vec!["finish_".to_owned()],
        ..TableQueue::default()
    }
}

fn row(in_hand: bool, version: &str) -> Row {
    Row {
        in_hand,
        turn: None,
        version: version.to_owned(),
        text: r#"{"id": 17}"#.to_owned(),
        holder: None,
    }
}

fn author() -> Author {
    Author::Process(Incarnation {
        role: "worker".into(),
        instance: 1,
        start: 1,
    })
}

fn said(sql: &str, returned: &[(&str, &str)]) -> Evidence {
    let mut values = Returned::default();
    for (column, value) in returned {
        values.push(column, (*value).to_owned());
    }
    let mut evidence = Evidence::default();
    evidence.add(&[Statement::new(sql, Vec::new())], values);
    evidence
}

/// What each state of row 17 told, in words.
fn course(queue: &TableQueue, states: &[(Option<Row>, Evidence)]) -> Vec<String> {
    let mut rows = Rows::default();
    let author = author();
    let mut told = Vec::new();
    for (now, evidence) in states {
        let by = By {
            author: &author,
            connection: ConnectionId(1),
            evidence,
        };
        let now = now.as_ref();
        if is_changed(queue, rows.copies.get("17"), now, &by) {
            told.extend(apply(("jobs", queue), &mut rows, ("17", now), &by, true));
        }
    }
    told.iter()
        .map(|effect| match effect {
            QueueEffect::Sent(item) => format!("sent {}", item.copy),
            QueueEffect::Delivered(_, receipt) => format!("delivered {receipt}"),
            QueueEffect::Deleted(_, receipt) => format!("deleted {receipt}"),
            QueueEffect::Released(receipt) => format!("released {receipt}"),
            QueueEffect::Unseen { .. } => "unseen".to_owned(),
        })
        .collect()
}

#[test]
fn a_row_is_received_given_back_received_and_done() {
    let nothing = Evidence::default;
    let states = [
        (Some(row(false, "1")), nothing()),
        (Some(row(true, "2")), nothing()),
        (Some(row(false, "3")), nothing()),
        (Some(row(true, "4")), nothing()),
        (None, nothing()),
        (Some(row(false, "5")), nothing()),
    ];
    assert_eq!(
        course(&queue(), &states),
        [
            "sent jobs/17",
            "delivered jobs/17~1",
            "released jobs/17~1",
            "delivered jobs/17~2",
            "deleted jobs/17~2",
            "sent jobs/17#2",
        ]
    );
}

#[test]
fn a_row_in_hand_is_claimed_again_where_a_reply_hands_it_over_and_not_at_a_heartbeat() {
    let claim = || said("select take()", &[("id", "17")]);
    let beat = || said("update jobs set seen = now() where id = 17", &[]);
    let states = [
        (Some(row(false, "1")), Evidence::default()),
        (Some(row(true, "2")), claim()),
        (Some(row(true, "3")), beat()),
        (Some(row(true, "4")), claim()),
        (Some(row(true, "4")), claim()),
    ];
    assert_eq!(
        course(&queue(), &states),
        ["sent jobs/17", "delivered jobs/17~1", "delivered jobs/17~2"]
    );
}

#[test]
fn what_is_another_with_each_claim_tells_a_claim() {
    let queue = TableQueue {
        claim: Some("worker".to_owned()),
        ..queue()
    };
    let by = |worker: &str, version: &str| Row {
        turn: Some(worker.to_owned()),
        ..row(true, version)
    };
    let states = [
        (Some(by("a", "1")), Evidence::default()),
        (Some(by("a", "2")), said("select take()", &[("id", "17")])),
        (Some(by("b", "3")), Evidence::default()),
    ];
    assert_eq!(
        course(&queue, &states),
        ["sent jobs/17", "delivered jobs/17~1", "delivered jobs/17~2"]
    );
}

#[test]
fn what_is_deleted_at_once_was_received_by_whom_it_was_returned_to() {
    let popped = said(
        "delete from jobs where id = 17 returning id",
        &[("id", "17")],
    );
    let states = [(Some(row(false, "1")), Evidence::default()), (None, popped)];
    assert_eq!(
        course(&queue(), &states),
        ["sent jobs/17", "delivered jobs/17~1", "deleted jobs/17~1"]
    );
    let cancelled = said("delete from jobs where id = 17", &[]);
    let states = [
        (Some(row(false, "1")), Evidence::default()),
        (None, cancelled),
    ];
    assert_eq!(course(&queue(), &states), ["sent jobs/17", "deleted "]);
}

#[test]
fn the_column_of_the_id_goes_before_any_other_value() {
    let queue = queue();
    let both = said("select take()", &[("id", "17"), ("tries", "3")]);
    assert!(both.brought(&queue, "17") && !both.brought(&queue, "3"));
    let whole = said("select take()", &[("take", "(17,taken,\"{}\")")]);
    assert!(whole.brought(&queue, "17") && !whole.brought(&queue, "taken "));
}

#[test]
fn only_statements_that_work_on_the_queue_name_its_rows() {
    let queue = queue();
    assert!(said("update jobs set state = 'done' where id = 17", &[]).names(&queue, "17"));
    assert!(said("select finish_job(17, 'done')", &[]).names(&queue, "17"));
    assert!(!said("update parcels set weight = 17", &[]).names(&queue, "17"));
}

#[test]
fn what_only_reads_claims_nothing() {
    let statement = |sql: &str| Statement::new(sql, Vec::new());
    assert!(!may_write(&statement(
        "SELECT id FROM jobs WHERE state = 'new'"
    )));
    assert!(may_write(&statement("SELECT fetch_job()")));
    assert!(may_write(&statement(
        "SELECT id FROM jobs FOR UPDATE SKIP LOCKED"
    )));
    assert!(may_write(&statement(
        "with x as (delete from jobs returning id) select id from x"
    )));
}

#[test]
fn the_ids_in_a_row_are_its_own_and_all_that_stands_in_it_but_small_numbers() {
    let mut rows = Rows::default();
    let now = Row {
        text: r#"{"id": 17, "tries": 3, "args": {"order": "o-77"}, "raw": "{\"key\": \"k-1\"}", "big": 1234567}"#
            .to_owned(),
        ..row(false, "1")
    };
    let copy = rows.come("jobs", "17", &now);
    assert!(matches!(copy.at, At::Waiting));
    let ids = ids_in_item(&copy.item("jobs"));
    for id in ["17", "o-77", "k-1", "1234567"] {
        assert!(ids.iter().any(|one| one == id), "{id}");
    }
    assert!(!ids.iter().any(|one| one == "3"));
}

#[test]
fn a_row_that_was_claimed_before_its_insert_was_looked_at_is_received_by_who_claimed_it() {
    let queue = queue();
    let inserted = said(
        "insert into jobs (name) values ($1) returning id",
        &[("id", "17")],
    );
    let claimed = said(
        "update jobs set state = 'taken' where id = 17 returning id",
        &[("id", "17")],
    );
    assert!(inserted.only_inserts(&queue) && !claimed.only_inserts(&queue));
    let mut rows = Rows::default();
    let author = author();
    let mut told = Vec::new();
    for (evidence, may_claim) in [(&inserted, false), (&claimed, true)] {
        let by = By {
            author: &author,
            connection: ConnectionId(1),
            evidence,
        };
        let now = Some(&row(true, "2"));
        if is_changed(&queue, rows.copies.get("17"), now, &by) {
            let effects = apply(("jobs", &queue), &mut rows, ("17", now), &by, may_claim);
            told.push(effects.len());
        }
    }
    assert_eq!(told, [1, 1], "sent by the first, delivered to the second");
}
