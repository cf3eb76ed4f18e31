//! The servers that all rehearsals of a run use, and where they are.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use super::origin::{Origin, external_database, template_name};
use super::queues::start_queue_server;
use super::{Means, VenueError, address_of};
use crate::deployment::containers::DependencyContainer;
use crate::deployment::{Child, Registry};
use crate::embedded::database::{Server, ServerOptions};
use crate::ids::{DependencyName, RunId};
use crate::manifest::{Dependency, Manifest, Protocol, Provide};
use crate::rehearsal::provided::Provided;

/// The servers that all rehearsals use, and where they are.
#[derive(Default)]
pub(super) struct Servers {
    pub(super) server: Option<Server>,
    pub(super) queue_server: Option<Child>,
    pub(super) databases: BTreeMap<DependencyName, Origin>,
    pub(super) addresses: BTreeMap<DependencyName, SocketAddr>,
    pub(super) containers: BTreeMap<DependencyName, Arc<DependencyContainer>>,
}

impl Servers {
    pub(super) async fn start(
        manifest: &Manifest,
        run: &RunId,
        registry: &Registry,
        means: &Means,
        tell: &Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, VenueError> {
        let mut started = Self::default();
        let mut queues = None;
        for (name, dependency) in &manifest.dependencies {
            let template = template_name(run, name);
            match (&dependency.protocol, &dependency.provide) {
                // Each rehearsal gets one of its own.
                (Protocol::Redis { .. }, Provide::Container { .. } | Provide::Embedded) => {}
                (_, Provide::Container { .. }) => {
                    started
                        .container(name, dependency, template, means, &**tell)
                        .await?;
                }
                (Protocol::Postgres { .. }, Provide::Embedded) => {
                    if started.server.is_none() {
                        tell("starting Postgres");
                        let log = means.logs.join("postgres.log");
                        let options = ServerOptions::new(means.search.clone(), log);
                        let server = Server::start(options, registry, Arc::clone(tell)).await?;
                        started.server = Some(server);
                    }
                    let server = started.server.as_ref().expect("started above");
                    let origin = Origin::embedded(server, template);
                    started.databases.insert(name.clone(), origin);
                }
                (Protocol::Postgres { .. }, Provide::External { url }) => {
                    let origin = external_database(name, url, template)?;
                    started.databases.insert(name.clone(), origin);
                }
                (
                    Protocol::Sqs { .. } | Protocol::Http { .. } | Protocol::Redis { .. },
                    Provide::External { url },
                ) => {
                    started
                        .addresses
                        .insert(name.clone(), address_of(name, url)?);
                }
                (Protocol::Sqs { .. }, _) => {
                    if queues.is_none() {
                        let (program, logs) = (&means.program, &means.logs);
                        let (child, address) =
                            start_queue_server(program, logs, registry, 0, None).await?;
                        started.queue_server = Some(child);
                        queues = Some(address);
                    }
                    let address = queues.expect("started above");
                    started.addresses.insert(name.clone(), address);
                }
                (Protocol::Postgres { .. } | Protocol::Http { .. } | Protocol::Redis { .. }, _) => {
                }
            }
        }
        Ok(started)
    }

    async fn container(
        &mut self,
        name: &DependencyName,
        dependency: &Dependency,
        template: String,
        means: &Means,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), VenueError> {
        let provider = means
            .provider
            .as_ref()
            .expect("a run with containers has an engine");
        let started = provider
            .start(name, dependency, name.as_str(), tell)
            .await?;
        let Some(Provided {
            container,
            password,
        }) = started
        else {
            return Ok(());
        };
        let address = container.address();
        self.containers.insert(name.clone(), Arc::new(container));
        if matches!(dependency.protocol, Protocol::Postgres { .. }) {
            let origin = Origin::in_container(address, password, template);
            origin.accepting(name).await?;
            self.databases.insert(name.clone(), origin);
        } else {
            self.addresses.insert(name.clone(), address);
        }
        Ok(())
    }
}
