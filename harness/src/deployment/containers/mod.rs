//! Processes and dependencies in containers, through `testcontainers`.
//!
//! ```text
//!    harness: taps on the gateway's address
//!       │                                             ┌─ dependency (its own network)
//!   ────┴── the run's network, internal ──────        │  reached by the harness alone
//!       │               │
//!    holder          holder        a network's end that stays: address and name
//!       │               │
//!    worker-1#2      api-1#1       joined to it, one incarnation after the other
//! ```
//!
//! Making a network's end takes three times as long as starting a process, so holders
//! stay for the whole run and are used again by the next rehearsal. They also keep the
//! address of a process over its deaths, and let the kernel say goodbye for it: the
//! connections of a container that dies with its network end in silence.
//!
//! Everything made here bears the run's id as a label and in its name, and only what
//! bears both is ever touched, by a run that has a record of its own.

mod addresses;
mod dependency;
mod driver;
mod engine;
mod error;
mod holder;
mod image;
mod label;
mod network;
mod process;
mod sweep;

pub use dependency::{ContainerOptions, DependencyContainer};
pub use driver::Containers;
pub use engine::Engine;
pub(super) use engine::host;
pub use error::EngineError;
pub use holder::Holder;
pub use image::Image;
pub(super) use sweep::{remove_all, unrecorded};
