//! The container engine: found, asked what it is, and used by its address from then on.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use testcontainers::bollard::{ClientVersion, Docker, errors::Error as Refusal};
use testcontainers::core::client::docker_client_instance;
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt as _};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use super::error::EngineError;
use super::image::{self, Image};
use super::label::Labels;
use crate::deployment::environment::Variables;
use crate::deployment::registry::{Leftover, Registry};

/// The oldest API that was tried.
const NEEDED: ClientVersion = ClientVersion {
    major_version: 1,
    minor_version: 41,
};
/// How long a request may take, in seconds.
const PATIENCE: u64 = 60;
/// How long it may take to say what it is.
const GREETING: Duration = Duration::from_secs(10);
const SCHEME: &str = "unix://";

/// A container engine of this machine that answers, in the service of one run.
#[derive(Clone, Debug)]
pub struct Engine {
    host: String,
    docker: Docker,
    pub(super) labels: Labels,
    registry: Registry,
    /// What goes on beside the callers, and longer than them.
    pub(super) runtime: Handle,
}

impl Engine {
    /// Finds the engine and makes sure that it can be used; from here on the run's
    /// record says that there may be containers to remove.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub async fn connect(registry: &Registry) -> Result<Self, EngineError> {
        let host = host(registry.ambient());
        let docker = open(&host).await?;
        let version = docker.client_version();
        if version < NEEDED {
            return Err(EngineError::TooOld {
                host,
                version: shown(&version),
                needed: shown(&NEEDED),
            });
        }
        let labels = Labels::new(registry.run(), registry.directory());
        let engine = Self {
            host: host.clone(),
            docker,
            labels,
            registry: registry.clone(),
            runtime: Handle::current(),
        };
        registry
            .register(&Leftover::Engine { host })
            .map_err(|error| EngineError::Refused {
                what: "be used".to_owned(),
                reason: error.to_string(),
            })?;
        Ok(engine)
    }

    /// Where it is.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// What it calls itself, with its version.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn version(&self) -> Result<String, EngineError> {
        let answer = self.docker.version().await;
        let answer = answer.map_err(self.refused("say what it is"))?;
        Ok(answer.version.unwrap_or_default())
    }

    pub(super) fn docker(&self) -> &Docker {
        &self.docker
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What a refusal to do `what` means.
    pub(super) fn refused(&self, what: &str) -> impl Fn(Refusal) -> EngineError {
        let (host, what) = (self.host.clone(), what.to_owned());
        move |refusal| EngineError::of(&host, &what, &refusal)
    }

    /// Starts a container and gives back its id. Nothing of it is left if that fails.
    pub(super) async fn launch(
        &self,
        what: &str,
        name: &str,
        request: ContainerRequest<GenericImage>,
    ) -> Result<String, EngineError> {
        ANCHOR.get_or_try_init(|| self.anchor()).await?;
        let container = self.run(what, name, request).await?;
        let id = container.id().to_owned();
        // Dropped, it would remove the container, and panic outside of a runtime. What
        // removes it here is its owner, and in the end its label.
        std::mem::forget(container);
        Ok(id)
    }

    async fn run(
        &self,
        what: &str,
        name: &str,
        request: ContainerRequest<GenericImage>,
    ) -> Result<ContainerAsync<GenericImage>, EngineError> {
        let started = request.with_container_name(name).start().await;
        match started {
            Ok(container) => Ok(container),
            Err(error) => {
                self.remove_container(name).await;
                Err(EngineError::of_start(&self.host, what, &error))
            }
        }
    }

    /// Makes `testcontainers` speak the engine's version. It begins with its own newest,
    /// which an older engine refuses, and keeps its client only while it has a container;
    /// so the client is spoken to while it waits to start its first, and the handle of
    /// that one is kept when the container itself is gone.
    async fn anchor(&self) -> Result<ContainerAsync<GenericImage>, EngineError> {
        let name = self.labels.name("anchor");
        let (repository, tag) = image::split(Image::Process.name());
        let request = GenericImage::new(repository, tag)
            .with_labels(self.labels.of("anchor"))
            .with_host_config_modifier(|host| {
                agree_on_version();
                host.network_mode = Some("none".to_owned());
                host.publish_all_ports = Some(false);
            });
        let container = self.run("start a container", &name, request).await?;
        self.remove_container(&name).await;
        Ok(container)
    }
}

/// Holds the client of `testcontainers`.
static ANCHOR: OnceCell<ContainerAsync<GenericImage>> = OnceCell::const_new();

/// Blocks: the caller is in the middle of a poll.
fn agree_on_version() {
    let asking = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else { return };
        // If it fails, so does the request that follows, and says why.
        runtime.block_on(async {
            if let Ok(shared) = docker_client_instance().await {
                let _ = shared.negotiate_version().await;
            }
        });
    };
    std::thread::scope(|scope| {
        let _ = scope.spawn(asking).join();
    });
}

/// Asks the engine at an address, and blocks until it has answered. From a thread and a
/// runtime of its own: the caller may be in the middle of a poll, in the very runtime
/// that would have to go on.
///
/// # Errors
/// When the engine cannot be asked.
pub(super) fn blocking<T: Send>(
    host: &str,
    asking: impl AsyncFnOnce(&Docker) -> T + Send,
) -> Result<T, String> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let docker = open(host).await.map_err(|error| error.to_string())?;
            Ok(asking(&docker).await)
        })
    };
    std::thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| Err("the thread that does it panicked".to_owned()))
}

/// Opens the engine at an address, speaking its own version.
pub(super) async fn open(host: &str) -> Result<Docker, EngineError> {
    let Some(path) = host.strip_prefix(SCHEME) else {
        return Err(EngineError::Remote {
            host: host.to_owned(),
        });
    };
    let absent = |reason: String| EngineError::Absent {
        host: host.to_owned(),
        reason,
    };
    let refused = |refusal: Refusal| match EngineError::of(host, "say what it is", &refusal) {
        EngineError::Refused { reason, .. } => {
            absent(format!("what answers is no container engine: {reason}"))
        }
        other => other,
    };
    if !Path::new(path).exists() {
        return Err(absent("there is no such socket".to_owned()));
    }
    let newest = testcontainers::bollard::API_DEFAULT_VERSION;
    let docker = Docker::connect_with_unix(path, PATIENCE, newest).map_err(refused)?;
    match tokio::time::timeout(GREETING, docker.negotiate_version()).await {
        Ok(agreed) => agreed.map_err(refused),
        Err(_) => Err(absent(format!("it was silent for {GREETING:?}"))),
    }
}

/// Where the engine is: what `DOCKER_HOST` says, else the first usual place that exists.
/// The same rules as those of `testcontainers`.
pub(in crate::deployment) fn host(ambient: &Variables) -> String {
    let variable = |name: &str| {
        ambient
            .get(OsStr::new(name))
            .filter(|value| !value.is_empty())
    };
    if let Some(host) = variable("DOCKER_HOST") {
        return host.to_string_lossy().into_owned();
    }
    let below = |name: &str, path: &str| Some(PathBuf::from(variable(name)?).join(path));
    let usual = Some(PathBuf::from("/var/run/docker.sock"));
    let places = [
        usual.clone(),
        below("XDG_RUNTIME_DIR", ".docker/run/docker.sock"),
        below("HOME", ".docker/run/docker.sock"),
        below("HOME", ".docker/desktop/docker.sock"),
    ];
    let found = places.into_iter().flatten().find(|place| place.exists());
    let place = found.or(usual).unwrap_or_default();
    format!("{SCHEME}{}", place.display())
}

fn shown(version: &ClientVersion) -> String {
    format!("{}.{}", version.major_version, version.minor_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_says_where_the_engine_is() {
        let ambient = Variables::from([("DOCKER_HOST".into(), "tcp://10.0.0.1:2375".into())]);
        assert_eq!(host(&ambient), "tcp://10.0.0.1:2375");
        let empty = Variables::from([("DOCKER_HOST".into(), "".into())]);
        assert!(host(&empty).starts_with("unix:///"));
    }

    #[tokio::test]
    async fn an_engine_elsewhere_or_nowhere_is_refused_in_words() {
        let error = open("tcp://10.0.0.1:2375").await.unwrap_err();
        assert!(matches!(error, EngineError::Remote { .. }));
        let error = open("unix:///nonexistent/docker.sock").await.unwrap_err();
        let expected = "no container engine answers at unix:///nonexistent/docker.sock (there is no such socket): \
            start Docker, or run with `--driver processes` and `provide: embedded`, which need no containers";
        assert_eq!(error.to_string(), expected);
        let directory = tempfile::tempdir().unwrap();
        let deaf = directory.path().join("docker.sock");
        drop(std::os::unix::net::UnixListener::bind(&deaf).unwrap());
        let error = open(&format!("unix://{}", deaf.display()))
            .await
            .unwrap_err();
        assert!(matches!(error, EngineError::Absent { .. }), "{error}");
    }
}
