//! Bodies that are passed on as they come: what is held of them was decided on before.

use std::ops::ControlFlow::{self, Break, Continue};

use super::body::{Passed, Rest};
use super::chunked;
use super::client::{AHEAD_OF_STREAM, Client, Parting};
use super::connection::{Ending, Exchanges};
use super::dialect::Dialect;
use super::message::{Delimited, RequestMessage, ResponseMessage, Version};
use super::reader::{End, NoMessage};
use super::upstream::{Forwarded, Upstream};
use crate::tap::{Call, Discard, Extent, Side};

impl<D: Dialect> Exchanges<D> {
    /// Forwards a request whose body is not whole yet. Leaves `rest` empty once it is.
    pub(super) async fn forward_stream(
        &self,
        call: &Call,
        request: &RequestMessage,
        rest: &mut Option<Rest>,
        client: &mut Client,
        upstream: &mut Upstream,
    ) -> Forwarded {
        let Some(coming) = rest.as_mut() else {
            return Forwarded::nothing();
        };
        let chunks = coming.length().is_none();
        let begun = request.body.clone();
        let mut passed = Passed::from(&begun);
        let first = if chunks && !begun.is_empty() {
            chunked::chunk(&begun)
        } else {
            begun
        };
        let head = request.head_with(coming.length());
        let mut forwarded = upstream.forward(self.gate(), client, head, first).await;
        let mut is_whole = false;
        while forwarded.extent == Extent::Whole && !is_whole {
            let piece = tokio::select! {
                biased;
                () = self.gate().closed() => {
                    forwarded.extent = Extent::Partly;
                    break;
                }
                piece = client.piece(coming) => piece,
            };
            let Ok(piece) = piece else {
                forwarded.left = true;
                forwarded.extent = Extent::Partly;
                break;
            };
            if let Some(piece) = &piece {
                passed.add(piece);
            }
            is_whole = piece.is_none();
            let next = upstream.forward_piece(self.gate(), client, piece.as_ref(), chunks);
            forwarded = next.await;
            if forwarded.extent != Extent::Whole {
                forwarded.extent = Extent::Partly;
            }
        }
        is_whole &= forwarded.extent == Extent::Whole;
        if is_whole {
            *rest = None;
        }
        if forwarded.extent != Extent::Nothing {
            self.tell_streamed(call, Side::Before, passed, is_whole);
        }
        forwarded
    }

    /// Gives the client a response whose body is not whole yet.
    pub(super) async fn send_stream(
        &self,
        call: &Call,
        request: &RequestMessage,
        response: &ResponseMessage,
        mut rest: Rest,
        client: &mut Client,
        upstream: &mut Upstream,
    ) -> ControlFlow<Ending> {
        if self.gate().is_closed() {
            self.director().abandoned(call, Side::After);
            return Break(Ending::gate_closed());
        }
        let delimited = match (rest.length(), request.version) {
            (Some(length), _) => Delimited::Length(length),
            (None, Version::Eleven) => Delimited::Chunks,
            (None, Version::Ten) => Delimited::End,
        };
        let chunks = delimited == Delimited::Chunks;
        let keeps_alive =
            request.keeps_alive() && response.keeps_alive && delimited != Delimited::End;
        let head = response.begun(request, keeps_alive, delimited);
        let mut passed = Passed::from(&response.body);
        let mut ending = None;
        if !client.send_begun(head, response.body.clone(), chunks).await {
            ending = Some(Ending::left());
        }
        while ending.is_none() {
            let piece = tokio::select! {
                biased;
                () = self.gate().closed() => { ending = Some(Ending::gate_closed()); break; }
                piece = upstream.piece(&mut rest) => piece,
                () = client.gone_within(AHEAD_OF_STREAM) => { ending = Some(Ending::left()); break; }
            };
            match piece {
                Ok(piece) => {
                    if let Some(piece) = &piece {
                        passed.add(piece);
                    }
                    if !client.send_piece(piece.as_ref(), chunks).await {
                        ending = Some(Ending::left());
                    } else if piece.is_none() {
                        break;
                    }
                }
                Err(broken) => ending = Some(broken_off(&broken)),
            }
        }
        self.tell_streamed(call, Side::After, passed, ending.is_none());
        if let Some(ending) = ending {
            if ending.parting != Parting::Discard(Discard::Reset) {
                self.director().abandoned(call, Side::After);
            }
            upstream.abandon();
            return Break(ending);
        }
        match (request.keeps_alive(), keeps_alive) {
            (_, true) => Continue(()),
            (false, _) => Break(Ending::close("the client asked to close after its request")),
            (true, false) => Break(Ending::close("the dependency closes after its reply")),
        }
    }

    fn tell_streamed(&self, call: &Call, side: Side, passed: Passed, whole: bool) {
        let (len, sha256) = passed.told();
        self.director().streamed(call, side, len, &sha256, whole);
    }
}

/// A body that breaks off must not look whole to anybody.
fn broken_off(no: &NoMessage) -> Ending {
    let reason = match no {
        NoMessage::Ended(End::Closed) => {
            "the dependency closed the connection within its reply".to_owned()
        }
        NoMessage::Ended(End::Lost(error)) => {
            format!("the connection to the dependency broke within its reply: {error}")
        }
        NoMessage::Malformed(malformed) => {
            format!("the rest of the dependency's reply could not be passed on: {malformed}")
        }
    };
    Ending::new(Parting::Discard(Discard::Reset), reason)
}
