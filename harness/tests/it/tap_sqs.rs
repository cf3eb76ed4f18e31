//! The SQS tap between a real SDK (or a plain socket) and a server that speaks just
//! enough of the protocol.
#![allow(
    clippy::unwrap_used,
    reason = "all of this is tests, not only what is marked so"
)]

mod calls;
mod queue;

use std::sync::Arc;

use rehearsal::protocol::sqs;
use rehearsal::tap::{Request, SqsRequest, Tap};

use crate::tap_http::witness::{Witness, context};
use queue::Queue;

/// A tap in front of a small queue server.
struct Stand {
    witness: Arc<Witness>,
    queue: Queue,
    tap: Tap,
}

impl Stand {
    async fn new() -> Self {
        let queue = Queue::start().await;
        let witness = Witness::new();
        let tap = sqs::open(context(queue.address, &witness), Arc::default())
            .await
            .unwrap();
        Self {
            witness,
            queue,
            tap,
        }
    }

    fn sdk(&self) -> aws_sdk_sqs::Client {
        queue::sdk(self.tap.address())
    }

    /// The queue's URL as clients of the tap know it.
    fn url(&self) -> String {
        format!("http://{}/000000000000/jobs", self.tap.address())
    }

    fn requests(&self) -> Vec<SqsRequest> {
        requests(&self.witness)
    }
}

fn requests(witness: &Witness) -> Vec<SqsRequest> {
    let request = |call: &Arc<rehearsal::tap::Call>| match &call.request {
        Request::Sqs(request) => request.clone(),
        other => panic!("no SQS: {other:?}"),
    };
    witness.calls().iter().map(request).collect()
}
