//! `GET /jobs/{id}`.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use uuid::Uuid;

use super::{Api, Unavailable, problem};

/// The truth about a job as it stands in the database now.
pub(super) async fn status(
    State(api): State<Api>,
    Path(job): Path<String>,
) -> Result<Response, Unavailable> {
    let unknown = || problem(StatusCode::NOT_FOUND, "there is no such job");
    let Ok(job) = Uuid::parse_str(&job) else {
        return Ok(unknown());
    };
    let Some(mut status) = api.store.status(job).await? else {
        return Ok(unknown());
    };
    if defect!("label-not-told") {
        status.label = None;
    }
    if defect!("text-not-told") {
        status.text = None;
    }
    if defect!("text-told-in-part") {
        status.text = status.text.map(|text| text.chars().take(40).collect());
    }
    if defect!("error-not-told") {
        status.error = None;
    }
    if defect!("metadata-lost") {
        status.metadata = None;
    }
    if defect!("failed-told-as-pending") && status.state == "failed" {
        status.state = "pending".into();
    }
    if defect!("quarantined-told-as-failed") && status.state == "quarantined" {
        status.state = "failed".into();
    }
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
