//! The reports of a run: what each holds, and that they say the same.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::gherkin_toy::command::Workshop;
use crate::python::Programs;
use rehearsal::gherkin::Exit;
use rehearsal::report::Ci;
use serde_json::Value;

const FEATURE: &str = "\
Feature: Delivery

  @fast
  Scenario: five messages
    When M1 to M5 are handled
    Then the totals are
      | handled | 5 |

  Scenario: too few <b>of them</b>
    When M1 to M2 are handled
    Then the totals are
      | handled | 3 |
      | left    | 0 |

  Scenario: no environment
    When the environment fails
";

fn workshop() -> Workshop {
    Workshop::new(&[("features/delivery.feature", FEATURE)])
}

#[test]
fn the_summary_is_as_documented() {
    let workshop = workshop();
    workshop.run(&["DIR/features"]);
    let summary: Value = serde_json::from_str(&workshop.report("summary.json")).unwrap();
    let documented =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/README.md"))
            .unwrap();
    let table = documented.split("## `summary.json`").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let mut members: Vec<String> = Vec::new();
    collect("", &summary, &mut members);
    members.sort();
    members.dedup();
    for member in &members {
        assert!(
            table.contains(&format!("`{member}`")),
            "reports/README.md does not tell of `{member}`"
        );
    }
    assert_eq!(summary["version"], 1);
    let words: Vec<&str> = summary["scenarios"]
        .as_array()
        .unwrap()
        .iter()
        .map(|scenario| scenario["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(words, ["passed", "failed", "error"]);
}

/// The names of all members, with those that they are in.
fn collect(within: &str, value: &Value, members: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                // Whose names are verdicts.
                if within == "counts" {
                    continue;
                }
                let dot = if within.is_empty() { "" } else { "." };
                let path = format!("{within}{dot}{name}");
                members.push(path.clone());
                collect(&path, value, members);
            }
        }
        Value::Array(array) => {
            for value in array {
                collect(within, value, members);
            }
        }
        _ => {}
    }
}

#[test]
fn a_report_for_a_program_is_alone_on_standard_output() {
    for (kind, begins) in [
        ("json", "{"),
        ("junit", "<?xml"),
        ("markdown", "## Rehearsal: failed"),
        ("messages", "{\"meta\""),
        ("rerun", "# failed"),
        ("html", "<!doctype html>"),
    ] {
        let workshop = workshop();
        let done = workshop.run(&["DIR/features", "--report", &format!("{kind}=-")]);
        assert_eq!(done.exit, Exit::Failed);
        assert!(done.out.starts_with(begins), "{kind}: {}", done.out);
        assert!(done.err.contains("1 passed, 2 failed"), "{}", done.err);
        assert!(!workshop.path("-").exists());
    }
    let done = workshop().run(&["DIR/features", "--report", "json=-", "--report", "html=-"]);
    assert_eq!(done.exit, Exit::Invalid);
    assert!(
        done.err.contains("two reports are to be written to `-`"),
        "{}",
        done.err
    );
    let done = workshop().run(&["DIR/features", "--report", "pdf=x"]);
    assert_eq!(done.exit, Exit::Invalid);
    assert!(done.err.contains("`html`, `junit`, `json`"), "{}", done.err);
}

#[test]
fn the_markdown_page_tells_what_did_not_pass_and_nothing_in_it_is_markup_of_others() {
    let workshop = workshop();
    workshop.run(&["DIR/features"]);
    let page = workshop.report("summary.md");
    assert!(
        page.contains("3 scenarios: 1 error, 1 failed, 1 passed"),
        "{page}"
    );
    assert!(
        page.contains("too few &lt;b&gt;of them&lt;/b&gt;"),
        "{page}"
    );
    assert!(page.contains("| handled | 3 | 2 | ✗ |"), "{page}");
    assert!(!page.contains("five messages"), "{page}");
}

#[test]
fn github_gets_annotations_and_its_summary_is_appended_to() {
    let mut workshop = workshop();
    let summary = workshop.path("step-summary.md");
    fs::write(&summary, "what stood there\n").unwrap();
    workshop.ci = Ci {
        annotations: true,
        summary: Some(summary.clone()),
    };
    let done = workshop.run(&["DIR/features"]);
    let annotations: Vec<&str> = done
        .out
        .lines()
        .filter(|line| line.starts_with("::error "))
        .collect();
    assert_eq!(annotations.len(), 2, "{}", done.out);
    assert!(
        annotations[0].starts_with(
            "::error file=DIR/features/delivery.feature,line=11,title=failed%3A too few"
        ),
        "{annotations:?}"
    );
    let text = fs::read_to_string(summary).unwrap();
    assert!(
        text.starts_with("what stood there\n## Rehearsal: failed"),
        "{text}"
    );
}

#[test]
fn cucumber_messages_are_read_by_their_published_reader() {
    let workshop = workshop();
    workshop.run(&["DIR/features", "--report", "messages=DIR/messages.ndjson"]);
    let programs = Programs {
        folder: "messages",
        imports: "import cucumber_messages",
    };
    let Some(path) = programs.path() else { return };
    let done = Command::new("python3")
        .env("PATH", path)
        .arg(programs.source().join("read.py"))
        .arg(workshop.path("messages.ndjson"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(told.trim(), "no success failed passed");
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let workshop = workshop();
    workshop.run(&["DIR/features"]);
    let page = workshop.report("report.html");
    for outside in [
        "src=",
        "href=\"http",
        "url(http",
        "@import",
        "<link",
        "<b>of them",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("{{"), "a place of the page was not filled");
}

#[test]
fn reports_are_made_again_from_a_runs_folder() {
    let workshop = workshop();
    workshop.run(&["DIR/features"]);
    let latest = workshop.path("reports/latest");
    let names = ["report.html", "junit.xml", "summary.md", "rerun.txt"];
    let read = |name: &str| fs::read_to_string(latest.join(name)).unwrap();
    let before: Vec<String> = names.iter().map(|name| read(name)).collect();
    for name in names {
        fs::remove_file(latest.join(name)).unwrap();
    }
    let done = workshop.rehearse(&["report", "DIR/reports/latest"]);
    assert_eq!(done.exit, Exit::Passed, "{}", done.err);
    assert_eq!(done.out, "DIR/reports/latest/report.html\n");
    for (name, before) in names.iter().zip(before) {
        // The folder goes by the name under which it was given.
        let folder = fs::read_link(&latest).unwrap();
        let told = before.replace(folder.to_str().unwrap(), "RUN");
        let again = read(name)
            .replace(folder.to_str().unwrap(), "RUN")
            .replace("reports/latest", "reports/RUN");
        assert_eq!(again, told, "{name}");
    }
    let done = workshop.rehearse(&["report", "DIR/reports/latest", "--report", "junit=-"]);
    assert!(done.out.starts_with("<?xml"), "{}", done.out);
    let done = workshop.rehearse(&["report", "DIR/features"]);
    assert_eq!(done.exit, Exit::Invalid);
    assert!(
        done.err.contains("name the folder of a run"),
        "{}",
        done.err
    );
}
