//! The answer in words.

use std::fmt::Write as _;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;

use super::results::{Results, VariantResult};
use super::variant::{Kind, Mark};
use crate::gherkin::Exit;

/// What a proof came to, for people.
pub struct Answer<'a> {
    /// What was found.
    pub results: &'a Results,
}

impl Answer<'_> {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &VariantResult> {
        let variants = self.results.variants.iter();
        variants.filter(move |one| one.kind == kind)
    }

    /// How many of each kind came to what.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header([
            "",
            "tried",
            "by a rule",
            "by the suite",
            "late",
            "gaps",
            "not told",
        ]);
        for kind in Kind::ALL {
            let count = |marks: &[Mark]| {
                let of_these = self.of(kind).filter(|one| marks.contains(&one.mark));
                of_these.count()
            };
            let all = self.of(kind).count();
            if all == 0 {
                continue;
            }
            table.add_row([
                kind.plural().to_owned(),
                all.to_string(),
                count(&[Mark::SeenByRule]).to_string(),
                count(&[Mark::Seen, Mark::Decides]).to_string(),
                count(&[Mark::Late]).to_string(),
                count(&[Mark::Unseen, Mark::DecidesNothing]).to_string(),
                count(&[Mark::Untold]).to_string(),
            ]);
        }
        format!("{table}\n")
    }

    /// Every gap, with what was tried.
    pub fn gaps(&self) -> String {
        let mut text = String::new();
        for one in &self.results.variants {
            if !(one.mark.is_gap() || one.mark == Mark::Untold) {
                continue;
            }
            let _ = writeln!(text, "✗ {}  {}: {}", one.mark, one.kind, one.name);
            if !one.what.is_empty() {
                let _ = writeln!(text, "    {}", one.what);
            }
            if let Some(why) = &one.why {
                let _ = writeln!(text, "    {why}");
            }
            let words = one.best().map(|best| (best, best.words()));
            if let Some((best, words)) = words.filter(|(_, words)| !words.is_empty()) {
                let _ = writeln!(text, "    {}: {words}", best.scenario);
            }
            if !one.kind.is_control() && one.mark != Mark::Untold {
                let _ = writeln!(text, "    tried with {} scenarios", one.tried.len());
            }
        }
        text
    }

    /// What the manifest names and nobody uses.
    pub fn unused(&self) -> String {
        let mut text = String::new();
        for (kind, names) in &self.results.unused {
            let _ = writeln!(text, "no scenario uses {kind}: {}", names.join(", "));
        }
        text
    }

    /// The score in a line or two.
    pub fn summary(&self) -> String {
        let Results {
            green,
            scenarios,
            took,
            ..
        } = self.results;
        let broken = |one: &&VariantResult| !one.kind.is_control();
        let all = self.results.variants.iter().filter(broken);
        let seen = all
            .clone()
            .filter(|one| matches!(one.mark, Mark::SeenByRule | Mark::Seen));
        let (seen, all) = (seen.count(), all.count());
        let controls = self
            .results
            .variants
            .iter()
            .filter(|one| one.kind.is_control());
        let deciding = controls.clone().filter(|one| one.mark == Mark::Decides);
        let (deciding, controls) = (deciding.count(), controls.count());
        let mut text = format!("{green} of {scenarios} scenarios are green as they are");
        if controls > 0 {
            let _ = write!(text, " · {deciding} of {controls} controls decide");
        }
        if all > 0 {
            let _ = write!(text, " · {seen} of {all} broken systems seen");
        }
        let _ = writeln!(text, " · {:.1} s", took.as_secs_f64());
        text
    }

    /// What all of it exits with.
    pub fn exit(&self) -> Exit {
        let marks = self.results.variants.iter().map(|one| one.mark.exit());
        marks.max().unwrap_or(Exit::Passed)
    }
}
