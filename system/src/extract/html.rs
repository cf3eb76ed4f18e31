//! The text of a page, as a reader would see it.

use super::ExtractError;

/// Long enough that paragraphs stay on one line.
const WIDTH: usize = 10_000;

pub(super) fn text(content: &[u8]) -> Result<String, ExtractError> {
    html2text::config::plain_no_decorate()
        .string_from_read(content, WIDTH)
        .map_err(|error| ExtractError::Malformed("HTML", error.to_string()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn markup_is_gone_and_words_stay() {
        let text =
            super::text(b"<html><title>T</title><p>One <b>two</b></p><script>x</script>").unwrap();
        assert!(text.contains("One two"), "{text}");
        assert!(!text.contains('<') && !text.contains("script"), "{text}");
    }
}
