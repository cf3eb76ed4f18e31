//! `docs/taps.md` names the tests that hold each promise: they exist.

use std::fs;
use std::path::{Path, PathBuf};

/// Rust files at or below a place that is written without its ending.
fn files(place: &Path) -> Vec<PathBuf> {
    let mut found = vec![place.with_extension("rs")];
    if let Ok(entries) = fs::read_dir(place) {
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                found.push(path);
            }
        }
    }
    found.retain(|path| path.is_file());
    found
}

/// What a path in the page means; nothing if the word is no path.
fn place(word: &str) -> Option<Vec<PathBuf>> {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = match word.strip_prefix("board/tests") {
        Some(rest) => harness.join(format!("src/rehearsal/board/tests{rest}")),
        None if word.starts_with("src/") => harness.join(word.trim_end_matches(".rs")),
        None if word.starts_with("tests/") => harness.join(word),
        None => harness.join("tests/it").join(word),
    };
    let is_path = word.contains('/') || !word.contains(' ');
    let found = files(&place);
    (is_path && !found.is_empty()).then_some(found)
}

fn is_test_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.matches('_').count() >= 2 && word.trim_start_matches('…').chars().all(plain)
}

fn has(text: &str, name: &str) -> bool {
    match name.strip_prefix('…') {
        Some(end) => text.contains(&format!("{end}(")),
        None => text.contains(&format!("fn {name}(")),
    }
}

#[test]
fn every_test_that_the_page_of_the_taps_names_exists() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/taps.md");
    let page = fs::read_to_string(page).unwrap();
    let mut named = 0;
    let mut missing = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let mut text = String::new();
        for word in line.split('`').skip(1).step_by(2) {
            if let Some(files) = place(word) {
                let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
                text = texts.collect();
            } else if is_test_name(word) {
                named += 1;
                if !has(&text, word) {
                    missing.push(word.to_owned());
                }
            } else if word.contains('/') && !word.contains([' ', '{', ':']) {
                missing.push(word.to_owned());
            }
        }
    }
    assert_eq!(missing, [""; 0], "named in docs/taps.md and not there");
    assert!(named > 60, "only {named} tests were found in the page");
}
