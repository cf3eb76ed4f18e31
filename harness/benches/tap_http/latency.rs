//! Round trips of one request over a kept connection, directly and through a tap.
//! Client and server are threads that block, so that only the tap runs on the runtime.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use rehearsal::ids::{Author, CallId, ConnectionId, DependencyName};
use rehearsal::tap::{After, Before, Call, Director, Extent, Gate, Reply, Side, TapContext};

const WARM_UP: usize = 2_000;
/// Direct and tapped round trips take turns, so that what else the machine does meets both.
const TURNS: usize = 40;
const ROUND_TRIPS: usize = 500;

/// Lets everything pass.
struct Nobody(AtomicU64);

impl Director for Nobody {
    fn next_call(&self) -> CallId {
        CallId(self.0.fetch_add(1, Ordering::Relaxed))
    }
    fn connected(&self, _: &Author, _: &DependencyName) -> ConnectionId {
        ConnectionId(1)
    }
    fn disconnected(&self, _: ConnectionId, _: &str) {}
    fn before(&self, _: Arc<Call>) -> BoxFuture<'static, Before> {
        Box::pin(async { Before::Forward })
    }
    fn forwarded(&self, _: &Call, _: Extent) {}
    fn after(&self, _: Arc<Call>, _: Arc<Reply>, _: bool) -> BoxFuture<'static, After> {
        Box::pin(async { After::Deliver })
    }
    fn abandoned(&self, _: &Call, _: Side) {}
}

/// A tap's context that lets everything pass to `upstream`.
pub(crate) fn context(upstream: SocketAddr) -> TapContext {
    TapContext {
        author: Author::Client,
        dependency: "service".into(),
        upstream,
        near_side: std::net::Ipv4Addr::LOCALHOST.into(),
        director: Arc::new(Nobody(AtomicU64::new(0))),
        gate: Arc::new(Gate::new()),
    }
}

/// Starts a server that gives `reply` to every request.
pub(crate) fn serve(reply: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            std::thread::spawn(move || answer(stream, reply));
        }
    });
    address
}

fn answer(mut stream: TcpStream, reply: &[u8]) {
    stream.set_nodelay(true).expect("an open socket");
    while read_message(&mut stream) {
        stream.write_all(reply).expect("the client reads");
    }
}

/// Reads one message; false at the end of the connection.
fn read_message(stream: &mut TcpStream) -> bool {
    let mut read = Vec::with_capacity(4096);
    loop {
        let mut part = [0; 4096];
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return false,
            Ok(length) => read.extend_from_slice(&part[..length]),
        }
        let Some(head) = read.windows(4).position(|end| end == b"\r\n\r\n") else {
            continue;
        };
        let text = String::from_utf8_lossy(&read[..head]).to_ascii_lowercase();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
            .unwrap_or(0);
        if read.len() >= head + 4 + length {
            return true;
        }
    }
}

struct Client {
    stream: TcpStream,
    times: Vec<Duration>,
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a listener");
        stream.set_nodelay(true).expect("an open socket");
        Self {
            stream,
            times: Vec::new(),
        }
    }

    fn exchange(&mut self, request: &[u8]) {
        let start = Instant::now();
        self.stream.write_all(request).expect("the server reads");
        assert!(read_message(&mut self.stream), "the server answers");
        self.times.push(start.elapsed());
    }

    fn percentile(&self, percent: usize) -> f64 {
        self.times[self.times.len() * percent / 100].as_secs_f64() * 1e6
    }
}

/// Measures and prints a table.
#[expect(clippy::print_stdout, reason = "figures are what a benchmark is for")]
pub(crate) fn compare(what: &str, request: &[u8], direct: SocketAddr, tapped: SocketAddr) {
    let mut clients = [Client::connect(direct), Client::connect(tapped)];
    for client in &mut clients {
        for _ in 0..WARM_UP {
            client.exchange(request);
        }
        client.times.clear();
    }
    for _ in 0..TURNS {
        for client in &mut clients {
            for _ in 0..ROUND_TRIPS {
                client.exchange(request);
            }
        }
    }
    println!(
        "{what}, {} round trips each, microseconds",
        TURNS * ROUND_TRIPS
    );
    println!(
        "{:<6}{:>10}{:>10}{:>10}{:>8}",
        "", "direct", "tapped", "added", "ratio"
    );
    for client in &mut clients {
        client.times.sort_unstable();
    }
    for percent in [50, 99] {
        let [direct, tapped] = [&clients[0], &clients[1]].map(|client| client.percentile(percent));
        let (added, ratio) = (tapped - direct, tapped / direct);
        println!("p{percent:<5}{direct:>10.1}{tapped:>10.1}{added:>10.1}{ratio:>8.2}");
    }
}
