//! What was found, as a file that programs read.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::found::Seen;
use super::page;
use super::variant::{Kind, Mark, Variant};

pub(super) const FILE: &str = "prove.json";
const PAGE: &str = "report.html";
/// A system that never comes to rest does so in every scenario: after so many no other is
/// tried.
const LATE: usize = 4;

/// One scenario with one variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// The scenario: `features/a.feature:12`.
    pub scenario: String,
    /// Its name.
    pub name: String,
    /// What it makes of the variant.
    pub mark: Mark,
    /// Its verdict.
    pub verdict: String,
    /// What speaks against the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// What speaks against anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// How long it took.
    #[serde(rename = "seconds", with = "seconds")]
    pub took: Duration,
}

/// What became of a variant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariantResult {
    /// Which kind.
    pub kind: Kind,
    /// What it is called.
    pub name: String,
    /// What it means.
    pub what: String,
    /// The best that any scenario came to.
    pub mark: Mark,
    /// Why it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it was tried with.
    pub tried: Vec<Tried>,
}

/// All that was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The system.
    pub system: String,
    /// How many scenarios are green as they are.
    pub green: usize,
    /// Of how many.
    pub scenarios: usize,
    /// Which share of the variants was tried, and of how many; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<(u32, u32)>,
    /// What became of each variant.
    pub variants: Vec<VariantResult>,
    /// What the manifest names and no scenario uses, by kind.
    pub unused: Vec<(String, Vec<String>)>,
    /// How long it took.
    #[serde(rename = "seconds", with = "seconds")]
    pub took: Duration,
}

impl Results {
    /// Writes them into a run's directory, for programs and, as a page, for people; gives back
    /// where the former are.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&self, directory: &Path) -> std::io::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let path = directory.join(FILE);
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
        text.push('\n');
        fs::write(&path, text)?;
        fs::write(directory.join(PAGE), page::page(self))?;
        Ok(path)
    }
}

impl VariantResult {
    pub(super) fn untried(variant: &Variant) -> Self {
        Self {
            kind: variant.kind,
            name: variant.name.clone(),
            what: variant.what.clone(),
            mark: Mark::Untold,
            why: None,
            tried: Vec::new(),
        }
    }

    /// Whether nothing more has to be tried.
    pub(super) fn is_settled(&self) -> bool {
        let told = |one: &Tried| matches!(one.mark, Mark::SeenByRule | Mark::Seen);
        let late = |one: &Tried| one.mark == Mark::Late;
        self.kind.is_control() && !self.tried.is_empty()
            || self.why.is_some()
            || self.tried.iter().any(told)
            || self.tried.iter().filter(|one| late(one)).count() >= LATE
    }

    pub(super) fn untold(&mut self, why: &str) {
        self.why = Some(why.to_owned());
    }

    /// The best that any try came to.
    pub(super) fn conclude(&mut self) {
        let marks = self.tried.iter().map(|one| one.mark);
        self.mark = marks.min().unwrap_or(Mark::Untold);
        if self.mark == Mark::Untold && self.why.is_none() {
            let told = self.tried.iter().find_map(|one| one.told.clone());
            self.why = told.or_else(|| {
                let none = "no scenario that is green as it is was tried with it";
                self.tried.is_empty().then(|| none.to_owned())
            });
        }
    }

    /// The try that saw it, or decided.
    pub fn best(&self) -> Option<&Tried> {
        self.tried.iter().find(|one| one.mark == self.mark)
    }
}

impl Tried {
    /// What was found, in a line.
    pub fn words(&self) -> String {
        match (&self.seen, &self.told) {
            (Some(Seen::Rule { told, .. } | Seen::Suite { told } | Seen::Late { told }), _)
            | (None, Some(told)) => told.clone(),
            (None, None) => String::new(),
        }
    }
}

/// Durations as seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(took: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64((took.as_secs_f64() * 1e3).round() / 1e3)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}
