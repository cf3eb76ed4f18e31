//! Cleans up after runs whose harness is dead.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::containers;
use super::deaths;
use super::environment::{RUN_ID_VARIABLE, Variables};
use super::mark::Mark;
use super::procfs;
use super::registry::{HARNESS, LEFTOVERS, Leftover, is_ours};
use super::run::Harness;
use crate::ids::RunId;

/// How long processes may take to die of SIGKILL.
const DEATH: Duration = Duration::from_secs(5);

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Dead runs, with what was cleaned up for each.
    pub swept: Vec<SweptRun>,
    /// Runs that are alive and were left alone.
    pub alive: Vec<RunId>,
}

/// What was cleaned up for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptRun {
    /// Which run.
    pub run: RunId,
    /// Processes that were still running, as `name (pid)`.
    pub killed: Vec<String>,
    /// Directories that were still there.
    pub removed: Vec<PathBuf>,
    /// What could not be done. The run's record is kept then, for the next sweep.
    pub problems: Vec<String>,
}

impl SweptRun {
    pub(crate) fn failed(run: RunId, problem: &str) -> Self {
        Self {
            run,
            killed: Vec::new(),
            removed: Vec::new(),
            problems: vec![problem.to_owned()],
        }
    }
}

/// Cleans up after every run below `state_root` whose harness is dead. Live runs are
/// not touched. Blocks.
///
/// # Errors
/// When the state root cannot be read. A root that does not exist is clean.
pub fn sweep(state_root: &Path) -> io::Result<SweepReport> {
    let mut report = SweepReport::default();
    if !state_root.exists() {
        return Ok(report);
    }
    let root_lock = lock_root(state_root)?;
    let mut dead = Vec::new();
    for entry in fs::read_dir(state_root)? {
        let directory = entry?.path();
        if !directory.is_dir() {
            continue;
        }
        match claim(&directory)? {
            Claim::Alive => report.alive.push(run_of(&directory)),
            Claim::Dead(lock) => dead.push((directory, lock)),
        }
    }
    drop(root_lock);
    dead.sort_by(|(one, _), (other, _)| one.cmp(other));
    report.alive.sort();
    report.swept = dead
        .iter()
        .map(|(directory, _lock)| clean(directory))
        .collect();
    Ok(report)
}

enum Claim {
    Alive,
    /// The lock keeps other sweeps away. None if its harness died before it wrote one.
    Dead(Option<File>),
}

fn claim(directory: &Path) -> io::Result<Claim> {
    let file = match File::open(directory.join(HARNESS)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Claim::Dead(None)),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => Ok(Claim::Dead(Some(file))),
        Err(TryLockError::WouldBlock) => Ok(Claim::Alive),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Taken by every run that begins and by every sweep that looks.
pub(crate) fn lock_root(state_root: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(state_root.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn run_of(directory: &Path) -> RunId {
    RunId::new(
        directory
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
    )
}

/// Kills and removes all that a run left, its record last. The caller has made sure
/// that nobody else does, and that the harness is dead or is the caller itself.
pub(crate) fn clean(directory: &Path) -> SweptRun {
    let run = run_of(directory);
    let mut swept = SweptRun {
        run,
        killed: Vec::new(),
        removed: Vec::new(),
        problems: Vec::new(),
    };
    let (leftovers, unreadable) = read(&directory.join(LEFTOVERS));
    swept.problems.extend(unreadable);
    let run = swept.run.clone();
    // First: processes in containers are seen from here, too, and would be killed one
    // by one.
    remove_containers(&leftovers, directory, &mut swept);
    end_processes(&leftovers, same_boot(directory), Some(&run), &mut swept);
    for leftover in &leftovers {
        if let Leftover::Server { directory, .. } = leftover {
            remove_shared_memory(directory);
        }
    }
    for leftover in &leftovers {
        if let Leftover::Directory { path } = leftover {
            remove(path, &mut swept);
        }
    }
    if swept.problems.is_empty()
        && let Err(error) = fs::remove_dir_all(directory)
        && error.kind() != io::ErrorKind::NotFound
    {
        swept.problems.push(format!(
            "{} cannot be removed: {error}",
            directory.display()
        ));
    }
    swept
}

fn remove_containers(leftovers: &[Leftover], directory: &Path, swept: &mut SweptRun) {
    let records = directory.parent().unwrap_or(directory).to_string_lossy();
    for leftover in leftovers {
        if let Leftover::Engine { host } = leftover {
            let removed = containers::remove_all(host, swept.run.as_str(), &records);
            swept.killed.extend(removed.things);
            swept.problems.extend(removed.problems);
        }
    }
}

/// What bears the label of a run below `state_root` that has no record any more: somebody
/// removed it, or the machine forgot it. Nothing is done to it but to say how it is
/// removed. Empty where there is no engine. Blocks.
pub fn unrecorded(state_root: &Path, ambient: &Variables) -> Vec<String> {
    let host = containers::host(ambient);
    let socket = host.strip_prefix("unix://");
    if !socket.is_some_and(|socket| Path::new(socket).exists()) {
        return Vec::new();
    }
    containers::unrecorded(&host, state_root)
}

fn read(path: &Path) -> (Vec<Leftover>, Vec<String>) {
    let Ok(text) = fs::read_to_string(path) else {
        return (Vec::new(), Vec::new());
    };
    let (mut leftovers, mut problems) = (Vec::new(), Vec::new());
    // What follows the last line's end is a line that a dying harness did not finish:
    // the thing it announces was not made yet, or is a process that carries the run's id.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        match serde_json::from_str(line) {
            Ok(leftover) => leftovers.push(leftover),
            Err(error) => {
                problems.push(format!("{}: cannot read `{line}`: {error}", path.display()));
            }
        }
    }
    (leftovers, problems)
}

/// Start times of another boot say nothing about this one's processes.
fn same_boot(directory: &Path) -> bool {
    let harness = fs::read(directory.join(HARNESS)).ok();
    let harness: Option<Harness> = harness.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match (harness, procfs::boot()) {
        (Some(harness), Ok(boot)) => harness.boot == boot,
        _ => false,
    }
}

fn end_processes(
    leftovers: &[Leftover],
    same_boot: bool,
    run: Option<&RunId>,
    swept: &mut SweptRun,
) {
    let begun = Instant::now();
    let mut seen = Vec::new();
    loop {
        let mut alive = find(leftovers, same_boot, run);
        alive.retain(|(pid, _)| *pid != Pid::this());
        if alive.is_empty() {
            return;
        }
        if begun.elapsed() > DEATH {
            let names: Vec<&str> = alive.iter().map(|(_, name)| name.as_str()).collect();
            swept
                .problems
                .push(format!("still alive after SIGKILL: {}", names.join(", ")));
            return;
        }
        let pids: Vec<Pid> = alive.iter().map(|(pid, _)| *pid).collect();
        for (pid, name) in alive {
            if !seen.contains(&pid) {
                seen.push(pid);
                swept.killed.push(name);
            }
            if procfs::stat(pid).is_some_and(|stat| stat.group == pid) {
                let _ = killpg(pid, Signal::SIGKILL);
            }
            let _ = kill(pid, Signal::SIGKILL);
        }
        deaths::wait(&pids);
    }
}

/// Every process of the run that is still alive, with what to call it.
fn find(leftovers: &[Leftover], same_boot: bool, run: Option<&RunId>) -> Vec<(Pid, String)> {
    let mark = run.map(Mark::of);
    let bears_run = |pid: Pid| {
        run.is_some_and(|run| procfs::has_variable(pid, RUN_ID_VARIABLE, run.as_str()))
            || mark.is_some_and(|mark| mark.is_of_run(pid))
    };
    let mut found = Vec::new();
    for (pid, stat) in procfs::processes() {
        if stat.is_dead() {
            continue;
        }
        let recorded = leftovers.iter().find_map(|leftover| match leftover {
            Leftover::Process {
                name,
                pid: recorded,
                started,
            } => {
                (same_boot && *recorded == pid.as_raw() && *started == stat.started).then_some(name)
            }
            Leftover::Server {
                name,
                program,
                directory,
            } => (procfs::program(pid).as_ref() == Some(program)
                && procfs::directory(pid).as_ref() == Some(directory))
            .then_some(name),
            Leftover::Directory { .. } | Leftover::Engine { .. } => None,
        });
        if let Some(name) = recorded {
            found.push((pid, format!("{name} ({pid})")));
        } else if bears_run(pid) {
            found.push((pid, format!("escaped process ({pid})")));
        }
    }
    found
}

/// Kills all processes of a server that is to be dead, see [`Leftover::Server`], and
/// removes the memory they shared. Blocks.
pub(crate) fn end_server(program: &Path, directory: &Path) {
    let (program, directory) = (program.to_owned(), directory.to_owned());
    let server = Leftover::Server {
        name: String::new(),
        program,
        directory: directory.clone(),
    };
    let mut swept = SweptRun::failed(RunId::new(""), "");
    end_processes(&[server], true, None, &mut swept);
    remove_shared_memory(&directory);
}

/// A Postgres server that was killed outside of a namespace of its own leaves a small
/// System V segment. Its key and number stand in the server's lock file; the kernel's
/// list tells whether there still is such a one and nobody uses it.
fn remove_shared_memory(data: &Path) {
    let lock = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let listed = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let Some((key, id)) = lock
        .lines()
        .nth(6)
        .and_then(|line| line.trim().split_once(char::is_whitespace))
    else {
        return;
    };
    let id = id.trim();
    let abandoned = listed.lines().any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        // key, shmid, perms, size, cpid, lpid, nattch …
        fields.first() == Some(&key) && fields.get(1) == Some(&id) && fields.get(6) == Some(&"0")
    });
    if abandoned {
        // Where there is no `ipcrm`, 56 bytes stay until the machine restarts.
        let mut remove = Command::new("ipcrm");
        remove
            .args(["-m", id])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _ = remove.status();
    }
}

fn remove(path: &Path, swept: &mut SweptRun) {
    if !is_ours(path, &swept.run) {
        swept.problems.push(format!(
            "{} does not bear the run's id and is left alone",
            path.display()
        ));
        return;
    }
    match fs::remove_dir_all(path) {
        Ok(()) => swept.removed.push(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => swept
            .problems
            .push(format!("{} cannot be removed: {error}", path.display())),
    }
}
