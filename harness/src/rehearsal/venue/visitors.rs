//! Who came to a dependency, by its own record.

use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};

use super::Venue;
use crate::deployment::Logs;
use crate::embedded::database::Visitor;
use crate::ids::DependencyName;
use crate::manifest::Provide;
use crate::rehearsal::dependencies::{Database, Dependencies};
use crate::rehearsal::own::OwnServer;

/// How long the engine may take to hand on what a server wrote.
const LAG: Duration = Duration::from_secs(10);

impl Venue {
    /// Everybody who connected to a rehearsal's database; nothing where its server is
    /// somebody else's.
    pub(in crate::rehearsal) async fn visitors(
        &self,
        name: &DependencyName,
        dependencies: &Dependencies,
    ) -> Result<Option<Vec<Visitor>>, String> {
        let Some(database) = dependencies.databases.get(name) else {
            return Ok(None);
        };
        let by_file = match (dependencies.servers.get(name), self.containers.get(name)) {
            (Some(OwnServer::Database(server)), _) => server.visitors(&database.name),
            (Some(OwnServer::Queue(_) | OwnServer::Redis(_)), _) => return Ok(None),
            (Some(OwnServer::Container(container)), _) | (None, Some(container)) => {
                return logged(container.logs(), database).await.map(Some);
            }
            (None, None) => match &self.server {
                Some(server) if server.address() == database.address => {
                    server.visitors(&database.name)
                }
                _ => return Ok(None),
            },
        };
        by_file.map(Some).map_err(|error| error.to_string())
    }

    /// Whether a dependency's queue server is ours, and keeps a record of its callers.
    pub(in crate::rehearsal) fn keeps_callers(
        &self,
        name: &DependencyName,
        dependencies: &Dependencies,
    ) -> bool {
        match (dependencies.servers.get(name), self.containers.get(name)) {
            (Some(OwnServer::Queue(_)), _) => true,
            (Some(OwnServer::Database(_) | OwnServer::Redis(_)), _) => false,
            (Some(OwnServer::Container(container)), _) | (None, Some(container)) => {
                container.is_our_queue()
            }
            (None, None) => self.manifest.dependencies[name].provide == Provide::Embedded,
        }
    }
}

/// By the output of a server in a container. It comes here by way of the engine, later
/// than it was written; so the harness comes as the last visitor and waits until its own
/// visit stands there.
async fn logged(logs: &Logs, database: &Database) -> Result<Vec<Visitor>, String> {
    let sign = format!("rehearsal-{}", uuid::Uuid::new_v4().simple());
    let options = PgConnectOptions::new_without_pgpass()
        .host(&database.address.ip().to_string())
        .port(database.address.port())
        .username(&database.user)
        .password(&database.password)
        .database("postgres")
        .application_name(&sign)
        .ssl_mode(PgSslMode::Disable);
    let visit = async {
        let connection = PgConnection::connect_with(&options).await?;
        connection.close().await
    };
    let looking = async {
        visit.await.map_err(|error| error.to_string())?;
        let found = logs.line_containing(&sign).await;
        found.map_err(|error| error.to_string())
    };
    tokio::time::timeout(LAG, looking)
        .await
        .unwrap_or_else(|_| {
            Err(format!(
                "the log of its container says nothing of connections ({})",
                logs.stdout.display()
            ))
        })?;
    let log = std::fs::read(&logs.stdout).map_err(|error| error.to_string())?;
    Ok(Visitor::all(&String::from_utf8_lossy(&log), &database.name))
}
