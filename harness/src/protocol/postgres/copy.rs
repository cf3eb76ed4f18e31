//! The rows of a COPY on their way to the dependency. A frame need not be whole to be
//! passed on: one may be as long as the protocol allows.

use bytes::{Bytes, BytesMut};

use super::frame::{self, HEADER, Malformed};
use super::segment::End;

/// How much is passed on in one go.
const PIECE: usize = 1 << 20;

/// What the client owes within a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaited {
    /// Nothing: the server asked for no rows, or they have ended.
    #[default]
    Nothing,
    Rows,
    /// The rows have ended; in the extended protocol a Sync must follow, because the one
    /// that came before the rows was ignored, and without one the server keeps its answer.
    Sync,
}

/// The client's side of the COPY FROM STDIN of a connection.
#[derive(Debug, Default)]
pub(super) struct CopyIn {
    awaited: Awaited,
    /// Bytes of a frame that are yet to come.
    unfinished: usize,
}

/// What may be passed on.
#[derive(Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    /// The client said goodbye in the middle of its rows.
    pub(super) terminated: bool,
    /// A Sync went with them where the round trip began with a Flush.
    pub(super) synced: bool,
}

/// The round trip within which the client sends its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    /// How it began.
    pub(super) end: End,
    /// Whether the server has refused the rows.
    pub(super) failed: bool,
}

impl CopyIn {
    /// The server awaits rows.
    pub(super) fn begin(&mut self) {
        self.awaited = Awaited::Rows;
    }

    /// The round trip is over. What still comes of its rows is passed on all the same: the
    /// server ignores it, and its last frame may have begun.
    pub(super) fn end(&mut self) {
        self.awaited = Awaited::Nothing;
    }

    /// Whether more of the client belongs to this round trip.
    pub(super) fn is_open(&self) -> bool {
        self.awaited != Awaited::Nothing || self.unfinished > 0
    }

    /// Takes the next piece off the client's bytes; none while more of them are needed, or
    /// when what is there belongs to no COPY. Rows go by `row` in the parts in which they
    /// come. What a client sends ahead waits until the server asks for it; between round
    /// trips rows are what is left of one.
    pub(super) fn take(
        &mut self,
        buffer: &mut BytesMut,
        within: Option<Within>,
        mut row: impl FnMut(&[u8]),
    ) -> Result<Option<Piece>, Malformed> {
        let mut taken = 0;
        let (mut terminated, mut synced) = (false, false);
        while taken < PIECE && !terminated {
            let rest = &buffer[taken..];
            if self.unfinished > 0 {
                let part = self.unfinished.min(rest.len()).min(PIECE - taken);
                if part == 0 {
                    break;
                }
                row(&rest[..part]);
                self.unfinished -= part;
                taken += part;
                continue;
            }
            if within.is_some() && self.awaited == Awaited::Nothing {
                break;
            }
            let Some((tag, length)) = frame::header(rest, frame::from_client)? else {
                break;
            };
            match (tag, self.awaited) {
                (b'd', _) => {
                    self.unfinished = length - HEADER;
                    taken += HEADER;
                    continue;
                }
                (b'c' | b'f', _) => {}
                (_, Awaited::Nothing) => break,
                (b'H' | b'S' | b'X', _) => {}
                (other, _) => return Err(Malformed::Tag(other)),
            }
            if rest.len() < length {
                break;
            }
            terminated = tag == b'X';
            synced |= tag == b'S'
                && self.awaited == Awaited::Sync
                && within.is_some_and(|within| within.end == End::Flush);
            self.awaited = self.after(tag, within);
            taken += length;
        }
        Ok((taken > 0).then(|| Piece {
            bytes: buffer.split_to(taken).freeze(),
            terminated,
            synced,
        }))
    }

    /// What is awaited once a frame that is no row has gone by.
    fn after(&self, tag: u8, within: Option<Within>) -> Awaited {
        let Some(Within { end, failed }) = within else {
            return Awaited::Nothing;
        };
        match (tag, self.awaited) {
            (b'c' | b'f', _) if end != End::Query => Awaited::Sync,
            (b'S', Awaited::Rows) if !failed => Awaited::Rows,
            // What was flushed before may be flushed again.
            (b'H', awaited) if awaited != Awaited::Sync || end != End::Flush => awaited,
            _ => Awaited::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;
    use proptest::prelude::*;

    use super::*;

    const ROWS: &[u8] = b"d\0\0\0\x06a\nH\0\0\0\x04d\0\0\0\x04S\0\0\0\x04d\0\0\0\x08bcd\n\
        c\0\0\0\x04S\0\0\0\x04Q\0\0\0\x06x\0";

    fn take(
        copy: &mut CopyIn,
        buffer: &mut BytesMut,
        end: End,
    ) -> Result<Option<Piece>, Malformed> {
        copy.take(buffer, Some(Within { end, failed: false }), |_| {})
    }

    /// All that is taken of `chunks`, and what is left.
    fn taken(chunks: &[&[u8]], end: End) -> (Vec<u8>, Vec<u8>) {
        let mut copy = CopyIn::default();
        copy.begin();
        let (mut buffer, mut all) = (BytesMut::new(), Vec::new());
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(piece) = take(&mut copy, &mut buffer, end).unwrap() {
                all.extend_from_slice(&piece.bytes);
            }
        }
        assert!(!copy.is_open());
        (all, buffer.to_vec())
    }

    #[test]
    fn rows_end_where_the_protocol_says() {
        let next = b"Q\0\0\0\x06x\0";
        let sync = b"S\0\0\0\x04";
        let (all, left) = taken(&[ROWS], End::Sync);
        assert!(all.ends_with(sync));
        assert_eq!(left, next);
        assert_eq!(taken(&[ROWS], End::Flush), (all, left));
        let (all, left) = taken(&[ROWS], End::Query);
        assert!(all.ends_with(b"c\0\0\0\x04"));
        assert_eq!(left, [&sync[..], next].concat());
    }

    #[test]
    fn a_long_row_passes_before_it_is_whole() {
        let mut copy = CopyIn::default();
        copy.begin();
        let mut buffer = BytesMut::from(&b"d\0\x10\0\0abc"[..]);
        let piece = take(&mut copy, &mut buffer, End::Query).unwrap().unwrap();
        assert_eq!(piece.bytes, &b"d\0\x10\0\0abc"[..]);
        assert!(copy.is_open());
        assert_eq!(take(&mut copy, &mut buffer, End::Query).unwrap(), None);
    }

    #[test]
    fn more_than_a_piece_is_taken_in_pieces() {
        let mut copy = CopyIn::default();
        copy.begin();
        let mut buffer = BytesMut::new();
        for _ in 0..40 {
            frame::put(&mut buffer, b'd', |body| body.put_bytes(b'x', 100_000));
        }
        frame::put(&mut buffer, b'c', |_| {});
        let whole = buffer.len();
        let mut taken = 0;
        while let Some(piece) = take(&mut copy, &mut buffer, End::Query).unwrap() {
            assert!(piece.bytes.len() <= PIECE + HEADER);
            taken += piece.bytes.len();
        }
        assert_eq!(taken, whole);
        assert!(!copy.is_open());
    }

    #[test]
    fn rows_that_come_after_the_server_gave_up_pass_until_something_else_comes() {
        let mut copy = CopyIn::default();
        copy.begin();
        let mut buffer = BytesMut::from(&b"d\0\0\0\x09ab"[..]);
        take(&mut copy, &mut buffer, End::Query).unwrap().unwrap();
        copy.end();
        buffer.extend_from_slice(b"cd\nd\0\0\0\x06e\nc\0\0\0\x04Q\0\0\0\x06x\0");
        let piece = copy.take(&mut buffer, None, |_| {}).unwrap().unwrap();
        assert_eq!(piece.bytes, &b"cd\nd\0\0\0\x06e\nc\0\0\0\x04"[..]);
        assert_eq!(copy.take(&mut buffer, None, |_| {}).unwrap(), None);
        assert!(!copy.is_open());
    }

    #[test]
    fn rows_that_are_sent_ahead_wait_until_they_are_asked_for() {
        let mut copy = CopyIn::default();
        let mut buffer = BytesMut::from(&b"d\0\0\0\x06a\nd\0\0\0\x06b\nc\0\0\0\x04"[..]);
        assert_eq!(take(&mut copy, &mut buffer, End::Query).unwrap(), None);
        copy.begin();
        let within = Within {
            end: End::Query,
            failed: false,
        };
        let mut rows = Vec::new();
        let row = |bytes: &[u8]| rows.extend_from_slice(bytes);
        copy.take(&mut buffer, Some(within), row).unwrap().unwrap();
        assert_eq!(rows, b"a\nb\n");
    }

    proptest! {
        #[test]
        fn any_chunking_takes_the_same(mut places in prop::collection::vec(0..ROWS.len(), 0..20), simple: bool) {
            places.sort_unstable();
            let mut chunks = Vec::new();
            let mut start = 0;
            for place in places {
                chunks.push(&ROWS[start..place]);
                start = place;
            }
            chunks.push(&ROWS[start..]);
            let end = if simple { End::Query } else { End::Sync };
            prop_assert_eq!(taken(&chunks, end), taken(&[ROWS], end));
        }

        #[test]
        fn no_bytes_make_taking_panic_or_stall(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut copy = CopyIn::default();
            copy.begin();
            let mut buffer = BytesMut::from(bytes.as_slice());
            while let Ok(Some(piece)) = take(&mut copy, &mut buffer, End::Query) {
                prop_assert!(!piece.bytes.is_empty());
            }
        }
    }
}
