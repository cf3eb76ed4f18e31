//! What stays of runs: of this one as much as is asked for, of earlier ones the last few.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;

use super::{Report, ReportError};
use crate::gherkin::{Exit, RunEvent, ScenarioOutcome};

/// What is kept of the scenarios of a run. What did not pass is always kept whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Everything of every scenario.
    All,
    /// Of what passed the history, compressed, and what the report draws.
    #[default]
    Failed,
    /// Of what passed only what the report draws.
    None,
}

/// A word says not what to keep.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` says not what to keep; write `all`, `failed` or `none`")]
pub struct KeepError(String);

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            "failed" => Ok(Self::Failed),
            "none" => Ok(Self::None),
            _ => Err(KeepError(text.to_owned())),
        }
    }
}

/// So many earlier runs are kept of those that passed, and as many of those that did not.
const RUNS: usize = 10;

/// A run that did not say for so long that it is still going on is not.
const CUT_OFF: Duration = Duration::from_hours(24);

/// Keeps what is asked for and removes the rest.
pub struct Keeper {
    reports: PathBuf,
    keep: Keep,
    run: PathBuf,
    worker: Option<(Sender<PathBuf>, JoinHandle<io::Result<()>>)>,
}

impl Keeper {
    /// For a run under this directory of reports.
    pub fn new(reports: impl Into<PathBuf>, keep: Keep) -> Self {
        Self {
            reports: reports.into(),
            keep,
            run: PathBuf::new(),
            worker: None,
        }
    }

    /// Thins out what a scenario left that passed: aside, while others run.
    fn passed(&mut self, folder: PathBuf) {
        let keep = self.keep;
        let (to, _) = self.worker.get_or_insert_with(|| {
            let (to, folders) = channel::<PathBuf>();
            let thin_out = move || {
                let results = folders.into_iter().map(|folder| thin(&folder, keep));
                results.fold(Ok(()), io::Result::and)
            };
            (to, std::thread::spawn(thin_out))
        });
        // It ends with this and not before.
        let _ = to.send(folder);
    }

    fn failed(&self, source: io::Error) -> ReportError {
        ReportError::File {
            path: self.reports.clone(),
            source,
        }
    }
}

/// Removes of a scenario's folder what nobody needs of what passed.
fn thin(folder: &Path, keep: Keep) -> io::Result<()> {
    let history = folder.join("history.jsonl");
    if keep == Keep::Failed {
        compress(&history)?;
    }
    for path in [history, folder.join("history.jsonl.partial")] {
        remove(fs::remove_file(path))?;
    }
    for directory in ["blobs", "processes"] {
        remove(fs::remove_dir_all(folder.join(directory)))?;
    }
    Ok(())
}

fn compress(history: &Path) -> io::Result<()> {
    let draft = history.with_extension("jsonl.partial");
    let mut source = File::open(history)?;
    let mut encoder = GzEncoder::new(File::create(&draft)?, Compression::fast());
    io::copy(&mut source, &mut encoder)?;
    encoder.finish()?;
    fs::rename(&draft, history.with_extension("jsonl.gz"))
}

/// What is gone already need not be removed.
fn remove(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The folder of a scenario, if it is one of this run's.
fn folder_of(run: &Path, outcome: &ScenarioOutcome) -> Option<PathBuf> {
    let folder = outcome.history.as_ref()?.parent()?;
    (folder.parent() == Some(run)).then(|| folder.to_owned())
}

/// What a summary says of its run that decides about it.
#[derive(Deserialize)]
struct Ended {
    state: String,
    exit: Option<Exit>,
}

/// Removes the runs that are older than the last few. Only what has the name of a run and
/// a summary is one; what may still be going on is not touched.
fn remove_old(reports: &Path) -> io::Result<()> {
    let mut runs: Vec<PathBuf> = fs::read_dir(reports)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !path.is_symlink() && is_run(path))
        .collect();
    runs.sort();
    let (mut passed, mut others) = (0, 0);
    for run in runs.iter().rev() {
        let summary = run.join("summary.json");
        let Ok(ended) = fs::read(&summary)
            .map_err(|_| ())
            .and_then(|text| serde_json::from_slice::<Ended>(&text).map_err(|_| ()))
        else {
            continue;
        };
        if ended.state == "running" && !is_cut_off(&summary) {
            continue;
        }
        let count = match ended.exit {
            Some(Exit::Passed) => &mut passed,
            _ => &mut others,
        };
        *count += 1;
        if *count > RUNS {
            remove(fs::remove_dir_all(run))?;
        }
    }
    Ok(())
}

fn is_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parts: Vec<&str> = name.split('-').collect();
    let is_of = |part: &str, length: usize, digit: fn(&char) -> bool| {
        part.len() == length && part.chars().all(|c| digit(&c))
    };
    matches!(parts[..], [day, time, chance]
        if is_of(day, 8, char::is_ascii_digit)
            && is_of(time, 6, char::is_ascii_digit)
            && is_of(chance, 6, char::is_ascii_hexdigit))
        && path.join("summary.json").is_file()
}

fn is_cut_off(summary: &Path) -> bool {
    let written = fs::metadata(summary).and_then(|data| data.modified());
    let age = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
    age.is_ok_and(|age| age > CUT_OFF)
}

/// Lets `latest` point to a run. What somebody put there that is no link stays.
fn point(reports: &Path, run: &str) -> io::Result<()> {
    let (latest, draft) = (
        reports.join("latest"),
        reports.join(format!(".latest-{run}")),
    );
    if latest
        .symlink_metadata()
        .is_ok_and(|found| !found.is_symlink())
    {
        return Ok(());
    }
    fs::create_dir_all(reports)?;
    symlink(run, &draft)?;
    fs::rename(draft, latest)
}

impl Report for Keeper {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        match event {
            RunEvent::RunStarted { run, .. } => {
                self.run.clone_from(&run.directory);
                point(&self.reports, run.id.as_str()).map_err(|error| self.failed(error))
            }
            RunEvent::ScenarioEnded { outcome, .. } => {
                if self.keep != Keep::All
                    && outcome.verdict == Exit::Passed
                    && let Some(folder) = folder_of(&self.run, outcome)
                {
                    self.passed(folder);
                }
                Ok(())
            }
            RunEvent::RunEnded { .. } => {
                if let Some((to, worker)) = self.worker.take() {
                    drop(to);
                    let thinned = worker.join().unwrap_or(Ok(()));
                    thinned.map_err(|error| self.failed(error))?;
                }
                remove_old(&self.reports).map_err(|error| self.failed(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(reports: &Path, number: u32, state: &str, exit: &str) -> PathBuf {
        let run = reports.join(format!("20261201-0000{number:02}-abcdef"));
        fs::create_dir_all(&run).unwrap();
        let summary = format!(r#"{{"state":"{state}","exit":{exit}}}"#);
        fs::write(run.join("summary.json"), summary).unwrap();
        run
    }

    #[test]
    fn the_last_ten_that_passed_and_that_did_not_are_kept_and_nothing_else_is_touched() {
        let reports = tempfile::tempdir().unwrap();
        let passed: Vec<_> = (0..15)
            .map(|number| run(reports.path(), number, "ended", "\"passed\""))
            .collect();
        let failed = run(reports.path(), 20, "ended", "\"failed\"");
        let running = run(reports.path(), 21, "running", "null");
        let explored = reports.path().join("20261130-000000-abcdef");
        fs::create_dir_all(&explored).unwrap();
        let notes = reports.path().join("notes");
        fs::create_dir_all(&notes).unwrap();
        remove_old(reports.path()).unwrap();
        let kept: Vec<bool> = passed.iter().map(|path| path.exists()).collect();
        assert_eq!(kept, [vec![false; 5], vec![true; 10]].concat());
        for path in [failed, running, explored, notes] {
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn latest_points_to_the_last_run_unless_something_else_stands_there() {
        let reports = tempfile::tempdir().unwrap();
        for id in ["one", "two"] {
            point(reports.path(), id).unwrap();
            assert_eq!(
                fs::read_link(reports.path().join("latest")).unwrap(),
                Path::new(id)
            );
        }
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("latest")).unwrap();
        point(other.path(), "one").unwrap();
        assert!(!other.path().join("latest").is_symlink());
    }

    #[test]
    fn what_passed_is_compressed_or_left_out_and_its_picture_stays() {
        for (keep, compressed) in [(Keep::Failed, true), (Keep::None, false)] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("history.jsonl"), "{}\n").unwrap();
            fs::write(folder.path().join("timeline.json.gz"), "x").unwrap();
            fs::create_dir(folder.path().join("blobs")).unwrap();
            thin(folder.path(), keep).unwrap();
            let has = |name: &str| folder.path().join(name).exists();
            assert_eq!(has("history.jsonl.gz"), compressed);
            assert!(has("timeline.json.gz") && !has("history.jsonl") && !has("blobs"));
        }
    }
}
