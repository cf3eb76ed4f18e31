//! Bodies in chunks: taken apart, and put into chunks again.

use bytes::{Buf, Bytes, BytesMut};

use super::reader::Malformed;

/// The longest line of a chunk's size with its extensions, or of a trailer.
const LINE_LIMIT: usize = 16 * 1024;
const TRAILERS_LIMIT: usize = 256;

/// A chunked body on its way. Trailers are read and left out.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    state: State,
    body: BytesMut,
    trailers: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Data(usize),
    DataEnd,
    Trailers,
}

impl Chunked {
    /// Uses up what it can of `buffer`; true once the body is whole.
    pub(crate) fn take(&mut self, buffer: &mut BytesMut) -> Result<bool, Malformed> {
        loop {
            match self.state {
                State::Size => {
                    let size = httparse::parse_chunk_size(buffer).map_err(|_| Malformed::Chunk)?;
                    let httparse::Status::Complete((length, size)) = size else {
                        return within_line(buffer);
                    };
                    let size = usize::try_from(size).map_err(|_| Malformed::BodyTooLong)?;
                    buffer.advance(length);
                    self.state = if size == 0 {
                        State::Trailers
                    } else {
                        State::Data(size)
                    };
                }
                State::Data(left) => {
                    let here = left.min(buffer.len());
                    self.body.extend_from_slice(&buffer[..here]);
                    buffer.advance(here);
                    if here < left {
                        self.state = State::Data(left - here);
                        return Ok(false);
                    }
                    self.state = State::DataEnd;
                }
                State::DataEnd => {
                    if buffer.len() < 2 {
                        return Ok(false);
                    }
                    if !buffer.starts_with(b"\r\n") {
                        return Err(Malformed::Chunk);
                    }
                    buffer.advance(2);
                    self.state = State::Size;
                }
                State::Trailers => {
                    let Some(end) = buffer.iter().position(|&byte| byte == b'\n') else {
                        return within_line(buffer);
                    };
                    let blank = matches!(&buffer[..end], b"\r" | b"");
                    buffer.advance(end + 1);
                    if blank {
                        return Ok(true);
                    }
                    self.trailers += 1;
                    if self.trailers > TRAILERS_LIMIT {
                        return Err(Malformed::Chunk);
                    }
                }
            }
        }
    }

    /// How much of the body was taken and not given away.
    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether a chunk was announced whose bytes are still to come.
    pub(crate) fn announced(&self) -> usize {
        match self.state {
            State::Data(left) => left,
            _ => 0,
        }
    }

    /// What was taken of the body since this was asked last.
    pub(crate) fn give(&mut self) -> Bytes {
        self.body.split().freeze()
    }
}

/// A piece of a body as one chunk.
pub(crate) fn chunk(piece: &Bytes) -> Bytes {
    let mut wire = BytesMut::with_capacity(piece.len() + 20);
    wire.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    wire.extend_from_slice(piece);
    wire.extend_from_slice(b"\r\n");
    wire.freeze()
}

/// The end of a body in chunks.
pub(crate) const LAST: &[u8] = b"0\r\n\r\n";

fn within_line(buffer: &BytesMut) -> Result<bool, Malformed> {
    if buffer.len() > LINE_LIMIT {
        Err(Malformed::Chunk)
    } else {
        Ok(false)
    }
}
