//! The text of a manifest, and places in it.

/// A stretch of the file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Where it begins.
    pub offset: usize,
    /// How long it is.
    pub length: usize,
}

/// A stretch of the file as people count: line and column from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// The same in bytes.
    pub span: Span,
}

/// The text of a manifest under the name that messages show.
#[derive(Debug)]
pub(super) struct Source<'t> {
    text: &'t str,
    line_starts: Vec<usize>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let line_starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self { text, line_starts }
    }

    /// The stretch as written, empty when the span does not fit the text.
    pub(super) fn slice(&self, span: Span) -> &'t str {
        self.text
            .get(span.offset..span.offset.saturating_add(span.length))
            .unwrap_or_default()
    }

    /// The first occurrence of `needle` inside the span, else the span itself.
    pub(super) fn narrow(&self, span: Span, needle: &str) -> Span {
        match self.slice(span).find(needle) {
            Some(at) if !needle.is_empty() => Span {
                offset: span.offset + at,
                length: needle.len(),
            },
            _ => span,
        }
    }

    /// The character at a line and column, both from 1.
    pub(super) fn at(&self, line: u64, column: u64) -> Span {
        let index = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        let start = self
            .line_starts
            .get(index(line))
            .copied()
            .unwrap_or(self.text.len());
        let rest = &self.text[start..];
        let found = rest.char_indices().nth(index(column));
        let (offset, length) = found.map_or((rest.len(), 0), |(at, c)| (at, c.len_utf8()));
        Span {
            offset: start + offset,
            length,
        }
    }

    /// Where a span stands, cut to the end of its first line.
    pub(super) fn spot(&self, span: Span) -> Spot {
        let mut offset = span.offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let line_start = self.line_starts[line - 1];
        let rest = &self.text[offset..];
        let line_length = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let written = rest[..line_length].trim_end().len();
        let mut length = span.length.min(written);
        while !rest.is_char_boundary(length) {
            length -= 1;
        }
        Spot {
            line,
            column: self.text[line_start..offset].chars().count() + 1,
            span: Span { offset, length },
        }
    }

    /// The text with the passwords in addresses overwritten, of the same length, so that
    /// spans still fit and nothing secret is shown.
    pub(super) fn masked(&self) -> String {
        let mut secret: Vec<Span> = Vec::new();
        for (at, mark) in self.text.match_indices("://") {
            let start = at + mark.len();
            let authority = until(&self.text[start..], "/?#\"'");
            if let Some((user_info, _)) = authority.rsplit_once('@')
                && let Some((user, password)) = user_info.split_once(':')
            {
                let offset = start + user.len() + 1;
                secret.push(Span {
                    offset,
                    length: password.len(),
                });
            }
        }
        for (at, mark) in self.text.match_indices("password=") {
            let offset = at + mark.len();
            let length = until(&self.text[offset..], "&#\"'").len();
            secret.push(Span { offset, length });
        }
        // One whose scheme is misspelt is no less an address.
        for (at, _) in self.text.match_indices('@') {
            let ends = |c: char| c.is_whitespace() || "\"'".contains(c);
            let word = self.text[..at].rsplit(ends).next().unwrap_or_default();
            if word.contains("://") {
                continue;
            }
            let user_info = word.rsplit('/').next().unwrap_or_default();
            if let Some((_, password)) = user_info.split_once(':') {
                secret.push(Span {
                    offset: at - password.len(),
                    length: password.len(),
                });
            }
        }
        secret.sort_unstable();
        let mut masked = String::with_capacity(self.text.len());
        for span in secret {
            // A mask that begins inside another would only repeat it.
            if span.offset >= masked.len() {
                masked.push_str(&self.text[masked.len()..span.offset]);
                masked.extend(std::iter::repeat_n('*', span.length));
            }
        }
        masked.push_str(&self.text[masked.len()..]);
        masked
    }
}

/// The text up to white space or one of these characters.
fn until<'t>(text: &'t str, ends: &str) -> &'t str {
    text.split(|c: char| c.is_whitespace() || ends.contains(c))
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_counts_lines_and_characters_from_one() {
        let source = Source::new("a: 1\nwörter: zwei\n");
        let spot = source.spot(Span {
            offset: 14,
            length: 200,
        });
        assert_eq!((spot.line, spot.column), (2, 9));
        assert_eq!(source.slice(spot.span), "zwei");
    }

    #[test]
    fn a_span_past_the_end_is_moved_to_the_end() {
        let source = Source::new("ab");
        let spot = source.spot(Span {
            offset: 70,
            length: 3,
        });
        assert_eq!((spot.line, spot.column, spot.span.offset), (1, 3, 2));
    }

    #[test]
    fn masking_hides_passwords_and_keeps_the_length() {
        let text = "url: postgres://me:s3cr:et@db.example/x\nother: http://h/a:b@c?password=ö&x\n";
        let masked = Source::new(text).masked();
        let misspelt = "u\u{3000}postgres:/me:secret@h\n";
        assert_eq!(
            Source::new(misspelt).masked(),
            "u\u{3000}postgres:/me:******@h\n"
        );
        assert_eq!(
            masked,
            "url: postgres://me:*******@db.example/x\nother: http://h/a:b@c?password=**&x\n"
        );
    }
}
