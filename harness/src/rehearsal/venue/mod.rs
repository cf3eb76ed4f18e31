//! What all rehearsals of one run share: the record of the run, the built system, and
//! warm servers. A rehearsal then gets a database and queues of its own in milliseconds.

mod command;
mod error;
mod origin;
mod passed;
mod provide;
mod queries;
mod queues;
mod redis;
mod servers;
mod visitors;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use self::command::{root_of, run_command, shown};
pub use self::error::VenueError;
pub(super) use self::origin::own_session;
use self::origin::{Origin, quoted};
pub(super) use self::queues::start_queue_server;
use self::servers::Servers;
use super::provided::Provider;
use crate::deployment::containers::{Containers, DependencyContainer, Engine};
use crate::deployment::{
    self, Child, Driver, DriverKind, HostProcesses, Reexecute, Registry, RunGuard, RunOptions,
    Variables,
};
use crate::embedded::database::{Search, Server};
use crate::ids::{DependencyName, RunId, StageName};
use crate::manifest::{Manifest, Provide};

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
    /// Whether the system was built before.
    pub built: bool,
}

/// What all rehearsals of one run share.
pub struct Venue {
    manifest: Arc<Manifest>,
    run: RunId,
    registry: Registry,
    guard: Mutex<Option<RunGuard>>,
    server: Option<Server>,
    databases: BTreeMap<DependencyName, Origin>,
    /// Where each queue service and each external HTTP service is.
    addresses: BTreeMap<DependencyName, SocketAddr>,
    queue_server: Option<Child>,
    /// What is provided in containers.
    containers: BTreeMap<DependencyName, Arc<DependencyContainer>>,
    driver: Arc<dyn Driver>,
    versions: BTreeMap<String, String>,
    rehearsals: AtomicU32,
    means: Means,
    /// Whether a message was submitted in any rehearsal.
    submitted: AtomicBool,
    /// Stages that somebody passed in some rehearsal.
    passed: Mutex<BTreeSet<StageName>>,
    /// What was taken from what was seen, because the manifest does not say it, in words.
    inferred: Mutex<BTreeSet<String>>,
}

/// What a server of a rehearsal's own is started with.
struct Means {
    search: Search,
    provider: Option<Provider>,
    program: PathBuf,
    logs: PathBuf,
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
        let driver = options.driver.unwrap_or(manifest.driver);
        let needs_engine = driver == DriverKind::Containers
            || manifest
                .dependencies
                .values()
                .any(|dependency| matches!(dependency.provide, Provide::Container { .. }));
        sweep(&options, needs_engine, &*tell);
        let VenueOptions {
            run,
            directory,
            state_root,
            ambient,
            program,
            watchdog,
            database: search,
            driver: _,
            built,
        } = options;
        let guard = RunGuard::begin(RunOptions {
            run: run.clone(),
            state_root,
            ambient,
            watchdog,
        })?;
        let registry = guard.registry().clone();
        let logs = directory.join("logs");
        let mut versions = BTreeMap::new();
        versions.insert("rehearsal".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let engine = if needs_engine {
            let engine = Engine::connect(&registry).await?;
            versions.extend([("container engine".to_owned(), engine.version().await?)]);
            Some(engine)
        } else {
            None
        };
        for command in manifest.build.iter().filter(|_| !built) {
            tell(&format!("building: {}", shown(command)));
            let log = logs.join("build.log");
            let values = BTreeMap::from([("root".to_owned(), root_of(&manifest))]);
            run_command(&manifest, command, "build", &values, log, &registry).await?;
        }
        let means = Means {
            provider: engine
                .clone()
                .map(|engine| Provider::new(engine, &program, &logs)),
            search,
            program,
            logs,
        };
        let started = Servers::start(&manifest, &run, &registry, &means, &tell).await?;
        if let Some(server) = &started.server {
            versions.insert("postgres".to_owned(), server.version().to_string());
        }
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
        let Servers {
            server,
            queue_server,
            databases,
            addresses,
            containers,
        } = started;
        let venue = Self {
            manifest,
            run,
            registry,
            guard: Mutex::new(Some(guard)),
            server,
            databases,
            addresses,
            queue_server,
            containers,
            driver,
            versions,
            rehearsals: AtomicU32::new(0),
            means,
            submitted: AtomicBool::new(false),
            passed: Mutex::default(),
            inferred: Mutex::default(),
        };
        for (name, origin) in &venue.databases {
            origin.make_template(name).await?;
        }
        if !venue.manifest.prepare.is_empty() {
            tell("preparing the database");
        }
        venue.prepare(&BTreeMap::new(), "prepare.log").await?;
        Ok(venue)
    }

    /// Lets the prepared databases look at the queries of the manifest. What is not there
    /// may still come with the processes: it is told only if `strict`, and if anything
    /// prepares the databases at all.
    ///
    /// # Errors
    /// The queries that they refuse.
    pub async fn check_queries(&self, strict: bool) -> Result<(), VenueError> {
        let mut refused = queries::refused(&self.manifest, &self.databases).await?;
        let complete = strict && !self.manifest.prepare.is_empty();
        refused.retain(|(_, refusal)| complete || !refusal.absent);
        if refused.is_empty() {
            return Ok(());
        }
        let error = self.manifest.refused(&refused);
        Err(VenueError::Queries(Box::new(error)))
    }

    /// Runs the commands of `prepare` against the template databases, those of `instead`
    /// where it has one.
    async fn prepare(
        &self,
        instead: &BTreeMap<&DependencyName, &Origin>,
        log: &str,
    ) -> Result<(), VenueError> {
        let mut values = BTreeMap::from([("root".to_owned(), root_of(&self.manifest))]);
        for (name, shared) in &self.databases {
            let origin = instead.get(name).copied().unwrap_or(shared);
            values.extend(origin.template_values(name));
        }
        for command in &self.manifest.prepare {
            let log = self.means.logs.join(log);
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
        Ok(())
    }

    /// Where whatever is started is registered.
    pub(super) fn registry(&self) -> &Registry {
        &self.registry
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
        let removing = self.containers.values().map(|container| container.remove());
        futures::future::join_all(removing).await;
        let guard = self
            .guard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match guard {
            Some(guard) => {
                let swept = guard.finish().await;
                let removed = |what| format!("{what}, which was removed");
                let killed = swept.killed.into_iter().map(removed);
                killed.chain(swept.problems).collect()
            }
            None => Vec::new(),
        }
    }
}

/// Removes what dead runs left, and says so.
fn sweep(options: &VenueOptions, needs_engine: bool, tell: &(dyn Fn(&str) + Send + Sync)) {
    let VenueOptions {
        state_root,
        ambient,
        ..
    } = options;
    if let Ok(report) = deployment::sweep(state_root) {
        for swept in report.swept {
            tell(&format!(
                "removed what the interrupted run {} had left",
                swept.run
            ));
        }
    }
    if needs_engine {
        for left in deployment::unrecorded(state_root, ambient) {
            tell(&left);
        }
    }
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
            "redis" => 6379,
            _ => 80,
        });
    (host, port)
        .to_socket_addrs()
        .map_err(|error| failed(error.to_string()))?
        .find(SocketAddr::is_ipv4)
        .ok_or_else(|| failed("it has no IPv4 address".to_owned()))
}
