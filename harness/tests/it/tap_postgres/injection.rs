//! Replies in the dependency's place.

use futures::FutureExt;
use rehearsal::tap::{After, Before, Discard, PgError, PgReply, Reply, TransactionStatus};
use sqlx::{Connection, Executor};

use super::raw;
use super::stage::Stage;

fn error() -> Reply {
    Reply::Postgres(PgReply {
        tags: Vec::new(),
        error: Some(PgError {
            code: "40001".into(),
            message: "injected".into(),
        }),
        status: TransactionStatus::Failed,
        durable: Vec::new(),
        effects: Vec::new(),
    })
}

fn success(tag: &str) -> Reply {
    Reply::Postgres(PgReply {
        tags: vec![tag.into()],
        error: None,
        status: TransactionStatus::Idle,
        durable: Vec::new(),
        effects: Vec::new(),
    })
}

fn code(error: &sqlx::Error) -> String {
    error
        .as_database_error()
        .unwrap()
        .code()
        .unwrap()
        .into_owned()
}

#[tokio::test]
async fn an_injected_error_aborts_the_dependencys_transaction_too() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .before("VALUES (2)", || async { Before::Answer(error()) }.boxed());
    let mut raw = stage.raw().await;
    raw.query("BEGIN; INSERT INTO t VALUES (1)").await;
    assert_eq!(
        raw.query("INSERT INTO t VALUES (2)").await,
        (Some("40001".into()), 'E')
    );
    assert_eq!(
        raw.query("INSERT INTO t VALUES (3)").await,
        (Some("25P02".into()), 'E')
    );
    assert_eq!(raw.query("COMMIT").await, (None, 'I'));
    assert_eq!(stage.recorder.replies().pop().unwrap().tags, ["ROLLBACK"]);
    assert!(stage.rows().await.is_empty() && stage.recorder.durable().is_empty());
}

#[tokio::test]
async fn an_injected_error_outside_of_a_transaction_leaves_the_session_usable() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .before("INSERT", || async { Before::Answer(error()) }.boxed());
    let mut tapped = stage.tapped().await;
    for _ in 0..2 {
        let insert = sqlx::query("INSERT INTO t VALUES ($1)").bind(1);
        assert_eq!(
            code(&insert.execute(&mut tapped).await.unwrap_err()),
            "40001"
        );
    }
    tapped.ping().await.unwrap();
    assert!(stage.rows().await.is_empty());
}

#[tokio::test]
async fn an_injected_error_at_a_prepared_statement_in_a_transaction_keeps_its_name() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let sql = "INSERT INTO t VALUES ($1)";
    sqlx::query(sql).bind(1).execute(&mut tapped).await.unwrap();
    stage
        .recorder
        .before("INSERT", || async { Before::Answer(error()) }.boxed());
    let mut transaction = tapped.begin().await.unwrap();
    let insert = sqlx::query(sql).bind(2).execute(&mut *transaction).await;
    assert_eq!(code(&insert.unwrap_err()), "40001");
    transaction.rollback().await.unwrap();
    stage
        .recorder
        .before("none", || async { Before::Forward }.boxed());
    sqlx::query(sql).bind(3).execute(&mut tapped).await.unwrap();
    assert_eq!(stage.rows().await, [1, 3]);
}

#[tokio::test]
async fn a_commit_that_is_made_to_fail_ends_its_transaction() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .before("COMMIT", || async { Before::Answer(error()) }.boxed());
    let mut raw = stage.raw().await;
    raw.query("BEGIN; INSERT INTO t VALUES (1)").await;
    assert_eq!(raw.query("COMMIT").await, (Some("40001".into()), 'I'));
    assert!(stage.rows().await.is_empty());
    assert_eq!(raw.query("INSERT INTO t VALUES (2)").await, (None, 'I'));
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES (2)"]);
}

#[tokio::test]
async fn an_error_injected_between_flush_and_sync_undoes_what_was_flushed() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .before("(2)", || async { Before::Answer(error()) }.boxed());
    let mut raw = stage.raw().await;
    let run = |sql| {
        [
            raw::parse("", sql),
            raw::bind("", &[]),
            raw::execute(),
            raw::flush(),
        ]
        .concat()
    };
    raw.send(&run("INSERT INTO t VALUES (1)")).await;
    assert_eq!(raw.tags_until(b'C').await, "12C");
    raw.send(&run("INSERT INTO t VALUES (2)")).await;
    assert_eq!(raw.tags_until(b'E').await, "E");
    raw.send(&raw::sync()).await;
    assert_eq!(raw.answer().await, (None, 'I'));
    assert!(stage.rows().await.is_empty() && stage.recorder.durable().is_empty());
}

#[tokio::test]
async fn a_replaced_reply_hides_an_effect_that_took_place() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .after("INSERT 0 1", || async { After::Replace(error()) }.boxed());
    let mut tapped = stage.tapped().await;
    let insert = sqlx::query("INSERT INTO t VALUES ($1)")
        .bind(1)
        .execute(&mut tapped)
        .await;
    assert_eq!(code(&insert.unwrap_err()), "40001");
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES ($1)"]);
    assert_eq!(stage.rows().await, [1]);
    // In an open transaction the dependency's side fails as the client believes.
    let mut raw = stage.raw().await;
    raw.query("BEGIN").await;
    assert_eq!(
        raw.query("INSERT INTO t VALUES (2)").await,
        (Some("40001".into()), 'E')
    );
    assert_eq!(raw.query("COMMIT").await, (None, 'I'));
    assert_eq!(stage.rows().await, [1]);
}

#[tokio::test]
async fn a_success_that_never_was_satisfies_the_client() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    stage.recorder.before("INSERT", || {
        async { Before::Answer(success("INSERT 0 7")) }.boxed()
    });
    let insert = sqlx::query("INSERT INTO t VALUES ($1)")
        .bind(1)
        .execute(&mut tapped)
        .await;
    assert_eq!(insert.unwrap().rows_affected(), 7);
    let insert = tapped.execute("INSERT INTO t VALUES (2)").await;
    assert_eq!(insert.unwrap().rows_affected(), 7);
    assert!(stage.rows().await.is_empty());
}

#[tokio::test]
async fn a_discarded_call_is_not_executed_and_a_discarded_reply_was() {
    for (discard, kind) in [
        (Discard::Reset, std::io::ErrorKind::ConnectionReset),
        (Discard::Close, std::io::ErrorKind::UnexpectedEof),
    ] {
        let Some(stage) = Stage::new().await else {
            return;
        };
        stage.recorder.before("(1)", move || {
            async move { Before::Discard(discard) }.boxed()
        });
        let mut raw = stage.raw().await;
        raw.send(&raw::query("INSERT INTO t VALUES (1)")).await;
        assert_eq!(end(&mut raw).await, kind);
        drop(raw);
        stage.recorder.disconnected().await;
        stage.recorder.after("INSERT 0 1", move || {
            async move { After::Discard(discard) }.boxed()
        });
        let mut raw = stage.raw().await;
        raw.send(&raw::query("INSERT INTO t VALUES (2)")).await;
        assert_eq!(end(&mut raw).await, kind);
        drop(raw);
        stage.tap.drain().await;
        assert_eq!(stage.rows().await, [2]);
        assert_eq!(stage.recorder.extents(), [rehearsal::tap::Extent::Whole]);
    }
}

async fn end(raw: &mut raw::Raw) -> std::io::ErrorKind {
    use tokio::io::AsyncReadExt;
    raw.stream.read_u8().await.unwrap_err().kind()
}
