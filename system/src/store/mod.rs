//! All that is durable. One file per table or concern; each function is one statement or
//! one transaction, safe to repeat when the answer to it was lost.

pub(crate) mod attempts;
pub(crate) mod commit;
pub(crate) mod decision;
pub(crate) mod dependencies;
pub(crate) mod fleet;
pub(crate) mod incarnations;
pub(crate) mod jobs;
mod judgement;
pub(crate) mod operator;
pub(crate) mod outbox;
pub(crate) mod outside;
pub(crate) mod quarantine;
pub(crate) mod reconciliation;
pub(crate) mod unread;

use std::str::FromStr;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgSslMode};

use crate::config;

/// The first wait between two tries of a statement while the database is ill.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The database did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub(crate) struct StoreError {
    what: &'static str,
    source: sqlx::Error,
}

impl StoreError {
    /// Whether the same statement may succeed later: the database is away, overloaded or
    /// read-only for now, or the transaction lost a race.
    pub(crate) fn passes(&self) -> bool {
        passes(&self.source)
    }
}

/// Names what a statement was for.
trait Purpose<T> {
    fn to(self, what: &'static str) -> Result<T, StoreError>;
}

impl<T> Purpose<T> for Result<T, sqlx::Error> {
    fn to(self, what: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError { what, source })
    }
}

/// The database, reached through a pool.
#[derive(Clone)]
pub(crate) struct Store {
    pool: PgPool,
    options: PgConnectOptions,
    timeout: Duration,
    /// The longest wait between two tries.
    retry: Duration,
}

impl Store {
    /// Opens a pool as soon as the database lets it, however long that is ill: a role that
    /// starts meanwhile waits, and goes on by itself.
    ///
    /// # Errors
    /// Only what no repetition can mend.
    pub(crate) async fn wait_for(
        settings: &config::Database,
        role: &str,
        connections: u32,
    ) -> Result<Self, StoreError> {
        insist(settings.retry, || {
            Self::connect(settings, role, connections)
        })
        .await
    }

    /// Opens a pool of at most `connections`; the first is made at once.
    pub(crate) async fn connect(
        settings: &config::Database,
        role: &str,
        connections: u32,
    ) -> Result<Self, StoreError> {
        let timeout = settings.timeout;
        let trust = settings.trust;
        let options = PgConnectOptions::from_str(&settings.url)
            .to("read DATABASE_URL")?
            .ssl_mode(PgSslMode::Disable)
            .application_name(&format!("document-service {role}"))
            .options([
                ("statement_timeout", timeout.as_millis().to_string()),
                (
                    "idle_in_transaction_session_timeout",
                    (timeout * 2).as_millis().to_string(),
                ),
            ]);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(timeout)
            // A connection is tested when it comes back; what rested since then is tested again.
            .test_before_acquire(false)
            .before_acquire(move |connection, rest| {
                Box::pin(async move {
                    if rest.idle_for >= trust {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options.clone())
            .await
            .to("connect to the database")?;
        Ok(Self {
            pool,
            options,
            timeout,
            retry: settings.retry,
        })
    }

    /// Brings the schema up to date.
    pub(crate) async fn migrate(&self) -> Result<(), StoreError> {
        sqlx::migrate!()
            .run(&self.pool)
            .await
            .map_err(|error| sqlx::Error::Migrate(Box::new(error)))
            .to("migrate the database")?;
        if defect!("the-dead-known-by-lease-alone") {
            self.redefine("lock_is_held(incarnation_number integer)", "select true")
                .await?;
        }
        if defect!("standing-still-is-being-alive") {
            let dead = "select ended_at is not null or not lock_is_held(number)
                        from incarnations where id = owner and id <> judge";
            self.redefine("is_dead(owner uuid, judge uuid)", dead)
                .await?;
        }
        if defect!("all-judged-dead-after-an-outage") {
            let dead = "select ended_at is not null or not lock_is_held(number)
                            or lease_until <= clock_timestamp()
                        from incarnations where id = owner and id <> judge";
            self.redefine("is_dead(owner uuid, judge uuid)", dead)
                .await?;
        }
        Ok(())
    }

    /// Clears a column of the fleet: for defects.
    pub(crate) async fn forget(&self, column: &str) -> Result<(), StoreError> {
        let statement = format!("update fleet set {column} = null");
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&self.pool)
            .await
            .map(|_| ())
            .to("build a defect in")
    }

    /// Gives a function of the schema another body: for defects.
    async fn redefine(&self, function: &str, body: &str) -> Result<(), StoreError> {
        let statement = format!(
            "create or replace function {function} returns boolean language sql volatile as $${body}$$"
        );
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&self.pool)
            .await
            .map(|_| ())
            .to("build a defect in")
    }

    /// Whether the database answers.
    pub(crate) async fn answers(&self) -> Result<(), StoreError> {
        self.limit(async { sqlx::query("select 1").execute(&self.pool).await })
            .await
            .map(|_| ())
            .to("ask the database whether it is well")
    }

    /// Runs `work` until the database carried it out, however long that is ill: a worker
    /// must not go on without its durable step. `work` must be safe to repeat.
    ///
    /// # Errors
    /// Only what no repetition can mend.
    pub(crate) async fn insist<T, F>(&self, work: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        insist(self.retry, work).await
    }

    async fn limit<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        limit(self.timeout, work).await
    }
}

async fn insist<T, F>(longest_wait: Duration, mut work: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut wait = FIRST_WAIT;
    loop {
        match work().await {
            Err(error) if error.passes() => {
                tracing::warn!("{}; trying again", crate::text(error));
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(longest_wait);
            }
            settled => return settled,
        }
    }
}

/// Bounds a piece of work: the server may be frozen, and then its own statement time-out
/// does not fire.
async fn limit<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(timeout * 2, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

fn passes(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(answer) => answer.code().is_some_and(|code| code_passes(&code)),
        _ => false,
    }
}

/// Connection, the transaction's state (read-only, or ended because its owner stood still),
/// rollback, resources, operator intervention.
fn code_passes(code: &str) -> bool {
    if code.starts_with("25") && defect!("ended-transaction-is-final") {
        return false;
    }
    ["08", "25", "40", "53", "57"]
        .iter()
        .any(|class| code.starts_with(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_connections_pass_and_missing_rows_do_not() {
        assert!(passes(&sqlx::Error::PoolTimedOut));
        assert!(passes(&sqlx::Error::Io(
            std::io::ErrorKind::ConnectionReset.into()
        )));
        assert!(!passes(&sqlx::Error::RowNotFound));
    }

    #[test]
    fn what_the_database_refuses_for_now_passes_and_a_broken_promise_does_not() {
        for code in ["08006", "25006", "25P03", "40001", "53300", "57P03"] {
            assert!(code_passes(code), "{code}");
        }
        for code in ["22021", "23505", "28P01", "42P01"] {
            assert!(!code_passes(code), "{code}");
        }
    }
}
