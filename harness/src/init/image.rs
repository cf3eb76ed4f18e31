//! What an image starts when nobody says otherwise: by the engine's word, else by its
//! Dockerfile.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::compose::Build;
use crate::manifest::split_command;

/// The entry point and the command of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) entrypoint: Vec<String>,
    pub(super) command: Vec<String>,
}

/// What the engine says of an image that is here.
pub(super) fn inspected(image: &str) -> Option<Start> {
    let output = Command::new("docker")
        .args(["image", "inspect", "--format", "{{json .Config}}", image])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let config: Value = serde_json::from_slice(&output.stdout).ok()?;
    let words = |key: &str| -> Vec<String> {
        let words = config.get(key).and_then(Value::as_array);
        let words = words.into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    Some(Start {
        entrypoint: words("Entrypoint"),
        command: words("Cmd"),
    })
}

/// What the last stage of a Dockerfile says.
pub(super) fn of_dockerfile(build: &Build) -> Option<Start> {
    let file = build.dockerfile.as_deref().unwrap_or("Dockerfile");
    let text = fs::read_to_string(Path::new(&build.context).join(file)).ok()?;
    let mut start = Start::default();
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines().map(str::trim) {
        let (instruction, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match instruction.to_ascii_uppercase().as_str() {
            "FROM" => start = Start::default(),
            "ENTRYPOINT" => start.entrypoint = words(rest),
            "CMD" => start.command = words(rest),
            _ => {}
        }
    }
    Some(start)
}

/// A list of words in JSON, or a line for the shell.
fn words(rest: &str) -> Vec<String> {
    if let Ok(words) = serde_json::from_str(rest.trim()) {
        return words;
    }
    // What needs no shell is started without one: signals reach it then.
    let simple = !rest.contains(['|', '&', ';', '<', '>', '$', '`', '*']);
    match split_command(rest.trim()) {
        Ok(words) if simple => words,
        _ => vec![
            "/bin/sh".to_owned(),
            "-c".to_owned(),
            rest.trim().to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_of_a_dockerfile_tells() {
        let directory = tempfile::tempdir().unwrap();
        let text = "FROM a\nCMD [\"no\"]\nFROM b\nRUN x \\\n  && CMD\nENTRYPOINT [\"python3\"]\nCMD worker.py --fast\n";
        fs::write(directory.path().join("Dockerfile"), text).unwrap();
        let build = Build {
            context: directory.path().to_owned(),
            ..Build::default()
        };
        let start = of_dockerfile(&build).unwrap();
        assert_eq!(start.entrypoint, ["python3"]);
        assert_eq!(start.command, ["worker.py", "--fast"]);
        assert_eq!(words("a && b"), ["/bin/sh", "-c", "a && b"]);
    }
}
