//! Starts the processes of the system under rehearsal, does things to them, and leaves
//! nothing behind.
//!
//! ```text
//! RunGuard ── Registry: what must be gone at the end, on disk
//!    │           ▲ records
//!    │        Child: one started process; its own group, a thread that watches it
//!    │
//!    │           ▲ starts
//!    │        Driver: processes of the host, or containers
//!    │
//!    ├─ finish: kills and removes what is recorded or bears the run's id
//!    ├─ watchdog: does the same when the harness was killed
//!    └─ sweep: does the same at the next start, when the watchdog was killed too
//! ```

mod child;
#[cfg(feature = "containers")]
pub mod containers;
#[cfg(not(feature = "containers"))]
#[path = "without_containers.rs"]
pub mod containers;
mod deaths;
mod driver;
mod environment;
mod exit;
mod log_bound;
mod mark;
mod output;
mod port;
pub mod procfs;
pub mod readiness;
mod registry;
mod run;
pub mod sockets;
mod spawn;
mod sweep;
mod watchdog;

pub use child::{Child, SignalError, Start, StartError, State};
pub use driver::{Driver, DriverKind, HostProcesses, Port, Room, Seat, SeatError};
pub use environment::{RUN_ID_VARIABLE, Variables, is_allowed};
pub use exit::ExitOutcome;
pub use nix::sys::signal::Signal;
pub use nix::unistd::{Gid, Pid, Uid};
pub use output::Logs;
pub use port::free_port;
pub use registry::{Leftover, Registry, RegistryError};
pub use run::{RunError, RunGuard, RunOptions};
pub use spawn::Account;
pub(crate) use sweep::end_server;
pub use sweep::{SweepReport, SweptRun, sweep, unrecorded};
pub use watchdog::{Reexecute, guard};
