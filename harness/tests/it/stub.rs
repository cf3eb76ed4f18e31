//! The harness in the part of an outside service: what it answers, and what it says it
//! performed.
#![allow(
    clippy::unwrap_used,
    reason = "all of this is tests, not only what is marked so"
)]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rehearsal::manifest::{
    PathStep, Pipeline, Place, Reading, ReplyBody, Route, RouteReply, Template,
};
use rehearsal::stub::{Content, Contents, Performed, PlayedRoute, Stub};

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
        write: Some(false),
        store: false,
        job: None,
        group: None,
        key_header: None,
        replies: vec![RouteReply {
            status,
            body: reply,
        }],
    }
}

type Log = Arc<Mutex<Vec<Performed>>>;

async fn stub() -> (Stub, Log) {
    stub_honouring("Idempotency-Key").await
}

/// One whose payments honour the keys in this header; an empty one is none.
async fn stub_honouring(header: &str) -> (Stub, Log) {
    let path = vec![PathStep::Member("job_id".to_owned())];
    let job = Place::Body(Pipeline(vec![Reading::Select(path)]));
    let routes = vec![
        route("GET", "/files/{message}", 200, ReplyBody::Message),
        route("GET", "/by-job/{job}", 200, ReplyBody::Message),
        Route {
            write: Some(true),
            job: Some(job),
            ..route(
                "POST",
                "/mails",
                202,
                ReplyBody::Text(r#"{"ok":true}"#.to_owned()),
            )
        },
        route("DELETE", "/mails/*", 204, ReplyBody::Empty),
        Route {
            write: Some(true),
            key_header: Some(Template::parse("${setting.header}").unwrap()),
            ..route(
                "POST",
                "/payments/{job}",
                201,
                ReplyBody::Text("paid".to_owned()),
            )
        },
    ];
    let settings = |name: &str| (name == "setting.header").then(|| header.to_owned());
    let routes = routes
        .into_iter()
        .map(|route| PlayedRoute::new(route, &settings).unwrap())
        .collect();
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

/// Pays with a key (none if it is empty); gives status and body of the answer.
async fn pay(stub: &Stub, job: &str, key: &str, body: &'static str) -> (u16, String) {
    let url = format!("http://{}/payments/{job}", stub.address());
    let mut request = reqwest::Client::new().post(url).body(body);
    if !key.is_empty() {
        request = request.header("idempotency-key", key);
    }
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.text().await.unwrap())
}

#[tokio::test]
async fn a_write_is_performed_once_under_its_key_and_answered_alike_each_time() {
    let (stub, log) = stub().await;
    for _ in 0..3 {
        let answer = pay(&stub, "j-1", "k-1", "ten").await;
        assert_eq!(answer, (201, "paid".to_owned()));
    }
    assert_eq!(
        pay(&stub, "j-2", "k-2", "ten").await,
        (201, "paid".to_owned())
    );
    assert_eq!((stub.writes(), stub.writes_for("j-1")), (2, 1));
    let log = log.lock().unwrap();
    let told: Vec<_> = log.iter().map(|told| (told.write, told.repeated)).collect();
    assert_eq!(
        told,
        [(true, false), (false, true), (false, true), (true, false)]
    );
    assert!(
        log[..3]
            .iter()
            .all(|told| told.job.as_deref() == Some("j-1"))
    );
}

#[tokio::test]
async fn racing_writes_with_one_key_are_performed_once() {
    let (stub, _) = stub().await;
    let racing = (0..20).map(|_| pay(&stub, "j-1", "k-1", "ten"));
    for answer in futures::future::join_all(racing).await {
        assert_eq!(answer, (201, "paid".to_owned()));
    }
    assert_eq!(stub.writes(), 1);
}

#[tokio::test]
async fn a_key_of_another_request_is_refused_and_keeps_its_meaning() {
    let (stub, log) = stub().await;
    assert_eq!(pay(&stub, "j-1", "k-1", "ten").await.0, 201);
    for (job, body) in [("j-1", "eleven"), ("j-2", "ten")] {
        let answer = pay(&stub, job, "k-1", body).await;
        assert_eq!(
            answer,
            (422, "`k-1` was the key of another request\n".to_owned())
        );
    }
    assert_eq!(pay(&stub, "j-1", "k-1", "ten").await.0, 201);
    assert_eq!((stub.writes(), stub.writes_for("j-2")), (1, 0));
    let log = log.lock().unwrap();
    let refused = log.iter().filter(|told| told.status == 422);
    assert!(refused.clone().all(|told| !told.write && !told.repeated));
    assert_eq!(refused.count(), 2);
}

#[tokio::test]
async fn without_a_key_or_an_honoured_header_every_write_is_performed() {
    let (stub, log) = stub().await;
    pay(&stub, "j-1", "", "ten").await;
    pay(&stub, "j-1", "", "ten").await;
    assert_eq!(stub.writes(), 2);
    assert!(log.lock().unwrap().iter().all(|told| told.write));

    let (stub, _) = stub_honouring("").await;
    pay(&stub, "j-1", "k-1", "ten").await;
    pay(&stub, "j-1", "k-1", "ten").await;
    assert_eq!(stub.writes(), 2);
}

#[test]
fn a_route_whose_key_header_cannot_be_is_not_played() {
    let keyed = Route {
        key_header: Some(Template::parse("${setting.header}").unwrap()),
        ..route("POST", "/payments", 201, ReplyBody::Empty)
    };
    let error = PlayedRoute::new(keyed.clone(), &|_| Some("a key".to_owned())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`POST /payments` cannot honour keys in a header `a key`: that is no header's name"
    );
    let error = PlayedRoute::new(keyed, &|_| None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`POST /payments`: `${setting.header}` has no value here"
    );
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

async fn started(routes: Vec<Route>) -> (Stub, Log) {
    let routes = routes
        .into_iter()
        .map(|route| PlayedRoute::new(route, &|_: &str| None).unwrap())
        .collect();
    let log = Log::default();
    let told = Arc::clone(&log);
    let record = move |performed: &Performed| told.lock().unwrap().push(performed.clone());
    let stub = Stub::start(routes, Arc::new(Library), record)
        .await
        .unwrap();
    (stub, log)
}

#[tokio::test]
async fn a_stub_with_a_memory_gives_back_what_it_got_and_forgets_what_was_deleted() {
    let stored = |method: &str, status| Route {
        store: true,
        write: None,
        ..route(method, "/blobs/{message}", status, ReplyBody::Empty)
    };
    // One route of the family says so for all.
    let delete = Route {
        store: false,
        ..stored("DELETE", 204)
    };
    let (stub, log) = started(vec![stored("GET", 200), stored("PUT", 201), delete]).await;
    let client = reqwest::Client::new();
    let url = |key: &str| format!("http://{}/blobs/{key}", stub.address());
    let get = async |key: &str| {
        let reply = client.get(url(key)).send().await.unwrap();
        (reply.status().as_u16(), reply.bytes().await.unwrap())
    };
    assert_eq!(
        get("M3").await,
        (200, Bytes::from_static(b"\0\xff poison")),
        "declared"
    );
    assert_eq!(get("M9").await.0, 404);
    let put = client.put(url("M9")).body("mine").send().await.unwrap();
    assert_eq!(put.status(), 201);
    assert_eq!(get("M9").await, (200, Bytes::from_static(b"mine")));
    for key in ["M3", "M9", "M9"] {
        assert_eq!(client.delete(url(key)).send().await.unwrap().status(), 204);
        assert_eq!(get(key).await.0, 404);
    }
    client.put(url("M3")).body("again").send().await.unwrap();
    assert_eq!(get("M3").await.1, "again");
    let writes = log.lock().unwrap().iter().filter(|one| one.write).count();
    assert_eq!(writes, 0, "what is kept is the stub's own state");
}

#[tokio::test]
async fn what_the_system_keeps_by_job_is_not_there_before_it_was_put() {
    let stored = |method: &str, status| Route {
        store: true,
        write: None,
        ..route(method, "/shelf/{job}", status, ReplyBody::Empty)
    };
    for (routes, at_first) in [
        (vec![stored("GET", 200), stored("PUT", 201)], 404),
        (vec![stored("GET", 200), stored("DELETE", 204)], 200),
    ] {
        let (stub, _) = started(routes).await;
        let client = reqwest::Client::new();
        let url = format!("http://{}/shelf/j-3", stub.address());
        let get = async || client.get(&url).send().await.unwrap().status().as_u16();
        assert_eq!(get().await, at_first);
        client.put(&url).body("mine").send().await.unwrap();
        assert_eq!(get().await, 200);
    }
}

#[tokio::test]
async fn answers_come_one_after_the_other_and_a_scripted_error_performs_nothing() {
    let reply = |status| RouteReply {
        status,
        body: ReplyBody::Empty,
    };
    let scripted = Route {
        write: None,
        replies: vec![reply(503), reply(201)],
        ..route("POST", "/mails/{job}", 200, ReplyBody::Empty)
    };
    let (stub, log) = started(vec![scripted]).await;
    let url = format!("http://{}/mails/j-1", stub.address());
    for expected in [503, 201, 201] {
        let reply = reqwest::Client::new().post(&url).send().await.unwrap();
        assert_eq!(reply.status().as_u16(), expected);
    }
    let written: Vec<bool> = log.lock().unwrap().iter().map(|one| one.write).collect();
    assert_eq!(
        written,
        [false, true, true],
        "a POST is a write unless its route says otherwise"
    );
}
