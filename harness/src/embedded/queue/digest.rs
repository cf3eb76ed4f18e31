//! The MD5 sums by which SDKs check that a message arrived as sent.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use md5::{Digest as _, Md5};

use super::content::{Attribute, Payload};

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The deduplication id that a body makes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

/// The sum of a body.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// The sum of attributes, in name order: each of name, type and value preceded
/// by its length, and the value by one byte for its transport type.
pub(crate) fn of_attributes<'a>(
    attributes: impl IntoIterator<Item = (&'a str, &'a Attribute)>,
) -> Option<String> {
    let sorted: BTreeMap<_, _> = attributes.into_iter().collect();
    if sorted.is_empty() {
        return None;
    }
    let mut sum = Md5::new();
    for (name, attribute) in sorted {
        update(&mut sum, name.as_bytes());
        update(&mut sum, attribute.data_type.as_bytes());
        sum.update([match attribute.payload {
            Payload::Text(_) => 1,
            Payload::Binary(_) => 2,
        }]);
        update(&mut sum, attribute.payload.bytes());
    }
    Some(hex(&sum.finalize()))
}

fn update(sum: &mut Md5, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    sum.update(length.to_be_bytes());
    sum.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_the_well_known_sum() {
        assert_eq!(
            of_bytes(b"This is a test message"),
            "fafb00f5732ab283681e124bf8747ed1"
        );
    }

    #[test]
    fn no_attributes_have_no_sum() {
        assert_eq!(of_attributes([]), None);
    }
}
