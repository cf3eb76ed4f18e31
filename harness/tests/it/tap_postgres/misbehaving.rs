//! Round trips that a tap lets misbehave: what the client is told, and what is there.

use std::time::Duration;

use futures::FutureExt;
use rehearsal::tap::{Before, TransactionStatus};
use sqlx::{Connection, Row as _};

use super::stage::Stage;

const INSERT: &str = "INSERT INTO t VALUES ($1, $2) RETURNING text";

/// What the client is told of an insert.
async fn insert(session: &mut sqlx::PgConnection, id: i32) -> Result<String, sqlx::Error> {
    let row = sqlx::query(INSERT).bind(id).bind("some content");
    Ok(row.fetch_one(session).await?.get(0))
}

#[tokio::test]
async fn a_commit_that_is_taken_back_is_answered_and_nothing_of_it_is_there() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    stage
        .recorder
        .before("COMMIT", || async { Before::TakeBack }.boxed());
    for id in 1..=2 {
        let mut transaction = tapped.begin().await.unwrap();
        assert_eq!(insert(&mut transaction, id).await.unwrap(), "some content");
        transaction.commit().await.unwrap();
    }
    assert!(stage.rows().await.is_empty() && stage.recorder.durable().is_empty());
    assert!(stage.recorder.misdeeds().iter().all(Result::is_ok));
    assert_eq!(stage.recorder.misdeeds().len(), 2);
    let last = stage.recorder.replies().pop().unwrap();
    assert_eq!(
        (last.tags, last.status),
        (vec!["COMMIT".to_owned()], TransactionStatus::Idle)
    );
    stage
        .recorder
        .before("none", || async { Before::Forward }.boxed());
    assert_eq!(insert(&mut tapped, 3).await.unwrap(), "some content");
    assert_eq!(stage.rows().await, [3], "the session goes on as it was");
}

#[tokio::test]
async fn a_row_that_is_dropped_is_answered_as_if_it_were_there() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    insert(&mut tapped, 1).await.unwrap();
    stage
        .recorder
        .before("INSERT", || async { Before::TakeBack }.boxed());
    assert_eq!(insert(&mut tapped, 2).await.unwrap(), "some content");
    let mut transaction = tapped.begin().await.unwrap();
    assert_eq!(insert(&mut transaction, 3).await.unwrap(), "some content");
    sqlx::query("UPDATE t SET text = 'kept'")
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(stage.rows().await, [1], "all else of the transaction lasts");
    assert_eq!(stage.recorder.misdeeds().len(), 2);
    assert!(stage.recorder.misdeeds().iter().all(Result::is_ok));
    let durable = stage.recorder.durable();
    assert_eq!(
        durable.iter().filter(|sql| sql.contains("INSERT")).count(),
        1,
        "{durable:?}"
    );
}

#[tokio::test]
async fn what_fails_by_itself_fails_as_it_would() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    insert(&mut tapped, 1).await.unwrap();
    stage
        .recorder
        .before("INSERT", || async { Before::TakeBack }.boxed());
    assert!(insert(&mut tapped, 1).await.is_err());
    let mut transaction = tapped.begin().await.unwrap();
    assert!(insert(&mut transaction, 1).await.is_err());
    let failed = sqlx::query("SELECT 1").execute(&mut *transaction).await;
    assert!(failed.is_err(), "its transaction has failed");
    transaction.rollback().await.unwrap();
    assert!(stage.recorder.misdeeds().iter().all(Result::is_err));
    assert_eq!(stage.rows().await, [1]);
}

#[tokio::test]
async fn a_commit_is_answered_before_it_is_made_and_made_all_the_same() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let later = Duration::from_millis(300);
    stage.recorder.before("COMMIT", move || {
        async move { Before::AnswerFirst(later) }.boxed()
    });
    let mut transaction = tapped.begin().await.unwrap();
    insert(&mut transaction, 1).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(
        stage.recorder.durable().is_empty(),
        "nothing was durable when the client was told"
    );
    // The next call waits until it is.
    tapped.ping().await.unwrap();
    assert_eq!(stage.rows().await, [1]);
    assert_eq!(stage.recorder.durable().len(), 1);
    assert!(stage.recorder.misdeeds()[0].is_ok());
}

#[tokio::test]
async fn a_statement_is_no_commit_and_is_passed_on() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let later = Duration::from_mins(1);
    stage.recorder.before("INSERT", move || {
        async move { Before::AnswerFirst(later) }.boxed()
    });
    insert(&mut tapped, 1).await.unwrap();
    assert_eq!(stage.rows().await, [1]);
    assert!(stage.recorder.misdeeds()[0].is_err());
}

#[tokio::test]
async fn one_letter_of_the_longest_value_gets_there_wrong() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    stage
        .recorder
        .before("INSERT", || async { Before::Spoil }.boxed());
    assert_eq!(insert(&mut tapped, 1).await.unwrap(), "some cpntent");
    assert!(stage.recorder.misdeeds()[0].is_ok());
}
