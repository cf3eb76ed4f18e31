//! One incarnation of a process in a container: started, watched to its end, its output
//! kept.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use testcontainers::bollard::container::LogOutput;
use testcontainers::bollard::errors::Error as Refusal;
use testcontainers::bollard::models::{HostConfigLogConfig, ResourcesUlimits};
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptionsBuilder, LogsOptionsBuilder,
    WaitContainerOptionsBuilder,
};
use testcontainers::core::Mount;
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::engine::{Engine, blocking};
use super::error::{EngineError, has_status, is_missing};
use super::holder::Holder;
use super::image::{self, Image};
use crate::deployment::child::{Child, Control, Shared, Start, StartError, State};
use crate::deployment::deaths;
use crate::deployment::driver::Room;
use crate::deployment::environment::RUN_ID_VARIABLE;
use crate::deployment::exit::ExitOutcome;
use crate::deployment::output::Logs;
use crate::deployment::procfs::{self, StartTime, Stat};

/// Where a program of this machine is put.
const PROGRAMS: &str = "/program";
/// Between two looks at whether a process was stopped or goes on. It is not our child,
/// so the kernel tells nobody here.
const TICK: Duration = Duration::from_millis(4);
/// How long it may take to stop: a system call that cannot be interrupted comes first.
const STOP: Duration = Duration::from_millis(500);
/// Between two looks at it; mostly the first sees it.
const STOP_TICK: Duration = Duration::from_micros(200);
/// How long the output of a dead process may keep coming.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long what came of a dead process may take to die.
const OFFSPRING_DEATH: Duration = Duration::from_secs(5);
/// Exit codes above this are the engine's way to tell a signal.
const SIGNALLED: i64 = 128;

/// Starts an incarnation that joins a holder.
pub(super) async fn start(
    engine: &Engine,
    tasks: &TaskTracker,
    holder: &Holder,
    container_name: &str,
    start: Start,
    room: &Room,
) -> Result<Child, StartError> {
    let refused = |source: EngineError| StartError::Engine {
        name: start.name.clone(),
        source: Box::new(source),
    };
    let (stdout, stderr) = start
        .logs
        .open()
        .map_err(|(path, source)| StartError::Log {
            name: start.name.clone(),
            path,
            source,
        })?;
    let request = request(engine, holder, &start, room)?;
    let container = engine
        .launch("start a process", container_name, request)
        .await
        .map_err(refused)?;
    let pump = pump(engine, &container, stdout, stderr, Copied::default());
    let seen = engine
        .docker()
        .inspect_container(&container, None::<InspectContainerOptions>)
        .await;
    let pid = seen.ok().and_then(|seen| seen.state?.pid);
    let body = pid.and_then(|pid| Body::find(i32::try_from(pid).ok()?, &container));
    let pid = body.as_ref().map_or(Pid::from_raw(0), |body| body.pid);
    let started = procfs::stat(pid).map_or(StartTime(0), |stat| stat.started);
    let inside = Inside {
        engine: engine.clone(),
        id: container.clone(),
        body: body.clone(),
        killed: Arc::default(),
    };
    let killed = Arc::clone(&inside.killed);
    let shared = Arc::new(Shared::new(start.name, pid, started, start.logs, inside));
    let child = Child::of(&shared);
    let watching = Watching {
        engine: engine.clone(),
        container,
        shared,
        body,
        killed,
        pump,
    };
    tasks.spawn_on(watching.run(), &engine.runtime);
    let logs = child.logs().clone();
    engine.registry().cut_logs().keep(logs, child.exited());
    Ok(child)
}

fn request(
    engine: &Engine,
    holder: &Holder,
    start: &Start,
    room: &Room,
) -> Result<ContainerRequest<GenericImage>, StartError> {
    let written = start.program.to_string_lossy().into_owned();
    let on_host = start.directory.join(&start.program);
    let (program, mount) = if room.image.is_none() && written.contains('/') {
        let file = on_host
            .canonicalize()
            .map_err(|source| StartError::Launch {
                name: start.name.clone(),
                reason: format!(
                    "there is no program `{written}` (looked for from {}); is it built?",
                    start.directory.display()
                ),
                source,
            })?;
        let inside = Path::new(PROGRAMS).join(file.file_name().unwrap_or(file.as_os_str()));
        let inside = inside.display().to_string();
        let mount = Mount::bind_mount(file.display().to_string(), inside.clone())
            .with_access_mode(testcontainers::core::AccessMode::ReadOnly);
        (inside, Some(mount))
    } else {
        (written, None)
    };
    let image = room.image.as_deref().unwrap_or(Image::Process.name());
    let (repository, tag) = image::split(image);
    let joined = format!("container:{}", holder.id());
    let ours = room.image.is_none();
    let (memory, cpus) = (start.memory, room.cpus);
    let mut request = GenericImage::new(repository, tag)
        .with_entrypoint(&program)
        .with_cmd(
            start
                .arguments
                .iter()
                .map(|word| word.to_string_lossy().into_owned()),
        )
        .with_labels(engine.labels.of("process"))
        .with_host_config_modifier(move |host| {
            host.network_mode = Some(joined.clone());
            if ours {
                // As process 1 it would get no signal that it does not handle.
                host.pid_mode = Some(joined.clone());
                // A mount less to make, and no filter of system calls to compile: a third of
                // a start. On the host the program has none either.
                host.ipc_mode = Some(joined.clone());
                host.security_opt = Some(vec!["seccomp=unconfined".to_owned()]);
            }
            host.publish_all_ports = Some(false);
            host.memory = memory.and_then(|bytes| i64::try_from(bytes).ok());
            // No more than that by way of swapping.
            host.memory_swap = host.memory;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a number of processors is small"
            )]
            {
                host.nano_cpus = cpus.map(|cpus| (cpus * 1e9) as i64);
            }
            host.log_config = Some(HostConfigLogConfig {
                typ: Some("json-file".to_owned()),
                config: None,
            });
            host.ulimits = Some(vec![ResourcesUlimits {
                name: Some("core".to_owned()),
                soft: Some(0),
                hard: Some(0),
            }]);
        });
    for (name, value) in &start.environment {
        request = request.with_env_var(name.to_string_lossy(), value.to_string_lossy());
    }
    request = request.with_env_var(RUN_ID_VARIABLE, engine.labels.run());
    if let Some(mount) = mount {
        request = request.with_mount(mount);
    }
    Ok(request)
}

/// The process as this machine sees it.
#[derive(Clone, Debug)]
struct Body {
    pid: Pid,
    handle: Arc<OwnedFd>,
}

impl Body {
    /// The process with this pid, if it is visible here and belongs to the container:
    /// the engine may live among other pids.
    fn find(pid: i32, container: &str) -> Option<Self> {
        let pid = Pid::from_raw(pid);
        let known = rustix::process::Pid::from_raw(pid.as_raw())?;
        // First the handle, then the look: the pid cannot change hands in between.
        let handle = pidfd_open(known, PidfdFlags::NONBLOCK)
            .or_else(|_| pidfd_open(known, PidfdFlags::empty()));
        let handle = Arc::new(handle.ok()?);
        is_in(pid, container).then_some(Self { pid, handle })
    }
}

/// Whether a process that this machine sees belongs to a container.
fn is_in(pid: Pid, container: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
        .is_ok_and(|groups| groups.contains(container))
}

/// How signals get into a container: straight to the process where this machine sees
/// it and may, else by way of the engine.
#[derive(Debug)]
struct Inside {
    engine: Engine,
    id: String,
    body: Option<Body>,
    /// Whether SIGKILL reached it.
    killed: Arc<AtomicBool>,
}

impl Control for Inside {
    fn deliver(&self, signal: Signal, group: bool) -> Result<(), Errno> {
        let Some(body) = &self.body else {
            return self.by_engine(signal);
        };
        if procfs::ignores(body.pid, signal) {
            return Err(Errno::ENOTSUP);
        }
        // The engine's own stop and continue reach every process, too.
        if signal == Signal::SIGSTOP {
            return self.stop(body);
        }
        if group || signal == Signal::SIGCONT {
            for pid in procfs::tree(body.pid) {
                if pid != body.pid {
                    let _ = kill(pid, signal);
                }
            }
        }
        self.to_body(body, signal)
    }
}

impl Inside {
    /// Stops the process and all below it, each after its parent: one that is stopped
    /// between vfork and exec keeps its parent from stopping, for good.
    fn stop(&self, body: &Body) -> Result<(), Errno> {
        self.to_body(body, Signal::SIGSTOP)?;
        let mut told = vec![body.pid];
        loop {
            await_stop(told[told.len() - 1]);
            let mut below = procfs::tree(body.pid).into_iter();
            let Some(next) = below.find(|pid| !told.contains(pid)) else {
                return Ok(());
            };
            let _ = kill(next, Signal::SIGSTOP);
            told.push(next);
        }
    }

    fn to_body(&self, body: &Body, signal: Signal) -> Result<(), Errno> {
        let Some(number) = rustix::process::Signal::from_named_raw(signal as i32) else {
            return self.by_engine(signal);
        };
        match pidfd_send_signal(&*body.handle, number) {
            Ok(()) => {
                if signal == Signal::SIGKILL {
                    self.killed.store(true, Ordering::SeqCst);
                }
                Ok(())
            }
            // Dead, and its end is about to be told.
            Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(_) => self.by_engine(signal),
        }
    }

    fn by_engine(&self, signal: Signal) -> Result<(), Errno> {
        let options = KillContainerOptionsBuilder::new()
            .signal(signal.as_str())
            .build();
        let asked = blocking(self.engine.host(), async |docker| {
            docker.kill_container(&self.id, Some(options)).await
        });
        match asked {
            Ok(Ok(())) => Ok(()),
            // Dead or gone, and its end is about to be told.
            Ok(Err(refusal)) if has_status(&refusal, 409) || is_missing(&refusal) => Ok(()),
            Ok(Err(_)) => Err(Errno::EPERM),
            Err(_) => Err(Errno::EIO),
        }
    }
}

/// Blocks until a process has stopped, is dead, or has had its time.
fn await_stop(pid: Pid) {
    let begun = Instant::now();
    let goes_on = |stat: Stat| !stat.is_dead() && !stat.is_stopped();
    while procfs::stat(pid).is_some_and(goes_on) && begun.elapsed() < STOP {
        std::thread::sleep(STOP_TICK);
    }
}

/// Everything about one incarnation until it is removed.
struct Watching {
    engine: Engine,
    container: String,
    shared: Arc<Shared>,
    body: Option<Body>,
    killed: Arc<AtomicBool>,
    pump: JoinHandle<Copied>,
}

impl Watching {
    async fn run(self) {
        if let Some(body) = &self.body {
            self.death(body).await;
            self.end_offspring().await;
        }
        // The engine takes its time to notice, and could tell nothing else.
        if self.killed.load(Ordering::SeqCst) {
            self.shared.end(ExitOutcome::Signal(Signal::SIGKILL as i32));
        }
        let outcome = self.outcome().await;
        let _ = tokio::time::timeout(LAST_WORDS, self.pump).await;
        self.shared.end(outcome);
        self.engine.remove_container(&self.container).await;
    }

    /// Kills what is left in the container: the engine does so too, and later.
    async fn end_offspring(&self) {
        let (container, started) = (self.container.clone(), self.shared.started);
        let ending = move || {
            let is_meant = |pid, stat: &Stat| stat.started >= started && is_in(pid, &container);
            deaths::end_all(OFFSPRING_DEATH, is_meant, || {});
        };
        let _ = tokio::task::spawn_blocking(ending).await;
    }

    /// Publishes stops until the process is dead.
    async fn death(&self, body: &Body) {
        #[expect(
            deprecated,
            reason = "its successor is unsafe; this descriptor outlives the registration"
        )]
        let Ok(handle) = AsyncFd::new(Arc::clone(&body.handle)) else {
            return;
        };
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                biased;
                _ = handle.readable() => return,
                _ = tick.tick() => {
                    if let Some(stat) = procfs::stat(body.pid).filter(|stat| !stat.is_dead()) {
                        self.shared.publish(if stat.is_stopped() { State::Stopped } else { State::Running });
                    }
                }
            }
        }
    }

    /// How the engine says that it ended.
    async fn outcome(&self) -> ExitOutcome {
        let options = WaitContainerOptionsBuilder::new()
            .condition("not-running")
            .build();
        let docker = self.engine.docker();
        let mut waiting = Box::pin(docker.wait_container(&self.container, Some(options)));
        let code = match waiting.next().await {
            Some(Ok(ended)) => ended.status_code,
            Some(Err(Refusal::DockerContainerWaitError { code, .. })) => code,
            Some(Err(_)) | None => return ExitOutcome::Unknown,
        };
        let Ok(code) = i32::try_from(code) else {
            return ExitOutcome::Unknown;
        };
        match i64::from(code) - SIGNALLED {
            number @ 1..=64 => ExitOutcome::Signal(i32::try_from(number).unwrap_or_default()),
            _ => ExitOutcome::Code(code),
        }
    }
}

/// How many bytes of a container's output were copied.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copied {
    stdout: u64,
    stderr: u64,
}

/// What of a piece was not copied yet; `seen` counts it.
fn fresh<'p>(piece: &'p [u8], copied: u64, seen: &mut u64) -> &'p [u8] {
    let before = copied.saturating_sub(*seen).min(piece.len() as u64);
    *seen += piece.len() as u64;
    &piece[usize::try_from(before).unwrap_or(piece.len())..]
}

/// Copies a container's output into logs until it ends, but for what was copied: the
/// engine begins with what the container's earlier starts wrote.
pub(super) fn pump(
    engine: &Engine,
    id: &str,
    mut stdout: File,
    mut stderr: File,
    copied: Copied,
) -> JoinHandle<Copied> {
    let options = LogsOptionsBuilder::new()
        .follow(true)
        .stdout(true)
        .stderr(true)
        .build();
    let (docker, id) = (engine.docker().clone(), id.to_owned());
    engine.runtime.spawn(async move {
        let mut output = Box::pin(docker.logs(&id, Some(options)));
        let mut seen = Copied::default();
        while let Some(Ok(piece)) = output.next().await {
            // A log that cannot be written any more loses the rest, not the run.
            let _ = match piece {
                LogOutput::StdErr { message } => {
                    stderr.write_all(fresh(&message, copied.stderr, &mut seen.stderr))
                }
                LogOutput::StdOut { message } | LogOutput::Console { message } => {
                    stdout.write_all(fresh(&message, copied.stdout, &mut seen.stdout))
                }
                LogOutput::StdIn { .. } => Ok(()),
            };
        }
        seen
    })
}

/// Logs for a container that is no incarnation.
pub(super) fn pump_into(
    engine: &Engine,
    id: &str,
    logs: &Logs,
    copied: Copied,
) -> Option<JoinHandle<Copied>> {
    let (stdout, stderr) = logs.open().ok()?;
    Some(pump(engine, id, stdout, stderr, copied))
}
