//! A dependency in a container: started before all else, reached by the harness alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use testcontainers::bollard::query_parameters::{
    KillContainerOptions, StartContainerOptions, WaitContainerOptionsBuilder,
};
use testcontainers::core::Mount;
use testcontainers::{GenericImage, ImageExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::engine::{Engine, blocking};
use super::error::EngineError;
use super::holder::{Holder, Holders};
use super::image::{self, Image};
use super::network::Network;
use super::process::{Copied, pump_into};
use crate::deployment::output::Logs;

/// Between two tries of a port. One that opens tells nobody.
const TICK: Duration = Duration::from_millis(10);

/// How long the engine is asked again to freeze a container.
const FREEZING: Duration = Duration::from_secs(10);

/// What to run and how.
#[derive(Clone, Debug)]
pub struct ContainerOptions {
    /// What it is called in errors and names.
    pub name: String,
    /// Its image.
    pub image: Image,
    /// The port it listens on.
    pub port: u16,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// Arguments for the image's entry point.
    pub arguments: Vec<String>,
    /// Where its output goes.
    pub logs: Logs,
}

/// A running container with a dependency in it.
#[derive(Debug)]
pub struct DependencyContainer {
    engine: Engine,
    options: ContainerOptions,
    container: String,
    seats: Holders,
    /// There until it is removed.
    seat: Mutex<Option<Holder>>,
    address: SocketAddr,
    volumes: Vec<String>,
    /// Copies its output, of all its starts one after the other.
    output: tokio::sync::Mutex<Output>,
}

#[derive(Debug, Default)]
struct Output {
    copying: Option<JoinHandle<Copied>>,
    copied: Copied,
}

impl DependencyContainer {
    /// Starts it in a network of its own and waits until its port accepts connections.
    ///
    /// # Errors
    /// When it cannot be started, or ends or is silent for longer than `within`.
    pub async fn start(
        engine: &Engine,
        options: ContainerOptions,
        within: Duration,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, EngineError> {
        Image::Process.ensure(engine, tell).await?;
        options.image.ensure(engine, tell).await?;
        tell(&format!(
            "starting {} for `{}`",
            options.image.name(),
            options.name
        ));
        let part = format!("dependency-{}", options.name);
        let network = Network::make(engine, &part).await?;
        let seats = Holders::new(engine.clone(), network, &part)?;
        let seat = seats.take().await?;
        let volumes = make_volumes(engine, &options).await?;
        let name = engine.labels.name(&format!("{part}-server"));
        let (repository, tag) = image::split(options.image.name());
        let joined = format!("container:{}", seat.id());
        let mut request = GenericImage::new(repository, tag)
            .with_cmd(options.arguments.iter())
            .with_labels(engine.labels.of(&part))
            .with_host_config_modifier(move |host| {
                host.network_mode = Some(joined.clone());
                host.publish_all_ports = Some(false);
            });
        for (name, value) in &options.environment {
            request = request.with_env_var(name, value);
        }
        for (volume, path) in &volumes {
            request = request.with_mount(Mount::volume_mount(volume, path));
        }
        let container = engine.launch("start a dependency", &name, request).await?;
        let output = Output {
            copying: pump_into(engine, &container, &options.logs, Copied::default()),
            copied: Copied::default(),
        };
        let address = (seat.address(), options.port).into();
        let started = Self {
            engine: engine.clone(),
            options,
            container,
            seats,
            seat: Mutex::new(Some(seat)),
            address,
            volumes: volumes.into_iter().map(|(volume, _)| volume).collect(),
            output: tokio::sync::Mutex::new(output),
        };
        started.answering(within).await?;
        Ok(started)
    }

    /// Where the harness reaches it: the same address through all its starts.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it wrote, from its first start on.
    pub fn logs(&self) -> &Logs {
        &self.options.logs
    }

    /// Whether it is the embedded queue in its image.
    pub fn is_our_queue(&self) -> bool {
        matches!(self.options.image, Image::Queue(..))
    }

    /// Waits until its port accepts connections.
    ///
    /// # Errors
    /// When it ends, or is silent for longer than `within`.
    pub async fn answering(&self, within: Duration) -> Result<(), EngineError> {
        let useless = |reason: String| EngineError::Dependency {
            name: self.options.name.clone(),
            image: self.options.image.name().to_owned(),
            reason,
            output: self.options.logs.last_lines(10).join("\n"),
        };
        let trying = async {
            while TcpStream::connect(self.address()).await.is_err() {
                tokio::time::sleep(TICK).await;
            }
        };
        tokio::select! {
            () = trying => Ok(()),
            () = self.ended() => Err(useless("it ended before it listened".to_owned())),
            () = tokio::time::sleep(within) => {
                Err(useless(format!("nothing listened on port {} within {within:?}", self.options.port)))
            }
        }
    }

    async fn ended(&self) {
        use futures::StreamExt as _;
        let options = WaitContainerOptionsBuilder::new()
            .condition("not-running")
            .build();
        let mut waiting = Box::pin(
            self.engine
                .docker()
                .wait_container(&self.container, Some(options)),
        );
        waiting.next().await;
    }

    /// Freezes it: it keeps its connections and answers nothing.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn pause(&self) -> Result<(), EngineError> {
        let begun = tokio::time::Instant::now();
        loop {
            let paused = self.engine.docker().pause_container(&self.container).await;
            match paused {
                // The old freezer of Linux gives up on a busy machine; it is all running then.
                Err(refusal)
                    if refusal.to_string().contains("unable to freeze")
                        && begun.elapsed() < FREEZING =>
                {
                    tokio::time::sleep(TICK).await;
                }
                paused => return paused.map_err(self.engine.refused("freeze a dependency")),
            }
        }
    }

    /// Ends [`DependencyContainer::pause`].
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn unpause(&self) -> Result<(), EngineError> {
        let docker = self.engine.docker();
        let unpaused = docker.unpause_container(&self.container).await;
        unpaused.map_err(self.engine.refused("thaw a dependency"))
    }

    /// [`DependencyContainer::unpause`] for whoever cannot wait for it: blocks for the
    /// length of a request. Harmless if it is not frozen.
    pub fn unpause_now(&self) {
        let _ = blocking(self.engine.host(), async |docker| {
            docker.unpause_container(&self.container).await
        });
    }

    /// Kills it, with what it had not written.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn kill(&self) -> Result<(), EngineError> {
        let killed = self
            .engine
            .docker()
            .kill_container(&self.container, None::<KillContainerOptions>)
            .await;
        killed.map_err(self.engine.refused("kill a dependency"))?;
        self.ended().await;
        Ok(())
    }

    /// Starts it again after [`DependencyContainer::kill`], with the data it had.
    ///
    /// # Errors
    /// When the engine refuses, or it does not listen within the time.
    pub async fn restart(&self, within: Duration) -> Result<(), EngineError> {
        let started = self
            .engine
            .docker()
            .start_container(&self.container, None::<StartContainerOptions>)
            .await;
        started.map_err(self.engine.refused("start a dependency again"))?;
        {
            let mut output = self.output.lock().await;
            if let Some(copying) = output.copying.take() {
                output.copied = copying.await.unwrap_or_default();
            }
            let (engine, logs) = (&self.engine, &self.options.logs);
            output.copying = pump_into(engine, &self.container, logs, output.copied);
        }
        self.answering(within).await
    }

    /// Removes it with its data and its network.
    pub async fn remove(&self) {
        self.engine.remove_container(&self.container).await;
        let seat = self
            .seat
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(seat);
        self.seats.close().await;
        for volume in &self.volumes {
            let none = None::<testcontainers::bollard::query_parameters::RemoveVolumeOptions>;
            // What cannot be removed here is found by its label at the end of the run.
            let _ = self.engine.docker().remove_volume(volume, none).await;
        }
    }
}

/// A labelled volume for each place where the image would have one without a name.
async fn make_volumes(
    engine: &Engine,
    options: &ContainerOptions,
) -> Result<Vec<(String, String)>, EngineError> {
    let image = engine.docker().inspect_image(options.image.name()).await;
    let image = image.map_err(engine.refused("describe an image"))?;
    let places = image
        .config
        .and_then(|config| config.volumes)
        .unwrap_or_default();
    let mut volumes = Vec::new();
    for (number, place) in places.into_iter().enumerate() {
        let name = engine.labels.name(&format!("{}-{number}", options.name));
        let request = testcontainers::bollard::models::VolumeCreateRequest {
            name: Some(name.clone()),
            labels: Some(engine.labels.of("data")),
            ..Default::default()
        };
        let made = engine.docker().create_volume(request).await;
        made.map_err(engine.refused("make a volume"))?;
        volumes.push((name, place));
    }
    Ok(volumes)
}
