//! The client's side of a connection: its requests, its absence, and what it gets.

use std::future::Future;

use bytes::{Buf, Bytes};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;

use super::body::Rest;
use super::chunked;
use super::message::{RequestMessage, ResponseMessage};
use super::reader::{BODY_LIMIT, End, Malformed, NoMessage, Reader, RequestHead};
use crate::tap::Discard;

/// How much a client may send ahead while its call is held. Beyond it nothing is read
/// until the call ends, so its leaving is seen only then.
const AHEAD_LIMIT: usize = BODY_LIMIT;
/// The same while a body is passed on as it comes.
pub(super) const AHEAD_OF_STREAM: usize = 256 * 1024;
/// How much of what a refused client still sends is taken before it is reset.
const LINGER_LIMIT: usize = BODY_LIMIT;

/// What a client did next.
#[expect(
    clippy::large_enum_variant,
    reason = "it is read at once and kept nowhere"
)]
pub(crate) enum Incoming {
    /// It sent a request, whole or as much of it as is held.
    Request(RequestMessage, Option<Rest>),
    /// It left, in order or not, perhaps within a request.
    Left,
    /// It sent what can't be a request.
    Refused(Malformed),
}

/// How the harness parts with a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parting {
    /// It left already.
    Left,
    /// Its incarnation's gate is closed: it must not notice anything before it dies.
    AwaitDeath,
    /// It loses its connection.
    Discard(Discard),
}

/// One accepted connection.
pub(crate) struct Client {
    reader: Reader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    closing: CancellationToken,
    /// Whether it went away while a call of its own goes on.
    left: bool,
}

impl Client {
    /// Takes over an accepted connection. Once `closing` is cancelled the client counts
    /// as gone.
    pub(crate) fn new(stream: TcpStream, closing: CancellationToken) -> Self {
        let (reader, writer) = stream.into_split();
        Self {
            reader: Reader::new(reader),
            writer,
            closing,
            left: false,
        }
    }

    /// It went away, and a call of its own goes on: from now on nothing waits for it.
    pub(crate) fn outlive(&mut self) {
        self.left = true;
    }

    /// Whether it went away while a call of its own goes on.
    pub(crate) fn is_outlived(&self) -> bool {
        self.left
    }

    /// Reads the next request, whole.
    pub(crate) async fn request(&mut self) -> Incoming {
        match self.next(BODY_LIMIT).await {
            Incoming::Request(_, Some(_)) => Incoming::Refused(Malformed::BodyTooLong),
            incoming => incoming,
        }
    }

    /// Reads the next request, of its body so much as is to be held.
    pub(crate) async fn next(&mut self, held: usize) -> Incoming {
        let closing = self.closing.clone();
        tokio::select! {
            biased;
            () = closing.cancelled() => Incoming::Left,
            incoming = self.read_request(held) => match incoming {
                Ok((request, rest)) => Incoming::Request(request, rest),
                Err(NoMessage::Ended(_)) => Incoming::Left,
                Err(NoMessage::Malformed(malformed)) => Incoming::Refused(malformed),
            },
        }
    }

    async fn read_request(
        &mut self,
        at_most: usize,
    ) -> Result<(RequestMessage, Option<Rest>), NoMessage> {
        let head: RequestHead = self.reader.request_head().await?;
        if head.expects_continue() && self.reader.lacks_body(&head) {
            // A client that is gone is noticed by the next read.
            let _ = self
                .writer
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .await;
        }
        self.reader.request_body(head, at_most).await
    }

    /// The next piece of a request's body; nothing once it is whole. May be dropped at any
    /// time without loss.
    pub(crate) async fn piece(&mut self, rest: &mut Rest) -> Result<Option<Bytes>, NoMessage> {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(NoMessage::Ended(End::Closed)),
            piece = self.reader.piece(rest) => piece,
        }
    }

    /// Resolves once the client has left. What it sends meanwhile is kept.
    pub(crate) async fn gone(&mut self) {
        self.gone_within(AHEAD_LIMIT).await;
    }

    /// The same, and keeps no more than so many bytes of what it sends meanwhile.
    pub(crate) async fn gone_within(&mut self, ahead: usize) {
        let left = self.left;
        let reading = async {
            while !left && self.reader.buffered() < ahead {
                if self.reader.fill().await.is_err() {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = reading => {}
            () = self.closing.cancelled() => {}
        }
    }

    /// Awaits what a call is held for; nothing if the client leaves first.
    pub(crate) async fn hold<F: Future>(&mut self, held: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = held => Some(output),
            () = self.gone() => None,
        }
    }

    /// Sends a response; false if the client could not get all of it.
    pub(crate) async fn send(
        &mut self,
        response: &ResponseMessage,
        request: &RequestMessage,
        keeps_alive: bool,
    ) -> bool {
        let (head, body) = response.wire(request, keeps_alive);
        self.write(head, body).await
    }

    /// Sends the head of a response and what was held of its body; false if the client could
    /// not get it.
    pub(crate) async fn send_begun(&mut self, head: Vec<u8>, body: Bytes, chunks: bool) -> bool {
        let first = if chunks && !body.is_empty() {
            chunked::chunk(&body)
        } else {
            body
        };
        self.write(head, first).await
    }

    /// Sends a piece of a response's body, or tells that it is whole.
    pub(crate) async fn send_piece(&mut self, piece: Option<&Bytes>, chunks: bool) -> bool {
        let wire = match (piece, chunks) {
            (Some(piece), true) => chunked::chunk(piece),
            (Some(piece), false) => piece.clone(),
            (None, true) => Bytes::from_static(chunked::LAST),
            (None, false) => return true,
        };
        self.write(Vec::new(), wire).await
    }

    /// Tells a client whose request could not even be read why.
    pub(crate) async fn refuse(&mut self, malformed: &Malformed) {
        let text = format!("this request was not passed on: {malformed}");
        let response = ResponseMessage::refusal(malformed.status(), &text);
        let nothing = RequestMessage::default();
        self.send(&response, &nothing, false).await;
    }

    async fn write(&mut self, head: Vec<u8>, body: Bytes) -> bool {
        let mut wire = Bytes::from(head).chain(body);
        tokio::select! {
            biased;
            written = self.writer.write_all_buf(&mut wire) => written.is_ok(),
            () = self.closing.cancelled() => false,
        }
    }

    /// Ends the client's side and returns when it has ended.
    pub(crate) async fn part(mut self, parting: Parting) {
        match parting {
            Parting::Left => {}
            Parting::AwaitDeath => self.gone().await,
            Parting::Discard(Discard::Close) => {
                let _ = self.writer.shutdown().await;
                // Closing with bytes unread would reset the connection and could take
                // the last reply from the client.
                let mut taken = 0;
                loop {
                    taken += self.reader.buffered();
                    self.reader.discard();
                    if taken > LINGER_LIMIT {
                        return self.reset();
                    }
                    let more = tokio::select! {
                        biased;
                        more = self.reader.fill() => more.is_ok(),
                        () = self.closing.cancelled() => false,
                    };
                    if !more {
                        return;
                    }
                }
            }
            Parting::Discard(Discard::Reset) => self.reset(),
        }
    }

    fn reset(self) {
        // A linger of zero turns the close that follows into a reset.
        let _ = self.reader.half().as_ref().set_zero_linger();
        // Dropping this half in the usual way would send a FIN first.
        self.writer.forget();
    }
}
