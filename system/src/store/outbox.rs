//! The outbox: what is to be sent, and what became of it.

use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::{Purpose, Store, StoreError, limit};

/// Refusals after which a row counts as one that can never be sent.
pub(crate) const REFUSALS: i32 = 3;

/// A row to send.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct Entry {
    pub(crate) id: i64,
    pub(crate) job_id: Uuid,
    pub(crate) body: String,
    pub(crate) refusals: i32,
    pub(crate) failures: i32,
}

/// How far behind the outbox is.
#[derive(Debug, serde::Serialize, sqlx::FromRow)]
pub(crate) struct Backlog {
    pub(crate) unsent: i64,
    pub(crate) oldest_unsent_seconds: Option<f64>,
    pub(crate) unsendable: i64,
    /// Whether the oldest waits for longer than it should.
    pub(crate) lagging: bool,
}

/// Rows that this publisher alone holds. They are freed when it ends, however it ends.
pub(crate) struct Claim {
    transaction: Transaction<'static, Postgres>,
    timeout: Duration,
}

impl Store {
    /// Takes up to `batch` unsent rows that are due, skipping what another publisher holds.
    pub(crate) async fn claim_unsent(
        &self,
        batch: u8,
    ) -> Result<Option<(Claim, Vec<Entry>)>, StoreError> {
        self.limit(async {
            if !self.is_any_due().await? {
                return Ok(None);
            }
            let mut transaction = self.pool.begin().await?;
            let entries: Vec<Entry> = sqlx::query_as(altered!(
                "select id, job_id, body, refusals, failures from outbox
                 where state = 'unsent' and next_try_at <= now()
                 order by next_try_at, id limit $1 for update skip locked",
                "publishers-share-rows": " for update skip locked" => "",
            ))
            .bind(i64::from(batch))
            .fetch_all(&mut *transaction)
            .await?;
            if entries.is_empty() {
                transaction.rollback().await?;
                return Ok(None);
            }
            let claim = Claim {
                transaction,
                timeout: self.timeout,
            };
            Ok(Some((claim, entries)))
        })
        .await
        .to("read the outbox")
    }

    /// An idle publisher asks often: that takes no transaction.
    async fn is_any_due(&self) -> Result<bool, sqlx::Error> {
        sqlx::query_scalar(
            altered!(
                "select exists (select 1 from outbox where state = 'unsent' and next_try_at <= now())",
                "rows-behind-a-mark-forgotten": "state = 'unsent'" => "state = 'unsent' and id > (select coalesce(max(id), 0) from outbox where state = 'delivered')",
            ),
        )
        .fetch_one(&self.pool)
        .await
    }

    /// How many rows wait, since when, whether that is longer than `lag`, and how many never
    /// will be sent.
    pub(crate) async fn backlog(&self, lag: Duration) -> Result<Backlog, StoreError> {
        self.limit(async {
            sqlx::query_as(altered!(
                "select count(*) filter (where state = 'unsent') as unsent,
                        extract(epoch from now() - min(created_at) filter (where state = 'unsent'))::float8
                            as oldest_unsent_seconds,
                        coalesce(now() - min(created_at) filter (where state = 'unsent')
                                 > make_interval(secs => $1), false) as lagging,
                        count(*) filter (where state = 'unsendable') as unsendable
                 from outbox",
                "age-of-the-newest-row": "min(created_at)" => "max(created_at)",
                "unsent-counts-every-row": "filter (where state = 'unsent') as unsent" => "as unsent",
                "unsendable-not-counted": "filter (where state = 'unsendable')" => "filter (where false)",
                "unsendable-counts-as-unsent": "filter (where state = 'unsent') as unsent" => "filter (where state <> 'delivered') as unsent",
                "lag-told-too-early": "make_interval(secs => $1)" => "make_interval(secs => $1 / 4)",
                "age-of-every-row": "min(created_at) filter (where state = 'unsent')" => "min(created_at)",
            ))
            .bind(lag.as_secs_f64())
            .fetch_one(&self.pool)
            .await
        })
        .await
        .to("measure the outbox")
    }
}

impl Claim {
    /// The queue accepted this row as `message_id`.
    pub(crate) async fn delivered(
        &mut self,
        entry: &Entry,
        message_id: &str,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(
            "update outbox set state = 'delivered', message_id = $2, settled_at = now(), last_error = null
             where id = $1 and job_id = $3",
        );
        self.mark(query.bind(entry.id).bind(message_id).bind(entry.job_id))
            .await
    }

    /// The queue refused the row itself. It is tried again at once, three times in all.
    pub(crate) async fn refused(&mut self, entry: &Entry, why: &str) -> Result<(), StoreError> {
        let query = if defect!("refused-for-ever")
            || entry.refusals + 1 < REFUSALS && !defect!("refused-once-is-unsendable")
        {
            sqlx::query(
                "update outbox set refusals = refusals + 1, last_error = $2
                 where id = $1 and job_id = $3",
            )
        } else {
            sqlx::query(
                "update outbox set state = 'unsendable', refusals = refusals + 1, last_error = $2,
                     settled_at = now()
                 where id = $1 and job_id = $3",
            )
        };
        self.mark(query.bind(entry.id).bind(why).bind(entry.job_id))
            .await
    }

    /// Sending failed for a passing reason, or its answer was lost.
    pub(crate) async fn failed(
        &mut self,
        id: i64,
        why: &str,
        wait: Duration,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(altered!(
            "update outbox set failures = failures + 1, last_error = $2,
                 next_try_at = now() + make_interval(secs => $3)
             where id = $1",
            "refusals-forgotten-by-a-failure": "failures + 1," => "failures + 1, refusals = 0,",
            "failures-are-refusals": "failures + 1," => "failures + 1, refusals = refusals + 1,",
        ));
        self.mark(query.bind(id).bind(why).bind(wait.as_secs_f64()))
            .await
    }

    async fn mark(
        &mut self,
        query: sqlx::query::Query<'_, Postgres, PgArguments>,
    ) -> Result<(), StoreError> {
        limit(self.timeout, query.execute(&mut *self.transaction))
            .await
            .map(|_| ())
            .to("mark an outbox row")
    }

    /// Makes what was recorded durable and frees the rows.
    pub(crate) async fn settle(self) -> Result<(), StoreError> {
        limit(self.timeout, self.transaction.commit())
            .await
            .to("settle outbox rows")
    }
}
