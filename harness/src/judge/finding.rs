//! What was found beside broken rules.

use std::fmt;

/// Something that was found, with the entries that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What, in words.
    pub text: String,
    /// Sequence numbers of the entries that show it; none where something is missing.
    pub evidence: Vec<u64>,
}

impl Finding {
    /// Something that no entry shows.
    pub fn new(text: impl Into<String>) -> Self {
        Self::shown(text, Vec::new())
    }

    /// Something that these entries show.
    pub fn shown(text: impl Into<String>, evidence: Vec<u64>) -> Self {
        Self {
            text: text.into(),
            evidence,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
