//! What a test needs of the machine. Where it is missing the test says so, past the
//! capture of the test runner, and is skipped; unless `REHEARSE_REQUIRE` names it: then
//! it fails. `.ci/run` names all that the machine has.

use std::io::Write as _;
use std::process::Command;

use rehearsal::deployment::containers::EngineError;

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A container engine that this user may use.
    Docker,
    /// A PostgreSQL server that is installed.
    Postgres,
    /// A browser that shows pages without a screen.
    Chromium,
    /// That a process may have a PID namespace of its own.
    Namespaces,
}

impl Need {
    fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Postgres => "postgres",
            Self::Chromium => "chromium",
            Self::Namespaces => "namespaces",
        }
    }

    /// Says that a test is skipped for want of this.
    ///
    /// # Panics
    /// When it must not be missing.
    pub(crate) fn is_missing(self, reason: impl std::fmt::Display) {
        let required = std::env::var("REHEARSE_REQUIRE").unwrap_or_default();
        self.skip(&required, &reason.to_string());
    }

    fn skip(self, required: &str, reason: &str) {
        let name = self.name();
        assert!(
            !required.split(',').any(|wanted| wanted.trim() == name),
            "REHEARSE_REQUIRE names {name}, which is missing: {reason}"
        );
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        let reason = reason.trim();
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {test}: it needs {name}: {reason}"
        );
    }
}

/// The browser's program.
pub(crate) fn chromium() -> Option<&'static str> {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let found = known.into_iter().find(|program| {
        let asked = Command::new(program).arg("--version").output();
        asked.is_ok_and(|done| done.status.success())
    });
    if found.is_none() {
        Need::Chromium.is_missing(format!("none of {} is there", known.join(", ")));
    }
    found
}

/// Whether a container engine answers.
pub(crate) fn docker() -> bool {
    let asked = Command::new("docker").arg("version").output();
    let reason = match asked {
        Ok(done) if done.status.success() => return true,
        Ok(done) => String::from_utf8_lossy(&done.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    Need::Docker.is_missing(reason);
    false
}

/// What an engine gave, or nothing if there is no engine to ask.
///
/// # Panics
/// When there is one and it failed.
pub(crate) fn of_engine<T>(given: Result<T, EngineError>) -> Option<T> {
    match given {
        Ok(given) => Some(given),
        Err(reason @ (EngineError::Absent { .. } | EngineError::Denied { .. })) => {
            Need::Docker.is_missing(reason);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
#[should_panic(expected = "REHEARSE_REQUIRE names docker, which is missing: none here")]
fn what_is_required_and_missing_fails() {
    Need::Docker.skip("postgres, docker", "none here");
}

#[test]
fn what_is_missing_and_not_required_is_skipped() {
    Need::Docker.skip("postgres", "this line is the test's own");
    Need::Docker.skip("", "this line is the test's own");
}
