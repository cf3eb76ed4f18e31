//! Reads whole HTTP/1.1 messages from a stream of bytes, however they are cut.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;

use super::body::{Begun, Rest};
use super::message::{Headers, RequestMessage, ResponseMessage, Version, has_no_body};

/// The longest head that is read.
const HEAD_LIMIT: usize = 256 * 1024;
/// The longest body that is ever held in memory.
pub(crate) const BODY_LIMIT: usize = 64 * 1024 * 1024;
const HEADERS_LIMIT: usize = 256;
const READ: usize = 8 * 1024;
/// How much of a body that is passed on as it comes is read at a time.
const PIECE: usize = 64 * 1024;
/// How long a reply of a length that nobody told may take to be whole before it is passed on
/// as it comes.
const PATIENCE: Duration = Duration::from_millis(50);

/// What is no HTTP/1.1 message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("it is HTTP/2, which taps do not speak yet; let the client use HTTP/1.1")]
    Http2,
    #[error("it is TLS, which taps do not speak yet; use an http:// URL")]
    Tls,
    #[error("it is not HTTP/1.1: {0}")]
    Syntax(httparse::Error),
    #[error("its head is longer than {HEAD_LIMIT} bytes")]
    HeadTooLong,
    #[error("its body is longer than {BODY_LIMIT} bytes, and the tap needs all of it")]
    BodyTooLong,
    #[error("its content-length is not one number")]
    Length,
    #[error("it has a content-length and a transfer-encoding")]
    TwoLengths,
    #[error("its transfer-encoding is not `chunked`")]
    Encoding,
    #[error("its chunks are not well formed")]
    Chunk,
    #[error("it answers 101, though no upgrade was asked for")]
    Upgrade,
}

impl Malformed {
    /// The status that tells a client of it.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Http2 => 505,
            Self::HeadTooLong => 431,
            Self::BodyTooLong => 413,
            Self::Encoding => 501,
            Self::Tls
            | Self::Syntax(_)
            | Self::Length
            | Self::TwoLengths
            | Self::Chunk
            | Self::Upgrade => 400,
        }
    }
}

/// How one direction of a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In order.
    Closed,
    /// Otherwise.
    Lost(String),
}

/// Why no whole message was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoMessage {
    Ended(End),
    Malformed(Malformed),
}

impl From<End> for NoMessage {
    fn from(end: End) -> Self {
        Self::Ended(end)
    }
}

impl From<Malformed> for NoMessage {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(usize),
    Chunked,
    UntilEnd,
}

/// A request whose body is still to be read.
pub(crate) struct RequestHead {
    message: RequestMessage,
    framing: Framing,
}

impl RequestHead {
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(crate) fn expects_continue(&self) -> bool {
        self.framing != Framing::None
            && self.message.version == Version::Eleven
            && self
                .message
                .headers
                .words("expect")
                .any(|word| word == "100-continue")
    }
}

/// The reading half of a connection with what was read and not yet used.
pub(crate) struct Reader<R> {
    half: R,
    buffer: BytesMut,
    end: Option<End>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(half: R) -> Self {
        Self {
            half,
            buffer: BytesMut::new(),
            end: None,
        }
    }

    /// The half itself.
    pub(crate) fn half(&self) -> &R {
        &self.half
    }

    /// How many bytes are read and not yet used.
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Forgets what was read and not used.
    pub(crate) fn discard(&mut self) {
        self.buffer.clear();
    }

    /// Reads some more. May be dropped at any time without loss.
    pub(crate) async fn fill(&mut self) -> Result<(), End> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        self.buffer.reserve(READ);
        let end = match self.half.read_buf(&mut self.buffer).await {
            Ok(0) => End::Closed,
            Ok(_) => return Ok(()),
            Err(error) => End::Lost(error.to_string()),
        };
        self.end = Some(end.clone());
        Err(end)
    }

    /// Reads a request's head.
    pub(crate) async fn request_head(&mut self) -> Result<RequestHead, NoMessage> {
        loop {
            if let Some(head) = self.take_request_head()? {
                return Ok(head);
            }
            self.fill().await?;
        }
    }

    /// Reads the body that belongs to a head, or so much of it as is to be held.
    pub(crate) async fn request_body(
        &mut self,
        head: RequestHead,
        at_most: usize,
    ) -> Result<(RequestMessage, Option<Rest>), NoMessage> {
        let RequestHead {
            mut message,
            framing,
        } = head;
        let begun = self.body(framing, at_most, None).await?;
        message.body = begun.body;
        Ok((message, begun.rest))
    }

    /// Whether a body that belongs to `head` is still under way.
    pub(crate) fn lacks_body(&self, head: &RequestHead) -> bool {
        match head.framing {
            Framing::None => false,
            Framing::Length(length) => self.buffer.len() < length,
            Framing::Chunked | Framing::UntilEnd => self.buffer.is_empty(),
        }
    }

    /// Reads a response, or so much of it as is to be held: what has no length is passed on
    /// as it comes where it `may_stream`. Interim ones (1xx) are passed over.
    pub(crate) async fn response(
        &mut self,
        to_head: bool,
        held: usize,
        may_stream: bool,
    ) -> Result<(ResponseMessage, Option<Rest>), NoMessage> {
        loop {
            let (mut message, framing) = loop {
                if let Some(head) = self.take_response_head(to_head)? {
                    break head;
                }
                self.fill().await?;
            };
            match message.status {
                101 => return Err(Malformed::Upgrade.into()),
                100..200 => {}
                _ => {
                    let is_open = matches!(framing, Framing::Chunked | Framing::UntilEnd);
                    let patience = if is_event_stream(&message.headers) {
                        Duration::ZERO
                    } else {
                        PATIENCE
                    };
                    let until = (may_stream && is_open).then(|| Instant::now() + patience);
                    let begun = self.body(framing, held, until).await?;
                    message.body = begun.body;
                    return Ok((message, begun.rest));
                }
            }
        }
    }

    fn take_request_head(&mut self) -> Result<Option<RequestHead>, Malformed> {
        foreign(&self.buffer)?;
        let mut slots = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
        let mut parsed = httparse::Request::new(&mut slots);
        let parse = parsed.parse(&self.buffer).map_err(Malformed::Syntax)?;
        let httparse::Status::Complete(length) = parse else {
            return self.within_head_limit().map(|()| None);
        };
        let headers = owned(parsed.headers);
        let version = version(parsed.version);
        let framing = if headers.all("transfer-encoding").next().is_some() {
            if headers.all("content-length").next().is_some() {
                return Err(Malformed::TwoLengths);
            }
            if !headers.words("transfer-encoding").eq(["chunked"]) {
                return Err(Malformed::Encoding);
            }
            Framing::Chunked
        } else {
            content_length(&headers)?.map_or(Framing::None, Framing::Length)
        };
        let message = RequestMessage {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            version,
            headers,
            body: Bytes::new(),
            announced_body: framing != Framing::None,
        };
        drop(self.buffer.split_to(length));
        Ok(Some(RequestHead { message, framing }))
    }

    fn take_response_head(
        &mut self,
        to_head: bool,
    ) -> Result<Option<(ResponseMessage, Framing)>, Malformed> {
        let mut slots = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
        let mut parsed = httparse::Response::new(&mut slots);
        let parse = parsed.parse(&self.buffer).map_err(Malformed::Syntax)?;
        let httparse::Status::Complete(length) = parse else {
            return self.within_head_limit().map(|()| None);
        };
        let headers = owned(parsed.headers);
        let status = parsed.code.unwrap_or_default();
        let framing = if to_head || has_no_body(status) {
            Framing::None
        } else if headers.all("transfer-encoding").next().is_some() {
            if !headers.words("transfer-encoding").eq(["chunked"]) {
                return Err(Malformed::Encoding);
            }
            Framing::Chunked
        } else {
            content_length(&headers)?.map_or(Framing::UntilEnd, Framing::Length)
        };
        let keeps_alive =
            framing != Framing::UntilEnd && version(parsed.version).keeps_alive(&headers);
        let message = ResponseMessage {
            status,
            reason: parsed.reason.unwrap_or_default().to_owned(),
            headers,
            body: Bytes::new(),
            keeps_alive,
        };
        drop(self.buffer.split_to(length));
        Ok(Some((message, framing)))
    }

    fn within_head_limit(&self) -> Result<(), Malformed> {
        if self.buffer.len() > HEAD_LIMIT {
            Err(Malformed::HeadTooLong)
        } else {
            Ok(())
        }
    }

    /// Reads a body until it is whole, or more than is to be held, or it takes too long.
    async fn body(
        &mut self,
        framing: Framing,
        held: usize,
        until: Option<Instant>,
    ) -> Result<Begun, NoMessage> {
        let mut rest = Rest::new(framing);
        loop {
            let whole = rest.take(&mut self.buffer)?;
            if whole {
                return Ok(Begun::whole(rest.give()));
            }
            if rest.len() > held || (rest.knows_more_than(held) && rest.len() >= held.min(PIECE)) {
                return Ok(Begun::part(rest));
            }
            let more = self.more(&mut rest);
            let read = match until {
                Some(until) => match tokio::time::timeout_at(until, more).await {
                    Ok(read) => read?,
                    Err(_) => return Ok(Begun::part(rest)),
                },
                None => more.await?,
            };
            if !read {
                return Ok(Begun::whole(rest.give()));
            }
        }
    }

    /// Reads some more of a body; false at the end of one that ends with its connection. May
    /// be dropped at any time without loss.
    async fn more(&mut self, rest: &mut Rest) -> Result<bool, NoMessage> {
        match self.fill().await {
            Ok(()) => Ok(true),
            Err(End::Closed) if rest.ends_with_connection() => Ok(false),
            Err(end) => Err(end.into()),
        }
    }

    /// The next piece of a body that is passed on as it comes; nothing once it is whole. May
    /// be dropped at any time without loss.
    pub(crate) async fn piece(&mut self, rest: &mut Rest) -> Result<Option<Bytes>, NoMessage> {
        loop {
            if !rest.is_whole() {
                rest.take(&mut self.buffer)?;
            }
            let piece = rest.give();
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
            if rest.is_whole() {
                return Ok(None);
            }
            self.buffer.reserve(PIECE);
            if !self.more(rest).await? {
                return Ok(None);
            }
        }
    }
}

/// Whether a reply says that it is a stream of events, each of which its client awaits.
fn is_event_stream(headers: &Headers) -> bool {
    headers
        .get("content-type")
        .is_some_and(|media_type| media_type.starts_with("text/event-stream"))
}

/// Refuses what is known to be another protocol as soon as it can be told.
fn foreign(buffer: &[u8]) -> Result<(), Malformed> {
    if buffer.first() == Some(&0x16) {
        return Err(Malformed::Tls);
    }
    if buffer.starts_with(b"PRI * HTTP/2") {
        return Err(Malformed::Http2);
    }
    Ok(())
}

fn version(minor: Option<u8>) -> Version {
    if minor == Some(0) {
        Version::Ten
    } else {
        Version::Eleven
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Headers {
    Headers(
        headers
            .iter()
            .map(|header| (header.name.to_owned(), header.value.to_vec()))
            .collect(),
    )
}

fn content_length(headers: &Headers) -> Result<Option<usize>, Malformed> {
    let mut length = None;
    for word in headers.words("content-length") {
        // A sign, which `parse` would take, is not allowed here.
        if !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Malformed::Length);
        }
        let said = word.parse().map_err(|_| Malformed::Length)?;
        if length.is_some_and(|length| length != said) {
            return Err(Malformed::Length);
        }
        length = Some(said);
    }
    if length.is_none() && headers.all("content-length").next().is_some() {
        return Err(Malformed::Length);
    }
    Ok(length)
}
