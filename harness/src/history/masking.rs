//! Secrets never stand in a file.

/// Replaces secrets in what is written.
#[derive(Debug)]
pub(super) struct Masking(Vec<String>);

impl Masking {
    /// Secrets as they may stand in a file: as they are, and as JSON writes them. Longer
    /// ones first, so that nothing is left of one that contains another.
    pub(super) fn of(secrets: Vec<String>) -> Self {
        let mut all: Vec<String> = secrets
            .into_iter()
            .filter(|secret| !secret.is_empty())
            .flat_map(|secret| {
                let json = serde_json::Value::from(secret.as_str()).to_string();
                let escaped = json[1..json.len() - 1].to_owned();
                // A body within an entry is JSON in JSON.
                let nested = serde_json::Value::from(escaped.as_str()).to_string();
                let nested = nested[1..nested.len() - 1].to_owned();
                [secret, escaped, nested]
            })
            .collect();
        all.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        Self(all)
    }

    pub(super) fn line(&self, mut line: String) -> String {
        for secret in &self.0 {
            if line.contains(secret.as_str()) {
                line = line.replace(secret.as_str(), "***");
            }
        }
        line
    }

    pub(super) fn content(&self, content: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(content) {
            Ok(text) if self.0.iter().any(|secret| text.contains(secret.as_str())) => {
                self.line(text.to_owned()).into_bytes()
            }
            _ => content.to_vec(),
        }
    }
}
