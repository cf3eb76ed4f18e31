//! How long scenarios took in the runs before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::gherkin::ScenarioInfo;

/// In how many runs to look, the latest first.
const RUNS: usize = 3;

/// How long each scenario took when it ran last, by feature and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Experience {
    took: BTreeMap<(String, String), Duration>,
}

#[derive(Deserialize)]
struct Summary {
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    feature: String,
    name: String,
    #[serde(default)]
    ran: bool,
    #[serde(default)]
    took: f64,
}

impl Experience {
    /// That of the latest runs whose reports stand in this directory. What cannot be read
    /// is no experience.
    pub(super) fn of_runs(reports: &Path) -> Self {
        let entries = fs::read_dir(reports).into_iter().flatten().flatten();
        let mut summaries: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| !path.is_symlink())
            .map(|path| path.join("summary.json"))
            .filter(|path| path.is_file())
            .collect();
        // Runs are named by the time at which they began.
        summaries.sort();
        let mut experience = Self::default();
        for summary in summaries.iter().rev().take(RUNS) {
            let text = fs::read_to_string(summary).unwrap_or_default();
            let Ok(summary) = serde_json::from_str::<Summary>(&text) else {
                continue;
            };
            for scenario in summary.scenarios.into_iter().filter(|one| one.ran) {
                let took = Duration::try_from_secs_f64(scenario.took).unwrap_or_default();
                let key = (scenario.feature, scenario.name);
                experience.took.entry(key).or_insert(took);
            }
        }
        experience
    }

    pub(super) fn of(&self, scenario: &ScenarioInfo) -> Option<Duration> {
        self.took.get(&key(scenario)).copied()
    }

    pub(super) fn add(&mut self, scenario: &ScenarioInfo, took: Duration) {
        self.took.insert(key(scenario), took);
    }

    /// What a scenario takes of which nothing is known.
    pub(super) fn usual(&self) -> Option<Duration> {
        let count = u32::try_from(self.took.len())
            .ok()
            .filter(|count| *count > 0)?;
        Some(self.took.values().sum::<Duration>() / count)
    }
}

fn key(scenario: &ScenarioInfo) -> (String, String) {
    (scenario.feature.clone(), scenario.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_run_with_a_scenario_tells() {
        let reports = tempfile::tempdir().unwrap();
        let write = |run: &str, text: &str| {
            fs::create_dir(reports.path().join(run)).unwrap();
            fs::write(reports.path().join(run).join("summary.json"), text).unwrap();
        };
        let one = |name: &str, took: u32| {
            format!(r#"{{"feature":"F","name":"{name}","ran":true,"took":{took}.0}}"#)
        };
        let whole = |scenarios: &[String]| format!(r#"{{"scenarios":[{}]}}"#, scenarios.join(","));
        write("20260101-000000-a", &whole(&[one("a", 9), one("b", 3)]));
        write("20260102-000000-a", &whole(&[one("a", 5)]));
        write("20260103-000000-a", "cut off");
        let experience = Experience::of_runs(reports.path());
        let took = |name: &str| experience.took[&("F".to_owned(), name.to_owned())];
        assert_eq!((took("a").as_secs(), took("b").as_secs()), (5, 3));
        assert_eq!(experience.usual(), Some(Duration::from_secs(4)));
        assert_eq!(Experience::of_runs(Path::new("none")).usual(), None);
    }
}
