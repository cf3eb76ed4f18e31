//! The list of accepted variants that a release gate compares with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::results::VariantResult;
use super::variant::Mark;

/// What was accepted, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// What became of each variant.
    pub variants: BTreeMap<String, Mark>,
}

/// The list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It holds something else.
    #[error("{}:{line} is no list of accepted variants: {reason}", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Why.
        reason: String,
    },
}

impl Accepted {
    /// What was found, as a list to compare with later.
    pub fn of(results: &[VariantResult]) -> Self {
        let variants = results.iter();
        Self {
            variants: variants
                .map(|one| (format!("{}: {}", one.kind, one.name), one.mark))
                .collect(),
        }
    }

    /// Reads a list.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(path: &Path) -> Result<Self, AcceptedError> {
        let text = fs::read_to_string(path).map_err(|source| AcceptedError::File {
            what: "read",
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|error| AcceptedError::Content {
            path: path.to_owned(),
            line: error.line(),
            reason: error.to_string(),
        })
    }

    /// Writes the list.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), AcceptedError> {
        let mut text = serde_json::to_string_pretty(self).expect("a list is plain data");
        text.push('\n');
        fs::write(path, text).map_err(|source| AcceptedError::File {
            what: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// What is worse than what was accepted: gaps that are new, variants that could not be
    /// tried. Of a part of all variants, those that are not in it are not missed.
    pub fn regressions(&self, found: &Self, whole: bool) -> Vec<String> {
        let mut regressions = Vec::new();
        for (variant, mark) in &found.variants {
            let accepted = self.variants.get(variant);
            let bad = mark.is_gap() || *mark == Mark::Untold;
            if bad && accepted != Some(mark) {
                let before = accepted.map_or_else(
                    || "which is new".to_owned(),
                    |accepted| format!("accepted as {accepted}"),
                );
                regressions.push(format!("{variant}: {mark}, {before}"));
            }
        }
        let gone = self.variants.keys();
        let gone = gone.filter(|variant| whole && !found.variants.contains_key(*variant));
        regressions.extend(gone.map(|variant| format!("{variant}: is gone")));
        regressions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(variants: &[(&str, Mark)]) -> Accepted {
        let variants = variants.iter();
        Accepted {
            variants: variants
                .map(|(variant, mark)| ((*variant).to_owned(), *mark))
                .collect(),
        }
    }

    #[test]
    fn a_new_gap_is_a_regression_and_a_known_one_is_not() {
        let accepted = list(&[("a", Mark::Seen), ("b", Mark::Unseen)]);
        assert!(accepted.regressions(&accepted, true).is_empty());
        let found = list(&[
            ("a", Mark::Late),
            ("b", Mark::SeenByRule),
            ("c", Mark::DecidesNothing),
        ]);
        assert_eq!(
            accepted.regressions(&found, true),
            [
                "a: late, accepted as seen",
                "c: decides nothing, which is new"
            ]
        );
    }

    #[test]
    fn what_is_gone_is_missed_only_where_all_was_tried() {
        let accepted = list(&[("a", Mark::Seen)]);
        let none = Accepted::default();
        assert_eq!(accepted.regressions(&none, true), ["a: is gone"]);
        assert!(accepted.regressions(&none, false).is_empty());
    }
}
