//! The outside service: one write per job, and what its answer means.
//!
//! Nothing here repeats a request: no retries, no redirects, a fresh connection for each.
//! A pooled connection could be closed under a request, and a client that then sends it
//! again cannot know whether the first one arrived.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use reqwest::header::HeaderName;
use serde_json::json;
use uuid::Uuid;

use crate::documents::base;

/// What is known once a request is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It was performed.
    Performed(String),
    /// It was not performed, and may be tried again later.
    NotPerformed(String),
    /// It was not performed: too many requests for now, nobody's failure.
    Throttled(String),
    /// It was not performed, because of what was asked.
    Refused(String),
    /// Nobody knows. Never repeat it.
    Unknown {
        /// What was seen.
        why: String,
        /// Nothing was answered at all, which may be an outage.
        silent: bool,
    },
}

/// A client of the outside service.
pub(crate) struct Outside {
    client: reqwest::Client,
    url: reqwest::Url,
    not_performed: Vec<u16>,
    /// Carries the job id, where the service honours such keys.
    idempotency_header: Option<HeaderName>,
}

impl Outside {
    /// A client for the service at `url`, which performs nothing when it answers with one
    /// of `not_performed`.
    pub(crate) fn new(
        url: &str,
        timeout: Duration,
        not_performed: &[u16],
        idempotency_header: &str,
    ) -> Result<Self, String> {
        let idempotency_header = match idempotency_header {
            "" => None,
            name => Some(
                HeaderName::try_from(name).map_err(|_| format!("`{name}` is no header's name"))?,
            ),
        };
        let mut url = base(url)?;
        url.path_segments_mut()
            .expect("checked by `base`")
            .pop_if_empty()
            .push("notifications");
        let client = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(0)
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()
            .map_err(crate::text)?;
        Ok(Self {
            client,
            url,
            not_performed: not_performed.to_vec(),
            idempotency_header,
        })
    }

    /// Tells the service that the text of `job` is there.
    pub(crate) async fn notify(&self, job: Uuid, document: &str, characters: usize) -> Answer {
        let mut request = self.client.post(self.url.clone());
        if let Some(header) = &self.idempotency_header {
            let key = if defect!("another-key-each-time") {
                Uuid::now_v7()
            } else {
                job
            };
            if !defect!("key-not-sent") {
                request = request.header(header, key.to_string());
            }
        }
        let request =
            request.json(&json!({ "job_id": job, "document": document, "characters": characters }));
        let again = request.try_clone();
        let mut sent = request.send().await;
        let failed = match &sent {
            Ok(answer) => answer.status().is_server_error(),
            Err(_) => true,
        };
        if let (Some(again), true) = (again, failed) {
            let keyed = self.idempotency_header.is_some();
            if defect!("hidden-repetition") || keyed && defect!("key-permits-a-repetition") {
                sent = again.send().await;
            } else if defect!("written-again-later") {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    again.send().await
                });
            }
        }
        match sent {
            Ok(answer) => classify(answer.status().as_u16(), &self.not_performed),
            Err(error) if defect!("reset-means-not-performed") && !error.is_timeout() => {
                Answer::NotPerformed("no answer".into())
            }
            Err(error) if defect!("time-out-means-not-performed") && error.is_timeout() => {
                Answer::NotPerformed("no answer".into())
            }
            Err(error) if refused(&error) && !defect!("refused-connection-is-unknown") => {
                Answer::NotPerformed("connection refused".into())
            }
            Err(error) => Answer::Unknown {
                why: crate::text(error),
                silent: true,
            },
        }
    }
}

/// What a status code says about the write.
fn classify(status: u16, not_performed: &[u16]) -> Answer {
    let said = format!("it answered {status}");
    match status {
        201 | 204 if defect!("only-some-successes-known") => Answer::Unknown {
            why: said,
            silent: false,
        },
        302 | 409 if defect!("conflict-or-redirect-means-performed") => Answer::Performed(said),
        400..=428 if defect!("other-refusals-unknown") => Answer::Unknown {
            why: said,
            silent: false,
        },
        500 | 504 if defect!("some-server-errors-not-performed") => Answer::NotPerformed(said),
        502 if defect!("bad-gateway-means-not-performed") => Answer::NotPerformed(said),
        503 if defect!("unavailable-is-unknown") => Answer::Unknown {
            why: said,
            silent: false,
        },
        200..=299 => Answer::Performed(said),
        429 if not_performed.contains(&429) => Answer::Throttled(said),
        declared if not_performed.contains(&declared) => Answer::NotPerformed(said),
        400..=499 => Answer::Refused(said),
        _ => Answer::Unknown {
            why: said,
            silent: false,
        },
    }
}

/// Whether the connection was refused: then no byte of the request left.
fn refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return io.kind() == ErrorKind::ConnectionRefused;
        }
        cause = inner.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: [u16; 2] = [429, 503];

    #[test]
    fn success_is_performed() {
        for status in [200, 201, 202, 204] {
            assert!(matches!(classify(status, &DECLARED), Answer::Performed(_)));
        }
    }

    #[test]
    fn declared_codes_are_not_performed() {
        assert!(matches!(classify(503, &DECLARED), Answer::NotPerformed(_)));
        assert!(matches!(classify(429, &DECLARED), Answer::Throttled(_)));
        assert!(matches!(classify(409, &[409]), Answer::NotPerformed(_)));
    }

    #[test]
    fn other_client_errors_are_refusals() {
        for status in [400, 404, 409, 422] {
            assert!(matches!(classify(status, &DECLARED), Answer::Refused(_)));
        }
        assert!(matches!(classify(429, &[503]), Answer::Refused(_)));
    }

    #[test]
    fn everything_else_is_unknown() {
        for status in [302, 500, 502, 504, 599] {
            assert!(matches!(
                classify(status, &DECLARED),
                Answer::Unknown { .. }
            ));
        }
        assert!(matches!(classify(503, &[]), Answer::Unknown { .. }));
    }

    fn client(address: &str, timeout: Duration) -> Outside {
        Outside::new(&format!("http://{address}"), timeout, &DECLARED, "").unwrap()
    }

    #[tokio::test]
    async fn a_refused_connection_is_not_performed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let answer = client(&address, Duration::from_secs(5))
            .notify(Uuid::nil(), "M1", 1)
            .await;
        assert!(matches!(answer, Answer::NotPerformed(_)), "{answer:?}");
    }

    #[tokio::test]
    async fn a_closed_connection_is_unknown_and_asked_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            let mut requests = 0;
            while let Ok(Ok((connection, _))) =
                tokio::time::timeout(Duration::from_millis(200), listener.accept()).await
            {
                requests += 1;
                connection.readable().await.unwrap();
            }
            requests
        });
        let answer = client(&address, Duration::from_secs(5))
            .notify(Uuid::nil(), "M1", 1)
            .await;
        assert!(matches!(answer, Answer::Unknown { .. }), "{answer:?}");
        assert_eq!(server.await.unwrap(), 1);
    }
}
