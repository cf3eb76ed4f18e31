//! What stands in the place of containers where the feature `containers` is off: whoever
//! asks for them is told how to get them. Nothing of it can ever be made.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;

use super::child::{Child, Start, StartError};
use super::driver::{Driver, DriverKind, Room, Seat};
use super::environment::Variables;
use super::output::Logs;
use super::registry::Registry;

/// Containers cannot be had.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "this `rehearse` was built without containers: build it with its feature `containers` (it is on by default), or run with `--driver processes` and `provide: embedded`"
)]
pub struct EngineError;

/// An engine.
#[derive(Clone, Debug)]
pub struct Engine(Infallible);

impl Engine {
    /// Says that there is none.
    ///
    /// # Errors
    /// Always.
    pub async fn connect(_: &Registry) -> Result<Self, EngineError> {
        Err(EngineError)
    }

    /// What it calls itself.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn version(&self) -> Result<String, EngineError> {
        match self.0 {}
    }
}

/// Each process in a container of its own.
pub struct Containers(Infallible);

impl Containers {
    /// For an engine, and there is none.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn open(
        engine: &Engine,
        _: impl IntoIterator<Item = &Room>,
        _: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, EngineError> {
        match engine.0 {}
    }
}

impl Driver for Containers {
    fn kind(&self) -> DriverKind {
        match self.0 {}
    }

    fn near_side(&self) -> IpAddr {
        match self.0 {}
    }

    fn seat(&self) -> BoxFuture<'_, Result<Seat, StartError>> {
        match self.0 {}
    }

    fn start<'a>(
        &'a self,
        _: Start,
        _: &'a Seat,
        _: &'a Room,
    ) -> BoxFuture<'a, Result<Child, StartError>> {
        match self.0 {}
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        match self.0 {}
    }
}

/// A seat of a process.
#[derive(Debug)]
pub struct Holder(Infallible);

impl Holder {
    pub(super) fn next_port(&self) -> u16 {
        match self.0 {}
    }

    pub(super) fn address(&self) -> IpAddr {
        match self.0 {}
    }

    pub(super) async fn cut_off(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(super) async fn is_cut_off(&self) -> Result<bool, EngineError> {
        match self.0 {}
    }

    pub(super) async fn join(&self) -> Result<(), EngineError> {
        match self.0 {}
    }
}

/// What a container is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// The libraries of this machine.
    Process,
    /// A PostgreSQL server.
    Postgres,
    /// The embedded queue.
    Queue(PathBuf),
    /// Somebody's, by name.
    Named(String),
}

impl Image {
    /// The image of the embedded queue.
    pub fn queue(program: &Path) -> Self {
        Self::Queue(program.to_owned())
    }
}

/// What to run and how.
#[derive(Clone, Debug)]
pub struct ContainerOptions {
    /// What it is called.
    pub name: String,
    /// Its image.
    pub image: Image,
    /// The port it listens on.
    pub port: u16,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// Arguments for the image's entry point.
    pub arguments: Vec<String>,
    /// Where its output goes.
    pub logs: Logs,
}

/// A container with a dependency in it.
#[derive(Debug)]
pub struct DependencyContainer(Infallible);

impl DependencyContainer {
    /// For an engine, and there is none.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn start(
        engine: &Engine,
        _: ContainerOptions,
        _: Duration,
        _: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, EngineError> {
        match engine.0 {}
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        match self.0 {}
    }

    /// Its output.
    pub fn logs(&self) -> &Logs {
        match self.0 {}
    }

    /// Whether it is the embedded queue.
    pub fn is_our_queue(&self) -> bool {
        match self.0 {}
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn answering(&self, _: Duration) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// Stops its processes.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn pause(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// Lets them go on.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn unpause(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// The same, where nothing can be awaited.
    pub fn unpause_now(&self) {
        match self.0 {}
    }

    /// Kills it.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn kill(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// Starts it again.
    ///
    /// # Errors
    /// None: it is never called.
    pub async fn restart(&self, _: Duration) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// Removes it.
    pub async fn remove(&self) {
        match self.0 {}
    }
}

/// What was removed of an engine's things.
#[derive(Default)]
pub(super) struct Removed {
    pub(super) things: BTreeSet<String>,
    pub(super) problems: Vec<String>,
}

/// What a run of a program that had containers left there.
pub(super) fn remove_all(host: &str, run: &str, _: &str) -> Removed {
    Removed {
        problems: vec![format!(
            "run {run} may have left containers at {host}, and this `rehearse` was built without containers: `rehearse clean` of one that has them removes them"
        )],
        ..Removed::default()
    }
}

/// Nowhere.
pub(super) fn host(_: &Variables) -> String {
    String::new()
}

/// None are looked for.
pub(super) fn unrecorded(_: &str, _: &Path) -> Vec<String> {
    Vec::new()
}
