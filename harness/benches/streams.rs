//! Gibibytes up and down through the HTTP tap and without it, and how much memory the process
//! with the tap, the client and the server in it takes at most. `GIB=5 cargo bench --bench
//! streams` says how many.

#![allow(missing_docs, unreachable_pub)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints or fails"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures::future::BoxFuture;
use rehearsal::ids::{Author, CallId, ConnectionId, DependencyName};
use rehearsal::protocol::http;
use rehearsal::tap::{After, Before, Call, Director, Extent, Gate, Reply, Side, TapContext};

const PIECE: usize = 256 * 1024;

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
    fn reads_bodies(&self, _: &DependencyName) -> bool {
        false
    }
}

fn main() {
    let gib: u64 = std::env::var("GIB").map_or(1, |gib| gib.parse().unwrap());
    let bytes = gib * 1024 * 1024 * 1024;
    let server = serve();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let tap = runtime
        .block_on(http::open(TapContext {
            author: Author::Client,
            dependency: "service".into(),
            upstream: server,
            near_side: std::net::Ipv4Addr::LOCALHOST.into(),
            director: Arc::new(Nobody(AtomicU64::new(0))),
            gate: Arc::new(Gate::new()),
        }))
        .unwrap();
    for (way, run) in [("up", up as fn(SocketAddr, u64)), ("down", down)] {
        let rate = |address: SocketAddr| {
            let begun = Instant::now();
            run(address, bytes);
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            let mib = (bytes / 1024 / 1024) as f64;
            mib / begun.elapsed().as_secs_f64()
        };
        let (direct, tapped) = (rate(server), rate(tap.address()));
        println!(
            "{gib} GiB {way:<5} {direct:>7.0} MiB/s direct {tapped:>7.0} MiB/s tapped; at most {} MiB resident",
            resident() / 1024
        );
    }
    runtime.block_on(tap.close());
}

/// A server that takes what is posted, and gives as much as a path asks for.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let head = head(&mut stream);
    let length = number(&head, "content-length: ");
    if head.starts_with("POST") {
        take(&mut stream, length);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    let bytes = number(&head, "get /");
    let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
    give(&mut stream, bytes);
}

fn up(address: SocketAddr, bytes: u64) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: {bytes}\r\n\r\n"
    )
    .unwrap();
    give(&mut stream, bytes);
    assert!(head(&mut stream).starts_with("HTTP/1.1 200"));
}

fn down(address: SocketAddr, bytes: u64) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{bytes} HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
    assert!(head(&mut stream).starts_with("HTTP/1.1 200"));
    take(&mut stream, bytes);
}

fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// The number that follows a text in a head.
fn number(head: &str, after: &str) -> u64 {
    let head = head.to_ascii_lowercase();
    let from = head.find(after).map_or(head.len(), |at| at + after.len());
    let digits: String = head[from..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

fn give(stream: &mut TcpStream, bytes: u64) {
    let piece = vec![7; PIECE];
    for _ in 0..bytes / PIECE as u64 {
        stream.write_all(&piece).unwrap();
    }
}

fn take(stream: &mut TcpStream, bytes: u64) {
    let mut piece = vec![0; PIECE];
    let mut taken = 0;
    while taken < bytes {
        taken += match stream.read(&mut piece).unwrap() {
            0 => panic!("ended after {taken} of {bytes}"),
            count => count as u64,
        };
    }
}

/// The largest resident set of this process so far, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words.and_then(|count| count.parse().ok()).unwrap_or(0)
}
