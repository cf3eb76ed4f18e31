//! No text, however broken, makes the loader panic; and what it says stays in the file.

use std::path::Path;

use proptest::prelude::*;
use rehearsal::manifest::Manifest;

fn good() -> String {
    std::fs::read_to_string("tests/manifests/good.yaml").unwrap()
}

/// Loads a text and checks that every place in what is said of it lies in the text.
fn check(text: &str) {
    let path = Path::new("tests/manifests/rehearsal.yaml");
    let Err(error) = Manifest::parse(path, text) else {
        return;
    };
    assert!(!error.problems().is_empty());
    for problem in error.problems() {
        let span = problem.spot.span;
        assert!(
            text.get(span.offset..span.offset + span.length).is_some(),
            "{problem:?}"
        );
        assert!(problem.spot.line <= text.split('\n').count());
        assert!(!problem.defect.mending().is_empty());
    }
    let mut shown = String::new();
    miette::GraphicalReportHandler::new()
        .render_report(&mut shown, &error)
        .unwrap();
    assert!(error.plain().lines().count() > error.problems().len());
}

/// Pieces of YAML that are likely to mean something to the loader.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        prop::sample::select(vec![
            "version",
            "1",
            "name",
            ": ",
            ":\n",
            "\n",
            "\n  ",
            "\n    ",
            "- ",
            "{",
            "}",
            "[",
            "]",
            ", ",
            "processes",
            "dependencies",
            "protocol",
            "sqs",
            "queues",
            "command",
            "${",
            "$",
            "$.a[",
            "messages",
            "stages",
            "after",
            "before",
            "<<: *a",
            "&a ",
            "*a",
            "!!int ",
            "'",
            "\"",
            "~",
            "true",
            "# x",
            "|\n  ",
            ">-\n  ",
            "? ",
            "0x1F",
            "1e400",
            ".nan",
            "\t",
            "ö",
            "\u{feff}",
            "---\n",
            "%YAML 1.2\n",
            "\r\n",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn anything_that_looks_like_yaml_is_read_or_refused(
        pieces in prop::collection::vec(piece(), 0..60),
    ) {
        check(&pieces.concat());
    }

    #[test]
    fn a_manifest_with_a_piece_put_in_is_read_or_refused(
        at in any::<prop::sample::Index>(), cut in 0usize..40, piece in piece(),
    ) {
        let good = good();
        let at = at.index(good.len());
        let end = (at + cut).min(good.len());
        let (Some(before), Some(after)) = (good.get(..at), good.get(end..)) else { return Ok(()) };
        check(&format!("{before}{piece}{after}"));
    }

    #[test]
    fn a_manifest_with_lines_left_out_is_read_or_refused(
        kept in prop::collection::vec(prop::bool::weighted(0.85), 60),
    ) {
        let good = good();
        let lines = good.lines().zip(kept).filter(|(_, kept)| *kept);
        let text: Vec<_> = lines.map(|(line, _)| line).collect();
        check(&text.join("\n"));
    }
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    check(&"[".repeat(100_000));
    check(&format!("a: {}{}", "[".repeat(60), "]".repeat(60)));
    check(&"a:\n".repeat(1000));
    let stairs: Vec<_> = (0..2000)
        .map(|depth| format!("{}a:", " ".repeat(depth)))
        .collect();
    check(&stairs.join(
        "
",
    ));
    check(&"- ".repeat(10_000));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &[
            "a",
            &level.to_string(),
            ": &a",
            &level.to_string(),
            " [",
            &below,
            "]\n",
        ]
        .concat();
    }
    check(&text);
}
