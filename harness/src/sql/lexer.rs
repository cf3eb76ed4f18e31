//! Tokens of SQL as PostgreSQL reads them.

use std::borrow::Cow;
use std::ops::Range;

/// One token, borrowed from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A keyword or an unquoted name, as written.
    Word(&'a str),
    /// A name in double quotes, without them.
    Quoted(&'a str),
    /// A literal, without its quotes.
    Text {
        raw: &'a str,
        escapes: Escapes,
    },
    Number(&'a str),
    /// `$1`, without the sign.
    Parameter(&'a str),
    /// An operator, or one of `()[],;:.`.
    Sign(&'a str),
}

/// What stands for something else in a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Nothing: it stands between dollar signs.
    None,
    /// A doubled quote.
    Quotes,
    /// A doubled quote, and what follows a backslash.
    Backslashes,
}

impl<'a> Token<'a> {
    /// Whether it is this keyword.
    pub(crate) fn is(self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Whether it is this sign.
    pub(crate) fn is_sign(self, sign: &str) -> bool {
        matches!(self, Self::Sign(written) if written == sign)
    }

    /// A name as the server stores it: what is not quoted is in lower case.
    pub(crate) fn name(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Word(word) if word.bytes().any(|byte| byte.is_ascii_uppercase()) => {
                Some(Cow::Owned(word.to_ascii_lowercase()))
            }
            Self::Word(word) => Some(Cow::Borrowed(word)),
            Self::Quoted(name) if name.contains('"') => {
                Some(Cow::Owned(name.replace("\"\"", "\"")))
            }
            Self::Quoted(name) => Some(Cow::Borrowed(name)),
            _ => None,
        }
    }

    /// The content of a literal.
    pub(crate) fn content(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text { raw, escapes } => Some(match escapes {
                Escapes::Quotes if raw.contains('\'') => Cow::Owned(raw.replace("''", "'")),
                Escapes::Backslashes if raw.contains(['\'', '\\']) => Cow::Owned(unescaped(raw)),
                _ => Cow::Borrowed(raw),
            }),
            _ => None,
        }
    }
}

/// `''` and what a backslash begins, of which the octal and hexadecimal forms are left as
/// they are.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut signs = raw.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\'' => {
                text.push('\'');
                signs.next();
            }
            '\\' => match signs.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some(sign @ ('x' | 'u' | 'U' | '0'..='7')) => text.extend(['\\', sign]),
                Some(sign) => text.push(sign),
                None => text.push('\\'),
            },
            sign => text.push(sign),
        }
    }
    text
}

/// Reads token after token. Comments and white space are between them. What is not closed
/// goes to the end of the text.
pub(crate) struct Lexer<'a> {
    sql: &'a str,
    position: usize,
    /// A backslash escapes in every literal: `standard_conforming_strings` is off.
    backslashes: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(sql: &'a str) -> Self {
        Self::with(sql, false)
    }

    pub(crate) fn with(sql: &'a str, backslashes: bool) -> Self {
        Self {
            sql,
            position: 0,
            backslashes,
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.sql.as_bytes()
    }

    /// The byte at `position`, and zero at the end, which no text of SQL contains.
    fn byte(&self, position: usize) -> u8 {
        self.bytes().get(position).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        let bytes = self.bytes();
        while let Some(byte) = bytes.get(self.position) {
            if byte.is_ascii_whitespace() || *byte == 0x0b {
                self.position += 1;
            } else if let Some(end) = comment(bytes, self.position) {
                self.position = end;
            } else {
                return;
            }
        }
    }

    fn run(&self, from: usize, belongs: fn(u8) -> bool) -> usize {
        let rest = self.bytes().get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| belongs(**byte)).count()
    }

    fn number(&self, start: usize) -> usize {
        let mut end = start;
        loop {
            end = self.run(end, |byte| byte == b'.' || is_word(byte));
            let exponent = matches!(self.byte(end), b'+' | b'-')
                && matches!(self.byte(end - 1), b'e' | b'E')
                && !self.sql[start..end].starts_with("0x");
            if !exponent {
                return end;
            }
            end += 1;
        }
    }

    /// The token that begins here, and where it ends. `start` is at no blank.
    fn token(&self, start: usize) -> (Token<'a>, usize) {
        let sql = self.sql;
        let byte = self.byte(start);
        match byte {
            b'\'' => self.text(start, self.backslashes),
            b'"' => {
                let (inner, end) = self.quoted(start, b'"', false);
                (Token::Quoted(inner), end)
            }
            b'$' if self.byte(start + 1).is_ascii_digit() => {
                let end = self.run(start + 1, |byte| byte.is_ascii_digit());
                (Token::Parameter(&sql[start + 1..end]), end)
            }
            b'$' => self
                .dollar_quoted(start)
                .unwrap_or((Token::Sign("$"), start + 1)),
            b'.' if self.byte(start + 1).is_ascii_digit() => {
                let end = self.number(start);
                (Token::Number(&sql[start..end]), end)
            }
            _ if byte.is_ascii_digit() => {
                let end = self.number(start);
                (Token::Number(&sql[start..end]), end)
            }
            _ if is_word(byte) => self.word(start),
            _ if is_operator(byte) => {
                let end = self.operator(start);
                (Token::Sign(&sql[start..end]), end)
            }
            _ => (Token::Sign(&sql[start..=start]), start + 1),
        }
    }

    /// A word, or a literal or a name with a letter before its quote.
    fn word(&self, start: usize) -> (Token<'a>, usize) {
        let end = self.run(start, |byte| is_word(byte) || byte == b'$');
        let word = &self.sql[start..end];
        match (word, self.byte(end)) {
            ("e" | "E", b'\'') => self.text(end, true),
            ("b" | "B" | "x" | "X" | "n" | "N", b'\'') => self.text(end, self.backslashes),
            ("u" | "U", b'&') if self.byte(end + 1) == b'\'' => self.text(end + 1, false),
            ("u" | "U", b'&') if self.byte(end + 1) == b'"' => {
                let (inner, end) = self.quoted(end + 1, b'"', false);
                (Token::Quoted(inner), end)
            }
            _ => (Token::Word(word), end),
        }
    }

    fn text(&self, start: usize, backslashes: bool) -> (Token<'a>, usize) {
        let (raw, end) = self.quoted(start, b'\'', backslashes);
        let escapes = if backslashes {
            Escapes::Backslashes
        } else {
            Escapes::Quotes
        };
        (Token::Text { raw, escapes }, end)
    }

    /// What stands between the quote at `start` and the one that closes it, and where
    /// that has ended.
    fn quoted(&self, start: usize, quote: u8, backslashes: bool) -> (&'a str, usize) {
        let bytes = self.bytes();
        let mut position = start + 1;
        while position < bytes.len() {
            if backslashes && bytes[position] == b'\\' {
                position += 2;
            } else if bytes[position] != quote {
                position += 1;
            } else if self.byte(position + 1) == quote {
                position += 2;
            } else {
                return (&self.sql[start + 1..position], position + 1);
            }
        }
        (&self.sql[start + 1..], bytes.len())
    }

    /// `$tag$ … $tag$`.
    fn dollar_quoted(&self, start: usize) -> Option<(Token<'a>, usize)> {
        let end = self.run(start + 1, is_word);
        if self.byte(end) != b'$' {
            return None;
        }
        let (tag, body) = (&self.sql[start..=end], &self.sql[end + 1..]);
        let length = body.find(tag);
        let raw = &body[..length.unwrap_or(body.len())];
        let token = Token::Text {
            raw,
            escapes: Escapes::None,
        };
        let end = end + 1 + length.map_or(body.len(), |length| length + tag.len());
        Some((token, end))
    }

    /// As the server cuts operators: before a comment, and before a sign of a number.
    fn operator(&self, start: usize) -> usize {
        let bytes = self.bytes();
        let mut end = self.run(start, is_operator);
        if let Some(comment) = (start + 1..end).find(|at| comment(bytes, *at).is_some()) {
            end = comment;
        }
        let unusual = bytes[start..end]
            .iter()
            .any(|byte| b"~!@#%^&|`?".contains(byte));
        while !unusual && end > start + 1 && matches!(bytes[end - 1], b'+' | b'-') {
            end -= 1;
        }
        end
    }
}

impl<'a> Iterator for Lexer<'a> {
    /// The token and where it stands.
    type Item = (Token<'a>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blanks();
        let start = self.position;
        if start >= self.sql.len() {
            return None;
        }
        let (token, end) = self.token(start);
        self.position = end;
        Some((token, start..end))
    }
}

/// A byte of a keyword or an unquoted name, which may hold any letter that is not ASCII.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn is_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&byte)
}

/// Where the comment that begins here ends, if one does. They nest.
fn comment(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = &bytes[start..];
    if rest.starts_with(b"--") {
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        return Some(length.map_or(bytes.len(), |length| start + length));
    }
    if !rest.starts_with(b"/*") {
        return None;
    }
    let (mut depth, mut position) = (1, start + 2);
    while depth > 0 && position < bytes.len() {
        if bytes[position..].starts_with(b"/*") {
            depth += 1;
            position += 2;
        } else if bytes[position..].starts_with(b"*/") {
            depth -= 1;
            position += 2;
        } else {
            position += 1;
        }
    }
    Some(position.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(sql: &str) -> Vec<&str> {
        Lexer::new(sql).map(|(_, place)| &sql[place]).collect()
    }

    #[test]
    fn quotes_of_each_kind_are_one_token() {
        let sql = r#"a 'it''s' E'\'--' "B ""c""" $x$ ' $$ $x$ U&'d\0061' $1 x$y"#;
        assert_eq!(
            tokens(sql),
            [
                "a",
                "'it''s'",
                r"E'\'--'",
                r#""B ""c""""#,
                "$x$ ' $$ $x$",
                r"U&'d\0061'",
                "$1",
                "x$y"
            ]
        );
        assert_eq!(tokens("$1$2"), ["$1", "$2"]);
        assert_eq!(tokens("'open -- end"), ["'open -- end"]);
    }

    #[test]
    fn comments_nest_and_end_operators() {
        assert_eq!(tokens("a /* b /* c */ d */ e -- f\ng"), ["a", "e", "g"]);
        assert_eq!(tokens("1+--x\n2"), ["1", "+", "2"]);
        assert_eq!(tokens("a=-1<=>*/"), ["a", "=", "-", "1", "<=>*/"]);
        assert_eq!(
            tokens("a->>'b'::text"),
            ["a", "->>", "'b'", ":", ":", "text"]
        );
    }

    #[test]
    fn numbers_are_whole() {
        assert_eq!(
            tokens("1 .5 1e-3 1_000 0x1f-2 a1-5"),
            ["1", ".5", "1e-3", "1_000", "0x1f", "-", "2", "a1", "-", "5"]
        );
    }

    #[test]
    fn content_is_what_the_server_reads() {
        let content = |sql| {
            Lexer::new(sql)
                .next()
                .unwrap()
                .0
                .content()
                .unwrap()
                .into_owned()
        };
        assert_eq!(content("'it''s \\n'"), "it's \\n");
        assert_eq!(content(r"E'it\'s''s\n\x41'"), "it's's\n\\x41");
        assert_eq!(content("$a$it''s$a$"), "it''s");
        let name = |sql| {
            Lexer::new(sql)
                .next()
                .unwrap()
                .0
                .name()
                .unwrap()
                .into_owned()
        };
        assert_eq!(name("Größe"), "größe");
        assert_eq!(name("\"A\"\"b\""), "A\"b");
    }

    proptest! {
        #[test]
        fn tokens_stand_in_order_and_leave_no_panic(sql in "[-/*'\"$aeEuU&x0-9.+=;() \nä]{0,50}|\\PC*", backslashes: bool) {
            let mut end = 0;
            for (token, place) in Lexer::with(&sql, backslashes) {
                prop_assert!(place.start >= end && place.end > place.start);
                end = place.end;
                let _ = (token.content(), token.name());
            }
            prop_assert!(end <= sql.len());
        }
    }
}
