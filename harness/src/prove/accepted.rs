//! The list of accepted variants that a release gate compares with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::found::Seen;
use super::results::VariantResult;
use super::variant::{Kind, Mark};
use crate::accepted::{self, AcceptedError};

/// What was accepted, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// What became of each variant.
    pub variants: BTreeMap<String, Mark>,
    /// By whom it was seen, or found to be a gap: a rule, or a scenario by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by: BTreeMap<String, String>,
}

impl Accepted {
    /// What was found, as a list to compare with later.
    pub fn of(results: &[VariantResult]) -> Self {
        let key = |one: &VariantResult| format!("{}: {}", one.kind, one.name);
        let by = |one: &VariantResult| {
            let best = one.best()?;
            let by = match &best.seen {
                Some(Seen::Rule { rule, .. }) => rule.clone(),
                _ => best.name.clone(),
            };
            Some((key(one), by))
        };
        Self {
            variants: results.iter().map(|one| (key(one), one.mark)).collect(),
            by: results.iter().filter_map(by).collect(),
        }
    }

    /// The figures by kind, as a table of Markdown.
    pub fn figures(&self) -> String {
        let mut table = "| kind | tried | by a rule | by the suite | decide | late | not seen, or decides nothing | not told |\n\
                         |---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for kind in Kind::ALL {
            let start = format!("{kind}: ");
            let of: Vec<Mark> = self
                .variants
                .iter()
                .filter(|(name, _)| name.starts_with(&start))
                .map(|(_, mark)| *mark)
                .collect();
            if of.is_empty() {
                continue;
            }
            let count = |marks: &[Mark]| of.iter().filter(|mark| marks.contains(mark)).count();
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                kind.plural(),
                of.len(),
                count(&[Mark::SeenByRule]),
                count(&[Mark::Seen]),
                count(&[Mark::Decides]),
                count(&[Mark::Late]),
                count(&[Mark::Unseen, Mark::DecidesNothing]),
                count(&[Mark::Untold]),
            );
        }
        table
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
            by: BTreeMap::new(),
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
    fn figures_are_counted_by_kind() {
        let accepted = list(&[
            ("defect: a", Mark::Seen),
            ("defect: b", Mark::SeenByRule),
            ("wire: c", Mark::Late),
        ]);
        let figures = accepted.figures();
        assert!(
            figures.contains("| defects | 2 | 1 | 1 | 0 | 0 | 0 | 0 |"),
            "{figures}"
        );
        assert!(
            figures.contains("| wire mutants | 1 | 0 | 0 | 0 | 1 | 0 | 0 |"),
            "{figures}"
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
