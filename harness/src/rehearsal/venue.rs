//! What all rehearsals of one run share: the record of the run, the built system, and
//! warm servers. A rehearsal then gets a database and queues of its own in milliseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::QueueAttributeName;
use indexmap::IndexMap;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, Connection, Executor};

use super::dependencies::{Database, Dependencies, OwnQueue, QueueService};
use super::own::{OwnQueueServer, OwnServer};
use super::provided::{CONTAINER_START, Provided, Provider};
use crate::deployment::containers::{Containers, DependencyContainer, Engine, EngineError};
use crate::deployment::readiness::{self, NotReady};
use crate::deployment::{
    self, Child, Driver, DriverKind, ExitOutcome, HostProcesses, Logs, Reexecute, Registry,
    RunError, RunGuard, RunOptions, Start, StartError, Variables,
};
use crate::embedded::database::{DatabaseError, Search, Server, ServerOptions, Visitor};
use crate::embedded::queue::OWN_APPLICATION;
use crate::ids::{DependencyName, RunId};
use crate::manifest::{
    Command, Dependency, Manifest, Protocol, Provide, Queue, UnknownPlaceholder,
};
use crate::stub::Stub;

/// How long an embedded server may take to start.
const SERVER_START: Duration = Duration::from_secs(30);
/// Between two tries to connect to it.
const TICK: Duration = Duration::from_millis(20);
/// SQLSTATE `cannot_connect_now`.
const STARTING_UP: &str = "57P03";

/// What a run needs to know of its surroundings.
#[derive(Clone, Debug)]
pub struct VenueOptions {
    /// The run.
    pub run: RunId,
    /// Where its reports and logs go.
    pub directory: PathBuf,
    /// Where all runs of one user keep their records.
    pub state_root: PathBuf,
    /// The harness's own environment; processes get what the allow-list lets through.
    pub ambient: Variables,
    /// The harness's own program, which also serves queues.
    pub program: PathBuf,
    /// How that program becomes the run's watchdog.
    pub watchdog: Reexecute,
    /// Where an embedded Postgres comes from.
    pub database: Search,
    /// How processes are run, if not as the manifest says.
    pub driver: Option<DriverKind>,
}

/// A run's surroundings could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum VenueError {
    /// The run could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Containers cannot be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A command of `build` or `prepare` could not be started.
    #[error("`{section}` of {manifest}: {source}")]
    Command {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// Why.
        source: StartError,
    },
    /// A command of `build` or `prepare` failed.
    #[error(
        "`{section}` of {manifest}: `{command}` {outcome}\n{output}\nits whole output is in {log}"
    )]
    CommandFailed {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// The command.
        command: String,
        /// How it ended.
        outcome: ExitOutcome,
        /// Its last lines.
        output: String,
        /// Its log.
        log: String,
    },
    /// A command of `build` or `prepare` took too long.
    #[error(
        "`{section}` of {manifest}: `{command}` had not ended after {within:?}; see {log}, or raise `limits.build`"
    )]
    CommandTooLong {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// The command.
        command: String,
        /// The limit.
        within: Duration,
        /// Its log.
        log: String,
    },
    /// A placeholder has no value here.
    #[error("`{section}` of {manifest}: {source}")]
    Placeholder {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// Which.
        source: UnknownPlaceholder,
    },
    /// No Postgres.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The embedded queue server did not start.
    #[error("cannot start the embedded queue server: {0}")]
    QueueServer(#[source] StartError),
    /// The embedded queue server did not become ready.
    #[error(transparent)]
    QueueNotReady(Box<NotReady>),
    /// An address leads nowhere.
    #[error("`{dependency}`: {url} cannot be reached: {reason}")]
    Address {
        /// Which dependency.
        dependency: DependencyName,
        /// Its URL, without a password.
        url: String,
        /// Why.
        reason: String,
    },
    /// A database could not be made.
    #[error("`{dependency}`: cannot {what}: {source}")]
    Sql {
        /// Which dependency.
        dependency: DependencyName,
        /// What was tried.
        what: String,
        /// Why.
        source: sqlx::Error,
    },
    /// A queue could not be made.
    #[error("`{dependency}`: cannot make the queue `{queue}`: {reason}")]
    Queue {
        /// Which dependency.
        dependency: DependencyName,
        /// Which queue.
        queue: String,
        /// Why.
        reason: String,
    },
}

impl From<NotReady> for VenueError {
    fn from(error: NotReady) -> Self {
        Self::QueueNotReady(Box::new(error))
    }
}

/// What all rehearsals of one run share.
pub struct Venue {
    manifest: Arc<Manifest>,
    run: RunId,
    registry: Registry,
    guard: Mutex<Option<RunGuard>>,
    server: Option<Server>,
    databases: BTreeMap<DependencyName, Origin>,
    queues: BTreeMap<DependencyName, SocketAddr>,
    queue_server: Option<Child>,
    containers: Mutex<Vec<DependencyContainer>>,
    driver: Arc<dyn Driver>,
    externals: BTreeMap<DependencyName, SocketAddr>,
    versions: BTreeMap<String, String>,
    rehearsals: AtomicU32,
    means: Means,
}

/// What a server of a rehearsal's own is started with.
struct Means {
    search: Search,
    provider: Option<Provider>,
    program: PathBuf,
    logs: PathBuf,
}

/// A database server and the template that rehearsals copy.
#[derive(Clone)]
struct Origin {
    address: SocketAddr,
    user: String,
    password: String,
    administration: String,
    template: String,
}

impl Venue {
    /// Sweeps what dead runs left, builds the system, starts the servers and prepares
    /// the databases that rehearsals copy. `tell` gets what is happening now.
    ///
    /// # Errors
    /// When anything of it fails. Nothing is left running then.
    pub async fn open(
        manifest: Arc<Manifest>,
        options: VenueOptions,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, VenueError> {
        let VenueOptions {
            run,
            directory,
            state_root,
            ambient,
            program,
            watchdog,
            database,
            driver,
        } = options;
        let driver = driver.unwrap_or(manifest.driver);
        let in_container =
            |dependency: &Dependency| matches!(dependency.provide, Provide::Container { .. });
        let needs_engine =
            driver == DriverKind::Containers || manifest.dependencies.values().any(in_container);
        if let Ok(report) = deployment::sweep(&state_root) {
            for swept in report.swept {
                tell(&format!(
                    "removed what the interrupted run {} had left",
                    swept.run
                ));
            }
        }
        if needs_engine && let Some(swept) = deployment::sweep_forgotten(&state_root, &ambient) {
            tell(&format!(
                "removed {}, forgotten by their runs",
                swept.killed.join(", ")
            ));
        }
        let guard = RunGuard::begin(RunOptions {
            run: run.clone(),
            state_root,
            ambient,
            watchdog,
        })?;
        let registry = guard.registry().clone();
        let logs = directory.join("logs");
        let engine = if needs_engine {
            Some(Engine::connect(&registry).await?)
        } else {
            None
        };
        for command in &manifest.build {
            tell(&format!("building: {}", shown(command)));
            let log = logs.join("build.log");
            let values = BTreeMap::from([("root".to_owned(), root_of(&manifest))]);
            run_command(&manifest, command, "build", &values, log, &registry).await?;
        }
        let mut versions = BTreeMap::new();
        versions.insert("rehearsal".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let embedded_database = manifest.dependencies.values().any(|dependency| {
            matches!(dependency.protocol, Protocol::Postgres)
                && dependency.provide == Provide::Embedded
        });
        let server = if embedded_database {
            tell("starting Postgres");
            let options = ServerOptions::new(database.clone(), logs.join("postgres.log"));
            let server = Server::start(options, &registry, Arc::clone(&tell)).await?;
            versions.insert("postgres".to_owned(), server.version().to_string());
            Some(server)
        } else {
            None
        };
        let embedded_queue = manifest.dependencies.values().any(|dependency| {
            matches!(dependency.protocol, Protocol::Sqs { .. })
                && dependency.provide == Provide::Embedded
        });
        let queue_server = if embedded_queue {
            Some(start_queue_server(&program, &logs, &registry, 0, None).await?)
        } else {
            None
        };
        let driver: Arc<dyn Driver> = match (driver, &engine) {
            (DriverKind::Containers, Some(engine)) => {
                let rooms = manifest
                    .processes
                    .values()
                    .map(|process| &process.container.room);
                Arc::new(Containers::open(engine, rooms, &*tell).await?)
            }
            _ => Arc::new(HostProcesses::new(registry.clone())),
        };
        if let Some(engine) = &engine
            && let Some(version) = engine.version().await
        {
            versions.insert("container engine".to_owned(), version);
        }
        let mut databases = BTreeMap::new();
        let mut queues = BTreeMap::new();
        let mut externals = BTreeMap::new();
        let mut containers = Vec::new();
        let containing = engine.map(|engine| Provider {
            engine,
            program: program.clone(),
            logs: logs.clone(),
        });
        for (name, dependency) in &manifest.dependencies {
            let Some(means) = &containing else { continue };
            let started = means.start(name, dependency, name.as_str(), &*tell);
            let Some(Provided {
                container,
                password,
            }) = started.await?
            else {
                continue;
            };
            let address = container.address();
            containers.push(container);
            match &dependency.protocol {
                Protocol::Postgres => {
                    let origin = Origin::in_container(address, password, template_name(&run, name));
                    origin.accepting(name).await?;
                    databases.insert(name.clone(), origin);
                }
                Protocol::Sqs { .. } => {
                    queues.insert(name.clone(), address);
                }
                Protocol::Http { .. } => {
                    externals.insert(name.clone(), address);
                }
            }
        }
        for (name, dependency) in &manifest.dependencies {
            match (&dependency.protocol, &dependency.provide) {
                (Protocol::Postgres, Provide::Embedded) => {
                    let server = server.as_ref().expect("started above");
                    let origin = Origin {
                        address: server.address(),
                        user: server.connect_options("postgres").get_username().to_owned(),
                        password: server.password().to_owned(),
                        administration: "postgres".to_owned(),
                        template: template_name(&run, name),
                    };
                    databases.insert(name.clone(), origin);
                }
                (Protocol::Postgres, Provide::External { url }) => {
                    let origin = external_database(name, url, template_name(&run, name))?;
                    databases.insert(name.clone(), origin);
                }
                (Protocol::Sqs { .. }, Provide::External { url }) => {
                    queues.insert(name.clone(), address_of(name, url)?);
                }
                (_, Provide::Container { .. }) => {}
                (Protocol::Sqs { .. }, _) => {
                    let (_, address) = queue_server.as_ref().expect("started above");
                    queues.insert(name.clone(), *address);
                }
                (Protocol::Http { .. }, Provide::External { url }) => {
                    externals.insert(name.clone(), address_of(name, url)?);
                }
                (Protocol::Postgres | Protocol::Http { .. }, _) => {}
            }
        }
        for (name, origin) in &databases {
            let statement = format!("CREATE DATABASE {}", quoted(&origin.template));
            origin
                .administer(name, "make the template database", statement)
                .await?;
        }
        if !manifest.prepare.is_empty() {
            tell("preparing the database");
        }
        let mut values = BTreeMap::from([("root".to_owned(), root_of(&manifest))]);
        for (name, origin) in &databases {
            values.insert(format!("{name}.url"), origin.database(&origin.template).0);
        }
        for command in &manifest.prepare {
            let log = logs.join("prepare.log");
            run_command(&manifest, command, "prepare", &values, log, &registry).await?;
        }
        Ok(Self {
            manifest,
            run,
            registry,
            guard: Mutex::new(Some(guard)),
            server,
            databases,
            queues,
            queue_server: queue_server.map(|(child, _)| child),
            containers: Mutex::new(containers),
            driver,
            externals,
            versions,
            rehearsals: AtomicU32::new(0),
            means: Means {
                provider: containing,
                search: database,
                program,
                logs,
            },
        })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The versions of the harness and of what it started, for histories.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// A number for the next rehearsal.
    pub(super) fn next_rehearsal(&self) -> u32 {
        self.rehearsals.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How processes are run.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// What no history and no report may show.
    pub(super) fn secrets(&self) -> Vec<String> {
        let passwords = self
            .databases
            .values()
            .map(|origin| origin.password.clone());
        self.manifest
            .secrets()
            .into_iter()
            .chain(passwords)
            .collect()
    }

    /// Who connected to a database of the run's own server, by its log; nothing for
    /// other servers.
    pub(super) fn visitors(
        &self,
        address: SocketAddr,
        database: &str,
    ) -> Option<std::io::Result<Vec<Visitor>>> {
        let server = self.server.as_ref()?;
        (server.address() == address).then(|| server.visitors(database))
    }

    /// Whether the run's own queue server listens there.
    pub(super) fn serves_queues_at(&self, address: SocketAddr) -> bool {
        self.queue_server.is_some() && self.queues.values().any(|own| *own == address)
    }

    /// A database, queues and stubs for one rehearsal alone.
    pub(super) async fn provide(
        &self,
        manifest: &Manifest,
        number: u32,
        settings: BTreeMap<String, String>,
        stubs: BTreeMap<DependencyName, Stub>,
        own: &BTreeSet<DependencyName>,
    ) -> Result<Dependencies, VenueError> {
        let mut servers = BTreeMap::new();
        let mut databases = BTreeMap::new();
        for (name, origin) in &self.databases {
            let database = if own.contains(name) {
                let (server, database) = self.own_database(name, number).await?;
                servers.insert(name.clone(), server);
                database
            } else {
                origin.copy(name, &self.run, number).await?
            };
            databases.insert(name.clone(), database);
        }
        let mut queues = BTreeMap::new();
        for (name, dependency) in &manifest.dependencies {
            let Protocol::Sqs { queues: wanted } = &dependency.protocol else {
                continue;
            };
            let address = if own.contains(name)
                && let Some(provided) = self.own_container(name, number).await?
            {
                let address = provided.container.address();
                let server = OwnServer::Container(Arc::new(provided.container));
                servers.insert(name.clone(), server);
                address
            } else if own.contains(name) {
                let directory = self.means.logs.join(format!("{name}-{number}"));
                let (program, registry) = (self.means.program.clone(), self.registry.clone());
                let (server, address) = OwnQueueServer::start(program, directory, registry).await?;
                servers.insert(name.clone(), OwnServer::Queue(server));
                address
            } else {
                self.queues[name]
            };
            let prefix = format!("{}-{number}", self.run);
            queues.insert(
                name.clone(),
                make_queues(name, address, &prefix, wanted, &settings).await?,
            );
        }
        Ok(Dependencies {
            databases,
            queues,
            stubs,
            externals: self.externals.clone(),
            settings,
            servers,
        })
    }

    /// A database server that this rehearsal alone uses, with its database.
    async fn own_database(
        &self,
        name: &DependencyName,
        number: u32,
    ) -> Result<(OwnServer, Database), VenueError> {
        let (server, origin) = match self.own_container(name, number).await? {
            Some(Provided {
                container,
                password,
            }) => {
                let address = container.address();
                let origin = Origin::in_container(address, password, "template0".to_owned());
                origin.accepting(name).await?;
                (OwnServer::Container(Arc::new(container)), origin)
            }
            None => self.own_embedded(name, number).await?,
        };
        let database = origin.copy(name, &self.run, number).await?;
        let mut values = BTreeMap::from([("root".to_owned(), root_of(&self.manifest))]);
        for (other, origin) in &self.databases {
            values.insert(format!("{other}.url"), origin.database(&origin.template).0);
        }
        values.insert(format!("{name}.url"), origin.database(&database.name).0);
        for command in &self.manifest.prepare {
            let log = self.means.logs.join(format!("prepare-{number}.log"));
            run_command(
                &self.manifest,
                command,
                "prepare",
                &values,
                log,
                &self.registry,
            )
            .await?;
        }
        Ok((server, database))
    }

    async fn own_embedded(
        &self,
        name: &DependencyName,
        number: u32,
    ) -> Result<(OwnServer, Origin), VenueError> {
        let log = self.means.logs.join(format!("{name}-{number}.log"));
        let options = ServerOptions::new(self.means.search.clone(), log);
        let server = Server::start(options, &self.registry, Arc::new(|_: &str| {})).await?;
        let origin = Origin {
            address: server.address(),
            user: server.connect_options("postgres").get_username().to_owned(),
            password: server.password().to_owned(),
            administration: "postgres".to_owned(),
            template: "template0".to_owned(),
        };
        Ok((OwnServer::Database(Arc::new(server)), origin))
    }

    /// A container that this rehearsal alone uses, if the dependency is provided in one.
    async fn own_container(
        &self,
        name: &DependencyName,
        number: u32,
    ) -> Result<Option<Provided>, VenueError> {
        let Some(provider) = &self.means.provider else {
            return Ok(None);
        };
        let dependency = &self.manifest.dependencies[name];
        let server = format!("{name}-{number}");
        Ok(provider.start(name, dependency, &server, &|_| {}).await?)
    }

    /// Removes what [`Warm::provide`] made.
    pub(super) async fn withdraw(&self, dependencies: &Dependencies) -> Vec<String> {
        let mut troubles = Vec::new();
        for (name, database) in &dependencies.databases {
            database.pool.close().await;
            if dependencies.servers.contains_key(name) {
                continue;
            }
            let statement = format!(
                "DROP DATABASE IF EXISTS {} WITH (FORCE)",
                quoted(&database.name)
            );
            let origin = &self.databases[name];
            let dropped = origin
                .administer(name, "drop the rehearsal's database", statement)
                .await;
            troubles.extend(dropped.err().map(|error| error.to_string()));
        }
        for (name, service) in &dependencies.queues {
            if dependencies.servers.contains_key(name) {
                continue;
            }
            for own in service.queues.values() {
                let deleted = service
                    .client
                    .delete_queue()
                    .queue_url(&own.url)
                    .send()
                    .await;
                troubles.extend(deleted.err().map(|error| {
                    format!(
                        "`{name}`: cannot delete {}: {}",
                        own.name,
                        DisplayErrorContext(&error)
                    )
                }));
            }
        }
        for (name, server) in &dependencies.servers {
            if let Err(reason) = server.stop().await {
                troubles.push(format!("`{name}`: cannot end its own server: {reason}"));
            }
        }
        for stub in dependencies.stubs.values() {
            stub.stop().await;
        }
        troubles
    }

    /// Stops the servers and removes all that the run made; tells what should not have
    /// been there any more.
    pub async fn close(&self) -> Vec<String> {
        for (name, origin) in &self.databases {
            let statement = format!("DROP DATABASE IF EXISTS {}", quoted(&origin.template));
            // A server that goes with the run takes its template along.
            let _ = origin
                .administer(name, "drop the template database", statement)
                .await;
        }
        if let Some(server) = &self.server {
            let _ = server.stop().await;
        }
        if let Some(child) = &self.queue_server {
            child.kill().await;
        }
        self.driver.close().await;
        let containers = std::mem::take(
            &mut *self
                .containers
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        futures::future::join_all(containers.iter().map(DependencyContainer::remove)).await;
        let guard = self
            .guard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match guard {
            Some(guard) => {
                let swept = guard.finish().await;
                swept.killed.into_iter().chain(swept.problems).collect()
            }
            None => Vec::new(),
        }
    }
}

impl Origin {
    fn in_container(address: SocketAddr, password: String, template: String) -> Self {
        Self {
            address,
            user: "postgres".to_owned(),
            password,
            administration: "postgres".to_owned(),
            template,
        }
    }

    fn options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host(&self.address.ip().to_string())
            .port(self.address.port())
            .username(&self.user)
            .password(&self.password)
            .database(database)
            .application_name("rehearse")
            .ssl_mode(PgSslMode::Disable)
    }

    fn database(&self, name: &str) -> (String, PgConnectOptions) {
        let Self {
            user,
            password,
            address,
            ..
        } = self;
        (
            format!("postgres://{user}:{password}@{address}/{name}"),
            self.options(name),
        )
    }

    async fn administer(
        &self,
        dependency: &DependencyName,
        what: &str,
        statement: String,
    ) -> Result<(), VenueError> {
        let failed = |source| VenueError::Sql {
            dependency: dependency.clone(),
            what: what.to_owned(),
            source,
        };
        let options = self.options(&self.administration);
        let mut connection = PgConnection::connect_with(&options).await.map_err(failed)?;
        connection
            .execute(AssertSqlSafe(statement))
            .await
            .map_err(failed)?;
        connection.close().await.map_err(failed)
    }

    /// Waits until a server in a container accepts this user: its port may be open
    /// before.
    async fn accepting(&self, dependency: &DependencyName) -> Result<(), VenueError> {
        let options = self.options(&self.administration);
        let trying = async {
            loop {
                match PgConnection::connect_with(&options).await {
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
            .map_err(|source| VenueError::Sql {
                dependency: dependency.clone(),
                what: "connect to the server in its container".to_owned(),
                source,
            })
    }

    /// A fresh database of the rehearsal, copied from the template.
    async fn copy(
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
        })
    }
}

fn template_name(run: &RunId, dependency: &DependencyName) -> String {
    format!("{run}-template-{dependency}")
}

fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

fn root_of(manifest: &Manifest) -> String {
    manifest.root.display().to_string()
}

fn shown(command: &Command) -> String {
    command
        .words
        .iter()
        .map(|word| {
            word.render(&|name: &str| Some(format!("${{{name}}}")))
                .unwrap_or_default()
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Starts a queue server at a port, or at a free one for 0; with a journal it keeps what
/// it acknowledged.
pub(super) async fn start_queue_server(
    program: &Path,
    logs: &Path,
    registry: &Registry,
    port: u16,
    journal: Option<&Path>,
) -> Result<(Child, SocketAddr), VenueError> {
    let mut arguments: Vec<OsString> = ["serve", "queue", "--port"].map(OsString::from).to_vec();
    arguments.push(port.to_string().into());
    if let Some(journal) = journal {
        arguments.extend(["--data".into(), journal.as_os_str().to_owned()]);
    }
    let start = Start {
        name: "queue server".to_owned(),
        program: program.to_owned(),
        arguments,
        environment: Variables::default(),
        directory: logs.to_owned(),
        logs: Logs::together(logs.join("queue.log")),
        account: None,
        namespace: false,
    };
    std::fs::create_dir_all(logs).ok();
    let child = Child::start(start, registry)
        .await
        .map_err(VenueError::QueueServer)?;
    let output = readiness::output(&child, "http://127.0.0.1:");
    readiness::ready(&child, SERVER_START, output).await?;
    let address = child.logs().last_lines(10).iter().find_map(|line| {
        let (_, rest) = line.split_once("http://")?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    });
    match address {
        Some(address) => Ok((child, address)),
        None => Err(VenueError::Address {
            dependency: "queue".into(),
            url: child.logs().last_lines(10).join(" "),
            reason: "the embedded server did not tell its address".to_owned(),
        }),
    }
}

async fn make_queues(
    dependency: &DependencyName,
    address: SocketAddr,
    prefix: &str,
    wanted: &IndexMap<String, Queue>,
    settings: &BTreeMap<String, String>,
) -> Result<QueueService, VenueError> {
    let client = queue_client(address);
    let lookup = |name: &str| settings.get(name).cloned();
    let mut made: IndexMap<String, OwnQueue> = IndexMap::new();
    // A redrive policy names the other queue by its ARN, so all exist before any is set.
    for queue in wanted.keys() {
        let name = format!("{prefix}-{queue}");
        let failed = |reason: String| VenueError::Queue {
            dependency: dependency.clone(),
            queue: queue.clone(),
            reason,
        };
        let created = client
            .create_queue()
            .queue_name(&name)
            .send()
            .await
            .map_err(|error| failed(DisplayErrorContext(&error).to_string()))?;
        let url = created.queue_url().unwrap_or_default().to_owned();
        made.insert(queue.clone(), OwnQueue { name, url });
    }
    for (queue, definition) in wanted {
        let failed = |reason: String| VenueError::Queue {
            dependency: dependency.clone(),
            queue: queue.clone(),
            reason,
        };
        let mut attributes = Vec::new();
        for (name, value) in &definition.attributes {
            let value = value
                .render(&lookup)
                .map_err(|error| failed(error.to_string()))?;
            attributes.push((QueueAttributeName::from(name.as_str()), value));
        }
        if let Some(dead_letter) = &definition.dead_letter {
            let target = &made[&dead_letter.queue];
            let arn = client
                .get_queue_attributes()
                .queue_url(&target.url)
                .attribute_names(QueueAttributeName::QueueArn)
                .send()
                .await
                .map_err(|error| failed(DisplayErrorContext(&error).to_string()))?
                .attributes()
                .and_then(|attributes| attributes.get(&QueueAttributeName::QueueArn).cloned())
                .unwrap_or_default();
            let receives = dead_letter
                .max_receives
                .render(&lookup)
                .map_err(|error| failed(error.to_string()))?;
            let policy = serde_json::json!({
                "deadLetterTargetArn": arn,
                "maxReceiveCount": receives,
            });
            attributes.push((QueueAttributeName::RedrivePolicy, policy.to_string()));
        }
        if attributes.is_empty() {
            continue;
        }
        let mut setting = client.set_queue_attributes().queue_url(&made[queue].url);
        for (name, value) in attributes {
            setting = setting.attributes(name, value);
        }
        setting
            .send()
            .await
            .map_err(|error| failed(DisplayErrorContext(&error).to_string()))?;
    }
    Ok(QueueService {
        address,
        client,
        queues: made,
    })
}

fn queue_client(address: SocketAddr) -> aws_sdk_sqs::Client {
    let credentials =
        aws_credential_types::Credentials::new("rehearsal", "rehearsal", None, None, "rehearsal");
    let own = aws_sdk_sqs::config::AppName::new(OWN_APPLICATION)
        .expect("the name has no character that it must not have");
    let configuration = aws_sdk_sqs::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_sqs::config::Region::new("us-east-1"))
        .credentials_provider(credentials)
        .endpoint_url(format!("http://{address}"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .app_name(own)
        .build();
    aws_sdk_sqs::Client::from_conf(configuration)
}

fn external_database(
    dependency: &DependencyName,
    url: &str,
    template: String,
) -> Result<Origin, VenueError> {
    let parsed = reqwest::Url::parse(url).map_err(|error| VenueError::Address {
        dependency: dependency.clone(),
        url: url.to_owned(),
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

fn address_of(dependency: &DependencyName, url: &str) -> Result<SocketAddr, VenueError> {
    let failed = |reason: String| {
        let mut shown = url.to_owned();
        if let Ok(mut parsed) = reqwest::Url::parse(url) {
            let _ = parsed.set_password(None);
            shown = parsed.to_string();
        }
        VenueError::Address {
            dependency: dependency.clone(),
            url: shown,
            reason,
        }
    };
    let parsed = reqwest::Url::parse(url).map_err(|error| failed(error.to_string()))?;
    let host = parsed.host_str().unwrap_or_default();
    let port = parsed
        .port_or_known_default()
        .unwrap_or(match parsed.scheme() {
            "postgres" | "postgresql" => 5432,
            _ => 80,
        });
    (host, port)
        .to_socket_addrs()
        .map_err(|error| failed(error.to_string()))?
        .find(SocketAddr::is_ipv4)
        .ok_or_else(|| failed("it has no IPv4 address".to_owned()))
}

/// Runs one command of the manifest to its end.
async fn run_command(
    manifest: &Manifest,
    command: &Command,
    section: &'static str,
    values: &BTreeMap<String, String>,
    log: PathBuf,
    registry: &Registry,
) -> Result<(), VenueError> {
    let in_manifest = manifest.path.display().to_string();
    let rendered = command
        .render(&|name: &str| values.get(name).cloned())
        .map_err(|source| VenueError::Placeholder {
            section,
            manifest: in_manifest.clone(),
            source,
        })?;
    let shown = rendered.words.join(" ");
    let (program, arguments) = rendered
        .words
        .split_first()
        .expect("a command has a program");
    let start = Start {
        name: section.to_owned(),
        program: PathBuf::from(program),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: rendered
            .environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        directory: manifest.root.clone(),
        logs: Logs::together(&log),
        account: None,
        namespace: false,
    };
    let child = Child::start(start, registry)
        .await
        .map_err(|source| VenueError::Command {
            section,
            manifest: in_manifest.clone(),
            source,
        })?;
    let within = manifest.limits.build;
    let Ok(outcome) = tokio::time::timeout(within, child.exited()).await else {
        child.kill().await;
        return Err(VenueError::CommandTooLong {
            section,
            manifest: in_manifest,
            command: shown,
            within,
            log: log.display().to_string(),
        });
    };
    if outcome.is_success() {
        return Ok(());
    }
    Err(VenueError::CommandFailed {
        section,
        manifest: in_manifest,
        command: shown,
        outcome,
        output: child.logs().last_lines(20).join("\n"),
        log: log.display().to_string(),
    })
}
