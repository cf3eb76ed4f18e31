//! One HTTP request: which protocol it speaks, and the answer in that protocol.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use uuid::Uuid;

use super::action::{self, Answer, Caller};
use super::admin;
use super::callers::{self, CALLER};
use super::protocol::{json, query};
use super::refusal::{Code, Refusal};
use super::server::{Probe, Shared};

/// No valid call is larger: 1 MiB of message, escaped at worst sixfold.
const MAX_REQUEST: usize = 8 << 20;

/// The answer to one request. It is never an error: errors are answers too.
pub(crate) async fn answer(
    shared: &Shared,
    probe: &Arc<Probe>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let parameters = head.uri.query().unwrap_or_default().to_owned();
    let header = |name: &str| {
        head.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let target = header("x-amz-target").to_owned();
    let caller = Caller {
        base: base(head.headers.get(HOST), shared),
        probe: Arc::clone(probe),
        path: path.clone(),
    };
    let body = if body.size_hint().lower() > MAX_REQUEST as u64 {
        Err(too_large())
    } else {
        match Limited::new(body, MAX_REQUEST).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
            Err(error) => Err(Refusal::new(
                Code::MalformedRequest,
                format!("The request's body cannot be read: {error}"),
            )),
        }
    };
    if let Some(place) = path.strip_prefix(admin::PREFIX) {
        let result = match body {
            Ok(body) => admin::answer(shared, &head.method, place, &parameters, &body),
            Err(refusal) => Err(admin::Problem::from(refusal)),
        };
        return Ok(admin_response(result));
    }
    let port = (!callers::is_own(&head.headers)).then_some(probe.port);
    let form = header("content-type").starts_with("application/x-www-form-urlencoded");
    if target.is_empty() && (form || parameters.contains("Action=")) {
        let result = match body {
            Ok(body) => {
                let answering = query::answer(shared, &caller, &parameters, &body);
                CALLER.scope(port, answering).await
            }
            Err(refusal) => Err(refusal),
        };
        return Ok(query_response(result));
    }
    if head.method == Method::GET && target.is_empty() {
        return Ok(about());
    }
    let result = match (body, target.strip_prefix("AmazonSQS.")) {
        (Ok(body), Some(action)) => {
            let performing = action::perform(shared, &caller, action, &body);
            CALLER.scope(port, performing).await
        }
        (Err(refusal), _) => Err(refusal),
        (_, None) => Err(Refusal::new(
            Code::InvalidAction,
            "The request names no action. Send X-Amz-Target: AmazonSQS.<Action> with a JSON body, or a form with Action=<Action>.",
        )),
    };
    Ok(json_response(result))
}

/// Queue URLs start with the address by which the client came, so that one that
/// came through a proxy keeps doing so.
fn base(host: Option<&HeaderValue>, shared: &Shared) -> String {
    match host.and_then(|host| host.to_str().ok()) {
        Some(host) if !host.is_empty() => format!("http://{host}"),
        _ => format!("http://{}", shared.address),
    }
}

fn too_large() -> Refusal {
    Refusal::new(
        Code::RequestTooLarge,
        format!("The request is larger than {MAX_REQUEST} bytes, which no valid call is."),
    )
}

fn json_response(result: Result<Answer, Refusal>) -> Response<Full<Bytes>> {
    let id = Uuid::new_v4();
    let mut deletions = None;
    let (status, body, error) = match result {
        Ok(answer) => {
            deletions = answer.deletions;
            (200, answer.body, None)
        }
        Err(refusal) => (
            refusal.code.status(),
            json::error(&refusal),
            Some(format!("{};{}", refusal.code.query(), refusal.code.blame())),
        ),
    };
    let mut response = respond(status, "application/x-amz-json-1.0", body);
    insert(&mut response, "x-amzn-requestid", &id.to_string());
    if let Some(error) = error {
        insert(&mut response, "x-amzn-query-error", &error);
    }
    if let Some(deletions) = deletions {
        insert(&mut response, admin::DELETIONS, &deletions);
    }
    response
}

fn query_response(result: Result<query::Reply, Refusal>) -> Response<Full<Bytes>> {
    let id = Uuid::new_v4().to_string();
    let (status, body) = match result {
        Ok(reply) => (200, query::render(&reply, &id)),
        Err(refusal) => (refusal.code.status(), query::error(&refusal, &id)),
    };
    let mut response = respond(status, "text/xml", body.into_bytes());
    insert(&mut response, "x-amzn-requestid", &id);
    response
}

fn admin_response(result: Result<Vec<u8>, admin::Problem>) -> Response<Full<Bytes>> {
    match result {
        Ok(body) => respond(200, "application/json", body),
        Err(problem) => respond(problem.status, "application/json", problem.body()),
    }
}

fn about() -> Response<Full<Bytes>> {
    let text = format!(
        "rehearsal queue server {}\nSQS queues for rehearsals; not a production queue.\nEndpoint for any AWS SDK: this address, any region, any credentials.\nWhat no SQS offers: {}\n",
        env!("CARGO_PKG_VERSION"),
        admin::PREFIX
    );
    respond(200, "text/plain; charset=utf-8", text.into_bytes())
}

fn respond(status: u16, content_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn insert(response: &mut Response<Full<Bytes>>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
