//! Requests that no SDK sends.

use rehearsal::embedded::queue::{QueueError, QueueOptions, QueueServer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::client::{call, exchange, read_answer, request, server};

#[tokio::test]
async fn queue_urls_start_with_the_address_by_which_the_client_came() {
    let server = server().await;
    let request = request("CreateQueue", r#"{"QueueName":"jobs"}"#)
        .replace("Host: localhost", "Host: tap.test:4242");
    let (_, _, body) = exchange(server.address(), request.as_bytes()).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["QueueUrl"], "http://tap.test:4242/000000000000/jobs");
    // And any host in a queue URL will do.
    let send = json!({ "QueueUrl": "http://elsewhere/000000000000/jobs", "MessageBody": "x" });
    let (status, _) = call(server.address(), "SendMessage", &send).await;
    assert_eq!(status, 200);
    server.stop().await;
}

#[tokio::test]
async fn bad_requests_get_an_error_in_the_shape_of_aws_and_the_server_lives_on() {
    let server = server().await;
    let address = server.address();
    call(address, "CreateQueue", &json!({ "QueueName": "jobs" })).await;
    let url = format!("http://{address}/000000000000/jobs");
    let deep = "[".repeat(100_000);
    let bodies = [
        ("CreateQueue", "{".to_owned(), "SerializationException"),
        ("CreateQueue", deep, "SerializationException"),
        (
            "CreateQueue",
            r#"{"QueueName":7}"#.to_owned(),
            "SerializationException",
        ),
        (
            "CreateQueue",
            r#"{"QueueName":"\ud800"}"#.to_owned(),
            "SerializationException",
        ),
        ("CreateQueue", "[]".to_owned(), "SerializationException"),
        (
            "CreateQueue",
            String::new(),
            "MissingRequiredParameterException",
        ),
        (
            "SendMessage",
            "{}".to_owned(),
            "MissingRequiredParameterException",
        ),
        (
            "SendMessage",
            json!({ "QueueUrl": url, "MessageBody": null }).to_string(),
            "MissingRequiredParameterException",
        ),
        (
            "ReceiveMessage",
            json!({ "QueueUrl": url, "WaitTimeSeconds": 1e99 }).to_string(),
            "SerializationException",
        ),
        (
            "ReceiveMessage",
            json!({ "QueueUrl": url, "MaxNumberOfMessages": -9_223_372_036_854_775_808_i64 })
                .to_string(),
            "InvalidParameterValueException",
        ),
        (
            "SendMessage",
            json!({ "QueueUrl": "nonsense", "MessageBody": "x" }).to_string(),
            "InvalidAddress",
        ),
        ("MakeCoffee", "{}".to_owned(), "UnknownOperationException"),
        ("", "{}".to_owned(), "UnknownOperationException"),
        ("AddPermission", "{}".to_owned(), "UnsupportedOperation"),
    ];
    for (action, body, expected) in bodies {
        let (status, head, answer) = exchange(address, request(action, &body).as_bytes()).await;
        let start = &body[..body.len().min(60)];
        assert_eq!(status, 400, "{action} {start}: {answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let shape = answer["__type"].as_str().unwrap();
        assert!(shape.ends_with(expected), "{action} {start}: {answer}");
        assert!(head.contains("x-amzn-query-error: "), "{head}");
        assert!(head.contains("x-amzn-requestid: "), "{head}");
    }
    let (status, _) = call(address, "GetQueueUrl", &json!({ "QueueName": "jobs" })).await;
    assert_eq!(status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_request_larger_than_any_call_is_refused_unread() {
    let server = server().await;
    let head = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 99999999999\r\n\r\n";
    let (status, _, body) = exchange(server.address(), head.as_bytes()).await;
    assert_eq!(status, 413, "{body}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_stops_in_the_middle_of_a_request_harms_nobody() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 10\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (status, _) = call(server.address(), "ListQueues", &json!({})).await;
    assert_eq!(status, 200);
    stream.write_all(b"        }").await.unwrap();
    assert_eq!(read_answer(&mut stream).await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_browser_is_told_what_this_is() {
    let server = server().await;
    let (status, _, body) = exchange(server.address(), b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert_eq!(status, 200);
    assert!(body.contains("not a production queue"), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn a_form_is_answered_in_xml() {
    let server = server().await;
    let body =
        "Action=CreateQueue&QueueName=jobs&Attribute.1.Name=DelaySeconds&Attribute.1.Value=901";
    let request = format!(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, head, answer) = exchange(server.address(), request.as_bytes()).await;
    assert_eq!(status, 400);
    assert!(head.contains("content-type: text/xml"), "{head}");
    assert!(
        answer.contains("<Code>InvalidAttributeValue</Code>"),
        "{answer}"
    );
    let get = "GET /?Action=ListQueues HTTP/1.1\r\nHost: h\r\n\r\n";
    let (status, _, answer) = exchange(server.address(), get.as_bytes()).await;
    assert_eq!(status, 200);
    assert!(answer.contains("<ListQueuesResponse"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn only_a_free_loopback_address_is_served() {
    let server = server().await;
    let start = |listen: std::net::SocketAddr| {
        QueueServer::start(QueueOptions {
            listen,
            ..QueueOptions::default()
        })
    };
    let taken = start(server.address()).await.unwrap_err();
    assert!(matches!(taken, QueueError::Listen { .. }), "{taken}");
    let open = start("0.0.0.0:0".parse().unwrap()).await.unwrap_err();
    assert!(matches!(open, QueueError::NotLoopback { .. }), "{open}");
    server.stop().await;
}
