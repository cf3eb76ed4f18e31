//! The commit: result, job and attempt end together or not at all.

use uuid::Uuid;

use super::attempts::{AttemptKey, Step, without_nul};
use super::{Purpose, Store, StoreError};

impl Store {
    /// Saves the result, while the job is pending and this attempt is the open one of a
    /// living owner. Looks first whether an earlier try was committed whose answer was
    /// lost, so that it is safe to repeat.
    pub(crate) async fn commit_result(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        text: &str,
        repeated: bool,
    ) -> Result<Step, StoreError> {
        self.limit(async {
            if repeated && self.is_committed(attempt).await? {
                return Ok(Step::Taken);
            }
            let mut transaction = self.pool.begin().await?;
            let finished = sqlx::query(
                "update jobs set state = 'succeeded', ended_at = clock_timestamp()
                 where id = $1 and state = 'pending'",
            )
            .bind(job)
            .execute(&mut *transaction)
            .await?;
            let ended = sqlx::query(
                "update attempts set state = 'succeeded', stage = 'committed', ended_at = clock_timestamp()
                 where message_id = $1 and number = $2 and state = 'started' and may_act(incarnation)",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .execute(&mut *transaction)
            .await?;
            if ended.rows_affected() == 0 && !defect!("ended-job-committed") {
                transaction.rollback().await?;
                return self.why_refused(attempt).await;
            }
            if finished.rows_affected() == 0 && !defect!("ended-job-committed") {
                transaction.rollback().await?;
                return Ok(Step::Superseded);
            }
            if defect!("result-apart-from-its-job") {
                transaction.commit().await?;
                transaction = self.pool.begin().await?;
            }
            sqlx::query(
                "insert into results (job_id, text, message_id, number) values ($1, $2, $3, $4)",
            )
            .bind(job)
            .bind(without_nul(text))
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(Step::Taken)
        })
        .await
        .to("commit a result")
    }

    async fn is_committed(&self, attempt: &AttemptKey) -> Result<bool, sqlx::Error> {
        sqlx::query_scalar(
            "select state = 'succeeded' from attempts where message_id = $1 and number = $2",
        )
        .bind(&attempt.message_id)
        .bind(attempt.number)
        .fetch_one(&self.pool)
        .await
    }
}
