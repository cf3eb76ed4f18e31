//! A server that the harness starts: one for each rehearsal, for databases of one server
//! share channels, scripts and FLUSHALL. It keeps what it acknowledged across a kill.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::unistd::Pid;

use crate::deployment::readiness::{self, NotReady};
use crate::deployment::{Child, Logs, Registry, Start, StartError, Variables, free_port};

/// Programs that serve, the preferred first.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];
/// Where distributions keep them, also where `PATH` does not lead there.
const PLACES: [&str; 4] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];
/// How long it may take to start, with what it kept.
const START: Duration = Duration::from_secs(30);
/// What it says once it serves.
const SERVES: &str = "eady to accept connections";
/// What it says of each connection.
const ACCEPTED: &str = "Accepted ";

/// No server of the harness's own.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is no program.
    #[error(
        "no {} is on this machine: install the Debian package `redis-server` (or `valkey-server`), or write `provide: container` or `provide: external`",
        PROGRAMS.join(" and no ")
    )]
    NoProgram,
    /// No port can be had.
    #[error("no port for it: {0}")]
    Port(#[source] std::io::Error),
    /// It cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It did not come up.
    #[error(transparent)]
    NotReady(#[from] Box<NotReady>),
}

/// A running server.
#[derive(Clone)]
pub(crate) struct RedisServer(Arc<Running>);

struct Running {
    program: PathBuf,
    /// Its log and what it keeps stand here.
    directory: PathBuf,
    registry: Registry,
    port: u16,
    child: Mutex<Child>,
}

impl RedisServer {
    /// Starts one in a directory of its own.
    pub(crate) async fn start(
        path: Option<&OsStr>,
        directory: PathBuf,
        registry: Registry,
    ) -> Result<Self, ServerError> {
        let program = find(path).ok_or(ServerError::NoProgram)?;
        let port = free_port().map_err(ServerError::Port)?;
        let child = launch(&program, &directory, &registry, port).await?;
        Ok(Self(Arc::new(Running {
            program,
            directory,
            registry,
            port,
            child: Mutex::new(child),
        })))
    }

    /// Starts it again where it was, with what it kept.
    pub(crate) async fn restart(&self) -> Result<(), ServerError> {
        let Running {
            program,
            directory,
            registry,
            port,
            child,
        } = &*self.0;
        let again = launch(program, directory, registry, *port).await?;
        *child.lock().unwrap_or_else(PoisonError::into_inner) = again;
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.0.port).into()
    }

    pub(crate) fn pid(&self) -> Pid {
        self.child().pid()
    }

    /// Kills it; says how it ended.
    pub(crate) async fn kill(&self) -> String {
        let child = self.child().clone();
        child.kill().await.to_string()
    }

    /// Kills it and removes what it kept.
    pub(crate) async fn stop(&self) {
        self.kill().await;
        let _ = std::fs::remove_dir_all(self.0.directory.join("data"));
    }

    /// The ports that connections came from, by its own log.
    pub(crate) fn callers(&self) -> std::io::Result<BTreeSet<u16>> {
        let mut callers = BTreeSet::new();
        for log in self.child().logs().paths() {
            let text = std::fs::read(log)?;
            callers.extend(accepted(&String::from_utf8_lossy(&text)));
        }
        Ok(callers)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ports that a server's log says it accepted connections from.
pub(crate) fn accepted(log: &str) -> BTreeSet<u16> {
    let ports = log.lines().filter_map(|line| {
        let (_, address) = line.split_once(ACCEPTED)?;
        address.trim().rsplit_once(':')?.1.parse().ok()
    });
    ports.collect()
}

fn find(path: Option<&OsStr>) -> Option<PathBuf> {
    let directories = path.into_iter().flat_map(std::env::split_paths);
    let directories: Vec<PathBuf> = directories.chain(PLACES.map(PathBuf::from)).collect();
    let mut programs = PROGRAMS.iter().flat_map(|program| {
        let places = directories.iter();
        places.map(move |directory| directory.join(program))
    });
    programs.find(|program| program.is_file())
}

async fn launch(
    program: &Path,
    directory: &Path,
    registry: &Registry,
    port: u16,
) -> Result<Child, ServerError> {
    let data = directory.join("data");
    std::fs::create_dir_all(&data).ok();
    let start = Start {
        name: "Redis".to_owned(),
        program: program.to_owned(),
        arguments: arguments(port),
        environment: Variables::default(),
        directory: data,
        logs: Logs::together(directory.join("redis.log")),
        account: None,
        memory: None,
        namespace: false,
    };
    let child = Child::start(start, registry).await?;
    let serves = readiness::output(&child, SERVES);
    readiness::ready(&child, START, readiness::at_most(START), serves)
        .await
        .map_err(Box::new)?;
    Ok(child)
}

fn arguments(port: u16) -> Vec<OsString> {
    let port = port.to_string();
    let settings: [(&str, &OsStr); 9] = [
        ("--port", port.as_ref()),
        ("--bind", "127.0.0.1".as_ref()),
        // It is started there.
        ("--dir", ".".as_ref()),
        // Written before it answers: what it acknowledged outlives its own death, if not
        // that of the machine.
        ("--appendonly", "yes".as_ref()),
        ("--appendfsync", "no".as_ref()),
        ("--save", "".as_ref()),
        ("--daemonize", "no".as_ref()),
        // It then says who connected.
        ("--loglevel", "verbose".as_ref()),
        ("--logfile", "".as_ref()),
    ];
    let words = settings
        .iter()
        .flat_map(|(name, value)| [OsStr::new(name), value]);
    words.map(OsStr::to_owned).collect()
}

/// What an image of Redis or Valkey is started with.
pub(crate) fn container_arguments() -> Vec<String> {
    [
        "--appendonly",
        "yes",
        "--appendfsync",
        "no",
        "--save",
        "",
        "--loglevel",
        "verbose",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_log_says_who_came() {
        let log = "1:M 01 Dec 2026 - Accepted 127.0.0.1:41324\n\
            1:M 01 Dec 2026 - DB 0: 1 keys\n1:M - Accepted 127.0.0.1:7\n";
        assert_eq!(accepted(log), BTreeSet::from([7, 41324]));
    }

    #[test]
    fn a_machine_without_a_server_is_told_what_to_install() {
        let told = ServerError::NoProgram.to_string();
        assert!(told.contains("Debian package `redis-server`"), "{told}");
    }
}
