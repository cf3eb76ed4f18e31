//! Checkpoints: stages that cross no wire, announced by the process itself.
//!
//! A process that finds `REHEARSE_CHECKPOINT_URL` in its environment announces a stage
//! with `POST $REHEARSE_CHECKPOINT_URL/STAGE`. A JSON body or query parameters may name
//! what it has in hand: `{"job": "...", "message_id": "..."}`. The answer (204) is held
//! as long as the director holds the call, so a process stands at its stage until it is
//! let go, or dies there.
//!
//! To the director it is a call to a dependency named `checkpoint`: `before` is asked,
//! `forwarded` told once the stage counts as passed, and there is no `after`, because
//! no effect beyond the announcement exists. The token in the URL keeps other programs
//! of the machine from announcing stages; it is not part of the recorded path. A wrong
//! one is answered 403. The director is told of it, as of everything else that was to
//! be an announcement and is none: a stage that is never passed makes no fault land.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use serde_json::Value;
use tokio::net::TcpStream;

use crate::ids::{Author, DependencyName};
use crate::manifest::PathStep;
use crate::place::{decode, lookup_body};
use crate::protocol::http::client::{Client, Incoming};
use crate::protocol::http::connection::Ending;
use crate::protocol::http::message::{RequestMessage, ResponseMessage};
use crate::tap::{
    Before, Call, ConnectionContext, Director, Discard, Extent, Gate, HttpReply, HttpRequest,
    Reply, Request, Side, Tap, TapContext,
};

/// The name under which announcements appear as calls.
pub const DEPENDENCY: &str = "checkpoint";
/// The variable that tells a process where to announce its stages.
pub const VARIABLE: &str = "REHEARSE_CHECKPOINT_URL";

/// Where one incarnation announces its stages.
pub struct Checkpoint {
    tap: Tap,
    token: Arc<str>,
}

impl Checkpoint {
    /// Listens on a free loopback port.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn open(
        author: Author,
        director: Arc<dyn Director>,
        gate: Arc<Gate>,
    ) -> io::Result<Self> {
        Self::open_at(Ipv4Addr::LOCALHOST.into(), author, director, gate).await
    }

    /// Listens on a free port of this machine's address at which the process reaches it.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn open_at(
        near_side: IpAddr,
        author: Author,
        director: Arc<dyn Director>,
        gate: Arc<Gate>,
    ) -> io::Result<Self> {
        let token: Arc<str> = uuid::Uuid::new_v4().simple().to_string().into();
        let context = TapContext {
            author,
            dependency: DependencyName::from(DEPENDENCY),
            // Announcements go no further than here.
            upstream: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            near_side,
            director,
            gate,
        };
        let expected = Arc::clone(&token);
        let tap = Tap::open(context, move |stream, connection| {
            serve(stream, connection, Arc::clone(&expected))
        })
        .await?;
        Ok(Self { tap, token })
    }

    /// What the process gets as [`VARIABLE`].
    pub fn url(&self) -> String {
        format!("http://{}/{}", self.tap.address(), self.token)
    }

    /// Stops accepting and waits until every connection has ended: after the death of
    /// the process.
    pub async fn drain(&self) {
        self.tap.drain().await;
    }

    /// Stops accepting and ends every connection.
    pub async fn close(&self) {
        self.tap.close().await;
    }
}

/// A stage that was announced, as the process said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The stage's name.
    pub stage: String,
    /// The job in hand.
    pub job: Option<String>,
    /// The copy in hand.
    pub message_id: Option<String>,
}

impl Announcement {
    /// Reads a recorded call to [`DEPENDENCY`].
    pub fn read(request: &HttpRequest) -> Self {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let query = request.query.as_deref().unwrap_or("");
        let find = |name: &str| {
            lookup_body(&body, &[PathStep::Member(name.to_owned())])
                .or_else(|| parameter(query, name))
        };
        Self {
            stage: decode(request.path.trim_start_matches('/')),
            job: find("job"),
            message_id: find("message_id"),
        }
    }
}

fn parameter(query: &str, name: &str) -> Option<String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| decode(&value.replace('+', " ")))
}

async fn serve(stream: TcpStream, context: ConnectionContext, token: Arc<str>) -> String {
    let mut client = Client::new(stream, context.closing.clone());
    let ending = announcements(&mut client, &context, &token).await;
    client.part(ending.parting).await;
    ending.reason
}

async fn announcements(client: &mut Client, context: &ConnectionContext, token: &str) -> Ending {
    loop {
        let request = match client.request().await {
            Incoming::Request(request, _) => request,
            Incoming::Left => return Ending::left(),
            Incoming::Refused(malformed) => {
                client.refuse(&malformed).await;
                return Ending::close(format!("no announcement: {malformed}"));
            }
        };
        if context.tap.gate.is_closed() {
            return Ending::gate_closed();
        }
        let announcement = match announcement(&request, token) {
            Ok(announcement) => announcement,
            Err((status, reason)) => {
                let director = &context.tap.director;
                director.misannounced(&context.tap.author, &reason);
                let refusal = ResponseMessage::refusal(status, &reason);
                client.send(&refusal, &request, false).await;
                return Ending::close(reason);
            }
        };
        if let Break(ending) = pass(client, context, &request, announcement).await {
            return ending;
        }
    }
}

/// The announcement with its path below the token, or the status and text of a refusal.
fn announcement(request: &RequestMessage, token: &str) -> Result<HttpRequest, (u16, String)> {
    let recorded = request.recorded();
    let below = recorded
        .path
        .strip_prefix('/')
        .and_then(|path| path.strip_prefix(token));
    let Some(path) = below.filter(|path| path.is_empty() || path.starts_with('/')) else {
        let stage = recorded.path.rsplit('/').next().map(decode);
        let stage = stage.filter(|stage| !stage.is_empty());
        let what = stage.map_or_else(|| "a stage".to_owned(), |stage| format!("stage `{stage}`"));
        return Err((403, format!("{what} was announced with a wrong token")));
    };
    if path.trim_start_matches('/').is_empty() {
        return Err((404, format!("name the stage: POST ${VARIABLE}/STAGE")));
    }
    if recorded.method != "POST" {
        return Err((
            405,
            format!("{} announces no stage; use POST", recorded.method),
        ));
    }
    if !recorded.body.is_empty() {
        serde_json::from_slice::<serde::de::IgnoredAny>(&recorded.body).map_err(|fault| {
            (
                400,
                format!("the body of an announcement is not JSON: {fault}"),
            )
        })?;
    }
    Ok(HttpRequest {
        path: path.to_owned(),
        ..recorded
    })
}

/// Takes one announcement past its boundary.
async fn pass(
    client: &mut Client,
    context: &ConnectionContext,
    request: &RequestMessage,
    announcement: HttpRequest,
) -> ControlFlow<Ending> {
    let director = &context.tap.director;
    let call = Arc::new(Call {
        id: director.next_call(),
        author: context.tap.author.clone(),
        dependency: context.tap.dependency.clone(),
        connection: context.id,
        request: Request::Http(announcement),
    });
    let answer = match client.hold(director.before(Arc::clone(&call))).await {
        None => {
            director.abandoned(&call, Side::Before);
            return Break(Ending::left());
        }
        Some(Before::Discard(how)) => return Break(Ending::discarded(how)),
        Some(Before::Answer(Reply::Http(reply))) => ResponseMessage::from_recorded(&reply),
        Some(Before::Answer(_)) => return Break(Ending::discarded(Discard::Close)),
        Some(
            Before::Forward
            | Before::ForwardTwice
            | Before::ForwardInstead(_)
            | Before::ForwardAgain(_)
            | Before::TakeBack
            | Before::AnswerFirst(_)
            | Before::Spoil,
        ) => {
            let passed = context.tap.gate.forward(async { Ok(()) }).await;
            let extent = passed.unwrap_or(Extent::Nothing);
            director.forwarded(&call, extent);
            if extent != Extent::Whole {
                return Break(Ending::gate_closed());
            }
            let nothing = HttpReply {
                status: 204,
                headers: Vec::new(),
                body: bytes::Bytes::new(),
            };
            ResponseMessage::from_recorded(&nothing)
        }
    };
    let keeps_alive = request.keeps_alive();
    if !client.send(&answer, request, keeps_alive).await {
        return Break(Ending::left());
    }
    if keeps_alive {
        Continue(())
    } else {
        Break(Ending::close("the client asked to close after its request"))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn request(path: &str, query: Option<&str>, body: &'static str) -> HttpRequest {
        HttpRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: query.map(str::to_owned),
            headers: Vec::new(),
            body: Bytes::from_static(body.as_bytes()),
            is_cut: false,
        }
    }

    #[test]
    fn ids_are_read_from_the_body_or_the_query() {
        let body = r#"{"job": 7, "message_id": "m"}"#;
        let read = Announcement::read(&request("/about%20to%20parse", None, body));
        assert_eq!(read.stage, "about to parse");
        assert_eq!(
            (read.job.as_deref(), read.message_id.as_deref()),
            (Some("7"), Some("m"))
        );

        let read = Announcement::read(&request("/parse", Some("x=1&job=a%2Bb+c"), ""));
        assert_eq!(
            (read.job.as_deref(), read.message_id),
            (Some("a+b c"), None)
        );
    }
}
