//! What operators read and decide. Nothing here is deleted, and every decision is kept.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{Purpose, Store, StoreError};
use crate::message;

/// A quarantine record without its bytes.
#[derive(serde::Serialize, sqlx::FromRow)]
pub(crate) struct Summary {
    pub(crate) job_id: Option<Uuid>,
    pub(crate) message_id: String,
    pub(crate) label: String,
    pub(crate) counted: i32,
    pub(crate) last_stage: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    pub(crate) quarantined_at: OffsetDateTime,
    pub(crate) cause: Option<String>,
    pub(crate) resolution: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub(crate) replayed_at: Option<OffsetDateTime>,
}

/// A whole quarantine record.
#[derive(sqlx::FromRow)]
pub(crate) struct Record {
    #[sqlx(flatten)]
    pub(crate) summary: Summary,
    pub(crate) body: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) media_type: Option<String>,
    pub(crate) diagnostics: Option<String>,
    pub(crate) checked: Option<String>,
    pub(crate) attempts: Value,
    pub(crate) evidence: Value,
}

/// Why a decision was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing in quarantine has this id.
    NotInQuarantine,
    /// The latest record was replayed or resolved already.
    Settled,
    /// A replay needs a recorded cause.
    NoCause,
    /// The outcome is unknown: a replay needs `resolve not-done`.
    NotResolved,
    /// The outside service performed the write: nothing is left to replay.
    Done,
    /// The record is of a message that names no job.
    NoJob,
}

/// Whether a decision was carried out.
pub(crate) type Decided = Result<(), Refusal>;

/// The latest record of a job, as decisions need it.
#[derive(sqlx::FromRow)]
struct Latest {
    id: i64,
    job_id: Option<Uuid>,
    label: String,
    cause: Option<String>,
    resolution: Option<String>,
    replayed: bool,
}

impl Latest {
    /// Whether a replay may be ordered.
    fn may_replay(&self) -> Decided {
        if self.replayed && !defect!("replayed-twice") {
            return Err(Refusal::Settled);
        }
        if self.resolution.as_deref() == Some("done") && !defect!("replayed-after-done") {
            return Err(Refusal::Done);
        }
        if self.cause.is_none() && !defect!("replayed-without-a-cause") {
            return Err(Refusal::NoCause);
        }
        let looked = self.resolution.is_some() || defect!("unknown-outcome-replayed-unseen");
        if self.label == "outcome unknown" && !looked {
            return Err(Refusal::NotResolved);
        }
        Ok(())
    }

    /// Whether it may be recorded what the outside service did.
    fn may_resolve(&self) -> Decided {
        if self.replayed || self.resolution.is_some() {
            return Err(Refusal::Settled);
        }
        Ok(())
    }
}

impl Store {
    /// Everything in quarantine, oldest first.
    pub(crate) async fn quarantined(&self) -> Result<Vec<Summary>, StoreError> {
        self.limit(async {
            sqlx::query_as(
                "select job_id, message_id, label, counted, last_stage, quarantined_at, cause,
                        resolution, replayed_at
                 from quarantine order by id",
            )
            .fetch_all(&self.pool)
            .await
        })
        .await
        .to("list the quarantine")
    }

    /// The latest record of a job, or of a message that names none.
    pub(crate) async fn record(&self, subject: &str) -> Result<Option<Record>, StoreError> {
        self.limit(async {
            sqlx::query_as(
                "select q.job_id, q.message_id, q.label, q.counted, q.last_stage, q.quarantined_at,
                        q.cause, q.resolution, q.replayed_at, q.body, q.content, q.media_type,
                        q.diagnostics, q.checked, q.attempts,
                        coalesce((select jsonb_agg(to_jsonb(e) - 'id' order by e.id)
                                  from evidence e where e.job_id = q.job_id), '[]') as evidence
                 from quarantine q where q.job_id::text = $1 or q.message_id = $1
                 order by q.id desc limit 1",
            )
            .bind(subject)
            .fetch_optional(&self.pool)
            .await
        })
        .await
        .to("read a quarantine record")
    }

    /// Records the cause that a person found.
    pub(crate) async fn record_cause(
        &self,
        subject: &str,
        cause: &str,
    ) -> Result<Decided, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let Some(latest) = latest(&mut transaction, subject).await? else {
                return Ok(Err(Refusal::NotInQuarantine));
            };
            sqlx::query(altered!(
                "update quarantine set cause = $2, cause_at = now() where id = $1",
                "cause-not-kept": "cause = $2," => "cause = left($2, 0),",
            ))
            .bind(latest.id)
            .bind(cause)
            .execute(&mut *transaction)
            .await?;
            remember(&mut transaction, latest.job_id, "cause", cause).await?;
            transaction.commit().await?;
            Ok(Ok(()))
        })
        .await
        .to("record a cause")
    }

    /// The outside service was found to have performed the write: the job is completed
    /// with the text that was extracted before, without another write.
    pub(crate) async fn resolve_done(
        &self,
        subject: &str,
        checked: &str,
    ) -> Result<Decided, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let (latest, job) = match settleable(&mut transaction, subject).await? {
                Ok(found) => found,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if let Err(refusal) = latest.may_resolve() {
                return Ok(Err(refusal));
            }
            record_resolution(&mut transaction, &latest, "done", checked).await?;
            if defect!("done-sends-again") {
                sqlx::query("insert into outbox (job_id, body) values ($1, $2)")
                    .bind(job)
                    .bind(message::body(job))
                    .execute(&mut *transaction)
                    .await?;
            }
            sqlx::query(
                "update outside_writes set state = 'performed', answer = 'an operator checked'
                 where job_id = $1",
            )
            .bind(job)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(altered!(
                "insert into results (job_id, text)
                 select $1, (select text from outside_writes where job_id = $1)",
                "done-without-the-text": "(select text from outside_writes where job_id = $1)" => "null",
            ))
            .bind(job)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "update jobs set state = 'succeeded', label = null, ended_at = clock_timestamp()
                 where id = $1 and state = 'quarantined'",
            )
            .bind(job)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(Ok(()))
        })
        .await
        .to("resolve a job as done")
    }

    /// The outside service was found to have performed nothing: a replay may be ordered.
    pub(crate) async fn resolve_not_done(
        &self,
        subject: &str,
        checked: &str,
    ) -> Result<Decided, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let (latest, job) = match settleable(&mut transaction, subject).await? {
                Ok(found) => found,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if let Err(refusal) = latest.may_resolve() {
                return Ok(Err(refusal));
            }
            record_resolution(&mut transaction, &latest, "not done", checked).await?;
            sqlx::query(
                "update outside_writes set state = 'not_performed', answer = 'an operator checked'
                 where job_id = $1 and state in ('intended', 'unknown')",
            )
            .bind(job)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(Ok(()))
        })
        .await
        .to("resolve a job as not done")
    }

    /// Sends the job again through the outbox. It begins a new series, so its count is
    /// fresh; attempts, record and decisions stay.
    pub(crate) async fn replay(&self, subject: &str) -> Result<Decided, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let (latest, job) = match settleable(&mut transaction, subject).await? {
                Ok(found) => found,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if let Err(refusal) = latest.may_replay() {
                return Ok(Err(refusal));
            }
            sqlx::query(altered!(
                "update quarantine set replayed_at = now() where id = $1",
                "record-deleted-by-its-replay": "update quarantine set replayed_at = now()" => "delete from quarantine",
            ))
                .bind(latest.id)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(
                "update jobs set state = 'pending', label = null, ended_at = null, series = series + 1
                 where id = $1 and state = 'quarantined'",
            )
            .bind(job)
            .execute(&mut *transaction)
            .await?;
            sqlx::query("insert into outbox (job_id, body) values ($1, $2)")
                .bind(job)
                .bind(message::body(job))
                .execute(&mut *transaction)
                .await?;
            remember(&mut transaction, Some(job), "replay", "").await?;
            transaction.commit().await?;
            Ok(Ok(()))
        })
        .await
        .to("replay a job")
    }
}

/// The latest record of a job, held until the decision about it is durable. Jobs come
/// first, as everywhere: two transactions never wait for each other crosswise.
async fn latest(
    connection: &mut PgConnection,
    subject: &str,
) -> Result<Option<Latest>, sqlx::Error> {
    sqlx::query("select 1 from jobs where id::text = $1 for no key update")
        .bind(subject)
        .execute(&mut *connection)
        .await?;
    sqlx::query_as(
        "select id, job_id, label, cause, resolution, replayed_at is not null as replayed
         from quarantine where job_id::text = $1 or (job_id is null and message_id = $1)
         order by id desc limit 1 for update",
    )
    .bind(subject)
    .fetch_optional(connection)
    .await
}

async fn settleable(
    connection: &mut PgConnection,
    subject: &str,
) -> Result<Result<(Latest, Uuid), Refusal>, sqlx::Error> {
    Ok(match latest(connection, subject).await? {
        None => Err(Refusal::NotInQuarantine),
        Some(latest) => match latest.job_id {
            Some(job) => Ok((latest, job)),
            None => Err(Refusal::NoJob),
        },
    })
}

async fn record_resolution(
    connection: &mut PgConnection,
    latest: &Latest,
    resolution: &str,
    checked: &str,
) -> Result<(), sqlx::Error> {
    let checked = if defect!("what-was-checked-lost") {
        ""
    } else {
        checked
    };
    sqlx::query(
        "update quarantine set resolution = $2, checked = $3, resolved_at = now() where id = $1",
    )
    .bind(latest.id)
    .bind(resolution)
    .bind(checked)
    .execute(&mut *connection)
    .await?;
    remember(
        connection,
        latest.job_id,
        &format!("resolve {resolution}"),
        checked,
    )
    .await
}

async fn remember(
    connection: &mut PgConnection,
    job: Option<Uuid>,
    action: &str,
    note: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query("insert into operator_actions (job_id, action, note) values ($1, $2, $3)")
        .bind(job)
        .bind(action)
        .bind(note)
        .execute(connection)
        .await
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(label: &str) -> Latest {
        Latest {
            id: 1,
            job_id: Some(Uuid::nil()),
            label: label.into(),
            cause: Some("found".into()),
            resolution: None,
            replayed: false,
        }
    }

    #[test]
    fn a_replay_needs_a_cause() {
        assert_eq!(record("attempt limit").may_replay(), Ok(()));
        let unexplained = Latest {
            cause: None,
            ..record("attempt limit")
        };
        assert_eq!(unexplained.may_replay(), Err(Refusal::NoCause));
    }

    #[test]
    fn a_replay_of_an_unknown_outcome_needs_not_done_as_well() {
        assert_eq!(
            record("outcome unknown").may_replay(),
            Err(Refusal::NotResolved)
        );
        let not_done = Latest {
            resolution: Some("not done".into()),
            ..record("outcome unknown")
        };
        assert_eq!(not_done.may_replay(), Ok(()));
        let done = Latest {
            resolution: Some("done".into()),
            ..record("outcome unknown")
        };
        assert_eq!(done.may_replay(), Err(Refusal::Done));
    }

    #[test]
    fn what_was_replayed_is_neither_replayed_nor_resolved_again() {
        let replayed = Latest {
            replayed: true,
            ..record("attempt limit")
        };
        assert_eq!(replayed.may_replay(), Err(Refusal::Settled));
        assert_eq!(replayed.may_resolve(), Err(Refusal::Settled));
    }
}
