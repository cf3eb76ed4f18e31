//! The dependency's side of a connection: one for each client connection.

use std::os::fd::AsRawFd;

use bytes::{Buf, Bytes};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::body::Rest;
use super::chunked;
use super::client::{AHEAD_OF_STREAM, Client};
use super::message::ResponseMessage;
use super::reader::{BODY_LIMIT, End, NoMessage, Reader};
use crate::tap::TapContext;
use crate::tap::{Discard, Extent, Gate};

/// The dependency's side. Connected when the first call is passed on, so that a call
/// that is held does not run into the dependency's own limits for idle connections;
/// for the same reason connected anew if the dependency ended an idle connection
/// while a call was held. Never for a call of which any byte was sent.
pub(crate) struct Upstream {
    tap: TapContext,
    link: Option<Link>,
}

struct Link {
    reader: Reader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

/// How much of a reply is held before it is passed on.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    /// So many bytes of its body.
    pub(crate) most: usize,
    /// Whether the rest may be passed on as it comes.
    pub(crate) may_stream: bool,
}

/// What became of forwarding a call.
pub(crate) struct Forwarded {
    /// How much the dependency got.
    pub(crate) extent: Extent,
    /// Whether the client left meanwhile.
    pub(crate) left: bool,
    /// Why no connection could be had.
    pub(crate) unreachable: Option<String>,
}

impl Forwarded {
    pub(crate) fn nothing() -> Self {
        Self {
            extent: Extent::Nothing,
            left: false,
            unreachable: None,
        }
    }
}

/// There was no whole reply.
pub(crate) struct Broken {
    /// What was seen instead.
    pub(crate) reason: String,
    /// What the client gets.
    pub(crate) instead: Instead,
}

/// What a client gets instead of a reply that is none.
pub(crate) enum Instead {
    /// What happened to the tap's connection happens to the client's.
    Discard(Discard),
    /// The tap's own words.
    Answer(Box<ResponseMessage>),
}

impl Broken {
    fn unreachable(reason: String) -> Self {
        Self {
            reason,
            instead: Instead::Discard(Discard::Reset),
        }
    }
}

impl From<NoMessage> for Broken {
    fn from(no: NoMessage) -> Self {
        match no {
            NoMessage::Ended(End::Closed) => Self {
                reason: "the dependency closed the connection before a whole reply".to_owned(),
                instead: Instead::Discard(Discard::Close),
            },
            NoMessage::Ended(End::Lost(error)) => Self {
                reason: format!(
                    "the connection to the dependency broke before a whole reply: {error}"
                ),
                instead: Instead::Discard(Discard::Reset),
            },
            NoMessage::Malformed(malformed) => {
                let reason = format!("the dependency's reply could not be passed on: {malformed}");
                let answer = ResponseMessage::refusal(502, &reason);
                Self {
                    reason,
                    instead: Instead::Answer(Box::new(answer)),
                }
            }
        }
    }
}

impl Upstream {
    pub(crate) fn new(tap: TapContext) -> Self {
        Self { tap, link: None }
    }

    /// Resolves, with the reason, when the dependency ends a connection on which no
    /// call is under way, or speaks unasked.
    pub(crate) async fn idle_end(&mut self) -> String {
        let Some(link) = &mut self.link else {
            return std::future::pending().await;
        };
        link.idle_end().await
    }

    /// Forwards a call as far as gate, client and dependency let it.
    pub(crate) async fn forward(
        &mut self,
        gate: &Gate,
        client: &mut Client,
        head: Vec<u8>,
        body: Bytes,
    ) -> Forwarded {
        if self.link.as_ref().is_some_and(Link::has_ended) {
            self.link = None;
        }
        if self.link.is_none()
            && let Err(nothing) = self.connect(gate, client).await
        {
            return nothing;
        }
        match &mut self.link {
            Some(link) => {
                let wire = Bytes::from(head).chain(body);
                link.forward(gate, client, wire, BODY_LIMIT).await
            }
            None => Forwarded::nothing(),
        }
    }

    /// Connects, or gives what became of the call instead.
    async fn connect(&mut self, gate: &Gate, client: &mut Client) -> Result<(), Forwarded> {
        let nothing = Forwarded::nothing();
        let connecting = gate.forward(async {
            self.link = Some(Link::of(self.tap.connect().await?));
            Ok(())
        });
        let outcome = tokio::select! {
            biased;
            outcome = connecting => outcome,
            () = client.gone() => return Err(Forwarded { left: true, ..nothing }),
        };
        match outcome {
            Ok(Extent::Whole) => Ok(()),
            Ok(_) => Err(nothing),
            Err(error) => {
                let reason = format!("cannot connect to {}: {error}", self.tap.upstream);
                Err(Forwarded {
                    unreachable: Some(reason),
                    ..nothing
                })
            }
        }
    }

    /// Reads the reply to the call that was forwarded. If the client leaves before it
    /// is whole, `left` is called at once, and the dependency's connection is closed
    /// for writing so that it learns of it as it would without a tap.
    pub(crate) async fn reply(
        &mut self,
        client: Option<&mut Client>,
        to_head: bool,
        hold: Hold,
        left: impl FnOnce(),
    ) -> Result<(ResponseMessage, Option<Rest>), Broken> {
        let Some(Link { reader, writer }) = &mut self.link else {
            return Err(Broken::unreachable("there is no connection".to_owned()));
        };
        let reading = reader.response(to_head, hold.most, hold.may_stream);
        tokio::pin!(reading);
        if let Some(client) = client {
            tokio::select! {
                biased;
                () = client.gone() => left(),
                outcome = &mut reading => return outcome.map_err(Broken::from),
            }
        }
        let _ = writer.shutdown().await;
        reading.await.map_err(Broken::from)
    }

    /// Forwards a piece of a request's body, or its end.
    pub(crate) async fn forward_piece(
        &mut self,
        gate: &Gate,
        client: &mut Client,
        piece: Option<&Bytes>,
        chunks: bool,
    ) -> Forwarded {
        let wire = match (piece, chunks) {
            (Some(piece), true) => chunked::chunk(piece),
            (Some(piece), false) => piece.clone(),
            (None, true) => Bytes::from_static(chunked::LAST),
            (None, false) => Bytes::new(),
        };
        match &mut self.link {
            Some(link) => link.forward(gate, client, wire, AHEAD_OF_STREAM).await,
            None => Forwarded::nothing(),
        }
    }

    /// The next piece of a reply's body; nothing once it is whole. May be dropped at any
    /// time without loss.
    pub(crate) async fn piece(&mut self, rest: &mut Rest) -> Result<Option<Bytes>, NoMessage> {
        match &mut self.link {
            Some(link) => link.reader.piece(rest).await,
            None => Err(NoMessage::Ended(End::Closed)),
        }
    }

    /// Leaves a reply that nobody awaits any more: the dependency sees its connection end.
    pub(crate) fn abandon(&mut self) {
        self.link = None;
    }

    /// What a client sees of a dependency that can't be reached.
    pub(crate) fn unreachable(reason: String) -> Broken {
        Broken::unreachable(reason)
    }

    /// Closes the connection for writing and awaits the dependency's own end of it:
    /// only then has the dependency let go of what the connection held.
    pub(crate) async fn part(self) {
        let Some(Link {
            mut reader,
            mut writer,
        }) = self.link
        else {
            return;
        };
        let _ = writer.shutdown().await;
        while reader.fill().await.is_ok() {
            reader.discard();
        }
    }
}

impl Link {
    fn of(stream: TcpStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self {
            reader: Reader::new(reader),
            writer,
        }
    }

    /// Whether an idle connection is of no use any more. Asks the socket itself: the
    /// runtime may not know yet.
    fn has_ended(&self) -> bool {
        let look = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        let socket = self.writer.as_ref().as_raw_fd();
        self.reader.buffered() > 0 || recv(socket, &mut [0; 1], look) != Err(Errno::EAGAIN)
    }

    async fn idle_end(&mut self) -> String {
        if self.reader.buffered() > 0 {
            return "the dependency spoke unasked".to_owned();
        }
        match self.reader.fill().await {
            Ok(()) => "the dependency spoke unasked".to_owned(),
            Err(End::Closed) => "the dependency closed the connection".to_owned(),
            Err(End::Lost(error)) => format!("the connection to the dependency broke: {error}"),
        }
    }

    async fn forward(
        &mut self,
        gate: &Gate,
        client: &mut Client,
        mut wire: impl Buf,
        ahead: usize,
    ) -> Forwarded {
        let Self { reader, writer } = self;
        let whole = wire.remaining();
        let mut left = false;
        let outcome = {
            let writing = gate.forward(writer.write_all_buf(&mut wire));
            // A dependency may answer before it has read all, and stop reading then.
            let reading = async {
                while reader.buffered() < ahead && reader.fill().await.is_ok() {}
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                outcome = writing => outcome.ok(),
                () = client.gone_within(ahead) => { left = true; None }
                () = reading => None,
            }
        };
        // What remains is exact: a byte is taken off when the socket accepted it.
        let extent = match (outcome, wire.remaining()) {
            (Some(Extent::Whole), _) | (_, 0) => Extent::Whole,
            (_, remaining) if remaining == whole => Extent::Nothing,
            _ => Extent::Partly,
        };
        Forwarded {
            extent,
            left,
            unreachable: None,
        }
    }
}
