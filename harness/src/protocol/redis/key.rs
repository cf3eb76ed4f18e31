//! Keys as a manifest writes them: `jobs`, `rq:job:{job}`, `result:*`.

use std::fmt;

/// A pattern of keys. `*` stands for any text, `{job}` and `{message}` for a text without
/// a colon, anything else for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    written: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Anything,
    Id,
}

impl KeyPattern {
    /// Reads what a manifest says; the part in braces that is not known, if one is not.
    ///
    /// # Errors
    /// With that part.
    pub fn parse(written: &str) -> Result<Self, String> {
        let (mut pieces, mut rest) = (Vec::new(), written);
        while !rest.is_empty() {
            let end = rest.find(['*', '{']).unwrap_or(rest.len());
            if end > 0 {
                pieces.push(Piece::Literal(rest[..end].to_owned()));
                rest = &rest[end..];
            } else if let Some(after) = rest.strip_prefix('*') {
                pieces.push(Piece::Anything);
                rest = after;
            } else {
                let close = rest.find('}').ok_or_else(|| rest.to_owned())?;
                let (segment, after) = rest.split_at(close + 1);
                match segment {
                    "{job}" | "{message}" => pieces.push(Piece::Id),
                    // Where a cluster looks for the part that it hashes.
                    _ if !segment.contains(['*']) => {
                        pieces.push(Piece::Literal(segment.to_owned()));
                    }
                    _ => return Err(segment.to_owned()),
                }
                rest = after;
            }
        }
        let written = written.to_owned();
        Ok(Self { written, pieces })
    }

    /// Whether it names an id.
    pub fn has_id(&self) -> bool {
        self.pieces.contains(&Piece::Id)
    }

    /// Holds a key against it; gives the id that it names.
    pub fn matches(&self, key: &str) -> Option<Option<String>> {
        matches(&self.pieces, key)
    }

    /// As the server itself writes a pattern of keys.
    pub(crate) fn glob(&self) -> String {
        let mut glob = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => {
                    for character in text.chars() {
                        if "?*[]^\\".contains(character) {
                            glob.push('\\');
                        }
                        glob.push(character);
                    }
                }
                Piece::Anything | Piece::Id => glob.push('*'),
            }
        }
        glob
    }

    /// The key that it stands for, where the id is known.
    pub fn with_id(&self, id: &str) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => text.as_str(),
            Piece::Anything => "*",
            Piece::Id => id,
        });
        pieces.collect()
    }
}

#[expect(clippy::option_option, reason = "a key may fit and hold no id")]
fn matches(pieces: &[Piece], key: &str) -> Option<Option<String>> {
    let Some((first, rest)) = pieces.split_first() else {
        return key.is_empty().then_some(None);
    };
    match first {
        Piece::Literal(text) => matches(rest, key.strip_prefix(text.as_str())?),
        Piece::Anything => {
            let ends = key.char_indices().map(|(at, _)| at).chain([key.len()]);
            ends.into_iter().find_map(|end| matches(rest, &key[end..]))
        }
        Piece::Id => {
            let longest = key.find(':').unwrap_or(key.len());
            let ends = key.char_indices().map(|(at, _)| at).chain([key.len()]);
            let mut ends: Vec<usize> = ends.filter(|at| *at > 0 && *at <= longest).collect();
            ends.reverse();
            ends.into_iter().find_map(|end| {
                let inner = matches(rest, &key[end..])?;
                Some(inner.or_else(|| Some(key[..end].to_owned())))
            })
        }
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::option_option, reason = "a key may fit and hold no id")]
    fn found(pattern: &str, key: &str) -> Option<Option<String>> {
        KeyPattern::parse(pattern).unwrap().matches(key)
    }

    #[test]
    fn a_pattern_takes_whole_keys_and_names_the_id() {
        assert_eq!(found("jobs", "jobs"), Some(None));
        assert_eq!(found("jobs", "jobs2"), None);
        assert_eq!(
            found("rq:job:{job}", "rq:job:a-1"),
            Some(Some("a-1".to_owned()))
        );
        assert_eq!(found("rq:job:{job}", "rq:job:a-1:dependents"), None);
        assert_eq!(found("rq:job:{job}", "rq:job:"), None);
        assert_eq!(
            found("{job}.done", "a.b.done"),
            Some(Some("a.b".to_owned()))
        );
        assert_eq!(found("*:{message}", "x:y:z"), Some(Some("z".to_owned())));
        assert_eq!(found("result:*", "result:"), Some(None));
        assert_eq!(found("*", ""), Some(None));
        assert_eq!(found("ä{job}", "äö"), Some(Some("ö".to_owned())));
        assert_eq!(found("{queue}:jobs", "{queue}:jobs"), Some(None));
    }

    #[test]
    fn a_pattern_says_which_key_it_stands_for() {
        let pattern = KeyPattern::parse("in-progress:{job}").unwrap();
        assert!(pattern.has_id());
        assert_eq!(pattern.with_id("7"), "in-progress:7");
        assert_eq!(KeyPattern::parse("a{b"), Err("{b".to_owned()));
    }
}
