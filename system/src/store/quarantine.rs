//! Quarantine: what the workers gave up, with all that a person needs to decide.

use uuid::Uuid;

use super::attempts::{AttemptKey, without_nul};
use super::{Purpose, Store, StoreError};

/// What is put into quarantine.
pub(crate) struct HandOver<'a> {
    pub(crate) message_id: &'a str,
    pub(crate) label: &'static str,
    /// The message as it was delivered.
    pub(crate) body: &'a [u8],
    /// What the message is about, byte for byte.
    pub(crate) content: &'a [u8],
    pub(crate) media_type: Option<&'a str>,
    pub(crate) diagnostics: &'a str,
}

impl Store {
    /// Puts a pending job into quarantine: record and state in one transaction. Repeated,
    /// by whoever, it stays one record.
    pub(crate) async fn quarantine_job(
        &self,
        job: Uuid,
        hand_over: &HandOver<'_>,
    ) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let series: Option<i32> = sqlx::query_scalar(
                "update jobs set state = 'quarantined', label = $2, ended_at = clock_timestamp()
                 where id = $1 and state = 'pending' returning series",
            )
            .bind(job)
            .bind(hand_over.label)
            .fetch_optional(&mut *transaction)
            .await?;
            let Some(series) = series else {
                return transaction.rollback().await;
            };
            sqlx::query(
                "insert into quarantine (message_id, label, job_id, series, body, content, media_type,
                     diagnostics, counted, last_stage, attempts)
                 select $1, $2, $3, $4, $5, $6, $7, $8,
                     (select count(*) from attempts where job_id = $3 and series = $4 and counted),
                     (select stage from attempts where job_id = $3 and series = $4 and state <> 'stepped_back'
                      order by received_at desc limit 1),
                     coalesce((select jsonb_agg(to_jsonb(a) - 'delivery' order by received_at)
                               from attempts a where job_id = $3), '[]')",
            )
            .bind(hand_over.message_id)
            .bind(hand_over.label)
            .bind(job)
            .bind(series)
            .bind(hand_over.body)
            .bind(hand_over.content)
            .bind(hand_over.media_type)
            .bind(without_nul(hand_over.diagnostics))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await
        })
        .await
        .to("put a job into quarantine")
    }

    /// Puts a message into quarantine that names no job of ours; the attempt that met it
    /// ends with it.
    pub(crate) async fn quarantine_message(
        &self,
        attempt: Option<&AttemptKey>,
        hand_over: &HandOver<'_>,
    ) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            if let Some(attempt) = attempt {
                sqlx::query(
                    "update attempts set state = 'failed', counted = true, reason = $3, diagnostics = $4,
                         ended_at = clock_timestamp()
                     where message_id = $1 and number = $2 and state = 'received'",
                )
                .bind(&attempt.message_id)
                .bind(attempt.number)
                .bind(hand_over.label)
                .bind(without_nul(hand_over.diagnostics))
                .execute(&mut *transaction)
                .await?;
            }
            sqlx::query(
                "insert into quarantine (message_id, label, body, content, diagnostics, counted, last_stage, attempts)
                 select $1, $2, $3, $3, $4,
                     (select count(*) from attempts where message_id = $1 and counted),
                     'attempt-recorded',
                     coalesce((select jsonb_agg(to_jsonb(a) - 'delivery' order by number)
                               from attempts a where message_id = $1), '[]')
                 on conflict do nothing",
            )
            .bind(hand_over.message_id)
            .bind(hand_over.label)
            .bind(hand_over.body)
            .bind(without_nul(hand_over.diagnostics))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await
        })
        .await
        .to("put a message into quarantine")
    }
}
