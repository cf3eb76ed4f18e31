//! A database server and the template database that rehearsals copy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, Connection, Executor};
use uuid::Uuid;

use super::{VenueError, address_of};
use crate::embedded::database::Server;
use crate::ids::{DependencyName, RunId};
use crate::protocol::postgres::Prepared;
use crate::rehearsal::dependencies::{Database, database_values};
use crate::rehearsal::provided::CONTAINER_START;

/// Between two tries to connect to it.
const TICK: Duration = Duration::from_millis(20);
/// How long a server that runs may take to let the harness in.
const CONNECTING: Duration = Duration::from_secs(20);
/// SQLSTATE `cannot_connect_now`.
const STARTING_UP: &str = "57P03";

/// A database server and the template that rehearsals copy.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) address: SocketAddr,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) administration: String,
    pub(super) template: String,
}

impl Origin {
    pub(super) fn embedded(server: &Server, template: String) -> Self {
        Self {
            address: server.address(),
            user: server.connect_options("postgres").get_username().to_owned(),
            password: server.password().to_owned(),
            administration: "postgres".to_owned(),
            template,
        }
    }

    pub(super) fn in_container(address: SocketAddr, password: String, template: String) -> Self {
        Self {
            address,
            user: "postgres".to_owned(),
            password,
            administration: "postgres".to_owned(),
            template,
        }
    }

    pub(super) fn options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host(&self.address.ip().to_string())
            .port(self.address.port())
            .username(&self.user)
            .password(&self.password)
            .database(database)
            .application_name(own_session())
            .ssl_mode(PgSslMode::Disable)
    }

    /// The placeholders of whoever prepares the template. They hold the password.
    pub(super) fn template_values(&self, dependency: &DependencyName) -> Vec<(String, String)> {
        let Self {
            user,
            password,
            address,
            template,
            ..
        } = self;
        database_values(dependency, *address, user, password, template)
    }

    /// Makes the template, empty.
    pub(super) async fn make_template(
        &self,
        dependency: &DependencyName,
    ) -> Result<(), VenueError> {
        let statement = format!("CREATE DATABASE {}", quoted(&self.template));
        self.administer(dependency, "make the template database", statement)
            .await
    }

    pub(super) async fn administer(
        &self,
        dependency: &DependencyName,
        what: &str,
        statement: String,
    ) -> Result<(), VenueError> {
        let failed = |cause| VenueError::Sql {
            dependency: dependency.clone(),
            address: self.address,
            what: what.to_owned(),
            cause,
        };
        let options = self.options(&self.administration);
        let mut connection = connected(&options).await.map_err(failed)?;
        connection
            .execute(AssertSqlSafe(statement))
            .await
            .map_err(failed)?;
        connection.close().await.map_err(failed)
    }

    /// Waits until a server in a container accepts this user: its port may be open
    /// before.
    pub(super) async fn accepting(&self, dependency: &DependencyName) -> Result<(), VenueError> {
        let options = self.options(&self.administration);
        let trying = async {
            loop {
                match connected(&options).await {
                    Ok(connection) => return connection.close().await,
                    Err(sqlx::Error::Database(refusal))
                        if refusal.code().as_deref() == Some(STARTING_UP) => {}
                    Err(sqlx::Error::Io(_)) => {}
                    Err(error) => return Err(error),
                }
                tokio::time::sleep(TICK).await;
            }
        };
        let tried = tokio::time::timeout(CONTAINER_START, trying).await;
        tried
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
            .map_err(|cause| VenueError::Sql {
                dependency: dependency.clone(),
                address: self.address,
                what: "connect to the server in its container".to_owned(),
                cause,
            })
    }

    /// A fresh database of the rehearsal, copied from the template.
    pub(super) async fn copy(
        &self,
        dependency: &DependencyName,
        run: &RunId,
        number: u32,
    ) -> Result<Database, VenueError> {
        let name = format!("{run}-{number}-{dependency}");
        let statement = format!(
            "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy",
            quoted(&name),
            quoted(&self.template)
        );
        self.administer(dependency, "make the rehearsal's database", statement)
            .await?;
        let pool = PgPoolOptions::new()
            .max_connections(2)
            .connect_lazy_with(self.options(&name));
        Ok(Database {
            address: self.address,
            user: self.user.clone(),
            password: self.password.clone(),
            name,
            pool,
            prepared: Prepared::default(),
            watch: Arc::default(),
        })
    }
}

/// A connection, or why there is none, within a limit: what listens there may be no database
/// and wait for ever.
pub(super) async fn connected(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let connecting = PgConnection::connect_with(options);
    let connected = tokio::time::timeout(CONNECTING, connecting).await;
    connected.unwrap_or_else(|_| {
        let told = format!(
            "it takes the connection and says nothing within {CONNECTING:?}; is it a database?"
        );
        let silent = std::io::Error::new(std::io::ErrorKind::TimedOut, told);
        Err(sqlx::Error::Io(silent))
    })
}

pub(super) fn template_name(run: &RunId, dependency: &DependencyName) -> String {
    format!("{run}-template-{dependency}")
}

pub(super) fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

pub(super) fn external_database(
    dependency: &DependencyName,
    url: &str,
    template: String,
) -> Result<Origin, VenueError> {
    let parsed = reqwest::Url::parse(url).map_err(|error| VenueError::Address {
        dependency: dependency.clone(),
        // It may hold a password, and who knows where.
        url: "its `url`".to_owned(),
        reason: error.to_string(),
    })?;
    let administration = match parsed.path().trim_start_matches('/') {
        "" => "postgres".to_owned(),
        name => name.to_owned(),
    };
    Ok(Origin {
        address: address_of(dependency, url)?,
        user: if parsed.username().is_empty() {
            "postgres"
        } else {
            parsed.username()
        }
        .to_owned(),
        password: parsed.password().unwrap_or_default().to_owned(),
        administration,
        template,
    })
}

/// How the harness's own sessions name themselves: nobody else can know it, so that
/// whoever comes past the taps is not taken for the harness.
pub(in crate::rehearsal) fn own_session() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| format!("rehearse-{}", Uuid::new_v4()))
}
