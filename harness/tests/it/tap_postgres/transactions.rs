//! What a call executes, and when it is durable.

use rehearsal::tap::{Bind, TransactionStatus};
use sqlx::{Connection, Executor};

use super::raw;
use super::stage::Stage;

#[tokio::test]
async fn a_named_statement_and_its_binary_values_are_known_at_every_execution() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let uuid = uuid::Uuid::from_u128(0xa0ee_bc99);
    for id in 1..=2_i64 {
        stage.recorder.forget();
        sqlx::query("SELECT $1 ,\n  $2, $3, $4, $5")
            .bind(id)
            .bind("grün")
            .bind(uuid)
            .bind(serde_json::json!({ "a": 1 }))
            .bind(None::<i32>)
            .execute(&mut tapped)
            .await
            .unwrap();
        let requests = stage.recorder.requests();
        let [request] = requests.as_slice() else {
            panic!("{requests:?}")
        };
        assert_eq!(&*request.statements[0].sql, "SELECT $1 , $2, $3, $4, $5");
        assert_eq!(
            request.statements[0].binds,
            [
                Bind::Text(id.to_string()),
                Bind::Text("grün".into()),
                Bind::Text(uuid.to_string()),
                Bind::Text("{\"a\":1}".into()),
                Bind::Null,
            ]
        );
        assert!(request.commits && request.transaction.is_empty());
    }
}

#[tokio::test]
async fn values_of_every_known_type_read_as_the_server_prints_them() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    tapped.execute("SET TIME ZONE 'UTC'").await.unwrap();
    let moment =
        time::OffsetDateTime::from_unix_timestamp_nanos(1_764_480_001_250_000_000).unwrap();
    let sql = "SELECT $1::float8::text, $2::timestamptz::text, $3::date::text, $4::bytea::text, \
               $5::text[]::text, $6::float4::text, $7::timestamp::text, $8::int8[]::text";
    let row = sqlx::query(sql)
        .bind(1.5e-7_f64)
        .bind(moment)
        .bind(moment.date())
        .bind(&[1_u8, 255][..])
        .bind(vec![Some("a b"), None, Some("NULL"), Some("")])
        .bind(12_345.678_f32)
        .bind(time::PrimitiveDateTime::new(moment.date(), moment.time()))
        .bind(vec![1_i64, -2])
        .fetch_one(&mut tapped)
        .await
        .unwrap();
    let printed: Vec<Bind> = (0..8)
        .map(|column| Bind::Text(sqlx::Row::get(&row, column)))
        .collect();
    let request = stage.recorder.requests().pop().unwrap();
    assert_eq!(request.statements[0].binds, printed);
}

#[tokio::test]
async fn a_statement_whose_types_were_asked_for_is_decoded_by_them() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.send(
        &[
            raw::parse("s", "select $1::int4"),
            raw::frame(b'D', b"Ss\0"),
            raw::sync(),
        ]
        .concat(),
    )
    .await;
    assert_eq!(raw.tags_until(b'Z').await, "1tTZ");
    assert!(stage.recorder.requests().is_empty(), "nothing was executed");
    let bind = raw::frame(b'B', b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\0");
    raw.send(&[bind, raw::execute(), raw::sync()].concat())
        .await;
    assert_eq!(raw.tags_until(b'Z').await, "2DCZ");
    let request = stage.recorder.requests().pop().unwrap();
    assert_eq!(request.statements[0].binds, [Bind::Text("7".into())]);
}

#[tokio::test]
async fn a_transaction_is_durable_at_its_commit_and_not_before() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let mut transaction = tapped.begin().await.unwrap();
    for id in 1..=2 {
        sqlx::query("INSERT INTO t VALUES ($1)")
            .bind(id)
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    assert!(stage.recorder.durable().is_empty());
    let requests = stage.recorder.requests();
    assert!(requests.iter().all(|request| !request.commits));
    assert_eq!(requests.last().unwrap().transaction.len(), 1);
    transaction.commit().await.unwrap();
    let commit = stage.recorder.requests().pop().unwrap();
    assert_eq!(&*commit.statements[0].sql, "COMMIT");
    assert!(commit.commits);
    let reply = stage.recorder.replies().pop().unwrap();
    assert_eq!(
        (reply.status, reply.tags),
        (TransactionStatus::Idle, vec!["COMMIT".to_owned()])
    );
    assert_eq!(reply.durable, commit.transaction);
    assert_eq!(reply.durable[1].binds, [Bind::Text("2".into())]);
}

#[tokio::test]
async fn a_deferred_constraint_that_fails_at_commit_leaves_nothing_durable() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let table = "CREATE TABLE d (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)";
    tapped.execute(table).await.unwrap();
    stage.recorder.forget();
    let mut transaction = tapped.begin().await.unwrap();
    transaction
        .execute("INSERT INTO d VALUES (1), (1)")
        .await
        .unwrap();
    transaction.commit().await.unwrap_err();
    let reply = stage.recorder.replies().pop().unwrap();
    assert_eq!(reply.error.unwrap().code, "23505");
    assert!(stage.recorder.durable().is_empty());
    // Outside of a block the constraint fails at the Sync, after the command's tag.
    sqlx::query("INSERT INTO d VALUES (2), (2)")
        .execute(&mut tapped)
        .await
        .unwrap_err();
    assert!(stage.recorder.durable().is_empty());
}

#[tokio::test]
async fn a_commit_of_a_failed_transaction_answers_rollback_and_leaves_nothing_durable() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    assert_eq!(
        raw.query("BEGIN; INSERT INTO t VALUES (1)").await,
        (None, 'T')
    );
    assert_eq!(raw.query("SELECT 1 / 0").await, (Some("22012".into()), 'E'));
    assert_eq!(raw.query("COMMIT").await, (None, 'I'));
    assert!(!stage.recorder.requests().pop().unwrap().commits);
    assert_eq!(stage.recorder.replies().pop().unwrap().tags, ["ROLLBACK"]);
    assert!(stage.recorder.durable().is_empty());
    assert!(stage.rows().await.is_empty());
}

#[tokio::test]
async fn what_is_rolled_back_to_a_savepoint_is_not_durable() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let mut outer = tapped.begin().await.unwrap();
    outer.execute("INSERT INTO t VALUES (1)").await.unwrap();
    let mut inner = outer.begin().await.unwrap();
    inner.execute("INSERT INTO t VALUES (2)").await.unwrap();
    inner.rollback().await.unwrap();
    let mut inner = outer.begin().await.unwrap();
    inner.execute("INSERT INTO t VALUES (3)").await.unwrap();
    inner.commit().await.unwrap();
    outer.commit().await.unwrap();
    assert_eq!(
        stage.recorder.durable(),
        ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (3)"]
    );
    assert_eq!(stage.rows().await, [1, 3]);
}

#[tokio::test]
async fn a_rollback_that_a_client_sends_ahead_of_its_next_call_is_a_call_of_its_own() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let mut transaction = tapped.begin().await.unwrap();
    transaction
        .execute("INSERT INTO t VALUES (1)")
        .await
        .unwrap();
    drop(transaction);
    tapped.execute("INSERT INTO t VALUES (2)").await.unwrap();
    assert_eq!(
        stage.recorder.statements(),
        [
            "BEGIN",
            "INSERT INTO t VALUES (1)",
            "ROLLBACK",
            "INSERT INTO t VALUES (2)"
        ]
    );
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES (2)"]);
    assert_eq!(stage.rows().await, [2]);
}

#[tokio::test]
async fn each_statement_of_a_simple_query_counts_by_itself() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.query("INSERT INTO t VALUES (1, ';'); INSERT INTO t VALUES (2)")
        .await;
    assert_eq!(
        stage.recorder.durable(),
        ["INSERT INTO t VALUES (1, ';')", "INSERT INTO t VALUES (2)"]
    );
    stage.recorder.forget();
    // An error undoes the whole implicit transaction …
    raw.query("INSERT INTO t VALUES (3); SELECT 1 / 0").await;
    assert!(stage.recorder.durable().is_empty());
    // … but not what was committed before it.
    let sql = "BEGIN; INSERT INTO t VALUES (4); COMMIT; INSERT INTO t VALUES (5); SELECT 1 / 0";
    raw.query(sql).await;
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES (4)"]);
    assert_eq!(stage.rows().await, [1, 2, 4]);
}

#[tokio::test]
async fn a_chained_commit_is_durable_and_a_prepared_transaction_is_not() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.query("BEGIN; INSERT INTO t VALUES (1)").await;
    assert_eq!(raw.query("COMMIT AND CHAIN").await.1, 'T');
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES (1)"]);
    raw.query("INSERT INTO t VALUES (2)").await;
    assert_eq!(raw.query("PREPARE TRANSACTION 'p'").await, (None, 'I'));
    assert_eq!(stage.recorder.durable().len(), 1);
    assert_eq!(raw.query("COMMIT PREPARED 'p'").await, (None, 'I'));
    assert_eq!(
        stage.recorder.durable()[1..],
        ["INSERT INTO t VALUES (2)", "COMMIT PREPARED 'p'"]
    );
    assert_eq!(stage.rows().await, [1, 2]);
}

#[tokio::test]
async fn between_flush_and_sync_nothing_is_durable() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    let insert = [
        raw::parse("", "INSERT INTO t VALUES ($1)"),
        raw::bind("", &["1"]),
        raw::execute(),
        raw::flush(),
    ];
    raw.send(&insert.concat()).await;
    assert_eq!(raw.tags_until(b'C').await, "12C");
    assert!(stage.recorder.durable().is_empty());
    assert!(!stage.recorder.requests()[0].commits);
    raw.send(&raw::sync()).await;
    assert_eq!(raw.tags_until(b'Z').await, "Z");
    let requests = stage.recorder.requests();
    assert!(requests[1].statements.is_empty() && requests[1].commits);
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES ($1)"]);
}

#[tokio::test]
async fn an_error_before_a_flush_is_skipped_to_the_sync() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.send(&[raw::parse("", "no sql"), raw::flush()].concat())
        .await;
    assert_eq!(raw.tags_until(b'E').await, "E");
    // The server ignores all of this.
    raw.send(
        &[
            raw::bind("", &[]),
            raw::execute(),
            raw::flush(),
            raw::query("SELECT 1"),
        ]
        .concat(),
    )
    .await;
    raw.send(&raw::sync()).await;
    assert_eq!(raw.tags_until(b'Z').await, "Z");
    assert!(stage.recorder.requests().is_empty());
    assert_eq!(raw.query("SELECT 1").await, (None, 'I'));
}

#[tokio::test]
async fn a_name_stands_for_what_the_server_accepted() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    let run = [raw::bind("s", &[]), raw::execute(), raw::sync()].concat();
    raw.send(&[raw::parse("s", "select 1"), raw::sync()].concat())
        .await;
    raw.until(b'Z').await;
    // Refused: the name is taken.
    raw.send(&[raw::parse("s", "select 2"), raw::sync()].concat())
        .await;
    raw.until(b'Z').await;
    raw.send(&run).await;
    raw.until(b'Z').await;
    assert_eq!(stage.recorder.statements(), ["select 1"]);
    for (freeing, sql) in [("DEALLOCATE s", "select 3"), ("DISCARD ALL", "select 4")] {
        raw.query(freeing).await;
        raw.send(&[raw::parse("s", sql), run.clone()].concat())
            .await;
        raw.until(b'Z').await;
        assert_eq!(stage.recorder.statements().last().unwrap(), sql);
    }
    raw.query("DEALLOCATE ALL; PREPARE s AS SELECT 5").await;
    raw.send(&run).await;
    raw.until(b'Z').await;
    assert_eq!(stage.recorder.statements().last().unwrap(), "SELECT 5");
}
