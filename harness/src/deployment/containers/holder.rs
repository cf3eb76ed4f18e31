//! Containers that do nothing but hold one end of a network, for others to join.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use testcontainers::bollard::models::{
    EndpointIpamConfig, EndpointSettings, NetworkConnectRequest, NetworkDisconnectRequest,
};
use testcontainers::bollard::query_parameters::InspectContainerOptions;
use testcontainers::{GenericImage, ImageExt as _};

use super::engine::Engine;
use super::error::EngineError;
use super::image::{self, Image};
use super::network::Network;

/// The first port that a process in a container is told to listen on.
const FIRST_PORT: u16 = 8000;

/// All holders of one network; those that nobody uses wait for the next.
#[derive(Clone, Debug)]
pub(super) struct Holders(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    engine: Engine,
    network: Network,
    part: String,
    made: AtomicU32,
    idle: Mutex<Vec<Held>>,
    retiring: tokio_util::task::TaskTracker,
}

/// One holder. When it is dropped the next process may have it.
#[derive(Debug)]
pub struct Holder {
    holders: Holders,
    /// There until it is dropped.
    held: Option<Held>,
    cut: tokio::sync::Mutex<bool>,
    /// Whether it ever was cut off: it is not used again then.
    was_cut: std::sync::atomic::AtomicBool,
}

#[derive(Debug)]
struct Held {
    container: String,
    address: IpAddr,
    port: AtomicU16,
}

impl Holders {
    pub(super) fn new(engine: Engine, network: Network, part: &str) -> Self {
        Self(Arc::new(Inner {
            engine,
            network,
            part: part.to_owned(),
            made: AtomicU32::new(0),
            idle: Mutex::default(),
            retiring: tokio_util::task::TaskTracker::new(),
        }))
    }

    pub(super) fn network(&self) -> &Network {
        &self.0.network
    }

    /// A holder that nobody uses.
    pub(super) async fn take(&self) -> Result<Holder, EngineError> {
        let idle = self
            .0
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let held = match idle {
            Some(held) => held,
            None => self.make().await?,
        };
        Ok(Holder {
            holders: self.clone(),
            held: Some(held),
            cut: tokio::sync::Mutex::new(false),
            was_cut: false.into(),
        })
    }

    async fn make(&self) -> Result<Held, EngineError> {
        let Inner {
            engine,
            network,
            part,
            ..
        } = &*self.0;
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("rehearsal-{}-{part}-seat-{number}", engine.labels.run());
        let (repository, tag) = image::split(Image::Process.name());
        let joined = network.name.clone();
        let request = GenericImage::new(repository, tag)
            .with_labels(engine.labels.of("seat"))
            .with_hostname(format!("{part}-{number}"))
            .with_host_config_modifier(move |host| {
                host.network_mode = Some(joined.clone());
                host.ipc_mode = Some("shareable".to_owned());
                host.publish_all_ports = Some(false);
            });
        let container = engine.launch("hold a network", &name, request).await?;
        let address = self.address_of(&container).await?;
        Ok(Held {
            container,
            address,
            port: AtomicU16::new(FIRST_PORT),
        })
    }

    async fn address_of(&self, container: &str) -> Result<IpAddr, EngineError> {
        let Inner {
            engine, network, ..
        } = &*self.0;
        let seen = engine
            .docker()
            .inspect_container(container, None::<InspectContainerOptions>)
            .await
            .map_err(engine.refused("describe a container"))?;
        let networks = seen.network_settings.and_then(|settings| settings.networks);
        networks
            .and_then(|networks| {
                networks
                    .get(&network.name)?
                    .ip_address
                    .as_ref()?
                    .parse()
                    .ok()
            })
            .ok_or_else(|| EngineError::Refused {
                what: "hold a network".to_owned(),
                reason: "the container got no address".to_owned(),
            })
    }

    /// Removes all that nobody uses, and the network.
    pub(super) async fn close(&self) {
        self.0.retiring.close();
        self.0.retiring.wait().await;
        let idle = std::mem::take(&mut *self.0.idle.lock().unwrap_or_else(PoisonError::into_inner));
        let removing = idle
            .into_iter()
            .map(|held| async move { self.0.engine.remove_container(&held.container).await });
        futures::future::join_all(removing).await;
        // What cannot be removed here is found by its label at the end of the run.
        let _ = self.0.network.remove(&self.0.engine).await;
    }
}

impl Holder {
    fn held(&self) -> &Held {
        self.held.as_ref().expect("there until it is dropped")
    }

    /// Its address, which whoever joins it has too.
    pub fn address(&self) -> IpAddr {
        self.held().address
    }

    /// Its container, for others to join.
    pub(super) fn id(&self) -> &str {
        &self.held().container
    }

    pub(in crate::deployment) fn next_port(&self) -> u16 {
        self.held().port.fetch_add(1, Ordering::Relaxed)
    }

    pub(in crate::deployment) async fn cut_off(&self) -> Result<(), EngineError> {
        let Inner {
            engine, network, ..
        } = &*self.holders.0;
        let mut cut = self.cut.lock().await;
        if *cut {
            return Ok(());
        }
        self.was_cut.store(true, Ordering::Relaxed);
        let request = NetworkDisconnectRequest {
            container: self.id().to_owned(),
            force: Some(true),
        };
        engine
            .docker()
            .disconnect_network(&network.name, request)
            .await
            .map_err(engine.refused("cut a container off"))?;
        *cut = true;
        Ok(())
    }

    pub(in crate::deployment) async fn join(&self) -> Result<(), EngineError> {
        let Inner {
            engine, network, ..
        } = &*self.holders.0;
        let mut cut = self.cut.lock().await;
        if !*cut {
            return Ok(());
        }
        let same = EndpointIpamConfig {
            ipv4_address: Some(self.address().to_string()),
            ..EndpointIpamConfig::default()
        };
        let request = NetworkConnectRequest {
            container: self.id().to_owned(),
            endpoint_config: Some(EndpointSettings {
                ipam_config: Some(same),
                ..EndpointSettings::default()
            }),
        };
        engine
            .docker()
            .connect_network(&network.name, request)
            .await
            .map_err(engine.refused("join a container again"))?;
        *cut = false;
        Ok(())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        let inner = &self.holders.0;
        if self.was_cut.load(Ordering::Relaxed) {
            let engine = inner.engine.clone();
            inner.retiring.spawn_on(
                async move { engine.remove_container(&held.container).await },
                &inner.engine.runtime,
            );
        } else {
            inner
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(held);
        }
    }
}

impl Engine {
    /// Removes a container with its unnamed volumes. What cannot be removed here is found
    /// by its label at the end of the run.
    pub(super) async fn remove_container(&self, name: &str) {
        let options =
            testcontainers::bollard::query_parameters::RemoveContainerOptionsBuilder::new()
                .force(true)
                .v(true)
                .build();
        let _ = self.docker().remove_container(name, Some(options)).await;
    }
}
