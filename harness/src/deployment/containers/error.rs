//! What can be wrong with a container engine, in words that help.

use std::io;

use testcontainers::TestcontainersError;
use testcontainers::bollard::errors::Error as Refusal;

/// What to do if containers cannot be had.
const INSTEAD: &str =
    "or run with `--driver processes` and `provide: embedded`, which need no containers";

/// A container engine cannot do what is needed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nobody answers.
    #[error("no container engine answers at {host} ({reason}): start Docker, {INSTEAD}")]
    Absent {
        /// Where it should.
        host: String,
        /// Why not.
        reason: String,
    },
    /// This user may not.
    #[error(
        "this user may not use the container engine at {host}: add it to the group `docker`, {INSTEAD}"
    )]
    Denied {
        /// Where it is.
        host: String,
    },
    /// It is too old.
    #[error(
        "the container engine at {host} speaks API {version}, and {needed} is needed (Docker 20.10): update it, {INSTEAD}"
    )]
    TooOld {
        /// Where it is.
        host: String,
        /// What it speaks.
        version: String,
        /// What is needed.
        needed: String,
    },
    /// Its containers could not reach the harness.
    #[error(
        "the container engine at {host} runs its containers on another machine, where they cannot reach the taps of this one: unset DOCKER_HOST to use an engine of this machine, {INSTEAD}"
    )]
    Remote {
        /// Where it is.
        host: String,
    },
    /// An image is not there and is not ours to build.
    #[error(
        "there is no image `{image}` at the container engine, and it could not be pulled ({reason}): check its name, `docker pull` or build it, {INSTEAD}"
    )]
    NoImage {
        /// Which.
        image: String,
        /// Why.
        reason: String,
    },
    /// An image of ours could not be built.
    #[error("cannot build the image `{image}` (docker/build): {output}\nmend that, {INSTEAD}")]
    Build {
        /// Which.
        image: String,
        /// What the builder said last.
        output: String,
    },
    /// The disk is full.
    #[error(
        "the container engine has no space left ({reason}): free some with `docker system df` and `docker image prune`, {INSTEAD}"
    )]
    NoSpace {
        /// What it said.
        reason: String,
    },
    /// A dependency's container ended or never answered.
    #[error("the container of `{name}` ({image}) is of no use: {reason}\n{output}")]
    Dependency {
        /// Which dependency.
        name: String,
        /// Its image.
        image: String,
        /// What is wrong.
        reason: String,
        /// Its last lines of output.
        output: String,
    },
    /// Something else was refused.
    #[error("the container engine refused to {what}: {reason}")]
    Refused {
        /// What was asked.
        what: String,
        /// What it said.
        reason: String,
    },
}

impl EngineError {
    /// What a refusal means.
    pub(super) fn of(host: &str, what: &str, refusal: &Refusal) -> Self {
        let reason = innermost(refusal);
        if let Some(kind) = io_kind(refusal) {
            return match kind {
                io::ErrorKind::PermissionDenied => Self::Denied {
                    host: host.to_owned(),
                },
                _ => Self::Absent {
                    host: host.to_owned(),
                    reason,
                },
            };
        }
        Self::of_reason(host, what, reason)
    }

    /// What a refusal to `testcontainers` means.
    pub(super) fn of_start(host: &str, what: &str, error: &TestcontainersError) -> Self {
        if let TestcontainersError::Client(client) = error {
            let mut source: Option<&(dyn std::error::Error + 'static)> = Some(client);
            while let Some(error) = source {
                if let Some(refusal) = error.downcast_ref::<Refusal>() {
                    return Self::of(host, what, refusal);
                }
                source = error.source();
            }
        }
        Self::of_reason(host, what, innermost(error))
    }

    fn of_reason(_: &str, what: &str, reason: String) -> Self {
        if reason.contains("no space left on device") {
            return Self::NoSpace { reason };
        }
        Self::Refused {
            what: what.to_owned(),
            reason,
        }
    }
}

/// Whether the engine says that there is no such thing.
pub(super) fn is_missing(refusal: &Refusal) -> bool {
    has_status(refusal, 404)
}

/// Whether the engine answered with this status.
pub(super) fn has_status(refusal: &Refusal, status: u16) -> bool {
    matches!(refusal, Refusal::DockerResponseServerError { status_code, .. } if *status_code == status)
}

fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let mut source = Some(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        source = error.source();
    }
    None
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_refusals() {
        let full = Refusal::DockerResponseServerError {
            status_code: 500,
            message: "mkdir /var/lib/docker: no space left on device".to_owned(),
        };
        let error = EngineError::of("unix:///x", "start a container", &full);
        assert!(matches!(error, EngineError::NoSpace { .. }), "{error}");
        let other = Refusal::DockerResponseServerError {
            status_code: 500,
            message: "no".to_owned(),
        };
        let error = EngineError::of("unix:///x", "start a container", &other);
        assert_eq!(
            error.to_string(),
            "the container engine refused to start a container: Docker responded with status code 500: no"
        );
    }

    #[test]
    fn every_error_that_stops_a_run_says_what_to_do_instead() {
        let (host, reason) = ("unix:///x".to_owned(), String::new());
        for error in [
            EngineError::Absent {
                host: host.clone(),
                reason: reason.clone(),
            },
            EngineError::Denied { host: host.clone() },
            EngineError::TooOld {
                host: host.clone(),
                version: reason.clone(),
                needed: reason.clone(),
            },
            EngineError::Remote { host },
            EngineError::NoImage {
                image: reason.clone(),
                reason: reason.clone(),
            },
            EngineError::Build {
                image: reason.clone(),
                output: reason.clone(),
            },
            EngineError::NoSpace { reason },
        ] {
            assert!(error.to_string().contains("--driver processes"), "{error}");
        }
    }
}
