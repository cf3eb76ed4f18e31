//! The network that a run's processes share with the harness, and with nobody else.

use std::net::{IpAddr, SocketAddr, TcpListener};

use testcontainers::bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use testcontainers::bollard::query_parameters::InspectNetworkOptions;

use super::engine::Engine;
use super::error::{EngineError, has_status};

/// How often a range of addresses that another network took meanwhile is given up for
/// the next.
const TRIES: u32 = 20;

/// A network of the run: no way leads from it to the world, only to this machine.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) name: String,
    /// Its addresses, as `172.18.0.0/16`.
    pub(super) subnet: String,
    /// This machine's own address in it.
    pub(super) gateway: IpAddr,
}

impl Network {
    /// Makes a network for a part of the run. Its range of addresses is written down in
    /// its configuration, because only then may a container ask for an address.
    pub(super) async fn make(engine: &Engine, part: &str) -> Result<Self, EngineError> {
        let name = engine.labels.name(part);
        for _ in 0..TRIES {
            let (subnet, gateway) = free_range(engine, &name, part).await?;
            let range = IpamConfig {
                subnet: Some(subnet.clone()),
                gateway: Some(gateway.to_string()),
                ..IpamConfig::default()
            };
            let made = engine
                .docker()
                .create_network(request(engine, &name, part, Some(range)));
            match made.await {
                Ok(_) => {
                    let network = Self {
                        name,
                        subnet,
                        gateway,
                    };
                    network.check_near_side(engine)?;
                    return Ok(network);
                }
                // Another run was given the same range in the meantime.
                Err(refusal) if has_status(&refusal, 403) => {}
                Err(refusal) => return Err(engine.refused("make a network")(refusal)),
            }
        }
        Err(EngineError::Refused {
            what: "make a network".to_owned(),
            reason: format!("no range of addresses stayed free in {TRIES} tries"),
        })
    }

    /// Whether the harness can listen on this side of the network: not if the engine
    /// runs in a virtual machine.
    fn check_near_side(&self, engine: &Engine) -> Result<(), EngineError> {
        TcpListener::bind(SocketAddr::from((self.gateway, 0)))
            .map(drop)
            .map_err(|_| EngineError::Remote {
                host: engine.host().to_owned(),
            })
    }

    /// Removes it. Whoever was in it must be gone.
    pub(super) async fn remove(&self, engine: &Engine) -> Result<(), EngineError> {
        let removed = engine.docker().remove_network(&self.name).await;
        removed.map_err(engine.refused("remove a network"))
    }
}

fn request(
    engine: &Engine,
    name: &str,
    part: &str,
    range: Option<IpamConfig>,
) -> NetworkCreateRequest {
    NetworkCreateRequest {
        name: name.to_owned(),
        driver: Some("bridge".to_owned()),
        internal: Some(true),
        labels: Some(engine.labels.of(part)),
        ipam: range.map(|range| Ipam {
            config: Some(vec![range]),
            ..Ipam::default()
        }),
        ..NetworkCreateRequest::default()
    }
}

/// A range that the engine itself would take: it knows its networks and the machine's
/// routes.
async fn free_range(
    engine: &Engine,
    name: &str,
    part: &str,
) -> Result<(String, IpAddr), EngineError> {
    let docker = engine.docker();
    let probe = format!("{name}-probe");
    docker
        .create_network(request(engine, &probe, part, None))
        .await
        .map_err(engine.refused("make a network"))?;
    let found = docker
        .inspect_network(&probe, None::<InspectNetworkOptions>)
        .await;
    docker
        .remove_network(&probe)
        .await
        .map_err(engine.refused("remove a network"))?;
    let found = found.map_err(engine.refused("describe a network"))?;
    let ranges = found.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
    let range = ranges.into_iter().find_map(|range| {
        let gateway: IpAddr = range.gateway?.parse().ok()?;
        Some((range.subnet?, gateway))
    });
    range.ok_or_else(|| EngineError::Refused {
        what: "make a network".to_owned(),
        reason: "its network has no range of addresses".to_owned(),
    })
}
