//! The harness knows nothing of the reference system: not even its words.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that are the reference system's alone.
const WORDS: [&str; 2] = ["document", "notification"];

/// What a browser calls a page, and Cucumber Messages a feature file.
const OTHERS: [&str; 4] = [
    "document.",
    "documentElement",
    "gherkinDocument",
    "GherkinDocument",
];

#[test]
fn the_sources_hold_no_word_of_the_reference_system() {
    let mut files = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    assert!(files.len() > 50, "only {} files were found", files.len());
    let leaks: Vec<String> = files.iter().flat_map(|file| leaks_in(file)).collect();
    assert!(leaks.is_empty(), "\n{}", leaks.join("\n"));
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// `file:line: text` of each line with such a word.
fn leaks_in(file: &Path) -> Vec<String> {
    let name = file.display().to_string();
    let text = fs::read(file).unwrap();
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| {
            let line = OTHERS
                .iter()
                .fold((*line).to_owned(), |line, other| line.replace(other, ""))
                .to_lowercase();
            WORDS.iter().any(|word| line.contains(word))
        })
        .map(|(at, line)| format!("{name}:{at}: {line}"))
        .collect()
}
