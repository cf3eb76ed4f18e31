//! What became of a job whose message ended in the dead-letter queue.

use sqlx::PgConnection;
use uuid::Uuid;

use super::judgement::{adopt, judge_others};
use super::{Purpose, Store, StoreError};
use crate::queue::Delivery;

/// What a dead letter's job turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It had its end already, and keeps it.
    Ended,
    /// It is `failed` from now on.
    Failed,
    /// An attempt is open that can still commit.
    Open,
    /// Its outside write was sent and not answered: that is no failure.
    OutcomeUnknown {
        /// The document's reference.
        document: String,
    },
    /// There is no such job.
    NoJob,
}

impl Store {
    /// Judges the open attempts of a job and marks it `failed`, if it is pending and none
    /// of them can still commit. The job's row is held throughout: a commit comes before
    /// all of this or finds the job failed.
    pub(crate) async fn reconcile(
        &self,
        delivery: &Delivery,
        job: Uuid,
        judge: Uuid,
    ) -> Result<Finding, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let finding = reconcile(&mut transaction, delivery, job, judge).await?;
            transaction.commit().await?;
            Ok(finding)
        })
        .await
        .to("reconcile a dead letter")
    }
}

async fn reconcile(
    connection: &mut PgConnection,
    delivery: &Delivery,
    job: Uuid,
    judge: Uuid,
) -> Result<Finding, sqlx::Error> {
    let row: Option<(String, String, i32)> =
        sqlx::query_as("select state, document, series from jobs where id = $1 for no key update")
            .bind(job)
            .fetch_optional(&mut *connection)
            .await?;
    let Some((state, document, series)) = row else {
        return Ok(Finding::NoJob);
    };
    adopt(connection, &delivery.message_id, job, series).await?;
    let judged = judge_others(connection, None, job, judge).await?;
    if state != "pending" && !defect!("finished-job-failed") {
        return Ok(Finding::Ended);
    }
    if judged.others_alive && !defect!("failed-under-a-living-owner") {
        return Ok(Finding::Open);
    }
    let unknown: bool = sqlx::query_scalar(
        "select exists (select 1 from outside_writes where job_id = $1 and state in ('intended', 'unknown'))",
    )
    .bind(job)
    .fetch_one(&mut *connection)
    .await?;
    if unknown && !defect!("unknown-outcome-failed") {
        return Ok(Finding::OutcomeUnknown { document });
    }
    fail(connection, delivery, job, series).await?;
    Ok(Finding::Failed)
}

async fn fail(
    connection: &mut PgConnection,
    delivery: &Delivery,
    job: Uuid,
    series: i32,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into failures (job_id, series, message_id, body, receives, summary, attempts)
         select $1, $2, $3, $4, coalesce(max(receive_count), $5),
             case when count(*) filter (where state <> 'stepped_back') = 0 then 'never attempted'
                  else count(*) filter (where state <> 'stepped_back') || ' attempts, the last: '
                       || coalesce((array_agg(concat_ws(': ', reason, nullif(diagnostics, ''))
                                    order by ended_at desc nulls last))[1], 'no reason')
             end,
             coalesce(jsonb_agg(to_jsonb(a) - 'delivery' order by received_at), '[]')
         from attempts a where job_id = $1 and series = $2",
    )
    .bind(job)
    .bind(series)
    .bind(&delivery.message_id)
    .bind(delivery.body.as_bytes())
    .bind(delivery.receive_count)
    .execute(&mut *connection)
    .await?;
    let altered = if defect!("failed-without-its-attempts") {
        "update failures set attempts = '[]' where job_id = $1"
    } else if defect!("receives-not-kept") {
        "update failures set receives = 1 where job_id = $1"
    } else if defect!("never-attempted-not-told") {
        "update failures set summary = '0 attempts' where job_id = $1"
    } else if defect!("last-error-not-told") {
        "update failures set summary = split_part(summary, ',', 1) where job_id = $1"
    } else {
        ""
    };
    if !altered.is_empty() {
        sqlx::query(altered)
            .bind(job)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(
        "update jobs set state = 'failed', ended_at = clock_timestamp()
         where id = $1 and state = 'pending'",
    )
    .bind(job)
    .execute(connection)
    .await
    .map(|_| ())
}
