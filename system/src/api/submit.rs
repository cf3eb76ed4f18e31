//! `POST /jobs`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Api, Unavailable, canonical, problem};
use crate::store::jobs::Submitted;

const LONGEST_KEY: usize = 255;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The reference by which the document store knows the document.
    document: String,
    /// Whatever the client wants to find again with the job.
    #[serde(default)]
    metadata: Option<Value>,
}

/// Takes a submission. The answer names the job only once it is durable; the same
/// request under the same key finds the same job.
pub(super) async fn submit(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Unavailable> {
    let key = headers
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok());
    let Some(key) = key.filter(|key| !key.is_empty() && key.len() <= LONGEST_KEY) else {
        return Ok(problem(
            StatusCode::BAD_REQUEST,
            "the header `Idempotency-Key` is missing, empty, not ASCII or longer than 255",
        ));
    };
    let (request, meaning) = match read(&body) {
        Ok(read) => read,
        Err(why) => return Ok(problem(StatusCode::BAD_REQUEST, &why)),
    };
    let digest = if defect!("order-of-members-matters") {
        body.to_vec()
    } else {
        canonical::digest(&meaning)
    };
    let submitted = api
        .store
        .submit(key, &digest, &request.document, request.metadata.as_ref())
        .await?;
    Ok(match submitted {
        Submitted::New(job) | Submitted::Same(job) => (
            StatusCode::ACCEPTED,
            Json(json!({ "job_id": job, "state_url": format!("/jobs/{job}") })),
        )
            .into_response(),
        Submitted::Other => problem(
            if defect!("other-content-is-a-server-error") {
                StatusCode::INTERNAL_SERVER_ERROR
            } else {
                StatusCode::UNPROCESSABLE_ENTITY
            },
            "this `Idempotency-Key` belongs to a request with other content",
        ),
    })
}

fn read(body: &[u8]) -> Result<(Request, Value), String> {
    let meaning: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    if canonical::holds_nul(&meaning) {
        return Err("the body holds a NUL character".into());
    }
    let request = Request::deserialize(&meaning)
        .map_err(|error| format!("the body is no submission: {error}"))?;
    if request.document.is_empty() {
        return Err("`document` is empty".into());
    }
    Ok((request, meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_and_metadata_are_a_submission() {
        let (request, _) = read(br#"{"document":"M1","metadata":{"page":1}}"#).unwrap();
        assert_eq!(request.document, "M1");
        assert!(request.metadata.is_some());
    }

    #[test]
    fn anything_else_is_refused_with_a_reason() {
        let bodies: [&[u8]; 5] = [
            b"",
            b"{}",
            br#"{"document":""}"#,
            br#"{"document":"M1","x":1}"#,
            br#"{"document":"\u0000"}"#,
        ];
        for body in bodies {
            assert!(read(body).is_err(), "{}", String::from_utf8_lossy(body));
        }
    }
}
