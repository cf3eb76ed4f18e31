//! How an id is read out of what a place holds: `$.Message | json | $.job`.

use std::fmt;

use super::json_path::{JsonPathFault, PathStep, parse_json_path, show_json_path};
use super::suggestion::nearest;

/// What is done to what a place holds, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline(pub Vec<Reading>);

/// One thing that is done to a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A JSON path; `$` alone is the whole content.
    Select(Vec<PathStep>),
    /// Base64 in any of its alphabets, with or without padding.
    Base64,
    /// A text that is JSON.
    Json,
    /// Compressed by gzip.
    Gzip,
    /// Compressed by zlib.
    Zlib,
    /// `name=value&name=value`, percent-encoded.
    Form,
}

/// The decoders by name.
pub const DECODERS: &[&str] = &["base64", "json", "gzip", "zlib", "form"];

/// Why a text is no pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineFault {
    /// Nothing stands before, after or between bars.
    #[error("has a `|` with nothing on one side")]
    Empty,
    /// No decoder has this name.
    #[error("names `{written}`, which is no decoder")]
    Unknown {
        /// As written.
        written: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A part that begins with `$` and is no JSON path.
    #[error("has the part `{part}`, which {fault}")]
    JsonPath {
        /// As written.
        part: String,
        /// Why.
        fault: JsonPathFault,
    },
    /// A JSON path behind a decoder that leaves bytes.
    #[error("looks with `{path}` into what `{decoder}` leaves, which is bytes")]
    NotJson {
        /// The path.
        path: String,
        /// What stands before it.
        decoder: String,
    },
    /// A JSON path where the content is a plain text.
    #[error("looks with `{path}` into a text")]
    Text {
        /// The path.
        path: String,
    },
    /// A decoder of text or bytes behind `form`.
    #[error("reads with `{decoder}` what `form` leaves, which is a table")]
    Table {
        /// The decoder.
        decoder: String,
    },
}

impl Pipeline {
    /// Reads what stands behind a name: `| base64 | json | $.id`.
    pub(super) fn parse_tail(parts: &[&str]) -> Result<Self, PipelineFault> {
        let readings = parts.iter().map(|part| Reading::parse(part));
        let pipeline = Self(readings.collect::<Result<_, _>>()?);
        if let Some(Reading::Select(path)) = pipeline.0.first() {
            let path = show_json_path(path);
            return Err(PipelineFault::Text { path });
        }
        pipeline.checked()
    }

    /// Reads a whole pipeline, which begins with a JSON path.
    pub(super) fn parse(parts: &[&str]) -> Result<Self, PipelineFault> {
        let first = parts.first().copied().unwrap_or_default();
        let path = parse_json_path(first).map_err(|fault| PipelineFault::JsonPath {
            part: first.to_owned(),
            fault,
        })?;
        let mut readings = vec![Reading::Select(path)];
        for part in &parts[1..] {
            readings.push(Reading::parse(part)?);
        }
        Self(readings).checked()
    }

    fn checked(self) -> Result<Self, PipelineFault> {
        for pair in self.0.windows(2) {
            match pair {
                [before, Reading::Select(path)] if before.leaves_bytes() => {
                    return Err(PipelineFault::NotJson {
                        path: show_json_path(path),
                        decoder: before.to_string(),
                    });
                }
                [Reading::Form, decoder] if !matches!(decoder, Reading::Select(_)) => {
                    return Err(PipelineFault::Table {
                        decoder: decoder.to_string(),
                    });
                }
                _ => {}
            }
        }
        Ok(self)
    }

    /// Whether it can find several values on purpose.
    pub fn finds_several(&self) -> bool {
        self.0.iter().any(
            |reading| matches!(reading, Reading::Select(path) if path.contains(&PathStep::Each)),
        )
    }
}

/// The parts between bars. A bar within quotes belongs to a name.
pub(super) fn split_pipeline(text: &str) -> Result<Vec<&str>, PipelineFault> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '|') => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    if parts.len() > 1 && parts.iter().any(|part| part.is_empty()) {
        return Err(PipelineFault::Empty);
    }
    Ok(parts)
}

impl Reading {
    fn parse(part: &str) -> Result<Self, PipelineFault> {
        if part.starts_with('$') {
            return match parse_json_path(part) {
                Ok(path) => Ok(Self::Select(path)),
                Err(fault) => Err(PipelineFault::JsonPath {
                    part: part.to_owned(),
                    fault,
                }),
            };
        }
        Ok(match part {
            "base64" => Self::Base64,
            "json" => Self::Json,
            "gzip" => Self::Gzip,
            "zlib" => Self::Zlib,
            "form" => Self::Form,
            _ => {
                return Err(PipelineFault::Unknown {
                    written: part.to_owned(),
                    nearest: nearest(part, DECODERS.iter().copied()),
                });
            }
        })
    }

    fn leaves_bytes(&self) -> bool {
        matches!(self, Self::Base64 | Self::Gzip | Self::Zlib)
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Select(path) => return f.write_str(&show_json_path(path)),
            Self::Base64 => "base64",
            Self::Json => "json",
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Form => "form",
        })
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, reading) in self.0.iter().enumerate() {
            let bar = if index == 0 { "" } else { " | " };
            write!(f, "{bar}{reading}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Pipeline, PipelineFault> {
        Pipeline::parse(&split_pipeline(text)?)
    }

    #[test]
    fn a_pipeline_reads_as_it_is_written() {
        for text in [
            "$.job",
            "$.Message | json | $.job",
            "$ | base64 | json | $.headers.id",
            "$ | base64 | gzip | json | $.jobs[*].id",
            "$['a|b'] | base64",
            "$ | form | $.job",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert!(parse("$.jobs[*]").unwrap().finds_several());
    }

    #[test]
    fn a_faulty_pipeline_says_what_is_wrong() {
        assert_eq!(parse("$.a | | json"), Err(PipelineFault::Empty));
        assert_eq!(parse("$.a |"), Err(PipelineFault::Empty));
        assert!(matches!(
            parse("$.a | jsn | $.b"),
            Err(PipelineFault::Unknown { nearest: Some(nearest), .. }) if nearest == "json"
        ));
        assert!(matches!(
            parse("$ | base64 | $.b"),
            Err(PipelineFault::NotJson { .. })
        ));
        assert!(matches!(
            parse("$ | form | base64"),
            Err(PipelineFault::Table { .. })
        ));
        assert!(matches!(
            parse("id | json"),
            Err(PipelineFault::JsonPath {
                fault: JsonPathFault::NoRoot,
                ..
            })
        ));
        assert!(matches!(
            Pipeline::parse_tail(&["$.id"]),
            Err(PipelineFault::Text { .. })
        ));
    }
}
