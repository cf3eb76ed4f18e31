//! `rehearse serve queue`, without the process around it and with it.

use std::process::Stdio;
use std::time::Duration;

use clap::Parser;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rehearsal::cli::serve_queue;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command as Program;
use tokio::task::JoinSet;

use super::client::{call, counts, queue, read_answer, request, sdk};

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    serve: serve_queue::ServeQueue,
}

#[tokio::test]
async fn it_tells_its_address_and_serves_until_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let command = Command::parse_from(["rehearse", "--port", "0", "--data", data]);
    let (said, hear) = tokio::sync::oneshot::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(serve_queue::run(
        command.serve,
        |line| said.send(line.to_owned()).unwrap(),
        async {
            let _ = stopped.await;
        },
    ));
    let line = hear.await.unwrap();
    let endpoint = line.strip_prefix("queue server ready: ").unwrap();
    let listed = sdk(endpoint).list_queues().send().await.unwrap();
    assert!(listed.queue_urls().is_empty());
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(sdk(endpoint).list_queues().send().await.is_err());
}

/// Of a process that may open few files unless it asks for more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_idle_long_polls_are_held_and_one_gets_the_message() {
    const POLLS: usize = 1_000;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let serve = "ulimit -Sn 256; exec \"$0\" serve queue --port 0";
    let mut serving = Program::new("sh")
        .args(["-c", serve, env!("CARGO_BIN_EXE_rehearse")])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let endpoint = line.strip_prefix("queue server ready: ").unwrap();
    let address: std::net::SocketAddr = endpoint.trim_start_matches("http://").parse().unwrap();
    assert!(address.ip().is_loopback(), "{line}");
    let client = sdk(endpoint);
    let url = queue(&client, "jobs").await;
    let poll = json!({ "QueueUrl": url, "WaitTimeSeconds": 20 }).to_string();
    let mut polls = JoinSet::new();
    for _ in 0..POLLS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let asked = request("ReceiveMessage", &poll);
        stream.write_all(asked.as_bytes()).await.unwrap();
        polls.spawn(async move { read_answer(&mut stream).await });
    }
    let send = json!({ "QueueUrl": url, "MessageBody": "x" });
    assert_eq!(call(address, "SendMessage", &send).await.0, 200);
    let first = tokio::time::timeout(Duration::from_mins(1), polls.join_next());
    let (status, _, body) = first.await.unwrap().unwrap().unwrap();
    assert_eq!(status, 200);
    assert!(body.contains("\"Body\":\"x\""), "{body}");
    assert_eq!(counts(&client, &url).await, (0, 1, 0));
    // The others leave; the server lives on.
    polls.shutdown().await;
    assert_eq!(call(address, "SendMessage", &send).await.0, 200);
    assert_eq!(counts(&client, &url).await, (1, 1, 0));
}
