//! Starts one process. The only file with `unsafe` code: what happens between fork and
//! exec cannot be said without it.
//!
//! Every process gets a thread of the harness that starts it, waits for it, and reaps
//! it. The thread must outlive the process: the kernel sends the parent-death signal
//! when the *thread* that forked ends.

#![expect(
    unsafe_code,
    reason = "what happens between fork and exec cannot be said without it"
)]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Gid, Pid, Uid, getppid, setpgid, setsid};

use super::environment::Variables;
use super::mark::Mark;

/// Whom a process runs as instead of the harness's own user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: Uid,
    /// Its group.
    pub group: Gid,
}

/// What the kernel needs to know to start a process.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment.
    pub(crate) variables: Variables,
    pub(crate) directory: PathBuf,
    pub(crate) stdin: Stdio,
    pub(crate) stdout: File,
    pub(crate) stderr: File,
    pub(crate) account: Option<Account>,
    /// The most memory it may allocate, in bytes.
    pub(crate) memory: Option<u64>,
    /// What it and all that it starts can be found by.
    pub(crate) mark: Option<Mark>,
    pub(crate) ties: Ties,
}

/// How a process hangs together with the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ties {
    /// In a group of its own; dies with the thread that started it.
    Group,
    /// The same, and the first of a PID namespace: when it dies the kernel kills all
    /// that it started, wherever they went. Needs `CAP_SYS_ADMIN`, and the calling
    /// thread can start nothing else afterwards.
    Namespace,
    /// In a session of its own, outliving the harness.
    None,
}

impl Launch {
    /// Starts it from this thread.
    pub(crate) fn spawn(self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&self.variables)
            .current_dir(&self.directory)
            .stdin(self.stdin)
            .stdout(self.stdout)
            .stderr(self.stderr);
        if let Some(Account { user, group }) = self.account {
            // As root this also drops the supplementary groups.
            command.uid(user.as_raw()).gid(group.as_raw());
        }
        let harness = Pid::this();
        let (ties, memory, mark) = (self.ties, self.memory, self.mark);
        if ties == Ties::Namespace {
            unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC)?;
        }
        let prepare = move || {
            forget_the_harness()?;
            if let Some(mark) = mark {
                mark.put();
            }
            if let Some(most) = memory {
                bound_memory(most)?;
            }
            match ties {
                Ties::None => return Ok(setsid().map(drop)?),
                Ties::Group | Ties::Namespace => setpgid(Pid::from_raw(0), Pid::from_raw(0))?,
            }
            set_pdeathsig(Signal::SIGKILL)?;
            // The harness may have died before the line above. In a namespace of its own
            // a process cannot tell; there the watchdog sees to it.
            if ties == Ties::Group && getppid() != harness {
                return Err(nix::errno::Errno::ESRCH.into());
            }
            Ok(())
        };
        keep_statuses()?;
        // SAFETY: system calls only, no allocation, no lock.
        unsafe { command.pre_exec(prepare) };
        command.spawn()
    }
}

/// Between fork and exec: signals that the harness ignores (one that was started with
/// `nohup`, or with `&` by a script) must reach the process, and a crash must not wait
/// for a core dump.
fn forget_the_harness() -> nix::Result<()> {
    for number in Signal::iterator() {
        // SAFETY: the default disposition runs no code of ours. KILL and STOP refuse.
        let _ = unsafe { signal(number, SigHandler::SigDfl) };
    }
    // A limit of one byte is also heeded where dumps go to a program (core(5)).
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    setrlimit(Resource::RLIMIT_CORE, hard.min(1), hard)
}

/// Between fork and exec: allocations beyond `most` bytes fail. Writable memory counts,
/// not address space, of which many runtimes reserve a lot and use little.
fn bound_memory(most: u64) -> nix::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_DATA)?;
    setrlimit(Resource::RLIMIT_DATA, hard.min(most), hard.min(most))
}

/// If the harness was started with SIGCHLD ignored, the kernel keeps no exit statuses
/// and gives pids away at once.
fn keep_statuses() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    if ignored & (1 << (Signal::SIGCHLD as u64 - 1)) != 0 {
        // SAFETY: the default disposition runs no code of ours; nobody's handler is lost.
        unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
    }
    Ok(())
}
