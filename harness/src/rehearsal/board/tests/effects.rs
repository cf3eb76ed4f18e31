//! Ends of which the wire tells what they wrote, or does not.

use super::*;

/// A transaction of the packer with one statement that wrote so many rows.
async fn durable(bench: &Bench, sql: &str, binds: &[&str], wrote: Option<u64>) {
    let mut statement = statement(sql, binds);
    statement.wrote = wrote;
    let request = Request::Postgres(PgRequest {
        statements: vec![statement],
        transaction: Vec::new(),
        commits: true,
        elsewhere: None,
    });
    let call = bench.call(&bench.packer, "database", request);
    let _ = bench.whole(&call).await;
}

const THREE: &str = "insert into shipments select unnest($1::text[]) on conflict do nothing";

#[tokio::test]
async fn each_row_of_a_list_ends_its_message() {
    let bench = Bench::new().with(&["M1", "M2"]);
    durable(&bench, THREE, &["{job-M1,job-M2}"], Some(2)).await;
    assert_eq!(
        bench.passages(),
        [passed("shipped", Some("M1")), passed("shipped", Some("M2"))]
    );
    assert_eq!(bench.fault_entries(), ["stage", "stage"]);
}

#[tokio::test]
async fn rows_that_met_a_conflict_are_those_that_had_ended() {
    let bench = Bench::new().with(&["M1", "M2"]);
    durable(&bench, THREE, &["{job-M1}"], Some(1)).await;
    durable(&bench, THREE, &["{job-M1,job-M2}"], Some(1)).await;
    assert_eq!(
        bench.passages(),
        [passed("shipped", Some("M1")), passed("shipped", Some("M2"))]
    );
    assert_eq!(bench.fault_entries(), ["stage", "stage"]);
}

#[tokio::test]
async fn fewer_rows_than_messages_without_an_end_are_a_doubt_that_names_the_stage() {
    let bench = Bench::new().with(&["M1", "M2"]);
    durable(&bench, THREE, &["{job-M1,job-M2}"], Some(1)).await;
    assert!(doubts(&bench)[0].contains("`shipped` names 2 messages and wrote 1 rows"));
}

#[tokio::test]
async fn an_end_that_names_nothing_is_a_doubt_that_names_the_stage() {
    let bench = Bench::new().with(&["M1", "M2"]);
    let sql = "insert into shipments select id from staging";
    durable(&bench, sql, &[], Some(2)).await;
    assert!(doubts(&bench)[0].contains("`shipped` ended a message that nothing"));
}

#[tokio::test]
async fn an_end_of_which_nothing_tells_that_it_wrote_is_a_doubt_unless_a_claim_counts_it() {
    let aside = "with made as (insert into shipments values ($1) returning 1) select 1";
    let bench = Bench::new().with(&["M1"]);
    durable(&bench, aside, &["job-M1"], None).await;
    assert!(doubts(&bench)[0].contains("`shipped` ends messages"));
    // Once more it met a conflict: no second end.
    durable(&bench, aside, &["job-M1"], None).await;
    assert_eq!(bench.passages(), [passed("shipped", Some("M1"))]);
    // What is no end may be passed in any form.
    let bench = Bench::new().with(&["M1"]);
    let tried = aside.replace("shipments", "tries");
    durable(&bench, &tried, &["job-M1"], None).await;
    assert!(doubts(&bench).is_empty());
}

fn doubts(bench: &Bench) -> Vec<String> {
    let entries = bench.entries().into_iter();
    entries
        .filter_map(|entry| match entry.event {
            Event::Doubt { reason } => Some(reason),
            _ => None,
        })
        .collect()
}
