//! What an HTTP tap adds to a round trip: `cargo bench --bench tap_http`.

#[path = "tap_http/latency.rs"]
mod latency;

const REQUEST: &[u8] = b"GET /items/1 HTTP/1.1\r\nhost: service\r\nuser-agent: bench\r\n\
    accept: */*\r\naccept-encoding: gzip\r\n\r\n";
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\
    date: Thu, 01 Jan 1970 00:00:00 GMT\r\ncontent-length: 13\r\n\r\nhello, client";

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let direct = latency::serve(REPLY);
    let tap = runtime.block_on(rehearsal::protocol::http::open(latency::context(direct)));
    let tap = tap.expect("a free port");
    latency::compare("HTTP GET", REQUEST, direct, tap.address());
}
