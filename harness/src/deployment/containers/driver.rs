//! The driver: a network of the run's own, seats in it, processes in the seats.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::BoxFuture;
use tokio_util::task::TaskTracker;

use super::engine::Engine;
use super::error::EngineError;
use super::holder::Holders;
use super::image::Image;
use super::network::Network;
use super::process;
use crate::deployment::child::{Child, Start, StartError};
use crate::deployment::driver::{Driver, DriverKind, Room, Seat};

/// Each process in a container of its own.
pub struct Containers {
    engine: Engine,
    seats: Holders,
    started: AtomicU32,
    watched: TaskTracker,
}

impl Containers {
    /// Makes the run's network, and every image that is missing: those of `rooms` too.
    ///
    /// # Errors
    /// When an image or the network cannot be had.
    pub async fn open(
        engine: &Engine,
        rooms: impl IntoIterator<Item = &Room>,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, EngineError> {
        let named: BTreeSet<String> = rooms
            .into_iter()
            .filter_map(|room| room.image.clone())
            .collect();
        Image::Process.ensure(engine, tell).await?;
        for name in named {
            Image::Named(name).ensure(engine, tell).await?;
        }
        let network = Network::make(engine, "processes").await?;
        Ok(Self {
            engine: engine.clone(),
            seats: Holders::new(engine.clone(), network, "processes")?,
            started: AtomicU32::new(0),
            watched: TaskTracker::new(),
        })
    }

    async fn run(&self, start: Start, seat: &Seat, room: &Room) -> Result<Child, StartError> {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let plain: String = start
            .name
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '-'
                }
            })
            .collect();
        let name = self.engine.labels.name(&format!("{number}-{plain}"));
        let holder = seat.holder().expect("a seat of this driver has a holder");
        process::start(&self.engine, &self.watched, holder, &name, start, room).await
    }
}

impl Driver for Containers {
    fn kind(&self) -> DriverKind {
        DriverKind::Containers
    }

    fn near_side(&self) -> IpAddr {
        self.seats.network().gateway
    }

    fn seat(&self) -> BoxFuture<'_, Result<Seat, StartError>> {
        Box::pin(async {
            let holder = self.seats.take().await;
            holder.map(Seat::of).map_err(|source| StartError::Engine {
                name: "a seat".to_owned(),
                source: Box::new(source),
            })
        })
    }

    fn start<'a>(
        &'a self,
        start: Start,
        seat: &'a Seat,
        room: &'a Room,
    ) -> BoxFuture<'a, Result<Child, StartError>> {
        Box::pin(self.run(start, seat, room))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.watched.close();
            self.watched.wait().await;
            self.seats.close().await;
        })
    }
}
