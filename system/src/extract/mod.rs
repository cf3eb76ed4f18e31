//! From a document to its text. Parsers are other people's code fed with other people's
//! bytes: whatever they do to this process must not cost another message anything.

mod html;
mod pdf;
mod plain;

/// The document has no text that can be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExtractError {
    /// No parser for it.
    #[error("there is no parser for `{0}`")]
    Unsupported(String),
    /// The parser refused it.
    #[error("the {0} is malformed: {1}")]
    Malformed(&'static str, String),
}

/// Extracts the text of `content`.
pub(crate) fn extract(media_type: &str, content: &[u8]) -> Result<String, ExtractError> {
    let kind = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        "text/plain" => Ok(plain::text(media_type, content)),
        "text/html" | "application/xhtml+xml" => html::text(content),
        "application/pdf" => pdf::text(content),
        _ => Err(ExtractError::Unsupported(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_chooses_the_parser() {
        assert_eq!(extract("text/plain", b"hello").unwrap(), "hello");
        assert!(
            extract("Text/HTML; charset=utf-8", b"<p>hello</p>")
                .unwrap()
                .contains("hello")
        );
        assert!(matches!(
            extract("image/png", b""),
            Err(ExtractError::Unsupported(_))
        ));
    }
}
