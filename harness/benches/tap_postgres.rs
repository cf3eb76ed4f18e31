//! What the tap adds to a round trip: a prepared `SELECT` through the tap, with a director
//! that decides at once, and the same one without a tap.
//!
//! The two take turns, so that whatever else the machine does meets both.

#![allow(missing_docs, unreachable_pub)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints or fails"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use rehearsal::ids::{Author, CallId, ConnectionId, DependencyName};
use rehearsal::protocol::postgres;
use rehearsal::tap::{After, Before, Call, Director, Extent, Gate, Reply, Side, TapContext};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, PgConnection};

#[path = "tap_postgres/bulk.rs"]
mod bulk;
#[path = "../tests/it/needs.rs"]
#[expect(dead_code, reason = "tests need more")]
mod needs;
#[path = "../tests/it/tap_postgres/server.rs"]
mod server;

const TURNS: usize = 40;
const ROUND_TRIPS: usize = 500;

struct Indifferent(AtomicU64);

impl Director for Indifferent {
    fn next_call(&self) -> CallId {
        CallId(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn connected(&self, _: &Author, _: &DependencyName) -> ConnectionId {
        ConnectionId(0)
    }

    fn disconnected(&self, _: ConnectionId, _: &str) {}

    fn before(&self, _: Arc<Call>) -> BoxFuture<'static, Before> {
        std::future::ready(Before::Forward).boxed()
    }

    fn forwarded(&self, _: &Call, _: Extent) {}

    fn after(&self, _: Arc<Call>, _: Arc<Reply>, _: bool) -> BoxFuture<'static, After> {
        std::future::ready(After::Deliver).boxed()
    }

    fn abandoned(&self, _: &Call, _: Side) {}
}

/// The tap runs on its own runtime, as it does beside a process of its own.
fn main() {
    let Some(server) = server::server() else {
        return;
    };
    let taps = runtime();
    let tap = taps
        .block_on(postgres::open(TapContext {
            author: Author::Client,
            dependency: "database".into(),
            upstream: server.address,
            near_side: std::net::Ipv4Addr::LOCALHOST.into(),
            director: Arc::new(Indifferent(AtomicU64::new(0))),
            gate: Arc::new(Gate::new()),
        }))
        .unwrap();
    let client = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (mut direct, mut tapped) = client.block_on(async {
        let mut direct = connect(server.address.port()).await;
        let mut tapped = connect(tap.address().port()).await;
        let (mut direct_times, mut tapped_times) = (Vec::new(), Vec::new());
        // The first turn prepares the statement and warms the caches.
        measure(&mut direct, &mut Vec::new()).await;
        measure(&mut tapped, &mut Vec::new()).await;
        for _ in 0..TURNS {
            measure(&mut direct, &mut direct_times).await;
            measure(&mut tapped, &mut tapped_times).await;
        }
        bulk::measure(&mut direct, &mut tapped).await;
        (direct_times, tapped_times)
    });
    direct.sort_unstable();
    tapped.sort_unstable();
    println!(
        "postgres round trip, {} each     direct     tapped      added   ratio",
        direct.len()
    );
    for (name, share) in [("p50", 0.50), ("p99", 0.99)] {
        let (direct, tapped) = (quantile(&direct, share), quantile(&tapped, share));
        println!(
            "{name:<33}{:>7.1} µs {:>7.1} µs {:>7.1} µs   {:>5.2}",
            micros(direct),
            micros(tapped),
            micros(tapped) - micros(direct),
            micros(tapped) / micros(direct),
        );
    }
    drop(client);
    taps.block_on(tap.close());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

async fn connect(port: u16) -> PgConnection {
    PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(port)
        .username(server::USER)
        .password(server::PASSWORD)
        .database("postgres")
        .ssl_mode(PgSslMode::Disable)
        .disable_statement_logging()
        .connect()
        .await
        .unwrap()
}

async fn measure(connection: &mut PgConnection, times: &mut Vec<Duration>) {
    for number in 0..ROUND_TRIPS {
        let number = i64::try_from(number).unwrap();
        let start = Instant::now();
        let answer: i64 = sqlx::query_scalar("SELECT $1::int8")
            .bind(number)
            .fetch_one(&mut *connection)
            .await
            .unwrap();
        times.push(start.elapsed());
        assert_eq!(answer, number);
    }
}

fn quantile(sorted: &[Duration], share: f64) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a place in a list of some thousands"
    )]
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)]
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
