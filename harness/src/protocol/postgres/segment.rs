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

impl Segment {
    /// Where the values of its Binds stand in its bytes.
    pub(super) fn values(&self) -> Vec<Range<usize>> {
        let start = self.bytes.as_ptr() as usize;
        let bound = self.messages().filter_map(|message| match message {
            Ok(Message::Bind { values, .. }) => Some(values),
            _ => None,
        });
        let values = bound.flatten().filter_map(|value| value.bytes);
        values
            .map(|bytes| {
                let at = bytes.as_ptr() as usize - start;
                at..at + bytes.len()
            })
            .collect()
    }
}

/// Cuts segments off a growing buffer without reading any byte twice.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    frames: Vec<Frame>,
    scanned: usize,
}

impl Cutter {
    /// Whether no frame of the next segment was looked at.
    pub(super) fn is_between_segments(&self) -> bool {
        self.frames.is_empty()
    }

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::{Format, Target, Value};
    use super::*;

    /// What sqlx sends to execute a prepared statement with one binary value.
    const EXECUTION: &[u8] = b"B\0\0\0\x1c\0sqlx_s_1\0\0\x01\0\x01\0\x01\0\0\0\x02\0\x07\0\0\
        E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

    /// One of each kind of segment.
    const STREAM: &[u8] = b"P\0\0\0\x16s\0select $1\0\0\x01\0\0\0\x17D\0\0\0\x07Ss\0H\0\0\0\x04\
        S\0\0\0\x04Q\0\0\0\x0dselect 1\0C\0\0\0\x06P\0S\0\0\0\x04\
        F\0\0\0\x0e\0\0\0\x01\0\0\0\0\0\0d\0\0\0\x05xX\0\0\0\x04";

    fn cut(chunks: &[&[u8]]) -> Result<Vec<Segment>, Malformed> {
        let (mut cutter, mut buffer, mut segments) =
            (Cutter::default(), BytesMut::new(), Vec::new());
        for chunk in chunks {
            buffer.extend_from_slice(chunk);
            while let Some(segment) = cutter.cut(&mut buffer)? {
                segments.push(segment);
            }
        }
        Ok(segments)
    }

    #[test]
    fn an_execution_is_one_segment_with_its_values() {
        let segments = cut(&[EXECUTION]).unwrap();
        let [segment] = segments.as_slice() else {
            panic!("{segments:?}")
        };
        let messages: Vec<_> = segment.messages().map(Result::unwrap).collect();
        let value = Value {
            format: Format::Binary,
            bytes: Some(&[0, 7]),
        };
        assert_eq!(
            messages,
            [
                Message::Bind {
                    portal: b"",
                    statement: b"sqlx_s_1",
                    values: vec![value],
                    formats: Vec::new(),
                },
                Message::Execute { portal: b"" },
                Message::Sync,
            ]
        );
    }

    #[test]
    fn a_stream_is_cut_where_an_answer_is_asked_for() {
        let segments = cut(&[STREAM]).unwrap();
        let ends: Vec<_> = segments.iter().map(|segment| segment.end).collect();
        assert_eq!(
            ends,
            [
                End::Flush,
                End::Sync,
                End::Query,
                End::Sync,
                End::Function,
                End::Terminate
            ]
        );
        let first: Vec<_> = segments[0].messages().map(Result::unwrap).collect();
        assert_eq!(
            first[..2],
            [
                Message::Parse {
                    name: b"s",
                    sql: b"select $1",
                    oids: vec![23]
                },
                Message::Describe {
                    target: Target::Statement,
                    name: b"s"
                },
            ]
        );
    }

    #[test]
    fn a_message_that_lies_about_its_length_is_refused() {
        assert!(matches!(
            cut(&[b"Q\0\0\0\x03"]),
            Err(Malformed::Length {
                tag: 'Q',
                length: 3
            })
        ));
        assert!(matches!(
            cut(&[b"Q\xff\xff\xff\xff"]),
            Err(Malformed::Length { .. })
        ));
        let segments = cut(&[b"B\0\0\0\x05\0S\0\0\0\x04"]).unwrap();
        assert!(segments[0].messages().any(|message| message.is_err()));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_segments(mut places in prop::collection::vec(0..STREAM.len(), 0..20)) {
            places.sort_unstable();
            let mut chunks = Vec::new();
            let mut start = 0;
            for place in places {
                chunks.push(&STREAM[start..place]);
                start = place;
            }
            chunks.push(&STREAM[start..]);
            prop_assert_eq!(cut(&chunks).unwrap(), cut(&[STREAM]).unwrap());
        }

        #[test]
        fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for segment in cut(&[&bytes]).unwrap_or_default() {
                segment.messages().for_each(drop);
            }
        }

        #[test]
        fn no_body_makes_reading_panic(
            tag in prop::sample::select(b"BCDEFHPQSX".to_vec()),
            body in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let _ = Message::read(tag, &body);
        }
    }
}
