//! The document store: documents are read by reference over HTTP.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;

/// A document as the store holds it.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) media_type: String,
    pub(crate) content: Vec<u8>,
}

/// The document could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    /// The store is ill, or cannot be reached: it may work later.
    #[error("the document store is not well: {0}")]
    Unwell(String),
    /// Too many requests for now: nobody's failure.
    #[error("the document store is asked too often")]
    Throttled,
    /// The store answers that it will not give the document.
    #[error("the document store answered {0}")]
    Refused(u16),
}

/// A client of the document store.
pub(crate) struct DocumentStore {
    client: reqwest::Client,
    base: reqwest::Url,
}

impl DocumentStore {
    /// A client for the store at `url`; one read takes at most `timeout`.
    pub(crate) fn new(url: &str, timeout: Duration) -> Result<Self, String> {
        let base = base(url)?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()
            .map_err(crate::text)?;
        Ok(Self { client, base })
    }

    /// Reads the document with this reference.
    pub(crate) async fn read(&self, reference: &str) -> Result<Document, DocumentError> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .expect("checked when the client was made")
            .pop_if_empty()
            .extend(["documents", reference]);
        let unwell = |error: reqwest::Error| DocumentError::Unwell(crate::text(error));
        let answer = self.client.get(url).send().await.map_err(unwell)?;
        let status = answer.status();
        if status.as_u16() == 429 {
            return Err(DocumentError::Throttled);
        }
        if status.is_server_error() {
            return Err(DocumentError::Unwell(format!("it answered {status}")));
        }
        if !status.is_success() {
            return Err(DocumentError::Refused(status.as_u16()));
        }
        let media_type = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("application/octet-stream")
            .to_owned();
        let content = answer.bytes().await.map_err(unwell)?.to_vec();
        Ok(Document {
            media_type,
            content,
        })
    }
}

/// A URL that paths can be added to.
pub(crate) fn base(url: &str) -> Result<reqwest::Url, String> {
    let base = reqwest::Url::parse(url).map_err(|error| format!("`{url}` is no URL: {error}"))?;
    if base.cannot_be_a_base() || base.scheme() != "http" {
        return Err(format!("`{url}` is no plain HTTP URL"));
    }
    Ok(base)
}
