//! What a CI system asks of a run, beside files.

use std::env;
use std::path::PathBuf;

/// What a CI system asks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ci {
    /// Whether its output may hold annotations of GitHub Actions.
    pub annotations: bool,
    /// The file whose content is shown beside the job.
    pub summary: Option<PathBuf>,
}

impl Ci {
    /// As the environment of this process says: `GITHUB_ACTIONS`, `GITHUB_STEP_SUMMARY`.
    pub fn of_process() -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Self {
            annotations: set("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
            summary: set("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        }
    }
}
