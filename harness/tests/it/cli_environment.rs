//! What can stand on the command line can stand in the environment, and lists stand beside
//! the manifest.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn rehearse(directory: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(arguments)
        .current_dir(directory)
        .env_remove("REHEARSE_MANIFEST")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn options_of_every_command_are_heard_from_the_environment() {
    let json = rehearse(repository(), &["steps"], &[("REHEARSE_JSON", "true")]);
    let asked = rehearse(repository(), &["steps", "--json"], &[]);
    assert_eq!(json.status.code(), Some(0));
    assert!(json.stdout == asked.stdout && json.stdout.starts_with(b"["));
    for (command, variable, value) in [
        ("explore", "REHEARSE_JOBS", "none"),
        ("explore", "REHEARSE_SEED", "none"),
        ("prove", "REHEARSE_PATIENCE", "none"),
        ("prove", "REHEARSE_ONLY", "none"),
        ("prove", "REHEARSE_SHARD", "3/2"),
        ("check", "REHEARSE_STATIC", "none"),
        ("run", "REHEARSE_JOBS", "none"),
    ] {
        let done = rehearse(repository(), &[command], &[(variable, value)]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{command} {variable}: {told}");
        assert!(told.contains(value), "{command} {variable}: {told}");
    }
    // The command line has the last word.
    let done = rehearse(
        repository(),
        &["explore", "--seed", "many"],
        &[("REHEARSE_SEED", "few")],
    );
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(told.contains("many") && !told.contains("few"), "{told}");
}

#[test]
fn the_list_of_proved_variants_stands_beside_the_manifest() {
    let elsewhere = TempDir::new().unwrap();
    let manifest = repository().join("harness/tests/python_system/rehearsal.yaml");
    let beside = manifest.with_file_name("rehearsal-proved.json");
    let given = ["prove", "--manifest", manifest.to_str().unwrap(), "--check"];
    let done = rehearse(elsewhere.path(), &given, &[]);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    let joined: String = told
        .split_whitespace()
        .filter(|word| *word != "│")
        .collect();
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(joined.contains(beside.to_str().unwrap()), "{told}");
    let own = [&given[..], &["mine.json"]].concat();
    let told = rehearse(elsewhere.path(), &own, &[]).stderr;
    assert!(String::from_utf8_lossy(&told).contains("mine.json"));
    assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
}
