//! The page in a browser: a message is selected, its lane is read, keys go from entry to
//! entry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::gherkin_toy::command::Workshop;
use crate::needs;
use rehearsal::gherkin::Exit;
use rehearsal::history;
use rehearsal::judge::Evidence;
use rehearsal::manifest::Manifest;
use rehearsal::timeline::{RECORD, Record};
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/judge")
        .join(name)
}

fn record(history: &str) -> Record {
    let manifest = Manifest::load(&fixture("rehearsal.yaml")).unwrap();
    let entries = history::read(&fixture(history)).unwrap();
    Record::of(Evidence {
        manifest: &manifest,
        entries: &entries,
    })
}

/// A run's folder with one scenario that failed.
fn run_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("parcels-7");
    fs::create_dir(&scenario).unwrap();
    let record = record("failed.schema-1.jsonl");
    fs::write(scenario.join(RECORD), record.compressed().unwrap()).unwrap();
    let summary = json!({
        "version": 1, "run": "20261130-060000-abc123", "system": "parcels", "seed": 7,
        "state": "ended", "exit": "failed", "code": 1, "took": 1.5, "counts": {"failed": 1},
        "evidence": [],
        "scenarios": [{
            "place": "features/parcels.feature:7", "repeat": "rehearse features/parcels.feature:7",
            "id": 0, "path": "features/parcels.feature", "feature": "Parcels", "rule": null,
            "name": "a killed packer packs once", "line": 7, "tags": ["slow"], "seed": 7,
            "verdict": "failed", "ran": true, "figures": [], "took": 1.5,
            "steps": [{"text": "When M1 and M2 are submitted", "line": 9, "exit": "passed", "took": 0.1}],
            "history": "reports/20261130-060000-abc123/parcels-7/history.jsonl",
            "evidence": [{
                "verdict": "failed",
                "message": "deleted only after a durable end: </script><script>alert(1)</script>",
                "entries": [63],
                "rows": [{"name": "shipments", "expected": "1", "seen": "0"}],
            }],
        }],
    });
    fs::write(folder.path().join("summary.json"), summary.to_string()).unwrap();
    folder
}

/// What a person would do, and what is seen then.
const VISIT: &str = r##"
addEventListener("load", async () => {
  const seen = {};
  document.querySelector("#s0 > summary").click();
  await open(0);
  const shown = (mark) => getComputedStyle(mark).display !== "none";
  const lane = (name) => [...document.querySelectorAll(`#s0 g[data-lane="${name}"] .mark`)].filter(shown).map((mark) => `${mark.dataset.seq} ${mark.dataset.kind}`);
  seen.all = lane("packer-1#2");
  document.querySelector("#s0 [data-message=M2]").click();
  seen.of_m2 = lane("packer-1#2");
  seen.rows = [...document.querySelectorAll("#s0 .entries tbody tr")].filter((row) => row.dataset.lane === "packer-1#2").map((row) => row.dataset.seq);
  seen.cited = [...document.querySelectorAll("#s0 .mark.cited")].map((mark) => mark.dataset.seq);
  const course = document.querySelector("#s0 .scroll");
  course.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
  seen.last = document.querySelector("#s0 .told").textContent;
  course.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
  seen.before = document.querySelector("#s0 .told").textContent;
  document.querySelector("#s0 [data-message='all messages']").click();
  seen.places = Object.fromEntries([...document.querySelectorAll("#s0 .parts li")].map((part) => [part.querySelector(".of").textContent, [...part.querySelectorAll(".who")].map((who) => who.textContent)]));
  location.hash = "#s0/e63";
  await new Promise((done) => setTimeout(done, 50));
  seen.linked = document.querySelector("#s0 .told").textContent;
  const query = document.getElementById("query");
  query.value = "nothing like it";
  query.dispatchEvent(new Event("input"));
  seen.hidden = document.getElementById("s0").hidden;
  seen.shown = document.getElementById("shown").textContent;
  query.value = "@slow durable";
  query.dispatchEvent(new Event("input"));
  seen.found = !document.getElementById("s0").hidden;
  seen.wide = document.documentElement.scrollWidth <= innerWidth;
  document.documentElement.dataset.seen = btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(seen))));
});
"##;

fn visit(browser: &str, page: &str, width: u32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let visited = page.replace("</body>", &format!("<script>{VISIT}</script></body>"));
    fs::write(&path, visited).unwrap();
    // It is given two minutes, and then it is stuck.
    let done = Command::new("timeout")
        .arg("120")
        .arg(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
        ])
        .arg("--virtual-time-budget=10000")
        .arg(format!("--window-size={width},900"))
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&done.stdout);
    let seen = dom
        .split_once("data-seen=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .unwrap_or_else(|| {
            let said = String::from_utf8_lossy(&done.stderr);
            panic!(
                "{}: the page did not get that far\n{said}\n{dom}",
                done.status
            )
        })
        .0;
    let seen = STANDARD.decode(seen).unwrap();
    serde_json::from_slice(&seen).unwrap()
}

#[test]
fn a_message_is_selected_and_its_lane_is_read() {
    let Some(browser) = needs::chromium() else {
        return;
    };
    let folder = run_folder();
    let done = Workshop::new(&[]).rehearse(&["report", folder.path().to_str().unwrap()]);
    assert_eq!(done.exit, Exit::Passed, "{}", done.err);
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    for width in [1280, 390] {
        let seen = visit(browser, &page, width);
        let of = |name: &str| -> Vec<String> {
            let list = seen[name].as_array().unwrap();
            list.iter()
                .map(|one| one.as_str().unwrap().to_owned())
                .collect()
        };
        assert!(of("all").contains(&"50 delivered".to_owned()), "{seen}");
        let of_m2 = of("of_m2");
        assert!(of_m2.contains(&"66 delivered".to_owned()), "{seen}");
        assert!(of_m2.contains(&"71 exited".to_owned()), "{seen}");
        assert!(!of_m2.iter().any(|mark| mark == "50 delivered"), "{seen}");
        assert_eq!(of("rows").first().unwrap(), "66", "{seen}");
        assert_eq!(of("cited"), ["63"]);
        assert!(
            seen["last"]
                .as_str()
                .unwrap()
                .contains("M2: deleted its copy"),
            "{seen}"
        );
        assert!(
            seen["before"].as_str().unwrap().contains("packer-1#3"),
            "{seen}"
        );
        assert!(
            seen["linked"]
                .as_str()
                .unwrap()
                .starts_with("63, at 0.060 s"),
            "{seen}"
        );
        assert_eq!(seen["hidden"], true);
        assert_eq!(seen["shown"], "0 of 1 scenario");
        assert_eq!(seen["found"], true);
        assert_eq!(
            seen["wide"], true,
            "something is wider than the page at {width}"
        );
    }
}

#[test]
fn where_every_message_ended_is_told_from_facts() {
    let record = record("failed.schema-1.jsonl");
    let at = |name: &str| -> Vec<String> {
        let places = record.places.iter();
        let of_name = places.filter(|place| format!("{:?} {}", place.part, place.name) == name);
        of_name
            .flat_map(|place| &place.messages)
            .map(|(message, _)| message.to_string())
            .collect()
    };
    // Its copy was deleted, and no end of it was ever seen.
    assert_eq!(at("Nowhere "), ["M1"], "{:?}", record.places);
    assert_eq!(at("Outside carrier"), ["M1"], "{:?}", record.places);
    assert_eq!(at("Ended put aside"), ["M2"], "{:?}", record.places);
}
