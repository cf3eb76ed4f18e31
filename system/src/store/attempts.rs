//! Attempts: one row per receive, written before anything else happens to a message.

use sqlx::PgConnection;
use uuid::Uuid;

use super::dependencies::Dependency;
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
                sqlx::query(altered!(
                    "insert into attempts (message_id, number, delivery, incarnation, receive_count)
                     select $1, coalesce(max(number), 0) + 1, $2, $3, $4
                     from attempts where message_id = $1
                     on conflict (delivery) do nothing",
                    "numbers-go-on-from-any-message": "from attempts where message_id = $1" => "from attempts",
                ))
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

    /// The document was read and the parser is about to run: makes that the attempt's last
    /// known stage. Also a sign that the document store is well, which costs no write
    /// while it was well before.
    pub(crate) async fn enter_processing(&self, attempt: &AttemptKey) -> Result<Step, StoreError> {
        self.limit(async {
            let entered = sqlx::query(
                "with well as (
                     update dependencies set failing = false, outage = false, last_success_at = clock_timestamp(),
                         outage_ended_at = case when outage then clock_timestamp() else outage_ended_at end
                     where name = $3 and failing)
                 update attempts set stage = 'processing'
                 where message_id = $1 and number = $2 and state = 'started' and may_act(incarnation)",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(Dependency::DocumentStore.name())
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

    /// Steps back from an attempt that was not started.
    pub(crate) async fn step_back(
        &self,
        attempt: &AttemptKey,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.limit(async {
            let mut connection = self.pool.acquire().await?;
            step_back(&mut connection, attempt, reason).await
        })
        .await
        .to("step back from an attempt")
    }

    /// Ends an open attempt. One that somebody judged already stays as it was judged.
    pub(crate) async fn end_attempt(
        &self,
        attempt: &AttemptKey,
        ending: &Ending,
    ) -> Result<(), StoreError> {
        self.limit(async {
            sqlx::query(altered!(
                "update attempts set state = $3, counted = $4, reason = $5, diagnostics = $6,
                     ended_at = clock_timestamp()
                 where message_id = $1 and number = $2 and state in ('received', 'started')",
                "late-end-overwrites-a-judgement": " and state in ('received', 'started')" => "",
                "each-attempt-ends-with-the-first": " and number = $2" => " and number <= $2",
            ))
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

/// Steps back inside a transaction that goes on.
pub(super) async fn step_back(
    connection: &mut PgConnection,
    attempt: &AttemptKey,
    reason: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(altered!(
        "update attempts set state = 'stepped_back', reason = $3, ended_at = clock_timestamp()
         where message_id = $1 and number = $2 and state in ('received', 'started')",
        "step-back-charged": "reason = $3," => "reason = $3, counted = job_id is not null,",
    ))
    .bind(&attempt.message_id)
    .bind(attempt.number)
    .bind(reason)
    .execute(connection)
    .await
    .map(|_| ())
}

/// `PostgreSQL` holds no NUL in text.
pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
