//! A content with one letter changed: of the same length, JSON where it was JSON.

use serde_json::Value;
use uuid::Uuid;

/// What is shorter is more likely a name or a state than content.
const SHORTEST: usize = 8;

/// The content with a letter of its longest text changed; nothing where there is no text of
/// any length, or only ids.
pub(crate) fn spoilt(content: &[u8]) -> Option<Vec<u8>> {
    // PostgreSQL's own form of a JSON value begins with a version.
    let json = content.strip_prefix(&[1]).unwrap_or(content);
    let at = if let Ok(value) = serde_json::from_slice::<Value>(json) {
        let mut texts = Vec::new();
        collect(&value, &mut texts);
        let longest = texts
            .into_iter()
            .filter(|text| text.len() >= SHORTEST && Uuid::parse_str(text).is_err())
            .max_by_key(String::len)?;
        // As it is written: a text with escapes is found up to the first of them.
        let written = serde_json::to_string(&longest).ok()?;
        let inner = written.trim_matches('"').as_bytes();
        let start = content
            .windows(inner.len())
            .position(|window| window == inner)?;
        letter(content, start..start + inner.len())?
    } else {
        let text = String::from_utf8_lossy(content);
        if content.len() < SHORTEST || Uuid::parse_str(&text).is_ok() {
            return None;
        }
        letter(content, 0..content.len())?
    };
    let mut spoilt = content.to_vec();
    spoilt[at] = match spoilt[at] {
        b'z' => b'a',
        b'Z' => b'A',
        other => other + 1,
    };
    Some(spoilt)
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(members) => members.values().for_each(|item| collect(item, texts)),
        _ => {}
    }
}

/// The letter in there that is nearest to the middle, and part of no escape.
fn letter(content: &[u8], within: std::ops::Range<usize>) -> Option<usize> {
    let middle = within.start + within.len() / 2;
    let is_letter = |at: &usize| {
        let escaped = content[within.start..*at].iter().rev();
        let near = escaped.take(5).any(|byte| *byte == b'\\');
        content[*at].is_ascii_alphabetic() && !near
    };
    within
        .clone()
        .filter(is_letter)
        .min_by_key(|at| at.abs_diff(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &str) -> Option<String> {
        spoilt(content.as_bytes()).map(|spoilt| String::from_utf8(spoilt).unwrap())
    }

    #[test]
    fn one_letter_of_the_longest_text_is_another() {
        assert_eq!(of("some content").unwrap(), "some cpntent");
        assert_eq!(
            of(r#"{"kind":"drawings","text":"a longer text"}"#).unwrap(),
            r#"{"kind":"drawings","text":"a longfr text"}"#
        );
        let binary = spoilt(b"\x01{\"text\": \"a longer text\"}").unwrap();
        assert_eq!(binary, b"\x01{\"text\": \"a longfr text\"}");
    }

    #[test]
    fn ids_and_states_are_no_content() {
        assert_eq!(of("quiet"), None);
        assert_eq!(of("0a63e4b3-1a3c-4c71-b6e6-5e17ac1e3b5f"), None);
        let only_ids = r#"{"job_id":"0a63e4b3-1a3c-4c71-b6e6-5e17ac1e3b5f"}"#;
        assert_eq!(of(only_ids), None);
        assert_eq!(of("1234567890"), None);
    }

    #[test]
    fn escapes_stay_whole() {
        let escaped = r#"{"text":"\u00e4\u00e4 a text"}"#;
        let spoilt = of(escaped);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        if let Some(spoilt) = spoilt {
            assert_ne!(parsed(&spoilt), parsed(escaped));
        }
        let bytes = b"\xff\xfe\x00 bytes and words";
        assert_eq!(spoilt_count(bytes), 1);
    }

    fn spoilt_count(content: &[u8]) -> usize {
        let spoilt = spoilt(content).unwrap();
        content.iter().zip(&spoilt).filter(|(a, b)| a != b).count()
    }
}
