//! A verdict goes by facts: no judge and no step reads what was written for people.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(under: &str) -> Vec<(PathBuf, String)> {
    fn walk(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(under);
    walk(&root, &mut found);
    assert!(!found.is_empty(), "{under} has moved");
    found
}

/// Modules that are compiled for tests alone, by name.
fn of_tests_alone(sources: &[(PathBuf, String)]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, text) in sources {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim() != "#[cfg(test)]" {
                continue;
            }
            let declared = lines.next().unwrap_or_default();
            if let Some((_, name)) = declared.trim_end_matches(';').split_once("mod ") {
                names.insert(name.trim_end_matches(" {").to_owned());
            }
        }
    }
    names
}

#[test]
fn judges_and_steps_read_no_summary() {
    for under in ["judge", "suite/steps"] {
        let sources = sources(under);
        let tests = of_tests_alone(&sources);
        for (path, text) in &sources {
            let name = path.file_stem().unwrap().to_str().unwrap();
            if tests.contains(name) {
                continue;
            }
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let line = code.lines().position(|line| {
                let code = line.split("//").next().unwrap();
                code.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| word == "summary")
            });
            assert_eq!(line, None, "{} reads a summary", path.display());
        }
    }
}
