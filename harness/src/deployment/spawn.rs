//! Starts one process. The only file with `unsafe` code: what happens between fork and
//! exec cannot be said without it.
//!
//! Every process gets a thread of the harness that starts it, waits for it, and reaps
//! it. The thread must outlive the process: the kernel sends the parent-death signal
//! when the *thread* that forked ends.

#![expect(
    unsafe_code,
    reason = "`pre_exec` is unsafe: its closure runs between fork and exec"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Pid, Uid, getppid, setsid};

use super::environment::Variables;

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
        match self.ties {
            Ties::Group => {
                command.process_group(0);
                let tie = move || {
                    set_pdeathsig(Signal::SIGKILL)?;
                    // The harness may have died before the line above.
                    if getppid() == harness {
                        Ok(())
                    } else {
                        Err(nix::errno::Errno::ESRCH.into())
                    }
                };
                // SAFETY: two system calls, no allocation, no lock.
                unsafe { command.pre_exec(tie) };
            }
            Ties::Namespace => {
                unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC)?;
                command.process_group(0);
                // The parent's pid reads 0 in there, so an early death of the harness
                // shows only to the watchdog.
                // SAFETY: one system call, no allocation, no lock.
                unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
            }
            Ties::None => {
                // SAFETY: one system call, no allocation, no lock.
                unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
            }
        }
        command.spawn()
    }
}
