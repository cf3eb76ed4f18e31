//! The list of accepted variants that a release gate compares with.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::results::VariantResult;
use super::variant::Mark;
use crate::accepted::{self, AcceptedError};

/// What was accepted, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// What became of each variant.
    pub variants: BTreeMap<String, Mark>,
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
        accepted::read(path, "variants")
    }

    /// Writes the list.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), AcceptedError> {
        accepted::write(self, path)
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
