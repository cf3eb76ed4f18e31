//! AWS JSON 1.0.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::refusal::{Code, Refusal};

/// Reads a request. No body is an empty object.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let body = if body.trim_ascii().is_empty() {
        b"{}"
    } else {
        body
    };
    serde_json::from_slice(body).map_err(|error| {
        Refusal::new(
            Code::MalformedRequest,
            format!("The request cannot be read: {error}."),
        )
    })
}

/// Writes a reply.
pub(crate) fn render<T: Serialize>(reply: &T) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(reply).map_err(|error| {
        Refusal::new(
            Code::InternalFailure,
            format!("The reply cannot be written: {error}."),
        )
    })
}

/// Writes an error.
pub(crate) fn error(refusal: &Refusal) -> Vec<u8> {
    serde_json::json!({
        "__type": refusal.code.shape(),
        "message": refusal.message,
    })
    .to_string()
    .into_bytes()
}
