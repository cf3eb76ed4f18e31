//! The harness in the part of an outside service: what it answers, and what it says it
//! performed.
#![allow(
    clippy::unwrap_used,
    reason = "all of this is tests, not only what is marked so"
)]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rehearsal::manifest::{PathStep, Place, ReplyBody, Route};
use rehearsal::stub::{Content, Contents, Performed, Stub};

struct Library;

impl Contents for Library {
    fn of_message(&self, name: &str) -> Option<Content> {
        (name == "M3").then(|| Content {
            bytes: Bytes::from_static(b"\0\xff poison"),
            media_type: "application/x-poison".to_owned(),
        })
    }

    fn of_job(&self, job: &str) -> Option<Content> {
        (job == "j-3").then(|| self.of_message("M3"))?
    }
}

fn route(method: &str, path: &str, status: u16, reply: ReplyBody) -> Route {
    let (method, path) = (method.to_owned(), path.to_owned());
    Route {
        method,
        path,
        write: false,
        job: None,
        status,
        reply,
    }
}

type Log = Arc<Mutex<Vec<Performed>>>;

async fn stub() -> (Stub, Log) {
    let job = Place::Body(vec![PathStep::Member("job_id".to_owned())]);
    let routes = vec![
        route("GET", "/files/{message}", 200, ReplyBody::Message),
        route("GET", "/by-job/{job}", 200, ReplyBody::Message),
        Route {
            write: true,
            job: Some(job),
            ..route(
                "POST",
                "/mails",
                202,
                ReplyBody::Text(r#"{"ok":true}"#.to_owned()),
            )
        },
        route("DELETE", "/mails/*", 204, ReplyBody::Empty),
    ];
    let log = Log::default();
    let told = Arc::clone(&log);
    let record = move |performed: &Performed| told.lock().unwrap().push(performed.clone());
    (
        Stub::start(routes, Arc::new(Library), record)
            .await
            .unwrap(),
        log,
    )
}

#[tokio::test]
async fn a_message_is_served_by_its_name_or_its_job_with_its_media_type() {
    let (stub, log) = stub().await;
    for path in ["files/M3", "by-job/j-3"] {
        let reply = reqwest::get(format!("http://{}/{path}", stub.address()))
            .await
            .unwrap();
        assert_eq!(reply.status(), 200);
        assert_eq!(reply.headers()["content-type"], "application/x-poison");
        assert_eq!(reply.bytes().await.unwrap(), &b"\0\xff poison"[..]);
    }
    let log = log.lock().unwrap();
    assert_eq!(log[0].message.as_deref(), Some("M3"));
    assert_eq!(log[1].job.as_deref(), Some("j-3"));
    assert!(log.iter().all(|performed| !performed.write));
    assert_eq!(stub.writes(), 0);
}

#[tokio::test]
async fn writes_are_counted_by_job_and_told_before_they_are_answered() {
    let (stub, log) = stub().await;
    let url = format!("http://{}/mails", stub.address());
    for job in ["j-1", "j-2", "j-1"] {
        let body = serde_json::json!({ "job_id": job });
        let reply = reqwest::Client::new()
            .post(&url)
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(reply.status(), 202);
        assert_eq!(reply.headers()["content-type"], "application/json");
        assert_eq!(
            log.lock().unwrap().last().unwrap().job.as_deref(),
            Some(job)
        );
        assert_eq!(reply.text().await.unwrap(), r#"{"ok":true}"#);
    }
    assert_eq!(
        (
            stub.writes(),
            stub.writes_for("j-1"),
            stub.writes_for("j-2")
        ),
        (3, 2, 1)
    );
    let log = log.lock().unwrap();
    let sequences: Vec<u64> = log.iter().map(|performed| performed.sequence).collect();
    assert_eq!(sequences, [1, 2, 3]);
    let request = &log[0].request;
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/mails")
    );
    assert_eq!(&request.body[..], br#"{"job_id":"j-1"}"#);
}

#[tokio::test]
async fn what_fits_no_route_is_told_and_answered_404_with_the_routes() {
    let (stub, log) = stub().await;
    let url = |path: &str| format!("http://{}{path}", stub.address());
    let reply = reqwest::Client::new()
        .put(url("/mails"))
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status(), 404);
    let text = reply.text().await.unwrap();
    assert!(
        text.contains("no route for PUT /mails; its routes: GET /files/{message},"),
        "{text}"
    );

    let reply = reqwest::get(url("/files/M9")).await.unwrap();
    assert_eq!(reply.status(), 404);
    assert_eq!(reply.text().await.unwrap(), "no message is known by `M9`\n");

    let statuses: Vec<u16> = log.lock().unwrap().iter().map(|told| told.status).collect();
    assert_eq!(statuses, [404, 404]);
}

#[tokio::test]
async fn a_stopped_stub_has_ended_every_connection() {
    let (stub, log) = stub().await;
    let client = reqwest::Client::new();
    let url = format!("http://{}/mails/7", stub.address());
    assert_eq!(client.delete(&url).send().await.unwrap().status(), 204);
    stub.stop().await;
    assert!(client.delete(&url).send().await.is_err());
    assert_eq!(log.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn everybody_who_comes_is_known_by_port() {
    let (stub, _) = stub().await;
    assert!(stub.callers().is_empty());
    let stream = tokio::net::TcpStream::connect(stub.address())
        .await
        .unwrap();
    let port = stream.local_addr().unwrap().port();
    let reply = reqwest::get(format!("http://{}/files/M3", stub.address())).await;
    assert_eq!(reply.unwrap().status(), 200);
    let callers = stub.callers();
    assert!(callers.contains(&port) && callers.len() == 2, "{callers:?}");
}
