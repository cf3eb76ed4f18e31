//! Frames of RESP2 and RESP3: where one ends, and what it says.

use bytes::Bytes;

/// More levels are nobody's answer.
const DEEPEST: usize = 64;
/// What the server itself takes at most for one string (`proto-max-bulk-len`).
const LONGEST_STRING: usize = 512 * 1024 * 1024;
/// What stands in a line: a short string, a number, a length.
const LONGEST_LINE: usize = 1024 * 1024;

/// What one frame says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A short string: `OK`, `QUEUED`.
    Status(Bytes),
    /// An error, with its code in front.
    Error(Bytes),
    /// A whole number.
    Integer(i64),
    /// A string.
    Text(Bytes),
    /// A double, a truth value or a large number, as written.
    Scalar(Bytes),
    /// No value.
    Null,
    /// An array or a set.
    List(Vec<Value>),
    /// Keys with values.
    Map(Vec<(Value, Value)>),
    /// What comes without being asked for (RESP3).
    Push(Vec<Value>),
}

/// Bytes that are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A first byte that begins no frame.
    #[error("a frame cannot begin with the byte {0:#04x}")]
    Kind(u8),
    /// A length that is none.
    #[error("a length is malformed")]
    Length,
    /// A string that does not end where it says.
    #[error("a string does not end where it says")]
    End,
    /// Lists within lists within lists.
    #[error("a frame is nested more than {DEEPEST} levels deep")]
    Depth,
    /// A line without an end.
    #[error("a line has no end")]
    Line,
    /// A request that is no list of strings.
    #[error("a command is no list of strings")]
    Command,
    /// Quotes that are not closed.
    #[error("unbalanced quotes in request")]
    Quotes,
    /// TLS is spoken.
    #[error("TLS is spoken, and the tap speaks plain RESP: use `redis://`")]
    Tls,
}

/// Finds the end of a frame that comes in piece by piece, looking at each byte once.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    at: usize,
    open: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    left: usize,
    /// Attributes stand before the value that they describe.
    attributes: bool,
}

impl Scanner {
    /// The length of the first frame of `buffer`, once it is whole. `buffer` has grown, or
    /// is the same, since the last call.
    ///
    /// # Errors
    /// When there is no frame.
    pub(super) fn frame(&mut self, buffer: &[u8]) -> Result<Option<usize>, Malformed> {
        loop {
            let Some((line, after)) = line(buffer, self.at)? else {
                return Ok(None);
            };
            let Some((&kind, rest)) = line.split_first() else {
                return Err(Malformed::Line);
            };
            match kind {
                b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => self.at = after,
                b'$' | b'!' | b'=' => match length(rest)? {
                    None => self.at = after,
                    Some(length) => {
                        let end = after + length;
                        if buffer.len() < end + 2 {
                            return Ok(None);
                        }
                        if &buffer[end..end + 2] != b"\r\n" {
                            return Err(Malformed::End);
                        }
                        self.at = end + 2;
                    }
                },
                b'*' | b'~' | b'>' | b'%' | b'|' => {
                    self.at = after;
                    let pairs = matches!(kind, b'%' | b'|');
                    let left = length(rest)?.unwrap_or(0) * if pairs { 2 } else { 1 };
                    let attributes = kind == b'|';
                    if left > 0 {
                        if self.open.len() == DEEPEST {
                            return Err(Malformed::Depth);
                        }
                        self.open.push(Level { left, attributes });
                        continue;
                    }
                    if attributes {
                        continue;
                    }
                }
                other => return Err(Malformed::Kind(other)),
            }
            if self.ends() {
                return Ok(Some(std::mem::take(self).at));
            }
        }
    }

    /// One value is whole; says whether the frame is.
    fn ends(&mut self) -> bool {
        while let Some(level) = self.open.last_mut() {
            level.left -= 1;
            if level.left > 0 {
                return false;
            }
            if self.open.pop().is_some_and(|level| level.attributes) {
                return false;
            }
        }
        true
    }
}

/// The line that begins at `at` without its end, and where the next byte stands.
fn line(buffer: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, Malformed> {
    let rest = &buffer[at..];
    match rest.windows(2).position(|pair| pair == b"\r\n") {
        Some(end) => Ok(Some((&rest[..end], at + end + 2))),
        None if rest.len() > LONGEST_LINE => Err(Malformed::Line),
        None => Ok(None),
    }
}

/// A length; nothing for -1.
fn length(text: &[u8]) -> Result<Option<usize>, Malformed> {
    if text == b"-1" {
        return Ok(None);
    }
    number(text)
        .and_then(|number| usize::try_from(number).ok())
        .filter(|length| *length <= LONGEST_STRING)
        .map(Some)
        .ok_or(Malformed::Length)
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl Value {
    /// Reads a frame whose end a [`Scanner`] has found.
    ///
    /// # Errors
    /// When it is none after all.
    pub fn read(frame: &Bytes) -> Result<Self, Malformed> {
        let mut at = 0;
        Self::read_at(frame, &mut at)
    }

    fn read_at(frame: &Bytes, at: &mut usize) -> Result<Self, Malformed> {
        let (text, after) = line(frame, *at)?.ok_or(Malformed::Line)?;
        let Some((&kind, rest)) = text.split_first() else {
            return Err(Malformed::Line);
        };
        let rest = frame.slice_ref(rest);
        *at = after;
        let mut many = |per: usize| -> Result<Option<Vec<Self>>, Malformed> {
            let Some(count) = length(&rest)? else {
                return Ok(None);
            };
            // What is announced is read, and not made room for.
            let mut items = Vec::new();
            for _ in 0..count * per {
                items.push(Self::read_at(frame, at)?);
            }
            Ok(Some(items))
        };
        Ok(match kind {
            b'+' => Self::Status(rest),
            b'-' => Self::Error(rest),
            b':' => Self::Integer(number(&rest).ok_or(Malformed::Length)?),
            b'_' => Self::Null,
            b'#' | b',' | b'(' => Self::Scalar(rest),
            b'$' | b'!' | b'=' => match length(&rest)? {
                None => Self::Null,
                Some(length) => {
                    let end = *at + length;
                    let text = if end <= frame.len() {
                        frame.slice(*at..end)
                    } else {
                        return Err(Malformed::End);
                    };
                    *at = end + 2;
                    match kind {
                        b'!' => Self::Error(text),
                        // `txt:` or `mkd:` stands before.
                        b'=' => Self::Text(text.slice(4.min(text.len())..)),
                        _ => Self::Text(text),
                    }
                }
            },
            b'*' | b'~' => many(1)?.map_or(Self::Null, Self::List),
            b'>' => Self::Push(many(1)?.unwrap_or_default()),
            b'%' => {
                let mut items = many(2)?.unwrap_or_default().into_iter();
                let mut pairs = Vec::new();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    pairs.push((key, value));
                }
                Self::Map(pairs)
            }
            b'|' => {
                many(2)?;
                return Self::read_at(frame, at);
            }
            other => return Err(Malformed::Kind(other)),
        })
    }

    /// The error, where it is one.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Error(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    /// The bytes of a string or of a short string.
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            Self::Text(text) | Self::Status(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list; none where it is no list.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) | Self::Push(items) => items,
            _ => &[],
        }
    }

    /// Pairs, written as a map (RESP3) or one after the other (RESP2).
    pub fn pairs(&self) -> Vec<(&Self, &Self)> {
        match self {
            Self::Map(pairs) => pairs.iter().map(|(key, value)| (key, value)).collect(),
            _ => self
                .items()
                .chunks_exact(2)
                .map(|pair| (&pair[0], &pair[1]))
                .collect(),
        }
    }

    /// Whether nothing was found or done.
    pub fn is_nothing(&self) -> bool {
        match self {
            Self::Null => true,
            Self::List(items) => items.is_empty(),
            Self::Map(pairs) => pairs.is_empty(),
            _ => false,
        }
    }

    /// Every string in it.
    pub fn texts(&self) -> Vec<&Bytes> {
        let mut texts = Vec::new();
        self.gather(&mut texts);
        texts
    }

    fn gather<'v>(&'v self, texts: &mut Vec<&'v Bytes>) {
        match self {
            Self::Text(text) => texts.push(text),
            Self::List(items) | Self::Push(items) => {
                for item in items {
                    item.gather(texts);
                }
            }
            Self::Map(pairs) => {
                for (key, value) in pairs {
                    key.gather(texts);
                    value.gather(texts);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(value: &Value, into: &mut Vec<u8>) {
        let line = |into: &mut Vec<u8>, kind: char, text: &[u8]| {
            into.push(kind as u8);
            into.extend_from_slice(text);
            into.extend_from_slice(b"\r\n");
        };
        let count = |into: &mut Vec<u8>, kind: char, count: usize| {
            line(into, kind, count.to_string().as_bytes());
        };
        match value {
            Value::Status(text) => line(into, '+', text),
            Value::Error(text) => line(into, '-', text),
            Value::Integer(number) => line(into, ':', number.to_string().as_bytes()),
            Value::Scalar(text) => line(into, ',', text),
            Value::Null => line(into, '_', b""),
            Value::Text(text) => {
                count(into, '$', text.len());
                into.extend_from_slice(text);
                into.extend_from_slice(b"\r\n");
            }
            Value::List(items) | Value::Push(items) => {
                let kind = if matches!(value, Value::Push(_)) {
                    '>'
                } else {
                    '*'
                };
                count(into, kind, items.len());
                for item in items {
                    written(item, into);
                }
            }
            Value::Map(pairs) => {
                count(into, '%', pairs.len());
                for (key, value) in pairs {
                    written(key, into);
                    written(value, into);
                }
            }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = || prop::collection::vec(any::<u8>(), 0..12).prop_map(Bytes::from);
        let plain = || "[ -~]{0,12}".prop_map(|text: String| Bytes::from(text));
        let leaf = prop_oneof![
            plain().prop_map(Value::Status),
            plain().prop_map(Value::Error),
            any::<i64>().prop_map(Value::Integer),
            text().prop_map(Value::Text),
            Just(Value::Null),
            Just(Value::Scalar(Bytes::from_static(b"1.5"))),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Push),
                prop::collection::vec((inner.clone(), inner), 0..3).prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn frames_are_found_and_read_however_they_are_split(
            all in prop::collection::vec(values(), 1..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut bytes = Vec::new();
            for value in &all {
                written(value, &mut bytes);
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut buffer, mut scanner, mut found) = (Vec::new(), Scanner::default(), Vec::new());
            let mut from = 0;
            for cut in cuts {
                buffer.extend_from_slice(&bytes[from..cut]);
                from = cut;
                while !buffer.is_empty() {
                    let Some(length) = scanner.frame(&buffer).unwrap() else { break };
                    let frame: Vec<u8> = buffer.drain(..length).collect();
                    found.push(Value::read(&Bytes::from(frame)).unwrap());
                }
            }
            prop_assert_eq!(found, all);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]

        #[test]
        fn no_bytes_make_reading_panic(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "[-+:$*%>~|_#,(!= 0-9a-c\r\n]{0,40}".prop_map(String::into_bytes),
            ],
        ) {
            let mut scanner = Scanner::default();
            if let Ok(Some(length)) = scanner.frame(&bytes) {
                let _ = Value::read(&Bytes::copy_from_slice(&bytes[..length]));
            }
        }
    }

    fn read(text: &str) -> Value {
        let mut scanner = Scanner::default();
        assert_eq!(
            scanner.frame(text.as_bytes()),
            Ok(Some(text.len())),
            "{text}"
        );
        Value::read(&Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn both_protocols_say_the_same() {
        let pair = Value::List(vec![
            Value::Text(Bytes::from_static(b"a")),
            Value::Integer(1),
        ]);
        assert_eq!(read("*2\r\n$1\r\na\r\n:1\r\n"), pair);
        assert_eq!(read("%1\r\n$1\r\na\r\n:1\r\n").pairs().len(), 1);
        assert_eq!(pair.pairs().len(), 1);
        assert_eq!(read("$-1\r\n"), Value::Null);
        assert_eq!(read("*-1\r\n"), Value::Null);
        assert_eq!(read("_\r\n"), Value::Null);
        assert_eq!(
            read("=5\r\ntxt:a\r\n"),
            Value::Text(Bytes::from_static(b"a"))
        );
        assert_eq!(read("|1\r\n+ttl\r\n:3\r\n:7\r\n"), Value::Integer(7));
        assert_eq!(read("!5\r\nERR x\r\n").error().as_deref(), Some("ERR x"));
        assert!(read("*0\r\n").is_nothing());
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let scan = |text: &str| Scanner::default().frame(text.as_bytes());
        assert_eq!(scan("x\r\n"), Err(Malformed::Kind(b'x')));
        assert_eq!(scan("$x\r\n"), Err(Malformed::Length));
        assert_eq!(scan("$-2\r\n"), Err(Malformed::Length));
        assert_eq!(scan("$1\r\nabc"), Err(Malformed::End));
        assert_eq!(scan("\r\n"), Err(Malformed::Line));
        assert_eq!(scan(&"*1\r\n".repeat(100)), Err(Malformed::Depth));
        assert_eq!(scan("*99999999999\r\n"), Err(Malformed::Length));
    }
}
