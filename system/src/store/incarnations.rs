//! One row and one advisory lock per worker process: the proof that it lives.

use std::time::Duration;

use sqlx::postgres::types::PgInterval;
use sqlx::{ConnectOptions, PgConnection, Row as _};
use uuid::Uuid;

use super::{Purpose, Store, StoreError};

/// How long a connection that may be lost has to let its lock go.
const RELEASE: Duration = Duration::from_millis(200);
/// The first half of every incarnation's lock; `lock_is_held` names it too.
const LOCKS: i32 = 7301;

/// A worker process in the database: its row, and the connection that holds its lock.
/// The lock is gone milliseconds after the process is.
pub(crate) struct Session {
    pub(crate) incarnation: Uuid,
    number: i32,
    connection: PgConnection,
    store: Store,
}

/// What a sign of life found out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// All is well.
    Held,
    /// Somebody had judged this process dead; what was charged for it has been taken back.
    Reversed,
}

impl Store {
    /// Begins an incarnation whose signs of life hold for `lease` each. Should it die with
    /// several messages in hand, the fleet goes on trial for `trial_length` messages.
    pub(crate) async fn open_session(
        &self,
        lease: Duration,
        trial_length: u32,
    ) -> Result<Session, StoreError> {
        let incarnation = Uuid::now_v7();
        self.limit(async {
            let mut connection = self.options.connect().await?;
            let number: i32 = sqlx::query_scalar(
                "insert into incarnations (id, host, pid, lease, lease_until, trial_length)
                 values ($1, $2, $3, $4, clock_timestamp() + $4, $5) returning number",
            )
            .bind(incarnation)
            .bind(std::env::var("HOSTNAME").unwrap_or_default())
            .bind(std::process::id().cast_signed())
            .bind(interval(lease))
            .bind(trial_length.cast_signed())
            .fetch_one(&mut connection)
            .await?;
            lock(&mut connection, number).await?;
            Ok(Session {
                incarnation,
                number,
                connection,
                store: self.clone(),
            })
        })
        .await
        .to("begin an incarnation")
    }

    /// Makes the request to stop durable: a death from here on is nobody's fault.
    pub(crate) async fn stop_requested(&self, incarnation: Uuid) -> Result<(), StoreError> {
        self.mark("stop_requested_at", incarnation).await
    }

    /// The incarnation has nothing in hand and will take nothing.
    pub(crate) async fn incarnation_ended(&self, incarnation: Uuid) -> Result<(), StoreError> {
        self.mark("ended_at", incarnation).await
    }

    async fn mark(&self, what: &'static str, incarnation: Uuid) -> Result<(), StoreError> {
        let statement = match what {
            "ended_at" => "update incarnations set ended_at = clock_timestamp() where id = $1",
            _ => "update incarnations set stop_requested_at = clock_timestamp() where id = $1",
        };
        self.limit(async {
            sqlx::query(statement)
                .bind(incarnation)
                .execute(&self.pool)
                .await
        })
        .await
        .map(|_| ())
        .to("record the end of an incarnation")
    }
}

impl Session {
    /// Gives a sign of life. A judgement passed in between is reversed in the same
    /// transaction: the owner of the attempts was alive after all.
    pub(crate) async fn beat(&mut self) -> Result<Beat, StoreError> {
        let Self {
            incarnation,
            connection,
            store,
            ..
        } = self;
        store
            .limit(beat(connection, *incarnation))
            .await
            .to("renew the lease")
    }

    /// Takes the lock again on a new connection after the old one was lost.
    pub(crate) async fn reconnect(&mut self) -> Result<Beat, StoreError> {
        let Self {
            incarnation,
            number,
            connection,
            store,
        } = self;
        store
            .limit(async {
                let mut fresh = store.options.connect().await?;
                // The old connection may still be there, and hold the lock: a sign of life
                // may fail for other reasons than a lost connection.
                release(connection).await;
                lock(&mut fresh, *number).await?;
                sqlx::query(
                    "update incarnations set connected_at = clock_timestamp() where id = $1",
                )
                .bind(*incarnation)
                .execute(&mut fresh)
                .await?;
                let outcome = beat(&mut fresh, *incarnation).await?;
                *connection = fresh;
                Ok(outcome)
            })
            .await
            .to("report back")
    }
}

/// Lets every lock go that a connection holds, if it still answers.
async fn release(connection: &mut PgConnection) {
    let released = sqlx::query("select pg_advisory_unlock_all()").execute(connection);
    let _ = tokio::time::timeout(RELEASE, released).await;
}

async fn lock(connection: &mut PgConnection, number: i32) -> Result<(), sqlx::Error> {
    // The server may not have seen the end of the lost connection yet: wait for it.
    sqlx::query("select pg_advisory_lock($1, $2)")
        .bind(LOCKS)
        .bind(number)
        .execute(connection)
        .await
        .map(|_| ())
}

/// One message, so that a process which is stopped between two holds no lock; several
/// statements, because whoever is just charging this process holds its row, and whoever
/// just gives a job up holds its attempts: only a statement that begins when that is over
/// sees the charge that it is to reverse, or the record that makes it final.
async fn beat(connection: &mut PgConnection, incarnation: Uuid) -> Result<Beat, sqlx::Error> {
    let reversible = if defect!("charge-never-reversed") {
        "false"
    } else if defect!("final-charge-reversed") {
        "true"
    } else {
        "not c.final"
    };
    let evident = if defect!("coming-back-not-kept") {
        "false"
    } else {
        "final"
    };
    let statements = format!(
        "select 1 from incarnations where id = '{incarnation}' for update;
         select 1 from attempts a join incarnations i on i.id = a.incarnation
         where i.id = '{incarnation}' and i.judged_dead_at is not null and a.counted for update of a;
         with before as (select judged_dead_at from incarnations where id = '{incarnation}'),
         beaten as (
             update incarnations i
             set beat_at = clock_timestamp(), lease_until = clock_timestamp() + lease,
                 connected_at = case when lease_until <= clock_timestamp()
                                     then clock_timestamp() else connected_at end,
                 judged_dead_at = null, in_hand_at_death = null
             from before where i.id = '{incarnation}'
             returning before.judged_dead_at is not null as judged),
         charged as (
             select a.message_id, a.number, a.job_id, a.state,
                 exists (select 1 from quarantine q
                         where (q.job_id = a.job_id and q.series = a.series)
                            or (q.job_id is null and q.message_id = a.message_id)) as final
             from attempts a
             where (select judged from beaten) and a.incarnation = '{incarnation}'
               and (a.state = 'died' or (a.state = 'outcome_unknown' and a.reason <> 'outcome unknown'))),
         kept as (
             insert into evidence (job_id, message_id, number, what)
             select job_id, message_id, number, 'its owner reported back: it had not died'
             from charged where {evident} and state = 'died' and job_id is not null),
         reversed as (
             update attempts a set counted = false,
                 state = case a.state when 'died' then 'unattributed' else a.state end,
                 reason = 'the charge was reversed: its owner reported back'
             from charged c
             where {reversible} and a.message_id = c.message_id and a.number = c.number)
         select judged from beaten"
    );
    let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(statements))
        .fetch_all(connection)
        .await?;
    let judged: bool = rows.last().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
    Ok(if judged { Beat::Reversed } else { Beat::Held })
}

fn interval(duration: Duration) -> PgInterval {
    PgInterval {
        months: 0,
        days: 0,
        microseconds: i64::try_from(duration.as_micros()).unwrap_or(i64::MAX),
    }
}
