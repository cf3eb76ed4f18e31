//! No text, however broken, makes the readers of features, histories and announced stages
//! panic or hang. `PROPTEST_CASES` says how many are generated: 256, or a million.

use bytes::Bytes;
use proptest::prelude::*;
use rehearsal::checkpoint::Announcement;
use rehearsal::gherkin::{FeatureText, read};
use rehearsal::tap::HttpRequest;

/// Pieces of features that are likely to mean something.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zä<>|@\"'#:\\\\ ]{0,12}",
        "\\PC{0,12}",
        prop::sample::select(vec![
            "Feature: f\n",
            "Scenario: s\n",
            "Scenario Outline: <a>\n",
            "Background:\n",
            "Rule: r\n",
            "Examples:\n",
            "# language: de\n",
            "Given a step\n",
            "And <a>\n",
            "| a | b |\n",
            "| 1 |\n",
            "\"\"\"\n",
            "```\n",
            "@tag @tag(2)\n",
            "\n",
            "\r\n",
            "\t",
            "\u{feff}",
        ])
        .prop_map(str::to_owned),
    ]
}

/// Lines of histories, whole and broken.
fn line() -> impl Strategy<Value = String> {
    let whole =
        std::fs::read_to_string("tests/fixtures/judge/passed.schema-1.jsonl").unwrap_or_default();
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    lines.push("{}".to_owned());
    let known = prop::sample::select(lines);
    prop_oneof![
        3 => known.clone(),
        1 => (known.clone(), 0_usize..400).prop_map(|(line, at)| {
            line.chars().take(at).collect()
        }),
        1 => (known, any::<prop::sample::Index>(), "\\PC").prop_map(|(line, at, other)| {
            let mut line: Vec<char> = line.chars().collect();
            let at = at.index(line.len());
            line.splice(at..=at, other.chars());
            line.into_iter().collect()
        }),
        1 => "\\PC{0,40}",
    ]
}

proptest! {
    #[test]
    fn no_feature_makes_reading_panic(pieces in prop::collection::vec(piece(), 0..14)) {
        let text: String = pieces.concat();
        match read(&FeatureText::new("a.feature", &text)) {
            Ok(feature) => prop_assert!(feature.scenarios.iter().all(|one| one.line > 0)),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }

    #[test]
    fn no_history_makes_reading_panic(lines in prop::collection::vec(line(), 0..8)) {
        let file = tempfile::NamedTempFile::new_in(if std::path::Path::new("/dev/shm").is_dir() {
            "/dev/shm".into()
        } else {
            std::env::temp_dir()
        }).unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        if let Err(error) = rehearsal::history::read(file.path()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_announcement_makes_reading_panic(
        path in "/?[a-z%/0-9+ä]{0,20}|\\PC*",
        query in prop::option::of("[a-z=&%0-9+]{0,30}|\\PC*"),
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            "\\{\"(job|message_id|stage)\": ?(\"[a-z]*\"|[0-9]{0,5}|\\[\\]|null)\\}"
                .prop_map(String::into_bytes),
        ],
    ) {
        let request = HttpRequest {
            method: "POST".to_owned(),
            path,
            query,
            headers: Vec::new(),
            body: Bytes::from(body),
            is_cut: false,
        };
        let _ = Announcement::read(&request);
    }
}
