//! The rows of a COPY, read as they pass: they say whom it concerns.

use bytes::Bytes;

use super::message::{Format, Value};
use super::value;
use crate::sql::CopyFormat;
use crate::tap::{Bind, Copied};

/// More rows than these are not kept.
const MOST_ROWS: usize = 10_000;

/// Nor more bytes.
const MOST_BYTES: usize = 4 << 20;

/// What a binary COPY begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// Reads rows however they are cut.
#[derive(Debug)]
pub(super) struct RowReader {
    format: CopyFormat,
    /// Bytes of a row that is not whole.
    pending: Vec<u8>,
    /// Up to here no row of `pending` ends.
    looked: usize,
    quoted: bool,
    begun: bool,
    ended: bool,
    kept: usize,
    copied: Copied,
}

/// What the bytes at the start hold.
enum Next {
    /// A row and the length of its bytes.
    Row(Vec<Bind>, usize),
    /// No row in so many bytes.
    Skip(usize),
    /// More bytes are needed.
    Partial,
    /// No more rows follow.
    End,
    Malformed,
}

impl RowReader {
    pub(super) fn new(format: CopyFormat) -> Self {
        Self {
            format,
            pending: Vec::new(),
            looked: 0,
            quoted: false,
            begun: false,
            ended: false,
            kept: 0,
            copied: Copied::default(),
        }
    }

    /// Takes the next bytes of the client's.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.ended || self.copied.more {
            return;
        }
        self.pending.extend_from_slice(bytes);
        let mut read = 0;
        while !self.ended && !self.copied.more {
            match self.next(read) {
                Next::Partial => break,
                Next::End => self.ended = true,
                Next::Malformed => self.copied.more = true,
                Next::Skip(length) => read += length,
                Next::Row(row, length) => {
                    read += length;
                    self.kept += length;
                    self.copied.rows.push(row);
                    self.copied.more =
                        self.copied.rows.len() >= MOST_ROWS || self.kept >= MOST_BYTES;
                }
            }
        }
        self.pending.drain(..read);
        if self.copied.more || self.ended {
            self.pending = Vec::new();
        } else if self.pending.len() > MOST_BYTES {
            self.copied.more = true;
            self.pending = Vec::new();
        }
    }

    /// All rows there were.
    pub(super) fn finish(mut self) -> Copied {
        // The last line may lack its end.
        if !self.pending.is_empty() && self.format != CopyFormat::Binary {
            self.push(b"\n");
        }
        self.copied.more |= !self.pending.is_empty();
        self.copied
    }

    fn next(&mut self, from: usize) -> Next {
        match self.format {
            CopyFormat::Binary => self.binary(from),
            CopyFormat::Text { delimiter } => match self.line(from, None) {
                None => Next::Partial,
                Some(end) => self.row(from, end, |line| text_fields(line, delimiter)),
            },
            CopyFormat::Csv {
                delimiter,
                quote,
                escape,
                header,
            } => match self.line(from, Some((quote, escape))) {
                None => Next::Partial,
                Some(end) if header && !self.begun => {
                    self.begun = true;
                    Next::Skip(end - from)
                }
                Some(end) => self.row(from, end, |line| csv_fields(line, delimiter, quote, escape)),
            },
        }
    }

    fn row(&self, from: usize, end: usize, fields: impl Fn(&str) -> Vec<Bind>) -> Next {
        let line = &self.pending[from..end - 1];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line == b"\\." {
            return Next::End;
        }
        match std::str::from_utf8(line) {
            Ok(line) => Next::Row(fields(line), end - from),
            Err(_) => Next::Malformed,
        }
    }

    /// Where the line that begins at `from` has ended. What was looked at is not looked at
    /// again.
    fn line(&mut self, from: usize, quotes: Option<(char, char)>) -> Option<usize> {
        let mut at = from + std::mem::take(&mut self.looked);
        while let Some(byte) = self.pending.get(at) {
            match (quotes, *byte) {
                (None, b'\\') if at + 1 == self.pending.len() => break,
                (None, b'\\') => at += 1,
                (Some((quote, escape)), byte)
                    if self.quoted && escape != quote && char::from(byte) == escape =>
                {
                    if at + 1 == self.pending.len() {
                        break;
                    }
                    at += 1;
                }
                (Some((quote, _)), byte) if char::from(byte) == quote => {
                    self.quoted = !self.quoted;
                }
                (_, b'\n') if !self.quoted => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
        self.looked = at - from;
        None
    }

    fn binary(&mut self, from: usize) -> Next {
        let mut fields = Fields(&self.pending[from..]);
        let length = fields.0.len();
        if !self.begun {
            let Some(extension) = fields.take(SIGNATURE.len() + 8) else {
                return Next::Partial;
            };
            let size = usize::try_from(
                Fields(&extension[SIGNATURE.len() + 4..])
                    .number()
                    .unwrap_or(0),
            );
            if !extension.starts_with(SIGNATURE) || size.is_err() {
                return Next::Malformed;
            }
            if fields.take(size.unwrap_or(0)).is_none() {
                return Next::Partial;
            }
            self.begun = true;
            return Next::Skip(length - fields.0.len());
        }
        let Some(count) = fields.take(2) else {
            return Next::Partial;
        };
        let Ok(count) = usize::try_from(i16::from_be_bytes([count[0], count[1]])) else {
            return Next::End;
        };
        let mut row = Vec::with_capacity(count);
        for _ in 0..count {
            let Some(size) = fields.number() else {
                return Next::Partial;
            };
            let Ok(size) = usize::try_from(size) else {
                row.push(Bind::Null);
                continue;
            };
            let Some(field) = fields.take(size) else {
                return Next::Partial;
            };
            row.push(untyped(field));
        }
        Next::Row(row, length - fields.0.len())
    }
}

/// The rest of a binary row.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<i32> {
        let bytes = self.take(4)?;
        Some(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// A binary field, whose type nobody says: printable text, else what its length suits.
fn untyped(field: &[u8]) -> Bind {
    let is_text = |text: &str| text.chars().all(|sign| !sign.is_control());
    if let Some(text) = std::str::from_utf8(field).ok().filter(|text| is_text(text)) {
        return Bind::Text(text.to_owned());
    }
    let oid = match field.len() {
        2 => value::oid::INT2,
        4 => value::oid::INT4,
        8 => value::oid::INT8,
        16 => value::oid::UUID,
        _ if field.first() == Some(&1) => value::oid::JSONB,
        _ => 0,
    };
    let read = Value {
        format: Format::Binary,
        bytes: Some(field),
    };
    match value::read(oid, read) {
        Bind::Text(text) => Bind::Text(text),
        _ => Bind::Opaque {
            oid: 0,
            bytes: Bytes::copy_from_slice(field),
        },
    }
}

fn text_fields(line: &str, delimiter: char) -> Vec<Bind> {
    let mut fields = Vec::new();
    let (mut field, mut null) = (String::new(), false);
    let mut signs = line.chars();
    let take = |field: &mut String, null: &mut bool| {
        let text = std::mem::take(field);
        if std::mem::take(null) {
            Bind::Null
        } else {
            Bind::Text(text)
        }
    };
    while let Some(sign) = signs.next() {
        if sign == delimiter {
            fields.push(take(&mut field, &mut null));
        } else if sign == '\\' {
            match signs.next() {
                Some('N') => null = true,
                Some('n') => field.push('\n'),
                Some('r') => field.push('\r'),
                Some('t') => field.push('\t'),
                Some('b') => field.push('\u{8}'),
                Some('f') => field.push('\u{c}'),
                Some('v') => field.push('\u{b}'),
                Some(sign) => field.push(sign),
                None => {}
            }
        } else {
            field.push(sign);
        }
    }
    fields.push(take(&mut field, &mut null));
    fields
}

fn csv_fields(line: &str, delimiter: char, quote: char, escape: char) -> Vec<Bind> {
    let mut fields = Vec::new();
    let (mut field, mut was_quoted, mut quoted) = (String::new(), false, false);
    let mut signs = line.chars().peekable();
    let take = |field: &mut String, was_quoted: &mut bool| {
        let text = std::mem::take(field);
        if !std::mem::take(was_quoted) && text.is_empty() {
            Bind::Null
        } else {
            Bind::Text(text)
        }
    };
    while let Some(sign) = signs.next() {
        if quoted
            && sign == escape
            && signs
                .peek()
                .is_some_and(|next| *next == quote || *next == escape)
        {
            field.extend(signs.next());
        } else if sign == quote {
            quoted = !quoted;
            was_quoted = true;
        } else if sign == delimiter && !quoted {
            fields.push(take(&mut field, &mut was_quoted));
        } else {
            field.push(sign);
        }
    }
    fields.push(take(&mut field, &mut was_quoted));
    fields
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: CopyFormat = CopyFormat::Text { delimiter: '\t' };
    const CSV: CopyFormat = CopyFormat::Csv {
        delimiter: ',',
        quote: '"',
        escape: '"',
        header: true,
    };

    fn read(format: CopyFormat, chunks: &[&[u8]]) -> Copied {
        let mut reader = RowReader::new(format);
        for chunk in chunks {
            reader.push(chunk);
        }
        reader.finish()
    }

    fn text(text: &str) -> Bind {
        Bind::Text(text.to_owned())
    }

    fn binary() -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([0; 8]);
        for job in [b"job-a", b"job-b"] {
            bytes.extend(3_i16.to_be_bytes());
            bytes.extend(5_i32.to_be_bytes());
            bytes.extend(job);
            bytes.extend(8_i32.to_be_bytes());
            bytes.extend(7_i64.to_be_bytes());
            bytes.extend((-1_i32).to_be_bytes());
        }
        bytes.extend((-1_i16).to_be_bytes());
        bytes
    }

    #[test]
    fn rows_of_text_are_read_as_the_server_reads_them() {
        let copied = read(TEXT, &[b"a\\tb\t\\N\n1\tx\\\\n\r\nlast\t2"]);
        assert_eq!(
            copied.rows,
            [
                vec![text("a\tb"), Bind::Null],
                vec![text("1"), text("x\\n")],
                vec![text("last"), text("2")],
            ]
        );
        assert!(!copied.more);
        assert_eq!(read(TEXT, &[b"1\n\\.\n2\n"]).rows.len(), 1);
    }

    #[test]
    fn rows_of_csv_are_read_as_the_server_reads_them() {
        let copied = read(CSV, &[b"job,note\na,\"x, \"\"y\"\"\n2\"\nb,\n\"\",c\n"]);
        assert_eq!(
            copied.rows,
            [
                vec![text("a"), text("x, \"y\"\n2")],
                vec![text("b"), Bind::Null],
                vec![text(""), text("c")],
            ]
        );
    }

    #[test]
    fn rows_of_binary_are_read_by_what_they_hold() {
        let copied = read(CopyFormat::Binary, &[&binary()]);
        assert_eq!(copied.rows[1], [text("job-b"), text("7"), Bind::Null]);
        assert_eq!(copied.rows.len(), 2);
        assert!(!copied.more);
        assert_eq!(
            untyped(&[0xA0; 16]),
            text("a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0")
        );
    }

    #[test]
    fn what_is_too_much_or_no_row_is_said() {
        let many = "row\n".repeat(MOST_ROWS + 1);
        let copied = read(TEXT, &[many.as_bytes()]);
        assert!(copied.more && copied.rows.len() == MOST_ROWS);
        assert!(read(TEXT, &[b"\xff\xff\n"]).more);
        assert!(read(CopyFormat::Binary, &[b"no signature at all"]).more);
        assert!(read(CopyFormat::Binary, &[&binary()[..40]]).more);
    }

    proptest! {
        #[test]
        fn any_chunking_reads_the_same(mut places in prop::collection::vec(0_usize..80, 0..12), which in 0..3) {
            let binary = binary();
            let (format, whole) = match which {
                0 => (TEXT, &b"a\\tb\t\\N\n1\tx\\\\n\r\nlast\t2\nabc\\\\\t\xc3\xa4\n"[..]),
                1 => (CSV, &b"job,note\na,\"x, \"\"y\"\"\n2\"\nb,\n\"\",c\n"[..]),
                _ => (CopyFormat::Binary, &binary[..]),
            };
            places.retain(|place| *place < whole.len());
            places.sort_unstable();
            let mut chunks = Vec::new();
            let mut start = 0;
            for place in places {
                chunks.push(&whole[start..place]);
                start = place;
            }
            chunks.push(&whole[start..]);
            prop_assert_eq!(read(format, &chunks), read(format, &[whole]));
        }

        #[test]
        fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), which in 0_usize..3) {
            let format = [TEXT, CSV, CopyFormat::Binary][which];
            let half = bytes.len() / 2;
            read(format, &[&bytes[..half], &bytes[half..]]);
        }
    }
}
