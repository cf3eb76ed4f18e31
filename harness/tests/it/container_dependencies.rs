//! The reference system with database and queue in containers: frozen, killed and started
//! again, they keep what they had acknowledged, and nobody hangs on them.
//!
//! Needs an engine; where there is none the test says so and is skipped.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::needs;

/// The repository with another manifest: database and queue in containers, and built
/// already, because it stands elsewhere.
fn elsewhere(root: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["features", "target"] {
        symlink(root.join(name), copy.path().join(name)).unwrap();
    }
    let manifest = std::fs::read_to_string(root.join("rehearsal.yaml")).unwrap();
    let build = "build:\n  - cargo build --quiet --bin document-service\n";
    assert!(manifest.contains(build));
    assert_eq!(manifest.matches("provide: embedded").count(), 2);
    let manifest = manifest
        .replace(build, "")
        .replace("provide: embedded", "provide: container");
    std::fs::write(copy.path().join("rehearsal.yaml"), manifest).unwrap();
    copy
}

#[test]
fn servers_in_containers_freeze_die_and_come_back_with_all_they_acknowledged() {
    if !needs::docker() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--bin", "document-service"])
        .current_dir(&root)
        .status();
    assert!(built.unwrap().success());
    let place = elsewhere(&root);
    let done = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(["features/quarantine/ill-database.feature"])
        .args(["features/quarantine/ill-queue.feature"])
        .current_dir(place.path())
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("\n6 passed, 0 failed"), "{said}");
}
