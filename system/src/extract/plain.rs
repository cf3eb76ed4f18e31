//! Plain text, in the encoding that its media type names.

use encoding_rs::{Encoding, UTF_8};

/// Decodes `content`; what has no meaning in the encoding becomes U+FFFD. A byte order
/// mark outweighs the media type.
pub(super) fn text(media_type: &str, content: &[u8]) -> String {
    let encoding = charset(media_type)
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .unwrap_or(UTF_8);
    encoding.decode(content).0.into_owned()
}

fn charset(media_type: &str) -> Option<&str> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_encoding_is_used() {
        assert_eq!(text("text/plain; charset=ISO-8859-1", b"caf\xe9"), "café");
        assert_eq!(text("text/plain; charset=\"utf-16le\"", b"h\0i\0"), "hi");
    }

    #[test]
    fn utf_8_is_the_default_and_a_byte_order_mark_decides() {
        assert_eq!(text("text/plain", "café".as_bytes()), "café");
        assert_eq!(
            text("text/plain; charset=latin1", b"\xef\xbb\xbfcaf\xc3\xa9"),
            "café"
        );
        assert_eq!(text("text/plain; charset=none", b"\xff"), "\u{fffd}");
    }
}
