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

use std::str::FromStr;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgSslMode};

use crate::config;

/// The first wait between two tries of a statement while the database is ill.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How long a connection may rest in the pool and be taken on trust.
const RESTED: Duration = Duration::from_secs(1);

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
}

impl Store {
    /// Opens a pool of at most `connections`; the first is made at once.
    pub(crate) async fn connect(
        settings: &config::Database,
        role: &str,
        connections: u32,
    ) -> Result<Self, StoreError> {
        let timeout = settings.database_timeout;
        let options = PgConnectOptions::from_str(&settings.database_url)
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
            .before_acquire(|connection, rest| {
                Box::pin(async move {
                    if rest.idle_for >= RESTED {
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
        })
    }

    /// Brings the schema up to date.
    pub(crate) async fn migrate(&self) -> Result<(), StoreError> {
        sqlx::migrate!()
            .run(&self.pool)
            .await
            .map_err(|error| sqlx::Error::Migrate(Box::new(error)))
            .to("migrate the database")
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
    pub(crate) async fn insist<T, F>(&self, mut work: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = FIRST_WAIT;
        loop {
            match work().await {
                Err(error) if error.passes() => {
                    tracing::warn!("{}; trying again", crate::text(error));
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                settled => return settled,
            }
        }
    }

    async fn limit<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        limit(self.timeout, work).await
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
        sqlx::Error::Database(answer) => answer.code().is_some_and(|code| {
            // Connection, transaction rollback, resources, operator intervention, and
            // "read-only transaction".
            ["08", "40", "53", "57"]
                .iter()
                .any(|class| code.starts_with(class))
                || code == "25006"
        }),
        _ => false,
    }
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
}
