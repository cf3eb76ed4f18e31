//! Acknowledged calls survive the death of the server.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rehearsal::embedded::queue::{QueueError, QueueOptions, QueueServer};

use serde_json::json;

use super::client::{call, counts, queue, sdk};

const ASKED: &str = "REHEARSAL_TEST_QUEUE_DATA";

fn with_data(directory: &Path) -> QueueOptions {
    QueueOptions {
        data: Some(directory.to_owned()),
        ..QueueOptions::default()
    }
}

/// Not a test: the server process that the test below kills, when it is asked for.
#[tokio::test]
async fn process_to_be_killed() {
    let Some(directory) = std::env::var_os(ASKED) else {
        return;
    };
    let server = QueueServer::start(with_data(Path::new(&directory)))
        .await
        .unwrap();
    println!("\nserving {}", server.endpoint());
    std::io::stdout().flush().unwrap();
    std::future::pending::<()>().await;
}

fn start_process(directory: &Path) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "queue_server::journal::process_to_be_killed",
            "--nocapture",
        ])
        .env(ASKED, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let endpoint = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .find_map(|line| Some(line.unwrap().strip_prefix("serving ")?.to_owned()))
        .expect("the server process says where it serves");
    (child, endpoint)
}

#[tokio::test]
async fn acknowledged_calls_survive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut alive = BTreeSet::new();
    let mut url = String::new();
    for round in 0..3 {
        let (mut child, endpoint) = start_process(directory.path());
        let client = sdk(&endpoint);
        if round == 0 {
            queue(&client, "jobs").await;
        }
        url = format!("{endpoint}/000000000000/jobs");
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let worker = {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move {
                // What was acknowledged, and what may or may not have happened.
                let (mut accepted, mut deleted, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
                loop {
                    let send = client.send_message().queue_url(&url).message_body("x");
                    let Ok(reply) = send.send().await else { break };
                    accepted.push(reply.message_id.unwrap());
                    let receive = client.receive_message().queue_url(&url);
                    let Ok(reply) = receive.send().await else {
                        break;
                    };
                    let Some(message) = reply.messages.unwrap_or_default().pop() else {
                        continue;
                    };
                    if accepted.len() % 2 == 0 {
                        continue;
                    }
                    let id = message.message_id.unwrap();
                    let delete = client.delete_message().queue_url(&url);
                    let delete = delete.receipt_handle(message.receipt_handle.unwrap());
                    if delete.send().await.is_err() {
                        unknown.push(id);
                        break;
                    }
                    deleted.push(id);
                    let _ = tell.send(());
                }
                (accepted, deleted, unknown)
            })
        };
        for _ in 0..20 {
            told.recv()
                .await
                .expect("the worker goes on until the kill");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let (accepted, deleted, unknown) = worker.await.unwrap();
        alive.extend(accepted);
        for id in deleted.iter().chain(&unknown) {
            alive.remove(id);
        }
    }
    let server = QueueServer::start(with_data(directory.path()))
        .await
        .unwrap();
    let client = sdk(&server.endpoint());
    let url = url.replace(
        url.split('/').nth(2).unwrap(),
        &server.address().to_string(),
    );
    let (visible, in_flight, _) = counts(&client, &url).await;
    // At most one unacknowledged send and one unacknowledged delete each round.
    let found = usize::try_from(visible + in_flight).unwrap();
    assert!(
        (alive.len()..=alive.len() + 6).contains(&found),
        "{found} found, {} acknowledged",
        alive.len()
    );
    let log = super::admin::snapshot(&server).await;
    assert_eq!(log.queues[0].counts.all(), visible + in_flight);
    server.stop().await;
}

#[tokio::test]
async fn handles_attributes_and_time_outs_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = QueueServer::start(with_data(directory.path()))
        .await
        .unwrap();
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    for body in ["kept", "deleted"] {
        let send = client.send_message().queue_url(&url).message_body(body);
        send.send().await.unwrap();
    }
    let receive = client
        .receive_message()
        .queue_url(&url)
        .max_number_of_messages(10);
    let messages = receive.send().await.unwrap().messages.unwrap();
    server.stop().await;

    let server = QueueServer::start(with_data(directory.path()))
        .await
        .unwrap();
    let client = sdk(&server.endpoint());
    let get = client.get_queue_url().queue_name("jobs").send().await;
    let url = get.unwrap().queue_url.unwrap();
    assert_eq!(counts(&client, &url).await, (0, 2, 0));
    for (message, timeout) in messages.iter().zip([Some(0), None]) {
        let handle = message.receipt_handle().unwrap();
        if let Some(timeout) = timeout {
            let change = client.change_message_visibility().queue_url(&url);
            let change = change.receipt_handle(handle).visibility_timeout(timeout);
            change.send().await.unwrap();
        } else {
            let delete = client.delete_message().queue_url(&url);
            delete.receipt_handle(handle).send().await.unwrap();
        }
    }
    assert_eq!(counts(&client, &url).await, (1, 0, 0));
    server.stop().await;
}

#[tokio::test]
async fn a_journal_in_use_or_damaged_is_refused_and_a_torn_end_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let server = QueueServer::start(with_data(directory.path()))
        .await
        .unwrap();
    let second = QueueServer::start(with_data(directory.path())).await;
    assert!(matches!(second, Err(QueueError::InUse { .. })));
    let client = sdk(&server.endpoint());
    queue(&client, "jobs").await;
    server.stop().await;

    let file = directory.path().join("queue-journal.jsonl");
    let whole = std::fs::read(&file).unwrap();
    let torn = [whole.as_slice(), br#"[1,{"Send":"#].concat();
    std::fs::write(&file, torn).unwrap();
    let server = QueueServer::start(with_data(directory.path()))
        .await
        .unwrap();
    let client = sdk(&server.endpoint());
    client
        .get_queue_url()
        .queue_name("jobs")
        .send()
        .await
        .unwrap();
    server.stop().await;

    let damaged = [whole.as_slice(), b"nonsense\n"].concat();
    std::fs::write(&file, damaged).unwrap();
    let damaged = QueueServer::start(with_data(directory.path())).await;
    assert!(
        matches!(&damaged, Err(QueueError::Damaged { reason, .. }) if reason.contains("line 3")),
        "{damaged:?}"
    );
}

#[tokio::test]
async fn the_journal_does_not_grow_with_the_calls() {
    let directory = tempfile::tempdir().unwrap();
    let server = QueueServer::start(with_data(directory.path()))
        .await
        .unwrap();
    call(
        server.address(),
        "CreateQueue",
        &json!({ "QueueName": "jobs" }),
    )
    .await;
    let url = format!("{}/000000000000/jobs", server.endpoint());
    let body = "x".repeat(1 << 20);
    for _ in 0..20 {
        let send = json!({ "QueueUrl": url, "MessageBody": body });
        call(server.address(), "SendMessage", &send).await;
        let receive = json!({ "QueueUrl": url });
        let (_, received) = call(server.address(), "ReceiveMessage", &receive).await;
        let handle = &received["Messages"][0]["ReceiptHandle"];
        let delete = json!({ "QueueUrl": url, "ReceiptHandle": handle });
        let (status, _) = call(server.address(), "DeleteMessage", &delete).await;
        assert_eq!(status, 200);
    }
    let length = std::fs::metadata(directory.path().join("queue-journal.jsonl"))
        .unwrap()
        .len();
    assert!(length < 8 << 20, "{length} bytes after 20 MiB of calls");
    server.stop().await;
}
