//! Attempts: one row per receive, written before anything else happens to a message.

use uuid::Uuid;

use super::{Purpose, Store, StoreError};

/// Which attempt: the n-th of a `MessageId`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttemptKey {
    pub(crate) message_id: String,
    pub(crate) number: i32,
}

/// A receive that is to be recorded.
pub(crate) struct Received<'a> {
    /// Made once per receive: recording it twice records it once.
    pub(crate) delivery: Uuid,
    pub(crate) message_id: &'a str,
    pub(crate) receive_count: Option<i32>,
}

/// What became of a step that only a living owner of an open attempt may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is durable.
    Taken,
    /// The lock or the lease is lost, but nobody has judged the attempt yet.
    NotNow,
    /// The attempt is no longer open.
    Superseded,
}

/// How an attempt ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// One of the states of `attempts`.
    pub(crate) state: &'static str,
    /// Whether it counts toward the limit.
    pub(crate) counted: bool,
    pub(crate) reason: &'static str,
    pub(crate) diagnostics: String,
}

impl Store {
    /// Records a whole batch as in hand, before any of it is looked at. Numbers come back
    /// in the order of `batch`.
    pub(crate) async fn record_attempts(
        &self,
        incarnation: Uuid,
        batch: &[Received<'_>],
    ) -> Result<Vec<i32>, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            for received in batch {
                sqlx::query(
                    "insert into attempts (message_id, number, delivery, incarnation, receive_count)
                     select $1, coalesce(max(number), 0) + 1, $2, $3, $4
                     from attempts where message_id = $1
                     on conflict (delivery) do nothing",
                )
                .bind(received.message_id)
                .bind(received.delivery)
                .bind(incarnation)
                .bind(received.receive_count)
                .execute(&mut *transaction)
                .await?;
            }
            let mut numbers = Vec::with_capacity(batch.len());
            for received in batch {
                let number = sqlx::query_scalar("select number from attempts where delivery = $1")
                    .bind(received.delivery)
                    .fetch_one(&mut *transaction)
                    .await?;
                numbers.push(number);
            }
            transaction.commit().await?;
            Ok(numbers)
        })
        .await
        .to("record attempts")
    }

    /// Makes the stage that an attempt is about to enter durable.
    pub(crate) async fn enter_stage(
        &self,
        attempt: &AttemptKey,
        stage: &str,
    ) -> Result<Step, StoreError> {
        self.limit(async {
            let entered = sqlx::query(
                "update attempts set stage = $3
                 where message_id = $1 and number = $2 and state = 'started' and may_act(incarnation)",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(stage)
            .execute(&self.pool)
            .await?;
            if entered.rows_affected() == 1 {
                return Ok(Step::Taken);
            }
            self.why_refused(attempt).await
        })
        .await
        .to("record a stage")
    }

    /// Ends an open attempt. One that somebody judged already stays as it was judged.
    pub(crate) async fn end_attempt(
        &self,
        attempt: &AttemptKey,
        ending: &Ending,
    ) -> Result<(), StoreError> {
        self.limit(async {
            sqlx::query(
                "update attempts set state = $3, counted = $4, reason = $5, diagnostics = $6,
                     ended_at = clock_timestamp()
                 where message_id = $1 and number = $2 and state in ('received', 'started')",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(ending.state)
            .bind(ending.counted)
            .bind(ending.reason)
            .bind(without_nul(&ending.diagnostics))
            .execute(&self.pool)
            .await
        })
        .await
        .map(|_| ())
        .to("end an attempt")
    }

    /// Tells a lost lock from a lost attempt.
    pub(super) async fn why_refused(&self, attempt: &AttemptKey) -> Result<Step, sqlx::Error> {
        let open: bool = sqlx::query_scalar(
            "select state = 'started' from attempts where message_id = $1 and number = $2",
        )
        .bind(&attempt.message_id)
        .bind(attempt.number)
        .fetch_one(&self.pool)
        .await?;
        Ok(if open { Step::NotNow } else { Step::Superseded })
    }
}

/// `PostgreSQL` holds no NUL in text.
pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
