//! Whether connections are refused: the harness tries itself, on every line that is there and
//! on each that comes while the outage is on.

use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::Outages;
use super::state::Phase;
use crate::ids::FaultId;
use crate::outage::{Outage, Way};

impl Outages {
    /// Tries the lines that are there.
    pub(super) async fn look_refused(&self, id: FaultId, outage: &Outage) {
        let lines = self.state().lines_of(outage);
        for (address, _) in lines {
            self.try_refused(id, address).await;
        }
    }

    /// A line has come: outages that refuse and were not seen to do so have a chance.
    pub(super) async fn look_refused_anew(&self) {
        let unseen: Vec<(FaultId, Outage)> = self
            .state()
            .entries
            .iter()
            .filter(|entry| {
                entry.phase == Phase::On
                    && !entry.landed
                    && entry.outage.way == Way::Refuses
                    && entry.outage.part.is_whole()
            })
            .map(|entry| (entry.id, entry.outage.clone()))
            .collect();
        for (id, outage) in unseen {
            self.look_refused(id, &outage).await;
        }
    }

    async fn try_refused(&self, id: FaultId, address: SocketAddr) {
        match TcpStream::connect(address).await {
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                self.saw(id, Ok(format!("{address} refuses connections")));
            }
            // It may have ended meanwhile.
            _ if !self.is_on(id) => {}
            Err(error) => self.saw(id, Err(format!("connecting to {address}: {error}"))),
            Ok(_) => self.saw(id, Err(format!("{address} took a connection"))),
        }
    }

    fn is_on(&self, id: FaultId) -> bool {
        let mut state = self.state();
        state
            .entry(id)
            .is_some_and(|entry| entry.phase == Phase::On)
    }
}
