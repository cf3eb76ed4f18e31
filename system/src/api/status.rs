//! `GET /jobs/{id}`.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use uuid::Uuid;

use super::{Unavailable, problem};
use crate::store::Store;

/// The truth about a job as it stands in the database now.
pub(super) async fn status(
    State(store): State<Store>,
    Path(job): Path<String>,
) -> Result<Response, Unavailable> {
    let unknown = || problem(StatusCode::NOT_FOUND, "there is no such job");
    let Ok(job) = Uuid::parse_str(&job) else {
        return Ok(unknown());
    };
    let Some(status) = store.status(job).await? else {
        return Ok(unknown());
    };
    let mut answer = json!({ "job_id": job, "state": status.state });
    if let Some(label) = status.label {
        answer["label"] = label.into();
    }
    if let Some(text) = status.text {
        answer["text"] = text.into();
    }
    if let Some(error) = status.error {
        answer["error"] = error.into();
    }
    if let Some(metadata) = status.metadata {
        answer["metadata"] = metadata;
    }
    Ok(Json(answer).into_response())
}
