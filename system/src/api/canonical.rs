//! The meaning of a request, independent of how its JSON is written.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// A digest that two requests share exactly when they mean the same: members of objects
/// are sorted, white space is gone.
pub(super) fn digest(request: &Value) -> Vec<u8> {
    let mut text = String::new();
    write(request, &mut text);
    Sha256::digest(text.as_bytes()).to_vec()
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                separate(index, text);
                write(&Value::String(name.clone()), text);
                text.push(':');
                write(&members[name], text);
            }
            text.push('}');
        }
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                separate(index, text);
                write(element, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn separate(index: usize, text: &mut String) {
    if index > 0 {
        text.push(',');
    }
}

/// Whether a NUL stands anywhere in it: `PostgreSQL` holds none in text.
pub(super) fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(holds_nul),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| name.contains('\0') || holds_nul(member)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<u8> {
        digest(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn order_of_members_and_white_space_do_not_matter() {
        assert_eq!(
            of(r#"{"document":"a","metadata":{"x":1,"y":[true,null]}}"#),
            of(r#"{ "metadata": {"y": [true, null], "x": 1}, "document": "a" }"#),
        );
    }

    #[test]
    fn other_content_and_order_of_elements_do() {
        assert_ne!(of(r#"{"document":"a"}"#), of(r#"{"document":"b"}"#));
        assert_ne!(of("[1,2]"), of("[2,1]"));
        assert_ne!(of(r#"["1"]"#), of("[1]"));
    }

    #[test]
    fn a_nul_is_found_at_any_depth() {
        assert!(holds_nul(&serde_json::json!({"a": [{"b\u{0}": 1}]})));
        assert!(!holds_nul(&serde_json::json!({"a": ["b"]})));
    }
}
