//! The Redis of a rehearsal: a server of its own, or an empty database of somebody else's.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Venue, VenueError};
use crate::ids::DependencyName;
use crate::manifest::{Manifest, Protocol, Provide};
use crate::protocol::redis::server::RedisServer;
use crate::protocol::redis::{Access, RedisService};
use crate::rehearsal::own::OwnServer;

impl Venue {
    /// The Redis of each dependency that is one.
    pub(super) async fn redis(
        &self,
        manifest: &Manifest,
        number: u32,
        servers: &mut BTreeMap<DependencyName, OwnServer>,
    ) -> Result<BTreeMap<DependencyName, RedisService>, VenueError> {
        let mut services = BTreeMap::new();
        for (name, dependency) in &manifest.dependencies {
            let Protocol::Redis { queues } = &dependency.protocol else {
                continue;
            };
            let queues = queues.clone();
            let service = if let Provide::External { url } = &dependency.provide {
                let address = self.addresses[name];
                let access = access(url);
                let run = format!("{}-{number}", self.run);
                let claimed = RedisService::claim(address, &access, queues, &run).await;
                claimed.map_err(|source| VenueError::Claim {
                    dependency: name.clone(),
                    address,
                    source,
                })?
            } else {
                let (server, address) =
                    if let Some(provided) = self.own_container(name, number).await? {
                        let address = provided.container.address();
                        (OwnServer::Container(Arc::new(provided.container)), address)
                    } else {
                        let server = self.redis_server(name, number).await?;
                        let address = server.address();
                        (OwnServer::Redis(server), address)
                    };
                servers.insert(name.clone(), server);
                RedisService::new(address, Access::default(), queues)
            };
            services.insert(name.clone(), service);
        }
        Ok(services)
    }

    async fn redis_server(
        &self,
        name: &DependencyName,
        number: u32,
    ) -> Result<RedisServer, VenueError> {
        let directory = self.means.logs.join(format!("{name}-{number}"));
        let path = self.means.search.path.as_deref();
        let started = RedisServer::start(path, directory, self.registry.clone()).await;
        started.map_err(|source| VenueError::Redis {
            dependency: name.clone(),
            source,
        })
    }
}

/// How an address says that one logs in.
fn access(url: &str) -> Access {
    let parsed = reqwest::Url::parse(url).ok();
    let part = |text: &str| (!text.is_empty()).then(|| crate::place::decode(text));
    Access {
        user: parsed.as_ref().and_then(|url| part(url.username())),
        password: parsed.as_ref().and_then(|url| part(url.password()?)),
        database: 0,
    }
}
