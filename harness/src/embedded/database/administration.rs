//! Our own connection to the server: makes and drops databases.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tokio::sync::Mutex;

use super::error::DatabaseError;
use super::template::USER;

/// How long the server may take to answer a statement of ours. One that was stopped
/// never does.
const PATIENCE: Duration = Duration::from_secs(30);

/// Kept open, because a password handshake costs more than all else that happens here.
#[derive(Debug, Default)]
pub(super) struct Administration(Mutex<Option<PgConnection>>);

impl Administration {
    /// Uses this connection from now on.
    pub(super) async fn adopt(&self, connection: Option<PgConnection>) {
        *self.0.lock().await = connection;
    }

    /// Executes one statement; one at a time.
    pub(super) async fn execute(
        &self,
        options: &PgConnectOptions,
        what: String,
        statement: String,
    ) -> Result<(), DatabaseError> {
        let mut kept = self.0.lock().await;
        let executed = tokio::time::timeout(PATIENCE, async {
            // It did not survive a restart of the server.
            let usable = match kept.take() {
                Some(mut connection) => connection.ping().await.is_ok().then_some(connection),
                None => None,
            };
            let mut connection = match usable {
                Some(connection) => connection,
                None => PgConnection::connect_with(options).await?,
            };
            let executed = connection.execute(AssertSqlSafe(statement)).await;
            *kept = Some(connection);
            executed.map(drop)
        });
        let executed = executed.await.unwrap_or_else(|_| {
            Err(sqlx::Error::Protocol(format!(
                "no answer within {PATIENCE:?}"
            )))
        });
        executed.map_err(|source| DatabaseError::Refused { what, source })
    }
}

pub(super) fn options(port: u16, password: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(port)
        .username(USER)
        .password(password)
        .database("postgres")
        .application_name("rehearse")
        .ssl_mode(PgSslMode::Disable)
}

/// A name that stands in a URL and in a statement without quoting trouble.
pub(super) fn checked(name: &str) -> Result<&str, DatabaseError> {
    let sensible = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-'
    };
    if (1..=63).contains(&name.len()) && name.bytes().all(sensible) {
        return Ok(name);
    }
    Err(DatabaseError::Name {
        name: name.to_owned(),
    })
}
