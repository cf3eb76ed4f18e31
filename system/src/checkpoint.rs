//! Announces stages that cross no wire to a rehearsal, when one is watching.
//!
//! `REHEARSE_CHECKPOINT_URL` is unset in production: then this is nothing at all.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

/// The rehearsal may hold a process here for as long as a scenario needs.
const PATIENCE: Duration = Duration::from_mins(10);

/// Where stages are announced, if anywhere.
pub(crate) struct Checkpoint(Option<(reqwest::Client, String)>);

impl Checkpoint {
    /// Looks for a rehearsal in the environment.
    pub(crate) fn from_environment() -> Result<Self, reqwest::Error> {
        match std::env::var("REHEARSE_CHECKPOINT_URL") {
            Ok(url) if !url.is_empty() => {
                let client = reqwest::Client::builder()
                    .no_proxy()
                    .timeout(PATIENCE)
                    .build()?;
                Ok(Self(Some((client, url.trim_end_matches('/').to_owned()))))
            }
            _ => Ok(Self(None)),
        }
    }

    /// Says that a message, of `job` as far as that is known, is about to enter `stage`, and
    /// goes on when the rehearsal lets it.
    pub(crate) async fn reached(&self, stage: &str, job: Option<Uuid>, message_id: &str) {
        let Some((client, url)) = &self.0 else { return };
        let announced = client
            .post(format!("{url}/{stage}"))
            .json(&json!({ "job": job, "message_id": message_id }))
            .send()
            .await;
        if let Err(error) = announced {
            tracing::warn!("cannot announce stage `{stage}`: {error}");
        }
    }
}
