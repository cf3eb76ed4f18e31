//! Contents of calls, kept once by their hash and shown in full only where short.

use std::fmt::Write as _;

use base64::Engine as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Longer contents stand in a file of their own.
const INLINE: usize = 512;

/// Content that a history refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// SHA-256 in hex: the name of the file under `blobs/` when it is not inline. Empty
    /// where nobody compares what is inline.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// Length in bytes.
    pub len: u64,
    /// The content itself, when it is short text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The content itself in base64, when it is short and no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl Blob {
    /// Describes `content`.
    pub fn of(content: &[u8]) -> Self {
        Self {
            sha256: hex(&Sha256::digest(content)),
            ..Self::inline(content)
        }
    }

    fn inline(content: &[u8]) -> Self {
        let short = content.len() <= INLINE;
        let text = short
            .then(|| std::str::from_utf8(content).ok().map(str::to_owned))
            .flatten();
        let base64 = (short && text.is_none())
            .then(|| base64::engine::general_purpose::STANDARD.encode(content));
        Self {
            sha256: String::new(),
            len: content.len() as u64,
            text,
            base64,
        }
    }

    /// Describes content of a call, of which only what is not inline needs a name; nothing
    /// if it is empty.
    pub fn of_call(content: &[u8]) -> Option<Box<Self>> {
        if content.is_empty() {
            return None;
        }
        let mut blob = Self::inline(content);
        if !blob.is_inline() {
            blob.sha256 = hex(&Sha256::digest(content));
        }
        Some(Box::new(blob))
    }

    /// Whether the entry itself holds the content.
    pub fn is_inline(&self) -> bool {
        self.text.is_some() || self.base64.is_some()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_inline_and_long_content_is_not() {
        assert_eq!(Blob::of(b"abc").text.as_deref(), Some("abc"));
        assert_eq!(Blob::of(&[0xff]).base64.as_deref(), Some("/w=="));
        assert!(!Blob::of(&[b'a'; INLINE + 1]).is_inline());
    }

    #[test]
    fn the_hash_is_sha256_in_hex() {
        assert_eq!(
            Blob::of(b"abc").sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
