//! The page stays small, whatever the scenarios hold, and what failed is in it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::*;
use crate::gherkin::{ScenarioId, StepRecord};

/// As many scenarios as a large suite has; what they hold cannot be compressed any more.
fn large(directory: &Path) -> (RunInfo, RunResult) {
    let run = RunInfo {
        id: crate::ids::RunId::new("20261201-000000-abcdef"),
        system: "parcels".to_owned(),
        seed: 1,
        directory: directory.to_owned(),
        real_time: false,
        whole: false,
        driver: None,
    };
    let mut random = StdRng::seed_from_u64(1);
    let scenarios = (0..500).map(|number| {
        let folder = directory.join(format!("scenario-{number}"));
        fs::create_dir_all(&folder).unwrap();
        let record: Vec<u8> = (0..20_000).map(|_| random.random()).collect();
        fs::write(folder.join(RECORD), record).unwrap();
        let info = ScenarioInfo {
            id: ScenarioId(number),
            path: "features/a.feature".to_owned(),
            feature: "Parcels".to_owned(),
            rule: None,
            name: format!("scenario {number}"),
            line: number + 3,
            tags: vec!["slow".to_owned()],
            seed: 1,
            repetition: None,
        };
        let step = StepRecord {
            text: "Given the messages M1 to M5, each with a content of its own".to_owned(),
            line: 4,
            exit: Some(Exit::Passed),
            took: Duration::from_millis(3),
        };
        let mut outcome = ScenarioOutcome::left_out();
        outcome.ran = true;
        outcome.verdict = if number == 499 {
            Exit::Failed
        } else {
            Exit::Passed
        };
        outcome.steps = vec![step; 12];
        outcome.history = Some(folder.join("history.jsonl"));
        (Arc::new(info), Arc::new(outcome))
    });
    let result = RunResult {
        exit: Exit::Failed,
        evidence: Vec::new(),
        remarks: Vec::new(),
        scenarios: scenarios.collect(),
        took: Duration::from_secs(100),
        directory: directory.to_owned(),
    };
    (run, result)
}

#[test]
fn five_hundred_scenarios_stay_below_five_megabytes_and_what_failed_is_among_them() {
    let directory = tempfile::tempdir().unwrap();
    let (run, result) = large(directory.path());
    let repeat = Repeat::Rehearse {
        arguments: Vec::new(),
    };
    let page = Html::new("report.html", repeat)
        .page(&run, &result)
        .unwrap();
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains("id=\"t499\""));
    assert!(page.contains("left out, so that this file stays small"));
}

#[test]
fn nothing_that_is_put_in_is_read_as_a_place() {
    let values: BTreeMap<&str, &str> = BTreeMap::from([("{{TITLE}}", "{{STYLE}}")]);
    let page = filled(&[("{{TITLE}}", values["{{TITLE}}"]), ("{{STYLE}}", "body {}")]);
    assert!(page.contains("<title>{{STYLE}}</title>"));
    assert!(page.contains("<style>body {}</style>"));
}
