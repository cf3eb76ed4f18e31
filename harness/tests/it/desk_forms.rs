//! The order desk writes its invoices in many forms, of which the wire shows more or less:
//! none that writes is convicted, none that does not passes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::python::{Programs, copy, said};

const DESK: Programs = Programs {
    folder: "python_system",
    imports: "import boto3, psycopg",
};

/// Forms that write an invoice, as the wire shows.
const SHOWN: [&str; 11] = [
    "plain",
    "quoted",
    "qualified",
    "commented",
    "literal",
    "conflict-twice",
    "execute",
    "pipeline",
    "savepoint",
    "many-in-one-query",
    "two-phase",
];

/// Forms that write one, of which the wire shows nothing.
const UNTOLD: [&str; 2] = ["cte", "cte-twice"];

/// Forms that write none.
const NOTHING: [&str; 11] = [
    "explain",
    "prepare-only",
    "in-a-comment",
    "in-a-literal",
    "do-nothing",
    "insert-then-delete",
    "temporary",
    "savepoint-rolled-back",
    "many-rolled-back",
    "two-phase-undone",
    "other-database",
];

const CLAIM: &str = "    claim: { dependency: books, query: select count(*) from invoices }\n";

/// What stands behind the end of an order, beside what the wire shows.
#[derive(Clone, Copy, PartialEq)]
enum Backing {
    Nothing,
    /// The invoices are counted.
    Claim,
    /// The invoice of each order is looked for.
    Observation,
}

const END: &str = "  invoiced: { stage: invoiced, requires_write: true }\n";
const OBSERVED: &str =
    "  invoiced: { stage: invoiced, requires_write: true, observation: invoice }\n";
const INVOICE: &str = "observations:\n  invoice: { dependency: books, query: \"select amount from invoices where order_number = $1::bigint\" }\n";

/// The verdict on each form of a desk whose end has this behind it.
fn verdicts(forms: &[&str], backing: Backing) -> Option<(BTreeMap<String, String>, String)> {
    let path = DESK.path()?;
    let root = TempDir::new().unwrap();
    copy(&DESK.source(), root.path());
    let forms_py = DESK.source().with_file_name("desk_forms").join("forms.py");
    fs::copy(forms_py, root.path().join("desk/forms.py")).unwrap();
    let change = |file: &str, changes: &[(&str, &str)]| {
        let file = root.path().join(file);
        let mut text = fs::read_to_string(&file).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from} is not in {}", file.display());
            text = text.replace(from, to);
        }
        fs::write(file, text).unwrap();
    };
    let packer = fs::read_to_string(root.path().join("desk/packer.py")).unwrap();
    let start = packer.find(
        "        with self.database.transaction():\n            self.say(\"INSERT INTO invoices",
    );
    let written = &packer[start.unwrap()..packer.find("\n\ndef run()").unwrap()];
    change(
        "desk/packer.py",
        &[
            (written, "        forms.write(self, this, number, amount)\n"),
            ("from . import database,", "from . import database, forms,"),
        ],
    );
    let setting = "settings:\n  form: { default: plain, doc: How an invoice is written. }\n";
    let variable = "      DESK_STAGES: ${checkpoint.url}\n      DESK_FORM: ${setting.form}\n";
    change(
        "rehearsal.yaml",
        &[
            ("settings:\n", setting),
            ("      DESK_STAGES: ${checkpoint.url}\n", variable),
        ],
    );
    if backing != Backing::Claim {
        change("rehearsal.yaml", &[(CLAIM, "")]);
    }
    if backing == Backing::Observation {
        let observed = [(END, OBSERVED), ("observations:\n", INVOICE)];
        change("rehearsal.yaml", &observed);
    }
    let mut feature = "Feature: forms\n".to_owned();
    for form in forms {
        let _ = write!(
            feature,
            "  Scenario: {form}\n    Given the form is {form}\n    And the messages M1 to M2\n    \
             When all messages are submitted\n    Then the totals are\n      | invoices | 2 |\n    \
             And M1 to M2 ended as invoiced\n"
        );
    }
    fs::write(root.path().join("features/forms.feature"), feature).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args([
            "-j",
            "2",
            "--report",
            "json=summary.json",
            "features/forms.feature",
        ])
        .current_dir(root.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let seen = said(&done);
    let summary = fs::read(root.path().join("summary.json"));
    let summary: Value =
        serde_json::from_slice(&summary.unwrap_or_else(|error| panic!("{error}\n{seen}"))).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let verdicts = summary["scenarios"].as_array().unwrap().iter();
    let verdicts = verdicts
        .map(|scenario| (text(&scenario["name"]), text(&scenario["verdict"])))
        .collect();
    Some((verdicts, seen))
}

fn expect(forms: &[&str], backing: Backing, wanted: &str) -> String {
    let Some((verdicts, seen)) = verdicts(forms, backing) else {
        return String::new();
    };
    for form in forms {
        let verdict = verdicts.get(*form).map(String::as_str);
        assert_eq!(verdict, Some(wanted), "{form}\n{seen}");
    }
    seen
}

#[test]
fn an_invoice_that_is_written_is_found_in_whatever_form() {
    expect(&SHOWN, Backing::Claim, "passed");
    expect(&UNTOLD, Backing::Claim, "passed");
}

#[test]
fn a_form_that_writes_nothing_is_no_end_though_no_claim_says_so() {
    expect(&NOTHING, Backing::Nothing, "failed");
}

#[test]
fn a_form_of_which_the_wire_tells_nothing_needs_a_claim() {
    expect(&["cte", "cte-nothing"], Backing::Nothing, "error");
    expect(&["cte-nothing"], Backing::Claim, "failed");
    expect(
        &["deleted-later", "of-another-order"],
        Backing::Nothing,
        "error",
    );
    expect(&["deleted-later"], Backing::Claim, "failed");
}

/// As many invoices as orders may be other orders' invoices: looking for each finds it.
#[test]
fn an_observation_backs_an_end_and_tells_whose_it_is() {
    let seen = expect(&["of-another-order"], Backing::Claim, "passed");
    let told = "a claim counts them and does not say whose they are";
    assert!(seen.is_empty() || seen.contains(told), "{seen}");
    let innocent = ["plain", "cte", "cte-twice", "conflict-twice"];
    expect(&innocent, Backing::Observation, "passed");
    let guilty = ["of-another-order", "deleted-later", "cte-nothing"];
    let seen = expect(&guilty, Backing::Observation, "failed");
    let told =
        "the system knows of the end: M1 ended as `invoiced`, and there is no `invoice` of it";
    assert!(seen.is_empty() || seen.contains(told), "{seen}");
}
