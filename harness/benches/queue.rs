//! How many send + receive + delete cycles a second the embedded queue serves.
//!
//! `cargo bench --bench queue` prints one line for each load. The client is a bare
//! HTTP client on kept-alive connections, on a thread of its own, so that the figures
//! are the server's and not an SDK's.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people, which fails loudly"
)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rehearsal::embedded::queue::{QueueOptions, QueueServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const FOR: Duration = Duration::from_secs(4);

fn main() {
    let server_runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let journal = tempfile::tempdir().unwrap();
    println!("send+receive+delete cycles a second");
    for (label, data) in [
        ("in memory", None),
        ("with a journal", Some(journal.path().to_owned())),
    ] {
        let server = server_runtime
            .block_on(QueueServer::start(QueueOptions {
                data,
                ..QueueOptions::default()
            }))
            .unwrap();
        let address = server.address();
        let loads = [(1, 0), (8, 0), (8, 5_000)];
        for (number, (clients, backlog)) in loads.into_iter().enumerate() {
            let queue = format!("q{number}");
            let rate = std::thread::spawn(move || load(address, &queue, clients, backlog))
                .join()
                .unwrap();
            println!("{label:>15}  {clients} clients  backlog {backlog:>5}  {rate:>8.0}");
        }
        server_runtime.block_on(server.stop());
    }
    let server = server_runtime.block_on(QueueServer::start(QueueOptions::default()));
    let server = server.unwrap();
    let address = server.address();
    println!("with long polls");
    let before = resident();
    let crowded = std::thread::spawn(move || crowd(address)).join().unwrap();
    for (label, micros) in crowded {
        println!("{label:>40}  {micros:>8.1} us a send");
    }
    println!(
        "{:>40}  {:>8} kB",
        "memory that deleted queues kept",
        resident().saturating_sub(before)
    );
    server_runtime.block_on(server.stop());
}

/// How many queues there were with a long poll each, and how many are open at once.
const POLLED: usize = 10_000;
const OPEN: usize = 500;
const SENDS: u32 = 2_000;

/// What a send costs: alone, while long polls are open on other queues, and after there
/// were some on many that are deleted now.
fn crowd(address: SocketAddr) -> Vec<(String, f64)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut client = Client::connect(address).await;
        client.call("CreateQueue", r#"{"QueueName":"own"}"#).await;
        let url = |name: &str| format!("http://{address}/000000000000/{name}");
        let send = format!(r#"{{"QueueUrl":"{}","MessageBody":"x"}}"#, url("own"));
        let mut figures = vec![("alone".to_owned(), client.sends(&send).await)];
        for round in 0..POLLED / OPEN {
            let mut polls = Vec::new();
            for number in 0..OPEN {
                let name = format!("p{}", round * OPEN + number);
                let create = format!(r#"{{"QueueName":"{name}"}}"#);
                client.call("CreateQueue", &create).await;
                let body = format!(r#"{{"QueueUrl":"{}","WaitTimeSeconds":20}}"#, url(&name));
                let mut poll = Client::connect(address).await;
                poll.ask("ReceiveMessage", &body).await;
                polls.push(poll);
            }
            if round == 0 {
                let label = format!("{OPEN} open");
                figures.push((label, client.sends(&send).await));
            }
        }
        figures.push((format!("after {POLLED}"), client.sends(&send).await));
        for number in 0..POLLED {
            let delete = format!(r#"{{"QueueUrl":"{}"}}"#, url(&format!("p{number}")));
            client.call("DeleteQueue", &delete).await;
        }
        figures.push(("after their deletion".to_owned(), client.sends(&send).await));
        client
            .call("PurgeQueue", &format!(r#"{{"QueueUrl":"{}"}}"#, url("own")))
            .await;
        figures
    })
}

/// Of this process, in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

fn load(address: SocketAddr, queue: &str, clients: usize, backlog: usize) -> f64 {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async {
            let url = format!("http://{address}/000000000000/{queue}");
            let mut first = Client::connect(address).await;
            let create = format!(r#"{{"QueueName":"{queue}"}}"#);
            first.call("CreateQueue", &create).await;
            let send = format!(
                r#"{{"QueueUrl":"{url}","MessageBody":"{}"}}"#,
                "x".repeat(200)
            );
            for _ in 0..backlog {
                first.call("SendMessage", &send).await;
            }
            let start = Instant::now();
            let mut running = JoinSet::new();
            for _ in 0..clients {
                let mut client = Client::connect(address).await;
                let (url, send) = (url.clone(), send.clone());
                running.spawn(async move {
                    let mut cycles = 0_u32;
                    while start.elapsed() < FOR {
                        cycles += u32::from(client.cycle(&url, &send).await);
                    }
                    cycles
                });
            }
            let cycles: u32 = running.join_all().await.into_iter().sum();
            f64::from(cycles) / start.elapsed().as_secs_f64()
        })
}

struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// False when another client took the message that this one sent.
    async fn cycle(&mut self, url: &str, send: &str) -> bool {
        self.call("SendMessage", send).await;
        let receive = format!(r#"{{"QueueUrl":"{url}"}}"#);
        let reply = self.call("ReceiveMessage", &receive).await;
        let Some((_, rest)) = reply.split_once(r#""ReceiptHandle":""#) else {
            return false;
        };
        let handle = rest.split_once('"').unwrap().0;
        let delete = format!(r#"{{"QueueUrl":"{url}","ReceiptHandle":"{handle}"}}"#);
        self.call("DeleteMessage", &delete).await;
        true
    }

    /// Microseconds that one send takes.
    async fn sends(&mut self, send: &str) -> f64 {
        let start = Instant::now();
        for _ in 0..SENDS {
            self.call("SendMessage", send).await;
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(SENDS)
    }

    async fn call(&mut self, action: &str, body: &str) -> String {
        self.ask(action, body).await;
        self.answer().await
    }

    async fn ask(&mut self, action: &str, body: &str) {
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.{action}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    async fn answer(&mut self) -> String {
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            let text = std::str::from_utf8(&self.buffer).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            assert!(head.starts_with("HTTP/1.1 200"), "{text}");
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .unwrap()
                .parse()
                .unwrap();
            if body.len() == length {
                return body.to_owned();
            }
        }
    }
}
