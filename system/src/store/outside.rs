//! The outside write's intent and its answer.

use uuid::Uuid;

use super::attempts::{AttemptKey, Step, without_nul};
use super::dependencies::{Dependency, worked};
use super::{Purpose, Store, StoreError};

/// What is known of a write once its request is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The service did it.
    Performed,
    /// The service did not do it.
    NotPerformed,
}

impl Known {
    fn state(self) -> &'static str {
        match self {
            Self::Performed => "performed",
            Self::NotPerformed => "not_performed",
        }
    }
}

impl Store {
    /// Makes the intent to write durable, together with the text that was extracted, if
    /// this attempt is still the open one of a living owner. Only then may the request
    /// leave.
    pub(crate) async fn intend_write(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        text: &str,
    ) -> Result<Step, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let intended = sqlx::query(
                altered!(
                    "insert into outside_writes as w (job_id, state, message_id, number, text)
                 select a.job_id, 'intended', a.message_id, a.number, $4
                 from attempts a
                 where a.message_id = $1 and a.number = $2 and a.job_id = $3 and a.state = 'started'
                   and may_act(a.incarnation)
                 for update of a
                 on conflict (job_id) do update
                 set state = 'intended', message_id = excluded.message_id, number = excluded.number,
                     text = excluded.text, answer = null, intended_at = clock_timestamp(), answered_at = null
                 where w.state = 'not_performed'
                    or (w.state = 'intended' and w.message_id = $1 and w.number = $2)",
                    "intent-of-the-superseded": " and a.state = 'started'\n                   and may_act(a.incarnation)" => "",
                    "answered-write-repeated": "where w.state = 'not_performed'" => "where w.state <> 'unknown'",
                ),
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(job)
            .bind(without_nul(text))
            .execute(&mut *transaction)
            .await?;
            if intended.rows_affected() == 0 {
                transaction.rollback().await?;
                return self.why_refused(attempt).await;
            }
            sqlx::query(
                "update attempts set stage = 'outside-intended' where message_id = $1 and number = $2",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(Step::Taken)
        })
        .await
        .to("record the intent of an outside write")
    }

    /// Records an answer that settles the write. Refused once somebody judged the attempt.
    pub(crate) async fn write_answered(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        known: Known,
        answer: &str,
    ) -> Result<Step, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let recorded = sqlx::query(
                altered!(
                    "update outside_writes w set state = $4, answer = $5, answered_at = clock_timestamp()
                 from attempts a
                 where w.job_id = $3 and w.message_id = $1 and w.number = $2 and w.state in ('intended', $4)
                   and a.message_id = $1 and a.number = $2 and a.state = 'started' and may_act(a.incarnation)",
                    "late-answer-taken-for-a-result": " and w.state in ('intended', $4)\n                   and a.message_id = $1 and a.number = $2 and a.state = 'started' and may_act(a.incarnation)" => " and a.message_id = $1 and a.number = $2",
                ),
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(job)
            .bind(known.state())
            .bind(without_nul(answer))
            .execute(&mut *transaction)
            .await?;
            if recorded.rows_affected() == 0 {
                transaction.rollback().await?;
                return self.why_refused(attempt).await;
            }
            if known == Known::Performed {
                worked(&mut transaction, Dependency::Outside).await?;
                sqlx::query(
                    "update attempts set stage = 'outside-performed' where message_id = $1 and number = $2",
                )
                .bind(&attempt.message_id)
                .bind(attempt.number)
                .execute(&mut *transaction)
                .await?;
            }
            transaction.commit().await?;
            Ok(Step::Taken)
        })
        .await
        .to("record the outside service's answer")
    }

    /// Nobody knows whether the write was performed: the attempt ends, and the write is
    /// never repeated.
    pub(crate) async fn write_unknown(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        why: &str,
    ) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            sqlx::query(
                altered!(
                    "update outside_writes set state = 'unknown', answer = $4
                 where job_id = $3 and message_id = $1 and number = $2 and state = 'intended'",
                    "unanswered-write-repeated": "set state = 'unknown'" => "set state = 'not_performed'",
                ),
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(job)
            .bind(without_nul(why))
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "update attempts set state = 'outcome_unknown', counted = true, reason = 'outcome unknown',
                     diagnostics = $3, ended_at = clock_timestamp()
                 where message_id = $1 and number = $2 and state = 'started'",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(without_nul(why))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await
        })
        .await
        .to("record an unknown outcome")
    }

    /// Keeps what a superseded attempt learned too late.
    pub(crate) async fn keep_evidence(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        what: &str,
    ) -> Result<(), StoreError> {
        self.limit(async {
            sqlx::query(
                "insert into evidence (job_id, message_id, number, what) values ($1, $2, $3, $4)",
            )
            .bind(job)
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .bind(without_nul(what))
            .execute(&self.pool)
            .await
        })
        .await
        .map(|_| ())
        .to("keep evidence")
    }
}
