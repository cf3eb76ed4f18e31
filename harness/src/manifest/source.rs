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

    /// The text with the passwords in URLs overwritten, of the same length, so that
    /// spans still fit and nothing secret is shown.
    pub(super) fn masked(&self) -> String {
        let mut masked = String::with_capacity(self.text.len());
        let mut rest = self.text;
        while let Some(at) = rest.find("://") {
            let (before, after) = rest.split_at(at + 3);
            masked.push_str(before);
            let authority = after
                .split(|c: char| c.is_whitespace() || "/?#\"'".contains(c))
                .next();
            let authority = authority.unwrap_or_default();
            if let Some((user_info, _)) = authority.rsplit_once('@')
                && let Some((user, password)) = user_info.split_once(':')
            {
                masked.push_str(user);
                masked.push(':');
                masked.extend(std::iter::repeat_n('*', password.len()));
                rest = &after[user_info.len()..];
            } else {
                rest = after;
            }
        }
        masked.push_str(rest);
        masked
    }
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
        let text = "url: postgres://me:s3cr:et@db.example/x\nother: http://h/a:b@c\n";
        let masked = Source::new(text).masked();
        assert_eq!(
            masked,
            "url: postgres://me:*******@db.example/x\nother: http://h/a:b@c\n"
        );
    }
}
