//! What one rehearsal alone uses: its database, its queues, servers of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use super::origin::{Origin, quoted, template_name};
use super::queues::{delete_queues, make_queues};
use super::{Venue, VenueError};
use crate::embedded::database::{Server, ServerOptions};
use crate::ids::{DependencyName, RoleName};
use crate::manifest::{Manifest, Protocol, Provide};
use crate::protocol::sqs::Names;
use crate::protocol::table::Watch;
use crate::rehearsal::dependencies::{Database, Dependencies};
use crate::rehearsal::own::{OwnQueueServer, OwnServer};
use crate::rehearsal::provided::Provided;
use crate::stub::Stub;

impl Venue {
    /// A database, queues and stubs for one rehearsal alone.
    pub(in crate::rehearsal) async fn provide(
        &self,
        manifest: &Manifest,
        number: u32,
        settings: BTreeMap<String, String>,
        stubs: BTreeMap<DependencyName, Stub>,
        own: &BTreeSet<DependencyName>,
    ) -> Result<Dependencies, VenueError> {
        let mut servers = BTreeMap::new();
        let mut databases = BTreeMap::new();
        for (name, origin) in &self.databases {
            let mut database = if own.contains(name) {
                let (server, database) = self.own_database(name, number).await?;
                servers.insert(name.clone(), server);
                database
            } else {
                origin.copy(name, &self.run, number).await?
            };
            if let Protocol::Postgres { queues } = &manifest.dependencies[name].protocol {
                let mut consumers: HashMap<String, BTreeSet<RoleName>> = HashMap::new();
                for (role, process) in &manifest.processes {
                    for (_, queue) in process.consumes.iter().filter(|(of, _)| of == name) {
                        let consumers = consumers.entry(queue.clone()).or_default();
                        consumers.insert(role.clone());
                    }
                }
                let watch = Watch::new(queues.clone(), consumers, database.pool.clone());
                database.watch = Arc::new(watch);
            }
            databases.insert(name.clone(), database);
        }
        let mut queues = BTreeMap::new();
        for (name, dependency) in &manifest.dependencies {
            let Protocol::Sqs { queues: wanted } = &dependency.protocol else {
                continue;
            };
            let address = if own.contains(name)
                && let Some(provided) = self.own_container(name, number).await?
            {
                let address = provided.container.address();
                let server = OwnServer::Container(Arc::new(provided.container));
                servers.insert(name.clone(), server);
                address
            } else if own.contains(name) {
                let directory = self.means.logs.join(format!("{name}-{number}"));
                let (program, registry) = (self.means.program.clone(), self.registry.clone());
                let (server, address) = OwnQueueServer::start(program, directory, registry).await?;
                servers.insert(name.clone(), OwnServer::Queue(server));
                address
            } else {
                self.addresses[name]
            };
            let names = Names::beginning_with(&format!("{}-{number}", self.run));
            queues.insert(
                name.clone(),
                make_queues(name, address, names, wanted, &settings).await?,
            );
        }
        let redis = self.redis(manifest, number, &mut servers).await?;
        Ok(Dependencies {
            databases,
            queues,
            redis,
            stubs,
            externals: self.externals(&settings),
            settings,
            manifest: Arc::clone(&self.manifest),
            servers,
        })
    }

    /// Services that are not played by the harness: somebody else's, and processes, which
    /// `settings` gives an address.
    fn externals(
        &self,
        settings: &BTreeMap<String, String>,
    ) -> BTreeMap<DependencyName, SocketAddr> {
        let http = |name: &&DependencyName| {
            let dependency = &self.manifest.dependencies[*name];
            matches!(dependency.protocol, Protocol::Http { .. })
        };
        let names = self.addresses.keys().filter(http);
        let others = names.map(|name| (name.clone(), self.addresses[name]));
        let processes = self.manifest.dependencies.iter().filter_map(|(name, it)| {
            let Provide::Process { process } = &it.provide else {
                return None;
            };
            let door = &settings[&format!("process.{process}.address")];
            Some((name.clone(), door.parse().expect("a door has an address")))
        });
        others.chain(processes).collect()
    }

    /// A database server that this rehearsal alone uses, with its database. It is copied
    /// from a template there, too: whatever prepares it is no visitor of it.
    async fn own_database(
        &self,
        name: &DependencyName,
        number: u32,
    ) -> Result<(OwnServer, Database), VenueError> {
        let template = template_name(&self.run, name);
        let (server, origin) = if let Some(Provided {
            container,
            password,
        }) = self.own_container(name, number).await?
        {
            let origin = Origin::in_container(container.address(), password, template);
            origin.accepting(name).await?;
            (OwnServer::Container(Arc::new(container)), origin)
        } else {
            let log = self.means.logs.join(format!("{name}-{number}.log"));
            let options = ServerOptions::new(self.means.search.clone(), log);
            let server = Server::start(options, &self.registry, Arc::new(|_: &str| {})).await?;
            let origin = Origin::embedded(&server, template);
            (OwnServer::Database(Arc::new(server)), origin)
        };
        origin.make_template(name).await?;
        let instead = BTreeMap::from([(name, &origin)]);
        self.prepare(&instead, &format!("prepare-{number}.log"))
            .await?;
        let database = origin.copy(name, &self.run, number).await?;
        Ok((server, database))
    }

    /// A container that this rehearsal alone uses, if the dependency is provided in one.
    pub(super) async fn own_container(
        &self,
        name: &DependencyName,
        number: u32,
    ) -> Result<Option<Provided>, VenueError> {
        let Some(provider) = &self.means.provider else {
            return Ok(None);
        };
        let dependency = &self.manifest.dependencies[name];
        let server = format!("{name}-{number}");
        Ok(provider.start(name, dependency, &server, &|_| {}).await?)
    }

    /// Removes what [`Venue::provide`] made.
    pub(in crate::rehearsal) async fn withdraw(&self, dependencies: &Dependencies) -> Vec<String> {
        let mut troubles = Vec::new();
        for (name, database) in &dependencies.databases {
            let own_server = dependencies.servers.contains_key(name);
            if !own_server {
                troubles.extend(database.forget_prepared(name).await.err());
            }
            database.pool.close().await;
            if own_server {
                continue;
            }
            let statement = format!(
                "DROP DATABASE IF EXISTS {} WITH (FORCE)",
                quoted(&database.name)
            );
            let origin = &self.databases[name];
            let dropped = origin
                .administer(name, "drop the rehearsal's database", statement)
                .await;
            troubles.extend(dropped.err().map(|error| error.to_string()));
        }
        for (name, service) in &dependencies.queues {
            if dependencies.servers.contains_key(name) {
                continue;
            }
            troubles.extend(delete_queues(name, service).await);
        }
        for (name, service) in &dependencies.redis {
            let released = service.release().await;
            troubles.extend(
                released
                    .err()
                    .map(|error| format!("`{name}`: its database cannot be emptied: {error}")),
            );
        }
        for (name, server) in &dependencies.servers {
            if let Err(reason) = server.stop().await {
                troubles.push(format!("`{name}`: cannot end its own server: {reason}"));
            }
        }
        for stub in dependencies.stubs.values() {
            stub.stop().await;
        }
        troubles
    }
}
