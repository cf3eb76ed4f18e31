//! What a Redis tap adds to a command, beside what a proxy adds that only copies bytes:
//! `cargo bench --bench tap_redis`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use tokio::io::copy_bidirectional;

#[expect(dead_code, reason = "the other benches compare HTTP")]
#[path = "tap_http/latency.rs"]
mod latency;

const WARM_UP: usize = 2_000;
/// All take turns, so that what else the machine does meets each.
const TURNS: usize = 40;
const ROUND_TRIPS: usize = 500;

const COMMAND: &[u8] = b"*3\r\n$5\r\nLPUSH\r\n$4\r\njobs\r\n$45\r\n{\"job\":\"0190f5a2-6d1c-7f3e-9a55-3c1c8b4a7d10\"}\r\n";
const ANSWER: &[u8] = b":1\r\n";

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let direct = serve();
    let tap = runtime.block_on(rehearsal::protocol::redis::open(latency::context(direct)));
    let tap = tap.expect("a free port");
    let proxy = runtime.block_on(copying(direct));
    let clients = [
        ("direct", direct),
        ("copied", proxy),
        ("tapped", tap.address()),
    ];
    compare(clients.map(|(name, address)| (name, Client::connect(address))));
}

/// A server that answers every command.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                stream.set_nodelay(true).expect("an open socket");
                let mut command = vec![0; COMMAND.len()];
                while stream.read_exact(&mut command).is_ok() {
                    stream.write_all(ANSWER).expect("the client reads");
                }
            });
        }
    });
    address
}

/// A proxy that copies bytes.
async fn copying(upstream: SocketAddr) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("a bound listener");
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let _ = client.set_nodelay(true);
            tokio::spawn(async move {
                let server = tokio::net::TcpStream::connect(upstream).await;
                let mut server = server.expect("a listener");
                let _ = server.set_nodelay(true);
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
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

    fn exchange(&mut self) {
        let start = Instant::now();
        let mut answer = [0; ANSWER.len()];
        self.stream.write_all(COMMAND).expect("the server reads");
        self.stream.read_exact(&mut answer).expect("an answer");
        self.times.push(start.elapsed());
    }

    fn percentile(&self, percent: usize) -> f64 {
        self.times[self.times.len() * percent / 100].as_secs_f64() * 1e6
    }
}

#[expect(clippy::print_stdout, reason = "figures are what a benchmark is for")]
fn compare(mut clients: [(&str, Client); 3]) {
    for (_, client) in &mut clients {
        for _ in 0..WARM_UP {
            client.exchange();
        }
        client.times.clear();
    }
    for _ in 0..TURNS {
        for (_, client) in &mut clients {
            for _ in 0..ROUND_TRIPS {
                client.exchange();
            }
        }
    }
    println!(
        "LPUSH, {} round trips each, microseconds",
        TURNS * ROUND_TRIPS
    );
    for (_, client) in &mut clients {
        client.times.sort_unstable();
    }
    for percent in [50, 99] {
        let direct = clients[0].1.percentile(percent);
        for (name, client) in &clients {
            let time = client.percentile(percent);
            println!(
                "p{percent:<4}{name:<8}{time:>10.1}  added {:>8.1}",
                time - direct
            );
        }
    }
}
