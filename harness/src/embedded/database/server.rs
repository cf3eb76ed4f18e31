//! A running server.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Executor};

use super::administration::{self, Administration, checked};
use super::error::DatabaseError;
use super::home::{Home, usual_base};
use super::installation::{Installation, Version};
use super::search::Search;
use super::template::{self, PASSWORD_FILE, USER};
use super::visitors::Visitor;
use super::{Tell, account};
use crate::deployment::readiness::{Condition, at_most, ready};
use crate::deployment::{
    Account, Child, ExitOutcome, Leftover, Logs, Pid, Registry, Signal, Start, State, Variables,
    end_server, procfs,
};

/// What logs and errors call it.
const NAME: &str = "postgres";
/// How long a start may take; recovery after a kill included.
const START: Duration = Duration::from_mins(1);
/// Between two tries to connect. A port that opens tells nobody.
const TICK: Duration = Duration::from_millis(3);

/// How to start a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where its programs come from.
    pub search: Search,
    /// Where it listens on 127.0.0.1; none for any free port.
    pub port: Option<u16>,
    /// A data directory to keep; made if it does not exist. None for one that goes
    /// with the server.
    pub data: Option<PathBuf>,
    /// Where data that is not kept stands: memory, if there is a file system for it.
    pub base: PathBuf,
    /// Its log; each start appends.
    pub log: PathBuf,
}

impl ServerOptions {
    /// A server on a free port whose data goes with it.
    pub fn new(search: Search, log: impl Into<PathBuf>) -> Self {
        Self {
            search,
            port: None,
            data: None,
            base: usual_base(),
            log: log.into(),
        }
    }
}

/// A running server. Stop it with [`Server::stop`]; dropping it kills it.
pub struct Server {
    ground: Ground,
    port: u16,
    child: Mutex<Child>,
    administration: Administration,
}

/// What stays the same across restarts.
#[derive(Clone)]
struct Ground {
    installation: Installation,
    account: Option<Account>,
    registry: Registry,
    home: Home,
    password: String,
    log: PathBuf,
}

impl Server {
    /// Finds an installation and starts a server; returns once it answered a query.
    ///
    /// # Errors
    /// When no installation can be had, the port is in use, or the server does not
    /// start. Nothing is left running then.
    pub async fn start(
        options: ServerOptions,
        registry: &Registry,
        tell: Tell,
    ) -> Result<Self, DatabaseError> {
        let ServerOptions {
            search,
            port,
            data,
            base,
            log,
        } = options;
        if let Some(port) = port {
            free(port)?;
        }
        let installation = blocking(move || search.find(&*tell)).await?;
        let account = account::for_server()?;
        let template = template::template(&installation, &base, account, registry).await?;
        let copied = template.path.clone();
        let home = match data {
            Some(data) => Home::kept(data, copied, &installation, account).await?,
            None => Home::throwaway(&base, copied, account, registry).await?,
        };
        drop(template);
        let password_file = home.data.join(PASSWORD_FILE);
        let password = fs::read_to_string(&password_file)
            .map_err(DatabaseError::file("read", &password_file))?;
        let program = installation.postgres();
        registry.register(&Leftover::Server {
            name: NAME.to_owned(),
            program,
            directory: home.data.clone(),
        })?;
        let ground = Ground {
            installation,
            account,
            registry: registry.clone(),
            home,
            password,
            log,
        };
        let (port, child, connection) = ground.start(port).await?;
        let administration = Administration::default();
        administration.adopt(connection).await;
        Ok(Self {
            ground,
            port,
            child: Mutex::new(child),
            administration,
        })
    }

    /// The server's version.
    pub fn version(&self) -> &Version {
        &self.ground.installation.version
    }

    /// The installation it runs from.
    pub fn installation(&self) -> &Installation {
        &self.ground.installation
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Where a client connects to one of its databases. Holds the password.
    pub fn url_for(&self, database: &str) -> String {
        format!(
            "postgres://{USER}:{}@127.0.0.1:{}/{database}",
            self.ground.password, self.port
        )
    }

    /// Everybody who connected to one of its databases since the first start, by its
    /// own log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn visitors(&self, database: &str) -> std::io::Result<Vec<Visitor>> {
        let log = fs::read(&self.ground.log)?;
        Ok(Visitor::all(&String::from_utf8_lossy(&log), database))
    }

    /// What to mask wherever it would be written.
    pub fn password(&self) -> &str {
        &self.ground.password
    }

    /// How to connect to one of its databases from here.
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        administration::options(self.port, &self.ground.password).database(database)
    }

    /// The server process of now: a restart changes it.
    pub fn pid(&self) -> Pid {
        self.child().pid()
    }

    /// The server process and those of its sessions, to stop or go on with them all.
    pub fn processes(&self) -> Vec<Pid> {
        procfs::tree(self.pid())
    }

    /// The handle of the server process of now, to signal it or to await its end.
    pub fn child(&self) -> Child {
        self.child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes a database, empty or as a copy of another one. Waits for sessions of that
    /// one to end.
    ///
    /// # Errors
    /// When a name is unfit or the server refuses.
    pub async fn create_database(
        &self,
        name: &str,
        template: Option<&str>,
    ) -> Result<(), DatabaseError> {
        let (name, template) = (checked(name)?, checked(template.unwrap_or("template0"))?);
        let statement =
            format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\" STRATEGY file_copy");
        self.execute(
            format!("create the database `{name}` from `{template}`"),
            statement,
        )
        .await
    }

    /// Drops a database, with all sessions in it. One that does not exist is fine.
    ///
    /// # Errors
    /// When the name is unfit or the server refuses.
    pub async fn drop_database(&self, name: &str) -> Result<(), DatabaseError> {
        let name = checked(name)?;
        let statement = format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)");
        self.execute(format!("drop the database `{name}`"), statement)
            .await
    }

    async fn execute(&self, what: String, statement: String) -> Result<(), DatabaseError> {
        let options = self.connect_options("postgres");
        self.administration.execute(&options, what, statement).await
    }

    /// Kills it without warning. What clients were told is committed stays.
    pub async fn kill(&self) -> ExitOutcome {
        let outcome = self.child().kill().await;
        self.ground.end_sessions().await;
        outcome
    }

    /// Starts it again, at the same address with the same data, after it ended.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn restart(&self) -> Result<(), DatabaseError> {
        self.kill().await;
        let (_, child, connection) = self.ground.start(Some(self.port)).await?;
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = child;
        self.administration.adopt(connection).await;
        Ok(())
    }

    /// Ends it: in order if its data is kept, else quickly and with its data.
    ///
    /// # Errors
    /// When the data cannot be removed.
    pub async fn stop(&self) -> Result<ExitOutcome, DatabaseError> {
        self.administration.adopt(None).await;
        let child = self.child();
        let (request, grace) = match self.ground.home.throwaway {
            Some(_) => (Signal::SIGQUIT, Duration::from_secs(2)),
            None => (Signal::SIGINT, Duration::from_secs(10)),
        };
        if child.state() == State::Running && child.signal(request).is_ok() {
            let _ = tokio::time::timeout(grace, child.exited()).await;
        }
        let outcome = self.kill().await;
        if let Some(directory) = self.ground.home.throwaway.clone() {
            let removed = directory.clone();
            blocking(move || fs::remove_dir_all(removed))
                .await
                .map_err(DatabaseError::file("remove", &directory))?;
        }
        Ok(outcome)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        let mut server = f.debug_struct("Server");
        server
            .field("version", self.version())
            .field("port", &self.port)
            .field("data", &self.ground.home.data);
        server.finish_non_exhaustive()
    }
}

impl Ground {
    /// Starts it at this port, or at a free one.
    async fn start(
        &self,
        port: Option<u16>,
    ) -> Result<(u16, Child, Option<PgConnection>), DatabaseError> {
        let begun = Instant::now();
        loop {
            let chosen = port.map_or_else(free_port, Ok)?;
            let error = match self.launch(chosen).await {
                Ok((child, connection)) => return Ok((chosen, child, connection)),
                Err(error) => error,
            };
            let DatabaseError::NotReady(not_ready) = &error else {
                return Err(error);
            };
            let said = |text: &str| not_ready.output.iter().any(|line| line.contains(text));
            let taken = said("Address already in use");
            match port {
                Some(port) if taken => return Err(DatabaseError::PortInUse { port }),
                // Somebody was quicker, or the kernel still counts processes of the last
                // start.
                _ if (taken || said("pre-existing shared memory block"))
                    && begun.elapsed() < START =>
                {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                _ => return Err(error),
            }
        }
    }

    async fn launch(&self, port: u16) -> Result<(Child, Option<PgConnection>), DatabaseError> {
        let start = Start {
            name: NAME.to_owned(),
            program: self.installation.postgres(),
            arguments: vec![
                "-D".into(),
                self.home.data.clone().into(),
                "-p".into(),
                port.to_string().into(),
            ],
            environment: Variables::new(),
            directory: self.home.data.clone(),
            logs: Logs::together(&self.log),
            account: self.account,
            memory: None,
            namespace: true,
        };
        let child = match Child::start(start.clone(), &self.registry).await {
            Ok(child) => child,
            // Namespaces are not allowed here, or something is really wrong.
            Err(_) => {
                Child::start(
                    Start {
                        namespace: false,
                        ..start
                    },
                    &self.registry,
                )
                .await?
            }
        };
        let options = administration::options(port, &self.password);
        let (keep, mut kept) = tokio::sync::oneshot::channel();
        let condition = Condition::new(
            format!("an answer to a query at 127.0.0.1:{port}"),
            |seen| async move {
                loop {
                    match answer(&options).await {
                        Ok(connection) => {
                            let _ = keep.send(connection);
                            return;
                        }
                        Err(error) => seen.note(error.to_string()),
                    }
                    tokio::time::sleep(TICK).await;
                }
            },
        );
        let started = ready(&child, START, at_most(START), condition).await;
        if started.is_err() {
            child.kill().await;
            self.end_sessions().await;
        }
        started?;
        Ok((child, kept.try_recv().ok()))
    }

    /// Sessions leave their server's group; without a namespace they outlive it.
    async fn end_sessions(&self) {
        let (program, data) = (self.installation.postgres(), self.home.data.clone());
        blocking(move || end_server(&program, &data)).await;
    }
}

async fn answer(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    connection.execute("SELECT 1").await?;
    Ok(connection)
}

/// Runs what blocks on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down cancels it, and then nobody polls this.
            Err(_) => std::future::pending().await,
        },
    }
}

fn free_port() -> Result<u16, DatabaseError> {
    free(0)
}

/// The port itself if nobody listens there; for 0 any such port.
fn free(port: u16) -> Result<u16, DatabaseError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|_| DatabaseError::PortInUse { port })
}
