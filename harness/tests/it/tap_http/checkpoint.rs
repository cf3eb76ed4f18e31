//! Announced stages: held, let go, discarded, refused.

use std::sync::Arc;

use rehearsal::checkpoint::{Announcement, Checkpoint, DEPENDENCY};
use rehearsal::tap::{Before, Director, Discard, Gate};

use crate::tap_http::witness::{Peer, Witness, author, soon};

struct Stand {
    witness: Arc<Witness>,
    gate: Arc<Gate>,
    checkpoint: Checkpoint,
}

impl Stand {
    async fn new() -> Self {
        let witness = Witness::new();
        let gate = Arc::new(Gate::new());
        let director: Arc<dyn Director> = witness.clone();
        let checkpoint = Checkpoint::open(author(), director, Arc::clone(&gate))
            .await
            .unwrap();
        Self {
            witness,
            gate,
            checkpoint,
        }
    }

    /// A connection, and the path that stages stand below.
    async fn client(&self) -> (Peer, String) {
        let url = self.checkpoint.url();
        let (address, token) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        (
            Peer::connect(address.parse().unwrap()).await,
            format!("/{token}"),
        )
    }
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n{body}")
}

#[tokio::test]
async fn an_announcement_is_a_call_that_is_held_until_the_director_lets_it_go() {
    let stand = Stand::new().await;
    let (mut client, path) = stand.client().await;
    let release = stand.witness.hold_before();
    client
        .send(post(
            &format!("{path}/parsing"),
            r#"{"job":"j-1","message_id":"m-1"}"#,
        ))
        .await;
    stand.witness.told("before").await;
    assert!(client.silent());
    release.send(Before::Forward).unwrap();
    assert_eq!(
        client.read_to("\r\n\r\n").await,
        "HTTP/1.1 204 No Content\r\n\r\n"
    );
    assert_eq!(
        stand.witness.words(),
        ["connected", "before", "forwarded Whole"]
    );

    assert_eq!(stand.witness.calls()[0].dependency.as_str(), DEPENDENCY);
    let request = &stand.witness.requests()[0];
    assert_eq!(request.path, "/parsing", "the token is a secret");
    let announcement = Announcement::read(request);
    assert_eq!(announcement.stage, "parsing");
    assert_eq!(announcement.job.as_deref(), Some("j-1"));
    assert_eq!(announcement.message_id.as_deref(), Some("m-1"));

    client
        .send(post(&format!("{path}/parsed?job=j-2"), ""))
        .await;
    client.read_to("\r\n\r\n").await;
    assert_eq!(
        Announcement::read(&stand.witness.requests()[1])
            .job
            .as_deref(),
        Some("j-2")
    );
}

#[tokio::test]
async fn a_discarded_announcement_costs_the_connection() {
    let stand = Stand::new().await;
    stand.witness.decide_before(Before::Discard(Discard::Close));
    let (mut client, path) = stand.client().await;
    client.send(post(&format!("{path}/parsing"), "")).await;
    client.closed().await;
    drop(client);
    soon(stand.checkpoint.drain()).await;
}

#[tokio::test]
async fn a_process_that_leaves_while_held_is_told_of() {
    let stand = Stand::new().await;
    let mut release = stand.witness.hold_before();
    let (mut client, path) = stand.client().await;
    client.send(post(&format!("{path}/parsing"), "")).await;
    stand.witness.told("before").await;
    drop(client);
    soon(release.closed()).await;
    stand.witness.told("disconnected").await;
    assert_eq!(
        stand.witness.words(),
        ["connected", "before", "abandoned Before", "disconnected"]
    );
}

#[tokio::test]
async fn nothing_is_announced_through_a_closed_gate() {
    let stand = Stand::new().await;
    let (mut client, path) = stand.client().await;
    stand.witness.told("connected").await;
    stand.gate.close().await;
    client.send(post(&format!("{path}/parsing"), "")).await;
    drop(client);
    soon(stand.checkpoint.drain()).await;
    assert_eq!(stand.witness.words(), ["connected", "disconnected"]);
}

#[tokio::test]
async fn what_is_no_announcement_is_refused_and_its_reason_recorded() {
    for (request, status, said) in [
        (post("/guess/parsing", ""), 403, "wrong token"),
        (post("/", ""), 403, "wrong token"),
        (post("TOKEN/", ""), 404, "name the stage"),
        (post("TOKENx/parsing", ""), 403, "wrong token"),
        (post("TOKEN/parsing", "{"), 400, "not JSON"),
        (
            "GET TOKEN/parsing HTTP/1.1\r\nhost: h\r\n\r\n".to_owned(),
            405,
            "use POST",
        ),
    ] {
        let stand = Stand::new().await;
        let (mut client, path) = stand.client().await;
        client.send(request.replace("TOKEN", &path)).await;
        let reply = String::from_utf8(client.rest().await.unwrap()).unwrap();
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {reply}"
        );
        drop(client);
        stand.witness.told("disconnected").await;
        assert_eq!(
            stand.witness.words(),
            ["connected", "misannounced", "disconnected"]
        );
        let reasons = stand.witness.reasons();
        assert!(reasons[0].contains(said), "{reasons:?}");
        assert_eq!(stand.witness.misannounced(), reasons);
        assert!(
            !reasons[0].contains(path.trim_start_matches('/')),
            "{reasons:?}"
        );
    }
}
