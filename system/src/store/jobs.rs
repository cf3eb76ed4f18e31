//! Submission and state of jobs.

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Purpose, Store, StoreError};
use crate::message;

/// What became of a submission.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Submitted {
    /// A new job, with its outbox row.
    New(Uuid),
    /// The job that the same request made before.
    Same(Uuid),
    /// The key belongs to a request with another meaning.
    Other,
}

/// What a client may know of its job.
#[derive(sqlx::FromRow)]
pub(crate) struct Status {
    pub(crate) state: String,
    pub(crate) label: Option<String>,
    pub(crate) text: Option<String>,
    /// Why it failed.
    pub(crate) error: Option<String>,
    pub(crate) metadata: Option<Value>,
}

impl Store {
    /// Records a job and "enqueue this job" in one transaction, or finds the job that this
    /// key made before. A loser of a race waits on the key's index for the winner.
    pub(crate) async fn submit(
        &self,
        key: &str,
        hash: &[u8],
        document: &str,
        metadata: Option<&Value>,
    ) -> Result<Submitted, StoreError> {
        self.limit(async {
            let job = Uuid::now_v7();
            let key = if defect!("same-key-new-job") {
                &format!("{key} {job}")
            } else {
                key
            };
            let mut transaction = self.pool.begin().await?;
            if let Some(known) = submitted(&mut transaction, key, hash).await? {
                return Ok(known);
            }
            let inserted = sqlx::query(
                "insert into jobs (id, request_key, request_hash, document, metadata)
                 values ($1, $2, $3, $4, $5) on conflict (request_key) do nothing",
            )
            .bind(job)
            .bind(key)
            .bind(hash)
            .bind(document)
            .bind(metadata)
            .execute(&mut *transaction)
            .await?;
            if inserted.rows_affected() == 0 {
                if defect!("loser-of-a-race-is-refused") {
                    return Err(sqlx::Error::RowNotFound);
                }
                return submitted(&mut transaction, key, hash)
                    .await?
                    .ok_or(sqlx::Error::RowNotFound);
            }
            if defect!("outbox-row-apart") {
                transaction.commit().await?;
                transaction = self.pool.begin().await?;
            }
            sqlx::query("insert into outbox (job_id, body) values ($1, $2)")
                .bind(job)
                .bind(message::body(job))
                .execute(&mut *transaction)
                .await?;
            if defect!("answered-before-durable") {
                tokio::spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                    transaction.commit().await
                });
                return Ok(Submitted::New(job));
            }
            transaction.commit().await?;
            Ok(Submitted::New(job))
        })
        .await
        .to("record the job")
    }

    /// The state of a job as it is now.
    pub(crate) async fn status(&self, job: Uuid) -> Result<Option<Status>, StoreError> {
        self.limit(async {
            sqlx::query_as(
                altered!(
                    "select j.state, j.label, r.text, f.summary as error, j.metadata
                 from jobs j left join results r on r.job_id = j.id
                 left join failures f on f.job_id = j.id and f.series = j.series
                 where j.id = $1",
                    "succeeded-told-late": "select j.state," => "select case when j.ended_at > now() - interval '5 seconds' then 'pending' else j.state end as state,",
                ),
            )
            .bind(job)
            .fetch_optional(&self.pool)
            .await
        })
        .await
        .to("read the job")
    }
}

async fn submitted(
    connection: &mut PgConnection,
    key: &str,
    hash: &[u8],
) -> Result<Option<Submitted>, sqlx::Error> {
    let row: Option<(Uuid, Vec<u8>)> =
        sqlx::query_as("select id, request_hash from jobs where request_key = $1")
            .bind(key)
            .fetch_optional(connection)
            .await?;
    Ok(row.map(|(job, known)| {
        if known == hash || defect!("content-under-a-key-not-compared") {
            Submitted::Same(job)
        } else {
            Submitted::Other
        }
    }))
}
