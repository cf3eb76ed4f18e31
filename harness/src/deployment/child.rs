//! One started process: what can be done to it, and how its end becomes known.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::sync::{oneshot, watch};

use super::deaths;
use super::environment::{self, Variables};
use super::exit::ExitOutcome;
use super::mark::Mark;
use super::output::Logs;
use super::procfs::{self, StartTime, Stat};
use super::registry::{Leftover, Registry, RegistryError};
use super::spawn::{Account, Launch, Ties};

/// How long members of a dead process's group may take to die of SIGKILL. Only a
/// process stuck in the kernel takes longer, and it cannot be helped.
const GROUP_DEATH: Duration = Duration::from_secs(2);

/// What to start and where.
#[derive(Clone, Debug)]
pub struct Start {
    /// What errors, logs and records call it: `worker-1#2`.
    pub name: String,
    /// The program; with a `/` it is relative to `directory`, else looked up in PATH.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beyond the allow-list.
    pub environment: Variables,
    /// The directory it works in.
    pub directory: PathBuf,
    /// Where its output goes.
    pub logs: Logs,
    /// Whom it runs as, if not as the harness's own user.
    pub account: Option<Account>,
    /// The most memory it may use, in bytes. In a container more kills it; as a host
    /// process an allocation that needs more fails.
    pub memory: Option<u64>,
    /// Whether it gets a PID namespace of its own, where that is allowed: for servers
    /// whose children leave their group. It is then process 1 in there, which ignores
    /// every signal that it does not handle; never do this to a process under
    /// rehearsal.
    pub namespace: bool,
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Running, or ready to.
    Running,
    /// Stopped by SIGSTOP or the like.
    Stopped,
    /// Dead and reaped; its group is dead too.
    Exited(ExitOutcome),
}

/// A process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Program or directory is missing, may not be executed, or the kernel refused.
    #[error("cannot start `{name}`: {reason}")]
    Launch {
        /// Which process.
        name: String,
        /// What is wrong, and with which file.
        reason: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Its log could not be opened.
    #[error("cannot start `{name}`: its log {} cannot be written: {source}", path.display())]
    Log {
        /// Which process.
        name: String,
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The container engine refused.
    #[error("cannot start `{name}` in a container: {source}")]
    Engine {
        /// Which process.
        name: String,
        /// Why.
        source: Box<super::containers::EngineError>,
    },
    /// It could not be recorded, so it was killed again.
    #[error("cannot start `{name}`: {source}")]
    Record {
        /// Which process.
        name: String,
        /// Why.
        source: RegistryError,
    },
}

/// A signal could not be delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// There is nothing left to signal.
    #[error("cannot send {signal} to `{name}`: it {outcome}")]
    Gone {
        /// Which process.
        name: String,
        /// The signal.
        signal: Signal,
        /// How it ended.
        outcome: ExitOutcome,
    },
    /// It is process 1 of its container, for which the kernel throws such signals away.
    #[error(
        "{signal} to `{name}` has no effect: as process 1 of its container it only gets signals that it handles"
    )]
    Ignored {
        /// Which process.
        name: String,
        /// The signal.
        signal: Signal,
    },
    /// The kernel refused.
    #[error("cannot send {signal} to `{name}` (pid {pid}): {source}")]
    Refused {
        /// Which process.
        name: String,
        /// The signal.
        signal: Signal,
        /// Its pid.
        pid: Pid,
        /// What the kernel said.
        source: Errno,
    },
}

/// One started process. Clones are handles of the same one; when the last is dropped
/// it is killed.
#[derive(Clone, Debug)]
pub struct Child {
    shared: Arc<Shared>,
    _last: Arc<KillOnDrop>,
}

/// How signals reach a process, whatever it runs in.
pub(super) trait Control: Send + Sync + std::fmt::Debug + 'static {
    /// Delivers a signal to the process itself, or to all that came of it. `ENOTSUP`
    /// where the kernel would throw it away.
    fn deliver(&self, signal: Signal, group: bool) -> Result<(), Errno>;
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) pid: Pid,
    pub(super) started: StartTime,
    pub(super) logs: Logs,
    pub(super) control: Box<dyn Control>,
    state: watch::Sender<State>,
    /// Whether the pid was given back. Held while signalling and while reaping, so
    /// that no signal can reach a later process with the same pid.
    reaped: Mutex<bool>,
}

/// A child of this process, signalled by its pid.
#[derive(Debug)]
struct OwnChild(Pid);

impl Control for OwnChild {
    fn deliver(&self, signal: Signal, group: bool) -> Result<(), Errno> {
        if group {
            killpg(self.0, signal)
        } else {
            kill(self.0, signal)
        }
    }
}

#[derive(Debug)]
struct KillOnDrop(Arc<Shared>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.deliver(Signal::SIGKILL, true);
    }
}

impl Child {
    /// Starts a process of a run and records it there.
    ///
    /// # Errors
    /// When it cannot be started; nothing is left running then.
    pub async fn start(start: Start, registry: &Registry) -> Result<Self, StartError> {
        let ties = if start.namespace {
            Ties::Namespace
        } else {
            Ties::Group
        };
        let variables = environment::compose(
            registry.ambient().clone(),
            &start.environment,
            registry.run(),
        );
        let (stdout, stderr) = start
            .logs
            .open()
            .map_err(|(path, source)| StartError::Log {
                name: start.name.clone(),
                path,
                source,
            })?;
        let mark = Mark::next_of(registry.run());
        let launch = Launch {
            program: start.program.clone(),
            arguments: start.arguments,
            variables,
            directory: start.directory.clone(),
            stdin: Stdio::null(),
            stdout,
            stderr,
            account: start.account,
            memory: start.memory,
            mark: Some(mark),
            ties,
        };
        let failed = |source: io::Error| StartError::Launch {
            name: start.name.clone(),
            reason: reason(&source, &start.program, &start.directory),
            source,
        };
        let child = launch_watched(launch, start.name.clone(), start.logs)
            .await
            .map_err(failed)?;
        let record = Leftover::Process {
            name: start.name.clone(),
            pid: child.pid().as_raw(),
            started: child.started(),
        };
        registry
            .register(&record)
            .map_err(|source| StartError::Record {
                name: start.name,
                source,
            })?;
        let logs = child.logs().clone();
        registry.cut_logs().keep(logs, child.exited());
        Ok(child)
    }

    /// The handle of a process that a driver started and watches.
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self {
            _last: Arc::new(KillOnDrop(Arc::clone(shared))),
            shared: Arc::clone(shared),
        }
    }

    /// What errors, logs and records call it.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its pid. After its end the number may belong to somebody else: never signal
    /// it except through this handle.
    pub fn pid(&self) -> Pid {
        self.shared.pid
    }

    /// When it started.
    pub fn started(&self) -> StartTime {
        self.shared.started
    }

    /// Where its output goes.
    pub fn logs(&self) -> &Logs {
        &self.shared.logs
    }

    /// What it is doing now.
    pub fn state(&self) -> State {
        *self.shared.state.borrow()
    }

    /// How it ended, if it did.
    pub fn outcome(&self) -> Option<ExitOutcome> {
        match self.state() {
            State::Exited(outcome) => Some(outcome),
            State::Running | State::Stopped => None,
        }
    }

    /// Sends a signal to the process itself.
    ///
    /// # Errors
    /// When it is gone, or the kernel refuses.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.shared.deliver(signal, false)
    }

    /// Sends a signal to the process and all in its group.
    ///
    /// # Errors
    /// When it is gone, or the kernel refuses.
    pub fn signal_group(&self, signal: Signal) -> Result<(), SignalError> {
        self.shared.deliver(signal, true)
    }

    /// Resolves once the process is dead and reaped and nothing of its group is left.
    /// Any number may wait.
    pub fn exited(&self) -> impl Future<Output = ExitOutcome> + Send + use<> {
        let mut state = self.shared.state.subscribe();
        async move {
            let exited = state
                .wait_for(|state| matches!(state, State::Exited(_)))
                .await;
            match exited.as_deref() {
                Ok(State::Exited(outcome)) => *outcome,
                // The watching thread publishes an end before it drops the sender.
                _ => ExitOutcome::Unknown,
            }
        }
    }

    /// Resolves once the kernel reports the process stopped (true), or dead (false).
    pub async fn stopped(&self) -> bool {
        self.reached(State::Stopped).await
    }

    /// Resolves once the kernel reports the process running again (true), or dead
    /// (false).
    pub async fn running(&self) -> bool {
        self.reached(State::Running).await
    }

    async fn reached(&self, wanted: State) -> bool {
        let mut state = self.shared.state.subscribe();
        let reached = state
            .wait_for(|state| *state == wanted || matches!(state, State::Exited(_)))
            .await;
        reached.is_ok_and(|state| *state == wanted)
    }

    /// Kills it with its group and waits for its end.
    pub async fn kill(&self) -> ExitOutcome {
        // Refused only when it is gone already.
        let _ = self.signal_group(Signal::SIGKILL);
        self.exited().await
    }

    /// Asks it to end with SIGTERM, and kills it after `grace`.
    pub async fn stop(&self, grace: Duration) -> ExitOutcome {
        if self.signal(Signal::SIGTERM).is_ok() {
            // A stopped process takes the signal only once it goes on.
            let _ = self.signal(Signal::SIGCONT);
            if let Ok(outcome) = tokio::time::timeout(grace, self.exited()).await {
                return outcome;
            }
        }
        self.kill().await
    }
}

impl Shared {
    pub(super) fn new(
        name: String,
        pid: Pid,
        started: StartTime,
        logs: Logs,
        control: impl Control,
    ) -> Self {
        Self {
            name,
            pid,
            started,
            logs,
            control: Box::new(control),
            state: watch::Sender::new(State::Running),
            reaped: Mutex::new(false),
        }
    }

    /// Publishes what the process is doing, if that is new.
    pub(super) fn publish(&self, state: State) {
        self.state.send_if_modified(|known| {
            let new = !matches!(known, State::Exited(_)) && *known != state;
            if new {
                *known = state;
            }
            new
        });
    }

    /// Publishes the end: no signal is delivered any more.
    pub(super) fn end(&self, outcome: ExitOutcome) {
        *self.reaped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.publish(State::Exited(outcome));
    }

    fn deliver(&self, signal: Signal, group: bool) -> Result<(), SignalError> {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let name = self.name.clone();
        if *reaped {
            let outcome = match *self.state.borrow() {
                State::Exited(outcome) => outcome,
                State::Running | State::Stopped => ExitOutcome::Unknown,
            };
            return Err(SignalError::Gone {
                name,
                signal,
                outcome,
            });
        }
        self.control
            .deliver(signal, group)
            .map_err(|source| match source {
                Errno::ENOTSUP => SignalError::Ignored { name, signal },
                source => SignalError::Refused {
                    name,
                    signal,
                    pid: self.pid,
                    source,
                },
            })
    }

    /// Publishes every change of the process's state until its end.
    fn watch(&self, mut process: std::process::Child, mark: Option<Mark>) {
        let wait = |flags| waitid(Id::Pid(self.pid), flags);
        let look = WaitPidFlag::WEXITED
            | WaitPidFlag::WSTOPPED
            | WaitPidFlag::WCONTINUED
            | WaitPidFlag::WNOWAIT;
        loop {
            match wait(look) {
                Ok(WaitStatus::Stopped(..)) => {
                    if let Ok(WaitStatus::Stopped(..)) =
                        wait(WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG)
                    {
                        self.state.send_replace(State::Stopped);
                    }
                }
                Ok(WaitStatus::Continued(_)) => {
                    if let Ok(WaitStatus::Continued(_)) =
                        wait(WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG)
                    {
                        self.state.send_replace(State::Running);
                    }
                }
                Err(Errno::EINTR) => {}
                // Dead. EINVAL is a death by a signal that nix has no name for.
                Ok(_) | Err(_) => break,
            }
        }
        self.end_offspring(mark);
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = process
            .wait()
            .map_or(ExitOutcome::Unknown, ExitOutcome::from);
        *reaped = true;
        self.state.send_replace(State::Exited(outcome));
    }

    /// Kills what is left of the group, and what left it: a daemon that goes on would do
    /// the work of a process that counts as dead. The group's leader is dead and not
    /// reaped yet, so its number cannot have become somebody else's.
    fn end_offspring(&self, mark: Option<Mark>) {
        let is_meant = |pid, stat: &Stat| {
            // Only what is younger can have come of it.
            let escaped =
                || stat.started >= self.started && mark.is_some_and(|mark| mark.is_on(pid));
            stat.group == self.pid || escaped()
        };
        deaths::end_all(GROUP_DEATH, is_meant, || {
            let _ = killpg(self.pid, Signal::SIGKILL);
        });
    }
}

/// Starts a process from a thread of its own, which then watches it to its end.
async fn launch_watched(launch: Launch, name: String, logs: Logs) -> io::Result<Child> {
    let (tell, told) = oneshot::channel();
    let mark = launch.mark;
    thread::Builder::new()
        .name(format!("watch {name}"))
        .stack_size(256 * 1024)
        .spawn(move || {
            let process = match launch.spawn() {
                Ok(process) => process,
                Err(error) => {
                    let _ = tell.send(Err(error));
                    return;
                }
            };
            let pid = Pid::from_raw(process.id().cast_signed());
            // Our own child and not reaped: it has an entry, dead or alive.
            let started = procfs::stat(pid).map_or(StartTime(0), |stat| stat.started);
            let shared = Arc::new(Shared::new(name, pid, started, logs, OwnChild(pid)));
            // A caller that gave up drops the handle, which kills the process.
            let _ = tell.send(Ok(Child::of(&shared)));
            shared.watch(process, mark);
        })?;
    told.await
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it ended")))
}

fn reason(error: &io::Error, program: &Path, directory: &Path) -> String {
    let (file, program) = (program, program.display());
    if !directory.is_dir() {
        return format!(
            "its working directory {} does not exist",
            directory.display()
        );
    }
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            if let Some(interpreter) = interpreter(&directory.join(file)) {
                return format!(
                    "the first line of `{program}` names `{interpreter}`, and there is no such program here"
                );
            }
            format!(
                "there is no program `{program}` (looked for from {}); is it built?",
                directory.display()
            )
        }
        io::ErrorKind::PermissionDenied if directory.join(file).is_dir() => {
            format!("`{program}` is a directory, and no program")
        }
        io::ErrorKind::PermissionDenied => {
            format!("`{program}` may not be executed: {error}; `chmod +x` lets it")
        }
        _ => format!("`{program}`: {error}"),
    }
}

/// What the first line of a script says shall run it, where it is one.
fn interpreter(script: &Path) -> Option<String> {
    let mut line = Vec::new();
    let script = std::fs::File::open(script).ok()?;
    let mut script = io::BufReader::new(io::Read::take(script, 512));
    io::BufRead::read_until(&mut script, b'\n', &mut line).ok()?;
    let line = String::from_utf8_lossy(line.strip_prefix(b"#!")?)
        .trim()
        .to_owned();
    line.split_whitespace().next().map(str::to_owned)
}
