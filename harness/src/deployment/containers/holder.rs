//! Containers that do nothing but hold one end of a network, for others to join.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use testcontainers::bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HostConfig, NetworkConnectRequest,
    NetworkDisconnectRequest, NetworkingConfig,
};
use testcontainers::bollard::query_parameters::{
    CreateContainerOptionsBuilder, InspectContainerOptions, StartContainerOptions,
};

use super::addresses::Addresses;
use super::engine::Engine;
use super::error::EngineError;
use super::image::Image;
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
    addresses: Mutex<Addresses>,
    idle: Mutex<Vec<Held>>,
    retiring: tokio_util::task::TaskTracker,
    /// Held while somebody enters the network or leaves it. An engine that lets one in and
    /// another out at the same time may count one too many for ever, and then never
    /// removes the network (seen with 20.10).
    door: tokio::sync::Mutex<()>,
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
    address: Ipv4Addr,
    port: AtomicU16,
}

impl Holders {
    pub(super) fn new(engine: Engine, network: Network, part: &str) -> Result<Self, EngineError> {
        let addresses = Addresses::of(&network.subnet, network.gateway);
        let addresses = addresses.ok_or_else(|| {
            let (subnet, gateway) = (&network.subnet, network.gateway);
            no_place(&format!(
                "its network got the range {subnet} with the gateway {gateway}, which is not IPv4"
            ))
        })?;
        Ok(Self(Arc::new(Inner {
            engine,
            network,
            part: part.to_owned(),
            made: AtomicU32::new(0),
            addresses: Mutex::new(addresses),
            idle: Mutex::default(),
            retiring: tokio_util::task::TaskTracker::new(),
            door: tokio::sync::Mutex::default(),
        })))
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
        let Inner { network, part, .. } = &*self.0;
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        let address = self.addresses().take().ok_or_else(|| {
            no_place(&format!(
                "all addresses of its network, {}, are taken",
                network.subnet
            ))
        })?;
        let held = Held {
            container: self.0.engine.labels.name(&format!("{part}-seat-{number}")),
            address,
            port: AtomicU16::new(FIRST_PORT),
        };
        match self.start(&held, &format!("{part}-{number}")).await {
            Ok(()) => Ok(held),
            Err(refusal) => {
                self.remove(&held).await;
                Err(refusal)
            }
        }
    }

    /// Not by way of `testcontainers`, which cannot ask for an address.
    async fn start(&self, held: &Held, host_name: &str) -> Result<(), EngineError> {
        let Inner {
            engine, network, ..
        } = &*self.0;
        let body = ContainerCreateBody {
            image: Some(Image::Process.name().to_owned()),
            hostname: Some(host_name.to_owned()),
            labels: Some(engine.labels.of("seat")),
            host_config: Some(HostConfig {
                network_mode: Some(network.name.clone()),
                ipc_mode: Some("shareable".to_owned()),
                ..HostConfig::default()
            }),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some(HashMap::from([(network.name.clone(), at(held.address))])),
            }),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::new()
            .name(&held.container)
            .build();
        engine
            .docker()
            .create_container(Some(options), body)
            .await
            .map_err(engine.refused(HOLD))?;
        let _door = self.0.door.lock().await;
        engine
            .docker()
            .start_container(&held.container, None::<StartContainerOptions>)
            .await
            .map_err(engine.refused(HOLD))
    }

    fn addresses(&self) -> MutexGuard<'_, Addresses> {
        self.0
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn remove(&self, held: &Held) {
        {
            let _door = self.0.door.lock().await;
            self.0.engine.remove_container(&held.container).await;
        }
        self.addresses().give_back(held.address);
    }

    /// Removes all that nobody uses, and the network.
    pub(super) async fn close(&self) {
        self.0.retiring.close();
        self.0.retiring.wait().await;
        let idle = std::mem::take(&mut *self.0.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for held in idle {
            self.remove(&held).await;
        }
        // What cannot be removed here is found by its label at the end of the run.
        let _ = self.0.network.remove(&self.0.engine).await;
    }
}

/// What a holder is started for, in the words of an error.
const HOLD: &str = "hold a network";

fn no_place(reason: &str) -> EngineError {
    EngineError::Refused {
        what: HOLD.to_owned(),
        reason: reason.to_owned(),
    }
}

/// An end of a network at this address.
fn at(address: Ipv4Addr) -> EndpointSettings {
    EndpointSettings {
        ipam_config: Some(EndpointIpamConfig {
            ipv4_address: Some(address.to_string()),
            ..EndpointIpamConfig::default()
        }),
        ..EndpointSettings::default()
    }
}

impl Holder {
    fn held(&self) -> &Held {
        self.held.as_ref().expect("there until it is dropped")
    }

    /// Its address, which whoever joins it has too.
    pub fn address(&self) -> IpAddr {
        self.held().address.into()
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
        let _door = self.holders.0.door.lock().await;
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

    /// Whether the engine tells of no network of it any more.
    pub(in crate::deployment) async fn is_cut_off(&self) -> Result<bool, EngineError> {
        let Inner { engine, .. } = &*self.holders.0;
        let told = engine
            .docker()
            .inspect_container(self.id(), None::<InspectContainerOptions>)
            .await
            .map_err(engine.refused("inspect a container"))?;
        let networks = told.network_settings.and_then(|settings| settings.networks);
        Ok(networks.is_none_or(|networks| networks.is_empty()))
    }

    pub(in crate::deployment) async fn join(&self) -> Result<(), EngineError> {
        let Inner {
            engine, network, ..
        } = &*self.holders.0;
        let mut cut = self.cut.lock().await;
        if !*cut {
            return Ok(());
        }
        let request = NetworkConnectRequest {
            container: self.id().to_owned(),
            endpoint_config: Some(at(self.held().address)),
        };
        let _door = self.holders.0.door.lock().await;
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
            let holders = self.holders.clone();
            inner.retiring.spawn_on(
                async move { holders.remove(&held).await },
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
