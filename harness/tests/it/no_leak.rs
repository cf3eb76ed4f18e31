//! The harness knows nothing of the reference system: not even its words.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that are the reference system's alone.
const WORDS: [&str; 2] = ["document", "notification"];

/// What Cucumber Messages calls a feature file.
const CUCUMBERS: &str = "gherkinDocument";
/// What a browser's programs call their page.
const BROWSERS: [&str; 2] = ["document.documentElement", "document."];

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
            let mut line = line.replace(CUCUMBERS, "");
            if file.extension().is_some_and(|extension| extension == "js") {
                for word in BROWSERS {
                    line = line.replace(word, "");
                }
            }
            let line = line.to_lowercase();
            WORDS.iter().any(|word| line.contains(word))
        })
        .map(|(at, line)| format!("{name}:{at}: {line}"))
        .collect()
}
