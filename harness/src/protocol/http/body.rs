//! Bodies that are not whole yet: so much of them as is held, and what comes after it.

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use super::chunked::Chunked;
use super::reader::{Framing, Malformed};

/// A body as far as it was read.
pub(crate) struct Begun {
    pub(crate) body: Bytes,
    /// What is to come, if it is not whole.
    pub(crate) rest: Option<Rest>,
}

impl Begun {
    pub(super) fn whole(body: Bytes) -> Self {
        Self { body, rest: None }
    }

    pub(super) fn part(mut rest: Rest) -> Self {
        Self {
            body: rest.give(),
            rest: Some(rest),
        }
    }
}

/// A body on its way.
#[derive(Debug)]
pub(crate) struct Rest {
    /// What was taken from the wire and not given away.
    taken: BytesMut,
    framing: Way,
    whole: bool,
    length: Option<usize>,
}

#[derive(Debug)]
enum Way {
    /// So many bytes are still to come.
    Length(usize),
    Chunked(Chunked),
    UntilEnd,
}

impl Rest {
    pub(super) fn new(framing: Framing) -> Self {
        let (way, length) = match framing {
            Framing::None => (Way::Length(0), Some(0)),
            Framing::Length(length) => (Way::Length(length), Some(length)),
            Framing::Chunked => (Way::Chunked(Chunked::default()), None),
            Framing::UntilEnd => (Way::UntilEnd, None),
        };
        Self {
            taken: BytesMut::new(),
            framing: way,
            whole: false,
            length,
        }
    }

    /// Takes what it can of a buffer; true once the body is whole.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> Result<bool, Malformed> {
        self.whole = match &mut self.framing {
            Way::Length(left) => {
                let here = (*left).min(buffer.len());
                *left -= here;
                let piece = buffer.split_to(here);
                self.taken.unsplit(piece);
                *left == 0
            }
            Way::Chunked(chunked) => chunked.take(buffer)?,
            Way::UntilEnd => {
                let piece = buffer.split();
                self.taken.unsplit(piece);
                false
            }
        };
        Ok(self.whole)
    }

    /// What was taken since this was asked last.
    pub(super) fn give(&mut self) -> Bytes {
        match &mut self.framing {
            Way::Chunked(chunked) => chunked.give(),
            _ => self.taken.split().freeze(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.framing {
            Way::Chunked(chunked) => chunked.len(),
            _ => self.taken.len(),
        }
    }

    /// Whether it is known already that there is more than this.
    pub(super) fn knows_more_than(&self, held: usize) -> bool {
        match &self.framing {
            Way::Length(left) => left + self.taken.len() > held,
            Way::Chunked(chunked) => chunked.len() + chunked.announced() > held,
            Way::UntilEnd => false,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn ends_with_connection(&self) -> bool {
        matches!(self.framing, Way::UntilEnd)
    }

    /// The length of the whole body, where it was told.
    pub(crate) fn length(&self) -> Option<usize> {
        self.length
    }
}

/// How much passed, and its digest.
pub(crate) struct Passed {
    len: u64,
    digest: Sha256,
}

impl Passed {
    /// It begins with what was held.
    pub(crate) fn from(held: &Bytes) -> Self {
        let mut passed = Self {
            len: 0,
            digest: Sha256::new(),
        };
        passed.add(held);
        passed
    }

    pub(crate) fn add(&mut self, piece: &Bytes) {
        self.len += piece.len() as u64;
        self.digest.update(piece);
    }

    /// Its length, and its SHA-256.
    pub(crate) fn told(self) -> (u64, Vec<u8>) {
        (self.len, self.digest.finalize().to_vec())
    }
}
