//! One connection: request by request, across both boundaries.
//!
//! ```text
//! client ──request──▶ whole ──before──▶ gate ──bytes──▶ dependency
//!                                        │ forwarded
//! client ◀──bytes── after ◀── whole ◀────┴──reply────── dependency
//! ```

use std::net::SocketAddr;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::body::Rest;
use super::client::{Client, Incoming, Parting};
use super::dialect::Dialect;
use super::message::{RequestMessage, ResponseMessage};
use super::reader::{BODY_LIMIT, Malformed};
use super::upstream::{Broken, Forwarded, Hold, Instead, Upstream};
use crate::tap::{
    After, Before, Call, ConnectionContext, Director, Discard, Extent, Gate, HttpRequest, Reply,
    Request, Side, SqsRequest,
};

/// How a connection comes to its end.
pub(crate) struct Ending {
    pub(crate) parting: Parting,
    pub(crate) reason: String,
}

impl Ending {
    pub(crate) fn new(parting: Parting, reason: impl Into<String>) -> Self {
        Self {
            parting,
            reason: reason.into(),
        }
    }

    pub(crate) fn left() -> Self {
        Self::new(Parting::Left, "the client closed the connection")
    }

    pub(crate) fn gate_closed() -> Self {
        Self::new(Parting::AwaitDeath, "the gate was closed")
    }

    pub(crate) fn close(reason: impl Into<String>) -> Self {
        Self::new(Parting::Discard(Discard::Close), reason)
    }

    pub(crate) fn discarded(how: Discard) -> Self {
        Self::new(Parting::Discard(how), "the call was discarded")
    }
}

/// Serves one connection to its end on both sides; returns the reason of the end.
pub(crate) async fn serve<D: Dialect>(
    stream: TcpStream,
    context: ConnectionContext,
    dialect: D,
) -> String {
    let stream_address = stream.local_addr().ok();
    let mut client = Client::new(stream, context.closing.clone());
    let mut upstream = Upstream::new(context.tap.clone());
    let (closing, cut) = (context.closing.clone(), context.cut.clone());
    let gate = Arc::clone(&context.tap.gate);
    let mut ending = Exchanges {
        context,
        dialect,
        near: stream_address,
    }
    .run(&mut client, &mut upstream)
    .await;
    // Whoever is about to be killed must not learn before that a call of its was dropped.
    if gate.is_closed() && matches!(ending.parting, Parting::Discard(_)) {
        ending.parting = Parting::AwaitDeath;
    }
    if cut.is_cancelled() {
        ending = Ending::new(Parting::Discard(Discard::Reset), "cut by a fault");
    }
    tokio::join!(upstream.part(), client.part(ending.parting));
    if cut.is_cancelled() {
        return ending.reason;
    }
    if closing.is_cancelled() {
        return "the tap was closed".to_owned();
    }
    ending.reason
}

pub(super) struct Exchanges<D> {
    pub(super) context: ConnectionContext,
    dialect: D,
    /// Where the tap listens.
    near: Option<SocketAddr>,
}

/// What all wire attempts of one call of an SDK have in common.
const INVOCATION: &str = "amz-sdk-invocation-id";
/// How the invocation of a call begins that a tap makes again.
pub(crate) const AGAIN: &str = "rehearsal-again-";

/// How much of a body is held where nothing that is looked for stands in it.
const HELD: usize = 1024 * 1024;

/// A reply, and what of its body is still to come.
type Answer = (ResponseMessage, Option<Rest>);

impl<D: Dialect> Exchanges<D> {
    pub(super) fn director(&self) -> &dyn Director {
        self.context.tap.director.as_ref()
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.context.tap.gate
    }

    /// How much of a request is held before it is passed on.
    fn held(&self) -> usize {
        let tap = &self.context.tap;
        if self.dialect.may_stream() && !tap.director.reads_bodies(&tap.dependency) {
            HELD
        } else {
            BODY_LIMIT
        }
    }

    /// How much of a reply is.
    fn hold(&self) -> Hold {
        let tap = &self.context.tap;
        if self.dialect.may_stream() && !tap.director.reads_replies(&tap.dependency) {
            Hold {
                most: HELD,
                may_stream: true,
            }
        } else {
            Hold {
                most: BODY_LIMIT,
                may_stream: false,
            }
        }
    }

    async fn run(&self, client: &mut Client, upstream: &mut Upstream) -> Ending {
        let held = self.held();
        loop {
            let incoming = tokio::select! {
                biased;
                incoming = client.next(held) => incoming,
                reason = upstream.idle_end() => return Ending::close(reason),
            };
            let (mut request, mut rest) = match incoming {
                Incoming::Request(request, rest) if rest.is_none() || self.dialect.may_stream() => {
                    (request, rest)
                }
                Incoming::Request(..) => {
                    let malformed = Malformed::BodyTooLong;
                    client.refuse(&malformed).await;
                    return Ending::close(format!("the request was not passed on: {malformed}"));
                }
                Incoming::Left => return Ending::left(),
                Incoming::Refused(malformed) => {
                    client.refuse(&malformed).await;
                    return Ending::close(format!("the request was not passed on: {malformed}"));
                }
            };
            // What a dead process left in its socket is not a call any more.
            if self.gate().is_closed() {
                return Ending::gate_closed();
            }
            let meaning = match self.dialect.request(&mut request) {
                Ok(meaning) => meaning,
                Err(refusal) => {
                    client.send(&refusal.response, &request, false).await;
                    return Ending::close(refusal.reason);
                }
            };
            let meaning = match meaning {
                Request::Http(request) => Request::Http(HttpRequest {
                    is_cut: rest.is_some(),
                    ..request
                }),
                other => other,
            };
            let call = Arc::new(Call {
                id: self.director().next_call(),
                author: self.context.tap.author.clone(),
                dependency: self.context.tap.dependency.clone(),
                connection: self.context.id,
                request: meaning,
            });
            let exchanged = self.exchange(call, &request, &mut rest, client, upstream);
            if let Break(ending) = exchanged.await {
                return ending;
            }
            if rest.is_some() {
                return Ending::close("its request was answered before it was whole");
            }
        }
    }

    /// Makes a call again as the process would, on a connection of its own to this tap; what is
    /// answered is heard by nobody.
    fn make_again(&self, call: &Arc<Call>, request: &RequestMessage, later: Option<Duration>) {
        let (context, near) = (self.context.clone(), self.near);
        let (call, mut request) = (Arc::clone(call), request.clone());
        // What the first one is decided to be does not hold for this one.
        request.headers.remove(INVOCATION);
        let invocation = format!("{AGAIN}{}", call.id);
        request.headers.push(INVOCATION, invocation.into_bytes());
        tokio::spawn(async move {
            let director = &context.tap.director;
            let moment = async {
                match later {
                    Some(later) => {
                        tokio::time::sleep(later).await;
                        true
                    }
                    None => director.moment(&call).await,
                }
            };
            let its_time = tokio::select! {
                its_time = moment => its_time,
                () = context.closing.cancelled() => false,
            };
            if !its_time || context.tap.gate.is_closed() {
                return director.misbehaved(&call, Err("its process was gone before its time"));
            }
            let made = async {
                let near = near.ok_or(std::io::ErrorKind::NotConnected)?;
                let mut stream = TcpStream::connect(near).await?;
                stream.write_all(&request.head()).await?;
                stream.write_all(&request.body).await?;
                director.misbehaved(&call, Ok("was made again"));
                let mut answer = Vec::new();
                tokio::select! {
                    read = stream.read_buf(&mut answer) => read.map(|_| ()),
                    () = context.closing.cancelled() => Ok(()),
                }
            };
            let made: std::io::Result<()> = made.await;
            if let Err(error) = made {
                let reason = format!("it could not be made again: {error}");
                director.misbehaved(&call, Err(&reason));
            }
        });
    }

    async fn exchange(
        &self,
        call: Arc<Call>,
        request: &RequestMessage,
        rest: &mut Option<Rest>,
        client: &mut Client,
        upstream: &mut Upstream,
    ) -> ControlFlow<Ending> {
        let altered;
        let mut call = call;
        let mut request = request;
        let mut twice = false;
        match self.decided(&call, client).await {
            None => {
                self.director().abandoned(&call, Side::Before);
                return Break(Ending::left());
            }
            Some(Before::Forward) => {}
            // What is passed on as it comes cannot be repeated.
            Some(Before::ForwardTwice) => twice = rest.is_none(),
            Some(Before::ForwardAgain(later)) => self.make_again(&call, request, later),
            Some(Before::TakeBack | Before::AnswerFirst(_) | Before::Spoil) => {
                let reason = "only a call of a database misbehaves so";
                self.director().misbehaved(&call, Err(reason));
            }
            Some(Before::ForwardInstead(body)) => {
                call = instead(&call, &body);
                altered = RequestMessage {
                    body,
                    ..request.clone()
                };
                request = &altered;
            }
            Some(Before::Discard(how)) => return Break(Ending::discarded(how)),
            Some(Before::Answer(reply)) => {
                return match self.dialect.answer(&reply) {
                    Some(response) => self.send(&call, request, &response, client).await,
                    None => Break(Ending::discarded(Discard::Close)),
                };
            }
        }

        let body = request.body.clone();
        if twice {
            let first = upstream
                .forward(self.gate(), client, request.head(), body.clone())
                .await;
            if first.extent == Extent::Whole {
                let to_head = request.method == "HEAD";
                let reply = upstream
                    .reply(Some(client), to_head, self.hold(), || {})
                    .await;
                self.undelivered(&call, reply).await;
            }
        }
        let forwarded = match rest {
            Some(_) => {
                self.forward_stream(&call, request, rest, client, upstream)
                    .await
            }
            None => {
                upstream
                    .forward(self.gate(), client, request.head(), body)
                    .await
            }
        };
        let Forwarded {
            extent,
            left,
            unreachable,
        } = forwarded;
        self.director().forwarded(&call, extent);
        let left = left || client.is_outlived();
        if left {
            let side = if extent == Extent::Nothing {
                Side::Before
            } else {
                Side::After
            };
            self.director().abandoned(&call, side);
        }
        let to_head = request.method == "HEAD";
        if left || (self.gate().is_closed() && extent != Extent::Whole) {
            if extent != Extent::Nothing {
                let reply = upstream.reply(None, to_head, self.hold(), || {}).await;
                self.undelivered(&call, reply).await;
            }
            return Break(if left {
                Ending::left()
            } else {
                Ending::gate_closed()
            });
        }

        let mut left = false;
        let reply = if let Some(reason) = unreachable {
            Err(Upstream::unreachable(reason))
        } else {
            let gone = || {
                left = true;
                self.director().abandoned(&call, Side::After);
            };
            upstream
                .reply(Some(client), to_head, self.hold(), gone)
                .await
        };
        if left {
            self.undelivered(&call, reply).await;
            return Break(Ending::left());
        }
        self.deliver(call, request, reply, client, upstream).await
    }

    /// Reports a reply that nobody will get.
    /// What is decided on a call before its dependency gets it. A client that goes away takes
    /// a call along that is held, but none that is late.
    async fn decided(&self, call: &Arc<Call>, client: &mut Client) -> Option<Before> {
        let mut decision = self.director().before(Arc::clone(call));
        let decided = client.hold(&mut decision).await;
        if decided.is_some() || !self.director().is_late(call) {
            return decided;
        }
        client.outlive();
        client.hold(&mut decision).await
    }

    async fn undelivered(&self, call: &Arc<Call>, reply: Result<Answer, Broken>) {
        let (reply, _) = self.read_reply(call, reply);
        self.director().after(Arc::clone(call), reply, false).await;
    }

    fn read_reply(
        &self,
        call: &Call,
        reply: Result<Answer, Broken>,
    ) -> (Arc<Reply>, Result<Answer, Broken>) {
        match reply {
            Ok((mut response, rest)) => (
                Arc::new(self.dialect.reply(call, &mut response)),
                Ok((response, rest)),
            ),
            Err(broken) => (
                Arc::new(Reply::Broken {
                    reason: broken.reason.clone(),
                }),
                Err(broken),
            ),
        }
    }

    async fn deliver(
        &self,
        call: Arc<Call>,
        request: &RequestMessage,
        reply: Result<Answer, Broken>,
        client: &mut Client,
        upstream: &mut Upstream,
    ) -> ControlFlow<Ending> {
        let (recorded, reply) = self.read_reply(&call, reply);
        let deliverable = !self.gate().is_closed();
        let after = self
            .director()
            .after(Arc::clone(&call), recorded, deliverable);
        match client.hold(after).await {
            None => {
                self.director().abandoned(&call, Side::After);
                Break(Ending::left())
            }
            Some(After::Deliver) => match reply {
                Ok((response, None)) => self.send(&call, request, &response, client).await,
                Ok((response, Some(rest))) => {
                    self.send_stream(&call, request, &response, rest, client, upstream)
                        .await
                }
                Err(Broken {
                    reason,
                    instead: Instead::Discard(how),
                }) => Break(Ending::new(Parting::Discard(how), reason)),
                Err(Broken {
                    reason,
                    instead: Instead::Answer(response),
                }) => self
                    .send(&call, request, &response, client)
                    .await
                    .map_break(|ending| Ending { reason, ..ending }),
            },
            Some(After::Discard(how)) => {
                Self::leave_stream(&reply, upstream);
                Break(Ending::discarded(how))
            }
            Some(After::Replace(instead)) => {
                let is_left = Self::leave_stream(&reply, upstream);
                match self.dialect.answer(&instead) {
                    Some(response) if is_left => {
                        let closing = ResponseMessage {
                            keeps_alive: false,
                            ..response
                        };
                        self.send(&call, request, &closing, client).await
                    }
                    Some(response) => self.send(&call, request, &response, client).await,
                    None => Break(Ending::discarded(Discard::Close)),
                }
            }
        }
    }

    /// Whether a reply was not read whole: nobody reads the rest of it.
    fn leave_stream(reply: &Result<Answer, Broken>, upstream: &mut Upstream) -> bool {
        let is_left = matches!(reply, Ok((_, Some(_))));
        if is_left {
            upstream.abandon();
        }
        is_left
    }

    /// Gives the client a response, unless it is as good as dead.
    pub(super) async fn send(
        &self,
        call: &Call,
        request: &RequestMessage,
        response: &ResponseMessage,
        client: &mut Client,
    ) -> ControlFlow<Ending> {
        if self.gate().is_closed() {
            self.director().abandoned(call, Side::After);
            return Break(Ending::gate_closed());
        }
        let keeps_alive = request.keeps_alive() && response.keeps_alive;
        if !client.send(response, request, keeps_alive).await {
            self.director().abandoned(call, Side::After);
            return Break(Ending::left());
        }
        match (request.keeps_alive(), response.keeps_alive) {
            (true, true) => Continue(()),
            (false, _) => Break(Ending::close("the client asked to close after its request")),
            (true, false) => Break(Ending::close("the dependency closes after its reply")),
        }
    }
}

/// The call that its dependency gets: what is told of its effect is told of that one.
fn instead(call: &Call, body: &Bytes) -> Arc<Call> {
    let request = match &call.request {
        Request::Http(request) => Request::Http(HttpRequest {
            body: body.clone(),
            ..request.clone()
        }),
        Request::Sqs(request) => Request::Sqs(SqsRequest {
            body: serde_json::from_slice(body).unwrap_or_default(),
            ..request.clone()
        }),
        other => other.clone(),
    };
    Arc::new(Call {
        request,
        ..call.clone()
    })
}
