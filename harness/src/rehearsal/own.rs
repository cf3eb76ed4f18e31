//! Servers of one rehearsal's own: they are frozen and killed for real, which the warm
//! servers that others use must not be.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::provided::CONTAINER_START;
use super::venue::{VenueError, start_queue_server};
use crate::deployment::containers::DependencyContainer;
use crate::deployment::{Child, Registry, procfs};
use crate::embedded::database::Server;
use crate::outage::RealServer;
use crate::protocol::redis::server::RedisServer;

/// Between two looks at whether a process is stopped, which tells nobody.
const TICK: Duration = Duration::from_millis(1);

/// A server of one rehearsal's own.
#[derive(Clone)]
pub(super) enum OwnServer {
    Database(Arc<Server>),
    Queue(OwnQueueServer),
    Redis(RedisServer),
    Container(Arc<DependencyContainer>),
}

/// A queue server that keeps what it acknowledged across a kill.
#[derive(Clone)]
pub(super) struct OwnQueueServer(Arc<Running>);

struct Running {
    program: PathBuf,
    /// Its log and its journal stand here.
    directory: PathBuf,
    registry: Registry,
    port: u16,
    child: Mutex<Child>,
}

impl OwnQueueServer {
    pub(super) async fn start(
        program: PathBuf,
        directory: PathBuf,
        registry: Registry,
    ) -> Result<(Self, std::net::SocketAddr), VenueError> {
        let journal = directory.join("journal");
        let (child, address) =
            start_queue_server(&program, &directory, &registry, 0, Some(&journal)).await?;
        let running = Running {
            program,
            directory,
            registry,
            port: address.port(),
            child: Mutex::new(child),
        };
        Ok((Self(Arc::new(running)), address))
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnServer {
    fn processes(&self) -> Vec<Pid> {
        match self {
            Self::Database(server) => server.processes(),
            Self::Queue(server) => vec![server.child().pid()],
            Self::Redis(server) => vec![server.pid()],
            // The engine freezes and thaws these.
            Self::Container(_) => Vec::new(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Database(_) => "the database server",
            Self::Queue(_) => "the queue server",
            Self::Redis(_) => "the Redis server",
            Self::Container(_) => "the server in its container",
        }
    }

    /// Ends it with its data.
    pub(super) async fn stop(&self) -> Result<(), String> {
        self.thaw();
        match self {
            Self::Database(server) => {
                server.stop().await.map_err(|error| error.to_string())?;
            }
            Self::Queue(server) => {
                let child = server.child().clone();
                child.kill().await;
            }
            Self::Redis(server) => server.stop().await,
            Self::Container(container) => container.remove().await,
        }
        Ok(())
    }
}

impl RealServer for OwnServer {
    fn freeze(&self) -> BoxFuture<'static, Result<String, String>> {
        let server = self.clone();
        Box::pin(async move {
            if let Self::Container(container) = &server {
                container.pause().await.map_err(|error| error.to_string())?;
                return Ok("the container stands still".to_owned());
            }
            loop {
                // A server that is not stopped yet may begin further processes, so they
                // are looked up again until all that there are stand still.
                let moving: Vec<Pid> = server
                    .processes()
                    .into_iter()
                    .filter(|pid| {
                        procfs::stat(*pid).is_some_and(|stat| !stat.is_dead() && stat.state != 'T')
                    })
                    .collect();
                if moving.is_empty() {
                    break;
                }
                for pid in moving {
                    // One that is gone has nothing left to stop.
                    let _ = kill(pid, Signal::SIGSTOP);
                }
                tokio::time::sleep(TICK).await;
            }
            let count = server.processes().len();
            Ok(format!(
                "{count} processes of {} stand still",
                server.name()
            ))
        })
    }

    fn thaw(&self) {
        if let Self::Container(container) = self {
            container.unpause_now();
            return;
        }
        for pid in self.processes().into_iter().rev() {
            let _ = kill(pid, Signal::SIGCONT);
        }
    }

    fn kill(&self) -> BoxFuture<'static, Result<String, String>> {
        let server = self.clone();
        Box::pin(async move {
            let outcome = match &server {
                Self::Redis(redis) => {
                    let outcome = redis.kill().await;
                    return Ok(format!("{} {outcome}", server.name()));
                }
                Self::Container(container) => {
                    container.kill().await.map_err(|error| error.to_string())?;
                    return Ok("the server was killed in its container".to_owned());
                }
                Self::Database(database) => database.kill().await,
                Self::Queue(queue) => {
                    let child = queue.child().clone();
                    child.kill().await
                }
            };
            Ok(format!("{} {outcome}", server.name()))
        })
    }

    fn restart(&self) -> BoxFuture<'static, Result<(), String>> {
        let server = self.clone();
        Box::pin(async move {
            match &server {
                Self::Container(container) => container
                    .restart(CONTAINER_START)
                    .await
                    .map_err(|error| error.to_string()),
                Self::Database(database) => {
                    database.restart().await.map_err(|error| error.to_string())
                }
                Self::Redis(redis) => redis.restart().await.map_err(|error| error.to_string()),
                Self::Queue(OwnQueueServer(running)) => {
                    let journal = running.directory.join("journal");
                    let (child, _) = start_queue_server(
                        &running.program,
                        &running.directory,
                        &running.registry,
                        running.port,
                        Some(&journal),
                    )
                    .await
                    .map_err(|error| error.to_string())?;
                    *running.child.lock().unwrap_or_else(PoisonError::into_inner) = child;
                    Ok(())
                }
            }
        })
    }
}
