//! What an SQS tap adds to a receive that finds a message: `cargo bench --bench tap_sqs`.

#[path = "tap_http/latency.rs"]
mod latency;

const RECEIVE: &str = r#"{"QueueUrl":"http://127.0.0.1:9324/000000000000/jobs","WaitTimeSeconds":20,"MaxNumberOfMessages":1,"MessageSystemAttributeNames":["ApproximateReceiveCount"]}"#;
const RECEIVED: &str = r#"{"Messages":[{"MessageId":"5fea7756-0ea4-451a-a703-a558b933e274","ReceiptHandle":"MbZj6wDWli+JvwwJaBV+3dcjk2YW2vA3+STFFljTM8tJJg6HRG6PYSasuWXPJB+CwLj1FjgXUv1uSj1gUPAWV66FU","MD5OfBody":"be4c2ffd8ec7a9abd2e1e5f2a3cfb2c5","Body":"{\"job_id\":\"0190f5a2-6d1c-7f3e-9a55-3c1c8b4a7d10\",\"attempt\":1}","Attributes":{"ApproximateReceiveCount":"1"}}]}"#;

fn main() {
    let request = format!(
        "POST / HTTP/1.1\r\nhost: queue\r\ncontent-type: application/x-amz-json-1.0\r\n\
         x-amz-target: AmazonSQS.ReceiveMessage\r\n\
         amz-sdk-invocation-id: 4b1e7a4e-5f0a-4f6e-9d4b-1f2a3b4c5d6e\r\n\
         amz-sdk-request: attempt=1; max=3\r\nx-amz-date: 19700101T000000Z\r\n\
         authorization: AWS4-HMAC-SHA256 Credential=test/19700101/us-east-1/sqs/aws4_request\r\n\
         user-agent: bench\r\ncontent-length: {}\r\n\r\n{RECEIVE}",
        RECEIVE.len()
    );
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\n\
         x-amzn-requestid: 4b1e7a4e-5f0a-4f6e-9d4b-1f2a3b4c5d6e\r\ncontent-length: {}\r\n\r\n\
         {RECEIVED}",
        RECEIVED.len()
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let direct = latency::serve(Box::leak(reply.into_bytes().into_boxed_slice()));
    let tap = runtime.block_on(rehearsal::protocol::sqs::open(
        latency::context(direct),
        std::sync::Arc::default(),
    ));
    let tap = tap.expect("a free port");
    latency::compare(
        "SQS ReceiveMessage",
        request.as_bytes(),
        direct,
        tap.address(),
    );
}
