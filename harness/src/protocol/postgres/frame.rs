//! Frames of the v3 protocol: one byte of tag, four of length, a body.

use bytes::{BufMut, BytesMut};

use crate::tap::{PgError, TransactionStatus};

/// The server's own bound on one message.
const LONGEST: usize = 0x3fff_ffff;

/// Tag and length.
pub(super) const HEADER: usize = 5;

/// What came is not the v3 protocol, or a part of it that the tap does not speak.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("message type 0x{0:02x} is not one of the PostgreSQL v3 protocol")]
    Tag(u8),
    #[error("a `{tag}` message claims a length of {length} bytes, outside of 4 to {LONGEST}")]
    Length { tag: char, length: usize },
    #[error("a `{tag}` message ends in the middle of {what}")]
    Short { tag: char, what: &'static str },
    #[error("a startup packet claims a length of {0} bytes, outside of 8 to 10000")]
    Startup(usize),
    #[error("protocol {major}.{minor} is not spoken here; use a client of protocol 3")]
    Version { major: u16, minor: u16 },
    #[error("a replication connection cannot be tapped; connect it to the server itself")]
    Replication,
}

impl Malformed {
    /// The SQLSTATE a client is told.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Version { .. } | Self::Replication => "0A000",
            _ => "08P01",
        }
    }
}

/// The first frame of `bytes`, once it is whole: its tag and its length from the tag on.
pub(super) fn first(bytes: &[u8], known: fn(u8) -> bool) -> Result<Option<(u8, usize)>, Malformed> {
    Ok(header(bytes, known)?.filter(|(_, length)| bytes.len() >= *length))
}

/// The tag of the first frame of `bytes`, and the length that it will have from the tag on,
/// once these are there.
pub(super) fn header(
    bytes: &[u8],
    known: fn(u8) -> bool,
) -> Result<Option<(u8, usize)>, Malformed> {
    let Some(&tag) = bytes.first() else {
        return Ok(None);
    };
    if !known(tag) {
        return Err(Malformed::Tag(tag));
    }
    let Some(length) = bytes.get(1..HEADER) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if !(4..=LONGEST).contains(&length) {
        return Err(Malformed::Length {
            tag: tag.into(),
            length,
        });
    }
    Ok(Some((tag, length + 1)))
}

/// Whether a client may send this tag.
pub(super) fn from_client(tag: u8) -> bool {
    b"BCDEFHPQSXcdfp".contains(&tag)
}

/// Whether a server may send this tag.
pub(super) fn from_server(tag: u8) -> bool {
    b"123ACDEGHIKNRSTVWZcdnstv".contains(&tag)
}

/// Whether a server may send this tag at any time, outside of any reply.
pub(super) fn is_asynchronous(tag: u8) -> bool {
    matches!(tag, b'A' | b'N' | b'S')
}

/// The frames in `bytes` that belong to no reply.
pub(super) fn asynchronous(mut bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    while let Ok(Some((tag, length))) = first(bytes, from_server) {
        if is_asynchronous(tag) {
            kept.extend_from_slice(&bytes[..length]);
        }
        bytes = &bytes[length..];
    }
    kept
}

/// Appends a frame whose body `write` makes.
pub(super) fn put(into: &mut BytesMut, tag: u8, write: impl FnOnce(&mut BytesMut)) {
    into.put_u8(tag);
    let start = into.len();
    into.put_u32(0);
    write(into);
    let length = u32::try_from(into.len() - start).unwrap_or(u32::MAX);
    into[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a text and its closing zero.
pub(super) fn put_text(into: &mut BytesMut, text: &str) {
    into.extend(text.bytes().filter(|byte| *byte != 0));
    into.put_u8(0);
}

/// Appends an `ErrorResponse`.
pub(super) fn put_error(into: &mut BytesMut, severity: &str, error: &PgError) {
    put(into, b'E', |body| {
        for (field, text) in [
            (b'S', severity),
            (b'V', severity),
            (b'C', &error.code),
            (b'M', &error.message),
        ] {
            body.put_u8(field);
            put_text(body, text);
        }
        body.put_u8(0);
    });
}

/// Appends a `ReadyForQuery`.
pub(super) fn put_ready(into: &mut BytesMut, status: TransactionStatus) {
    put(into, b'Z', |body| {
        body.put_u8(match status {
            TransactionStatus::Idle => b'I',
            TransactionStatus::Open => b'T',
            TransactionStatus::Failed => b'E',
        });
    });
}

/// Reads the fields of a body one after the other.
pub(super) struct Body<'a> {
    tag: u8,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    pub(super) fn new(tag: u8, rest: &'a [u8]) -> Self {
        Self { tag, rest }
    }

    fn short(&self, what: &'static str) -> Malformed {
        Malformed::Short {
            tag: self.tag.into(),
            what,
        }
    }

    pub(super) fn bytes(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| self.short(what))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.bytes(1, what)?[0])
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        let bytes = self.bytes(2, what)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        let bytes = self.bytes(4, what)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A text that ends with a zero byte.
    pub(super) fn text(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| self.short(what))?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}

/// A name or text as the tap keeps it.
pub(super) fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Code and message of an `ErrorResponse`.
pub(super) fn read_error(body: &[u8]) -> PgError {
    let mut error = PgError {
        code: String::new(),
        message: String::new(),
    };
    let mut body = Body::new(b'E', body);
    while let Ok(field) = body.byte("a field") {
        let Ok(text) = body.text("a field") else {
            break;
        };
        match field {
            b'C' => error.code = lossy(text),
            b'M' => error.message = lossy(text),
            _ => {}
        }
    }
    error
}
