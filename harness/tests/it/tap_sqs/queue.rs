//! A server that knows one queue, `jobs`, and remembers what it was sent.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use md5::{Digest, Md5};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What the server got: action and body, byte for byte.
type Received = Arc<Mutex<Vec<(String, Bytes)>>>;

pub(crate) struct Queue {
    pub(crate) address: SocketAddr,
    pub(crate) received: Received,
}

impl Queue {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Received::default();
        let router = axum::Router::new()
            .fallback(answer)
            .with_state((address, Arc::clone(&received)));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, received }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/000000000000/jobs", self.address)
    }

    pub(crate) fn bodies(&self) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        received
            .iter()
            .map(|(_, body)| serde_json::from_slice(body).unwrap())
            .collect()
    }
}

fn md5(text: &str) -> String {
    Md5::digest(text)
        .iter()
        .fold(String::new(), |sum, byte| sum + &format!("{byte:02x}"))
}

async fn answer(
    State((address, received)): State<(SocketAddr, Received)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(target) = headers.get("x-amz-target") else {
        return "well".into_response();
    };
    let action = target
        .to_str()
        .unwrap()
        .trim_start_matches("AmazonSQS.")
        .to_owned();
    received
        .lock()
        .unwrap()
        .push((action.clone(), body.clone()));
    let body: Value = serde_json::from_slice(&body).unwrap();
    let url = format!("http://{address}/000000000000/jobs");
    let named = body.get("QueueUrl").or(body.get("QueueName"));
    if named.is_some_and(|name| !name.as_str().unwrap().ends_with("jobs")) {
        let error = json!({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "none"});
        let code = [(
            "x-amzn-query-error",
            "AWS.SimpleQueueService.NonExistentQueue;Sender",
        )];
        return (StatusCode::BAD_REQUEST, code, error.to_string()).into_response();
    }
    let sent = |entry: &Value| {
        let id = uuid::Uuid::new_v4().to_string();
        let sum = md5(entry["MessageBody"].as_str().unwrap());
        json!({"Id": entry["Id"], "MessageId": id, "MD5OfMessageBody": sum})
    };
    let reply = match action.as_str() {
        "GetQueueUrl" | "CreateQueue" => json!({"QueueUrl": url}),
        "ListQueues" => json!({"QueueUrls": [url]}),
        "SendMessage" => sent(&body),
        "SendMessageBatch" => {
            let entries = body["Entries"].as_array().unwrap();
            json!({"Successful": entries.iter().map(sent).collect::<Vec<_>>(), "Failed": []})
        }
        "ReceiveMessage" => {
            let text = r#"{"job_id": "j-1", "QueueUrl": "http://elsewhere/1/q"}"#;
            json!({"Messages": [{"MessageId": "m-1", "ReceiptHandle": "r-1", "Body": text,
                "MD5OfBody": md5(text)}]})
        }
        _ => json!({}),
    };
    (
        [("content-type", "application/x-amz-json-1.0")],
        reply.to_string(),
    )
        .into_response()
}

/// A client as programs make it, against `address`.
pub(crate) fn sdk(address: SocketAddr) -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::from_keys("test", "test", None))
        .endpoint_url(format!("http://{address}"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(
            RetryConfig::standard()
                .with_max_attempts(3)
                .with_initial_backoff(std::time::Duration::from_millis(1)),
        )
        .build();
    aws_sdk_sqs::Client::from_conf(config)
}
