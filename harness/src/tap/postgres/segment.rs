//! Cuts a client's byte stream where a round trip ends.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::frame::{self, HEADER, Malformed};
use super::message::Message;

/// A client's messages up to and with the one that asks for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) bytes: Bytes,
    frames: Vec<Frame>,
    pub(super) end: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    tag: u8,
    body: Range<usize>,
}

/// Which message ended a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Sync,
    Flush,
    Query,
    Function,
    Terminate,
}

impl End {
    fn of(tag: u8) -> Option<Self> {
        Some(match tag {
            b'S' => Self::Sync,
            b'H' => Self::Flush,
            b'Q' => Self::Query,
            b'F' => Self::Function,
            b'X' => Self::Terminate,
            _ => return None,
        })
    }
}

impl Segment {
    /// The messages in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = Result<Message<'_>, Malformed>> {
        self.frames
            .iter()
            .map(|frame| Message::read(frame.tag, &self.bytes[frame.body.clone()]))
    }
}

/// Cuts segments off a growing buffer without reading any byte twice.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    frames: Vec<Frame>,
    scanned: usize,
}

impl Cutter {
    /// The next whole segment of `buffer`, which loses its bytes.
    pub(super) fn cut(&mut self, buffer: &mut BytesMut) -> Result<Option<Segment>, Malformed> {
        while let Some((tag, length)) = frame::first(&buffer[self.scanned..], frame::from_client)? {
            let end = self.scanned + length;
            self.frames.push(Frame {
                tag,
                body: self.scanned + HEADER..end,
            });
            self.scanned = end;
            if let Some(end) = End::of(tag) {
                let bytes = buffer.split_to(self.scanned).freeze();
                self.scanned = 0;
                let frames = std::mem::take(&mut self.frames);
                return Ok(Some(Segment { bytes, frames, end }));
            }
        }
        Ok(None)
    }
}
