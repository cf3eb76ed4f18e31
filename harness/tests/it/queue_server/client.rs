//! Clients for the tests: the SDK, and one bare HTTP exchange.

use std::net::SocketAddr;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use rehearsal::embedded::queue::{QueueOptions, QueueServer};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// For what should take milliseconds: passing it means that it never comes.
pub(crate) const NEVER: Duration = Duration::from_secs(10);

pub(crate) async fn server() -> QueueServer {
    QueueServer::start(QueueOptions::default()).await.unwrap()
}

pub(crate) fn sdk(endpoint: &str) -> Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

pub(crate) async fn queue(client: &Client, name: &str) -> String {
    let created = client.create_queue().queue_name(name).send().await.unwrap();
    created.queue_url.unwrap()
}

/// Visible, in flight, delayed.
pub(crate) async fn counts(client: &Client, url: &str) -> (u64, u64, u64) {
    use aws_sdk_sqs::types::QueueAttributeName as Name;
    let got = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(Name::All)
        .send()
        .await
        .unwrap()
        .attributes
        .unwrap();
    let count = |name: Name| got[&name].parse().unwrap();
    (
        count(Name::ApproximateNumberOfMessages),
        count(Name::ApproximateNumberOfMessagesNotVisible),
        count(Name::ApproximateNumberOfMessagesDelayed),
    )
}

/// The request of an SQS call in the JSON protocol.
pub(crate) fn request(action: &str, body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.{action}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends bytes on a new connection and reads the answer to its end.
pub(crate) async fn exchange(address: SocketAddr, request: &[u8]) -> (u16, String, String) {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        read_answer(&mut stream).await
    };
    tokio::time::timeout(NEVER, exchange)
        .await
        .expect("no answer")
}

/// Reads one answer: status, head, body.
pub(crate) async fn read_answer(stream: &mut TcpStream) -> (u16, String, String) {
    let mut buffer = Vec::new();
    let mut whole = None;
    loop {
        let read = stream.read_buf(&mut buffer).await.unwrap();
        assert!(read > 0, "the connection ended in the middle of an answer");
        if whole.is_none()
            && let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n")
        {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .unwrap()
                .parse()
                .unwrap();
            whole = Some((head, end + 4, end + 4 + length));
        }
        if let Some((head, start, end)) = &whole
            && buffer.len() >= *end
        {
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            let body = String::from_utf8(buffer[*start..*end].to_vec()).unwrap();
            return (status, head.clone(), body);
        }
    }
}

/// A call of the JSON protocol without an SDK.
pub(crate) async fn call(address: SocketAddr, action: &str, body: &Value) -> (u16, Value) {
    let (status, _, body) = exchange(address, request(action, &body.to_string()).as_bytes()).await;
    (status, serde_json::from_str(&body).unwrap())
}
