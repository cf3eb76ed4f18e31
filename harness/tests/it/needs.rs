//! What a test needs of the machine. Where it is missing the test says so and is skipped,
//! unless `REHEARSE_REQUIRE` names it: then it fails. `.ci/run` names what the machine has.

use std::io::Write as _;
use std::process::Command;

/// Whether a container engine answers.
#[must_use]
pub(crate) fn docker() -> bool {
    let asked = Command::new("docker").arg("version").output();
    match asked {
        Ok(done) if done.status.success() => true,
        Ok(done) => missing("docker", &String::from_utf8_lossy(&done.stderr)),
        Err(error) => missing("docker", &error.to_string()),
    }
}

/// Says that a test is skipped.
///
/// # Panics
/// When this must not be missing.
pub(crate) fn missing(what: &str, reason: &str) -> bool {
    let required = std::env::var("REHEARSE_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == what),
        "{what} is required by REHEARSE_REQUIRE and is missing: {reason}"
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Not `eprintln!`: the test runner would swallow it.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED {test}: it needs {what}: {}",
        reason.trim()
    );
    false
}
