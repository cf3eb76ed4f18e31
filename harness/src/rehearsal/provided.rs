//! Dependencies that the manifest wants in containers: what each is started with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::deployment::Logs;
use crate::deployment::containers::{
    ContainerOptions, DependencyContainer, Engine, EngineError, Image,
};
use crate::ids::DependencyName;
use crate::manifest::{Dependency, Protocol, Provide};
use crate::protocol::redis::server::container_arguments;

/// How long a dependency in a container may take to start.
pub(super) const CONTAINER_START: Duration = Duration::from_mins(1);

/// What dependencies in containers are started with.
pub(super) struct Provider {
    engine: Engine,
    /// The harness's own program, which also serves queues.
    program: PathBuf,
    logs: PathBuf,
    /// Of every database server in a container of this run.
    password: String,
}

/// A dependency in a container, and its password if it has one.
pub(super) struct Provided {
    pub(super) container: DependencyContainer,
    pub(super) password: String,
}

impl Provider {
    pub(super) fn new(engine: Engine, program: &Path, logs: &Path) -> Self {
        Self {
            engine,
            program: program.to_owned(),
            logs: logs.to_owned(),
            password: uuid::Uuid::new_v4().simple().to_string(),
        }
    }

    /// Starts a dependency's container; nothing if it is not provided in one. `server`
    /// tells containers of the same dependency apart.
    pub(super) async fn start(
        &self,
        name: &DependencyName,
        dependency: &Dependency,
        server: &str,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Option<Provided>, EngineError> {
        let Provide::Container {
            image,
            port,
            environment,
        } = &dependency.provide
        else {
            return Ok(None);
        };
        let password = self.password.clone();
        let mut environment = environment.clone();
        let (ours, arguments) = match &dependency.protocol {
            Protocol::Postgres { .. } => {
                environment.insert("POSTGRES_PASSWORD".to_owned(), password.clone());
                (Image::Postgres, postgres_arguments())
            }
            Protocol::Redis { .. } => (Image::Process, container_arguments()),
            _ if image.is_none() => (
                Image::queue(&self.program),
                vec!["--data".to_owned(), "/data".to_owned()],
            ),
            _ => (Image::Process, Vec::new()),
        };
        let options = ContainerOptions {
            name: server.to_owned(),
            image: image.clone().map_or(ours, Image::Named),
            port: *port,
            environment,
            arguments,
            logs: Logs::together(self.logs.join(format!("{name}-{server}.log"))),
        };
        let started = DependencyContainer::start(&self.engine, options, CONTAINER_START, tell);
        let container = started.await?;
        Ok(Some(Provided {
            container,
            password,
        }))
    }
}

/// What a throw-away server need not do; what it acknowledged survives its own death
/// all the same. And where it says who connected, whatever the image sets.
fn postgres_arguments() -> Vec<String> {
    [
        "fsync=off",
        "synchronous_commit=on",
        "max_connections=200",
        "max_prepared_transactions=50",
        "autovacuum=off",
        "jit=off",
        "client_connection_check_interval=100ms",
        "log_connections=on",
        "log_destination=stderr",
        "log_line_prefix=%m [%p] ",
        "lc_messages=C",
        "idle_in_transaction_session_timeout=60s",
        "checkpoint_timeout=1h",
        "logging_collector=off",
    ]
    .iter()
    .flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()])
    .collect()
}
