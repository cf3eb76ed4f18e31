//! What becomes durable in ways that a tag alone does not tell.

use std::sync::Arc;

use rehearsal::ids::Author;
use rehearsal::protocol::postgres::{self, Shared};
use rehearsal::tap::{Bind, Gate, Statement, TapContext};

use super::raw::{self, Raw};
use super::recorder::Recorder;
use super::stage::Stage;

/// All that became durable.
fn durable(recorder: &Recorder) -> Vec<Statement> {
    let replies = recorder.replies().into_iter();
    replies.flat_map(|reply| reply.durable).collect()
}

#[tokio::test]
async fn what_is_prepared_for_a_second_phase_is_durable_when_that_commits() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let (mut first, mut second) = (stage.raw().await, stage.raw().await);
    for (name, id) in [("it''s", 1), ("gone", 2)] {
        first.query("BEGIN").await;
        first.query(&format!("INSERT INTO t VALUES ({id})")).await;
        let prepare = format!("PREPARE TRANSACTION '{name}'");
        assert_eq!(first.query(&prepare).await, (None, 'I'));
    }
    assert!(stage.recorder.durable().is_empty());
    second.query("ROLLBACK PREPARED 'gone'").await;
    stage.recorder.forget();
    second.query("COMMIT PREPARED 'it''s'").await;
    let commit = &stage.recorder.requests()[0];
    assert!(commit.commits);
    assert_eq!(&*commit.transaction[0].sql, "INSERT INTO t VALUES (1)");
    assert_eq!(
        stage.recorder.durable(),
        ["INSERT INTO t VALUES (1)", "COMMIT PREPARED 'it''s'"]
    );
    assert_eq!(stage.rows().await, [1]);
}

#[tokio::test]
async fn execute_is_the_statement_that_was_prepared() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    let both = "PREPARE q (int, text) AS INSERT INTO t VALUES ($1, $2); EXECUTE q (7, 'a')";
    assert_eq!(raw.query(both).await, (None, 'I'));
    raw.query("EXECUTE q (8, upper('b'))").await;
    let executed: Vec<_> = durable(&stage.recorder)
        .into_iter()
        .filter(|statement| statement.wrote == Some(1))
        .collect();
    assert_eq!(&*executed[0].sql, "INSERT INTO t VALUES ($1, $2)");
    let text = |text: &str| Bind::Text(text.to_owned());
    assert_eq!(executed[0].binds, [text("7"), text("a")]);
    assert_eq!(executed[1].binds, [text("8"), text("b")]);
    assert_eq!(executed.len(), 2);
}

#[tokio::test]
async fn a_portal_executed_in_parts_is_one_statement_with_its_whole_count() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.query("BEGIN").await;
    let insert = "INSERT INTO t VALUES (1), (2), (3) RETURNING id";
    let one_row = raw::frame(b'E', &[0, 0, 0, 0, 1]);
    let first = [raw::parse("", insert), raw::bind("", &[]), one_row.clone()];
    raw.send(&[first.concat(), raw::sync()].concat()).await;
    assert_eq!(raw.tags_until(b'Z').await, "12DsZ");
    raw.send(&[one_row, raw::execute(), raw::sync()].concat())
        .await;
    assert_eq!(raw.tags_until(b'Z').await, "DsDCZ");
    raw.query("COMMIT").await;
    let durable = durable(&stage.recorder);
    assert_eq!(durable.len(), 1, "{durable:?}");
    assert_eq!(durable[0].wrote, Some(3));
}

#[tokio::test]
async fn rows_of_a_temporary_table_and_rows_that_are_deleted_again_are_not_found() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    let insert = "INSERT INTO t VALUES (1)";
    raw.query(&format!("{insert}; DELETE FROM t WHERE id = 1"))
        .await;
    assert_eq!(durable(&stage.recorder)[0].wrote, Some(0));
    stage.recorder.forget();
    raw.query("CREATE TEMP TABLE t (id int)").await;
    raw.query(insert).await;
    raw.query("INSERT INTO public.t VALUES (2)").await;
    let found: Vec<_> = durable(&stage.recorder)
        .iter()
        .map(|statement| statement.sql.find(&"insert into t".into()).is_some())
        .collect();
    assert_eq!(found, [false, false, true]);
    assert_eq!(stage.rows().await, [2]);
}

#[tokio::test]
async fn rows_of_a_copy_are_known_once_they_are_durable() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    for (options, rows) in [
        ("", &b"1\ta\n2\t\\N\n"[..]),
        (" WITH (FORMAT csv, HEADER)", b"id,text\n1,a\n2,\n"),
    ] {
        stage.recorder.forget();
        let copy = format!("COPY t FROM STDIN{options}");
        // The rows are sent ahead: they wait for the server's invitation.
        let ahead = [raw::query(&copy), raw::frame(b'd', &rows[..5])].concat();
        raw.send(&ahead).await;
        raw.send(&raw::frame(b'd', &rows[5..])).await;
        raw.send(&raw::frame(b'c', b"")).await;
        assert_eq!(raw.tags_until(b'Z').await, "GCZ");
        let durable = durable(&stage.recorder);
        assert_eq!(durable[0].wrote, Some(2));
        let copied = durable[0].copied.clone().unwrap();
        let text = |text: &str| Bind::Text(text.to_owned());
        assert_eq!(
            copied.rows,
            [[text("1"), text("a")], [text("2"), Bind::Null]]
        );
        assert!(!copied.more);
        raw.query("TRUNCATE t").await;
    }
}

#[tokio::test]
async fn a_session_in_another_database_than_the_declared_one_says_so() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let recorder = Recorder::new();
    let director = Arc::clone(&recorder);
    let context = TapContext {
        author: Author::Client,
        dependency: "database".into(),
        upstream: stage.server.address,
        near_side: std::net::Ipv4Addr::LOCALHOST.into(),
        director,
        gate: Arc::new(Gate::new()),
    };
    let shared = Shared::of(&stage.database);
    let tap = postgres::open_before(context, shared).await.unwrap();
    for (database, elsewhere) in [(&*stage.database, None), ("postgres", Some("postgres"))] {
        recorder.forget();
        let mut raw = Raw::session(tap.address(), database).await;
        raw.query("SELECT 1").await;
        let request = &recorder.requests()[0];
        assert_eq!(request.elsewhere.as_deref(), elsewhere);
    }
    tap.close().await;
}
