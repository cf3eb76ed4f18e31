//! The HTTP tap between a client and a dependency made of plain sockets, and what is
//! built of the same parts. Each promise of the tap has a test.
#![allow(
    clippy::unwrap_used,
    reason = "all of this is tests, not only what is marked so"
)]

mod boundaries;
mod checkpoint;
mod death;
mod framing;
mod property;
mod streams;
pub(crate) mod witness;

use std::sync::Arc;

use rehearsal::protocol::http;
use rehearsal::tap::{Gate, Tap};

use witness::{Dependency, Peer, Witness, context};

const GET: &str = "GET /a HTTP/1.1\r\nHost: service.example\r\n\r\n";
const REPLY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// A tap in front of a dependency that the test plays.
struct Stand {
    witness: Arc<Witness>,
    gate: Arc<Gate>,
    dependency: Dependency,
    tap: Tap,
}

impl Stand {
    async fn new() -> Self {
        let dependency = Dependency::start().await;
        let witness = Witness::new();
        let context = context(dependency.address(), &witness);
        let gate = Arc::clone(&context.gate);
        let tap = http::open(context).await.unwrap();
        Self {
            witness,
            gate,
            dependency,
            tap,
        }
    }

    async fn client(&self) -> Peer {
        Peer::connect(self.tap.address()).await
    }

    /// A client and the dependency's end, after one whole exchange between them.
    async fn warm(&self) -> (Peer, Peer) {
        let mut client = self.client().await;
        client.send(GET).await;
        let mut peer = self.dependency.accept().await;
        peer.message().await;
        peer.send(REPLY).await;
        client.message().await;
        (client, peer)
    }
}
