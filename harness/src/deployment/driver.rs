//! How the processes of a system are run: the one thing that differs between the ways
//! to run a deployment. All of them give the same handle of a started process.
//!
//! ```text
//! Driver ── seat ──▶ Seat: where one instance runs, through all its incarnations
//!    └───── start ─▶ Child: one incarnation in that seat
//! ```

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::child::{Child, Start, StartError};
use super::containers::{EngineError, Holder};
use super::port::free_port;
use super::registry::Registry;

/// Runs processes, somewhere.
pub trait Driver: Send + Sync + 'static {
    /// Which it is.
    fn kind(&self) -> DriverKind;

    /// The address of this machine at which its processes reach what the harness
    /// listens with.
    fn near_side(&self) -> IpAddr;

    /// A seat that nobody has.
    fn seat(&self) -> BoxFuture<'_, Result<Seat, StartError>>;

    /// Starts a process in a seat, where no other runs.
    fn start<'a>(
        &'a self,
        start: Start,
        seat: &'a Seat,
        room: &'a Room,
    ) -> BoxFuture<'a, Result<Child, StartError>>;

    /// Removes all that was made for processes, once all of them are dead.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The ways to run a deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriverKind {
    /// As processes of this machine.
    #[default]
    Processes,
    /// Each in a container of its own.
    Containers,
}

impl DriverKind {
    /// All of them, as they are written.
    pub const ALL: &[&str] = &["processes", "containers"];
}

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processes => "processes",
            Self::Containers => "containers",
        })
    }
}

impl FromStr for DriverKind {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        match written {
            "processes" => Ok(Self::Processes),
            "containers" => Ok(Self::Containers),
            _ => Err(format!(
                "there is no driver `{written}`: it is processes or containers"
            )),
        }
    }
}

/// What a process is given to run in, where that can be chosen. Host processes run in
/// the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Room {
    /// The image; if none, one with nothing but the libraries of this machine, into
    /// which the program is put.
    pub image: Option<String>,
    /// How many processors' time it may use.
    pub cpus: Option<f64>,
}

/// Where one instance runs, through all its incarnations. It can be reached at the
/// same address as long as it keeps its seat.
#[derive(Clone, Debug)]
pub struct Seat(Place);

#[derive(Clone, Debug)]
enum Place {
    Host,
    Holder(Arc<Holder>),
}

/// A seat could not be cut off or joined.
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    /// Host processes share the host's network.
    #[error(
        "a process of the host cannot be cut off: run with `--driver containers`, or use an outage of each dependency"
    )]
    Host,
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl SeatError {
    /// Whether the process shares the host's network.
    pub fn is_host(&self) -> bool {
        matches!(self, Self::Host)
    }
}

impl Seat {
    /// The host itself.
    pub fn host() -> Self {
        Self(Place::Host)
    }

    pub(super) fn of(holder: Holder) -> Self {
        Self(Place::Holder(Arc::new(holder)))
    }

    pub(super) fn holder(&self) -> Option<&Holder> {
        match &self.0 {
            Place::Host => None,
            Place::Holder(holder) => Some(holder),
        }
    }

    /// Where a process in this seat that is to listen does so, and where it is then
    /// reached from here. A new port each time.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn port(&self) -> io::Result<Port> {
        match &self.0 {
            Place::Host => {
                let free = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
                Ok(Port {
                    listen: free,
                    reached: free,
                })
            }
            Place::Holder(holder) => {
                let port = holder.next_port();
                Ok(Port {
                    listen: (Ipv4Addr::UNSPECIFIED, port).into(),
                    reached: (holder.address(), port).into(),
                })
            }
        }
    }

    /// Cuts the process off from everything: what it sends is lost without an answer,
    /// as is what is sent to it. It keeps its address.
    ///
    /// # Errors
    /// When it shares the host's network, or the engine refuses.
    pub async fn cut_off(&self) -> Result<(), SeatError> {
        match &self.0 {
            Place::Host => Err(SeatError::Host),
            Place::Holder(holder) => Ok(holder.cut_off().await?),
        }
    }

    /// Whether it is seen to be cut off.
    ///
    /// # Errors
    /// When the engine does not tell.
    pub async fn is_cut_off(&self) -> Result<bool, SeatError> {
        match &self.0 {
            Place::Host => Ok(false),
            Place::Holder(holder) => Ok(holder.is_cut_off().await?),
        }
    }

    /// Whether the process shares the host's network.
    pub fn is_host(&self) -> bool {
        matches!(self.0, Place::Host)
    }

    /// Ends [`Seat::cut_off`]. Connections that lived through it go on. Harmless
    /// otherwise.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn join(&self) -> Result<(), SeatError> {
        match &self.0 {
            Place::Host => Ok(()),
            Place::Holder(holder) => Ok(holder.join().await?),
        }
    }
}

/// Where a process listens, seen from both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// What it binds.
    pub listen: SocketAddr,
    /// Where this machine reaches it.
    pub reached: SocketAddr,
}

/// Processes of this machine, each in its own group.
pub struct HostProcesses {
    registry: Registry,
}

impl HostProcesses {
    /// For a run.
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }
}

impl Driver for HostProcesses {
    fn kind(&self) -> DriverKind {
        DriverKind::Processes
    }

    fn near_side(&self) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn seat(&self) -> BoxFuture<'_, Result<Seat, StartError>> {
        Box::pin(async { Ok(Seat::host()) })
    }

    fn start<'a>(
        &'a self,
        start: Start,
        _: &'a Seat,
        _: &'a Room,
    ) -> BoxFuture<'a, Result<Child, StartError>> {
        Box::pin(Child::start(start, &self.registry))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
