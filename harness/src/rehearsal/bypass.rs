//! Connections that reached a dependency and came through no tap: of what they did
//! nothing was witnessed, so nothing follows from the history.
//!
//! Each dependency that the harness provides keeps a record of its own of who came. It is
//! held against the ports of the taps' connections once all processes are gone.

use std::collections::BTreeSet;

use super::own::OwnServer;
use super::venue::own_session;
use super::{Rehearsal, dependencies};
use crate::embedded::queue::admin;
use crate::history::Event;
use crate::ids::DependencyName;
use crate::protocol::sqs::Undeclared;

impl Rehearsal {
    /// Notes everybody who came past the taps as trouble.
    pub(super) async fn note_bypasses(&self) {
        for name in self.manifest.dependencies.keys() {
            let reason = match self.callers(name).await {
                Ok(Some(callers)) => {
                    let known = self.board.tap_ports(name);
                    let past: Vec<String> = callers
                        .difference(&known)
                        .map(ToString::to_string)
                        .collect();
                    if past.is_empty() {
                        continue;
                    }
                    format!(
                        "`{name}` was reached past the taps, from port {}: nothing that was \
                         done there was witnessed; give every process its address from the \
                         placeholders of the manifest",
                        past.join(", ")
                    )
                }
                Ok(None) => continue,
                Err(reason) => format!("it cannot be told who came to `{name}`: {reason}"),
            };
            self.board.history().append(Event::Trouble { reason });
        }
    }

    /// Tells of queues that nobody declared: a word of those that were made or sent to, and
    /// trouble where messages were taken whose fate was not judged.
    pub(super) fn note_undeclared(&self) {
        for warning in self.board.note_consumers() {
            self.venue.note_inferred(&warning);
            self.board.history().append(Event::Warned { warning });
        }
        for (dependency, service) in &self.dependencies.queues {
            for (at_server, Undeclared { taken }) in service.names.undeclared() {
                let queue = service.names.of_system(&at_server).unwrap_or(at_server);
                let mending = format!("declare it under `queues` of `{dependency}`");
                let event = if taken > 0 {
                    let reason = format!(
                        "the system took {taken} messages from the queue `{queue}`, which the \
                         manifest does not know: what became of them was not judged; {mending}"
                    );
                    Event::Trouble { reason }
                } else {
                    let warning = format!(
                        "the system uses a queue `{queue}`, which the manifest does not know: \
                         what it holds is not counted; {mending}"
                    );
                    Event::Warned { warning }
                };
                self.board.history().append(event);
            }
        }
    }

    /// The ports from which others than the harness came; none where the dependency
    /// keeps no record that the harness could read.
    async fn callers(&self, name: &DependencyName) -> Result<Option<BTreeSet<u16>>, String> {
        let dependencies = &self.dependencies;
        if let Some(stub) = dependencies.stubs.get(name) {
            return Ok(Some(stub.callers()));
        }
        if dependencies.databases.contains_key(name) {
            let visitors = self.venue.visitors(name, dependencies).await?;
            return Ok(visitors.map(|visitors| {
                visitors
                    .into_iter()
                    .filter(|visitor| visitor.application.as_deref() != Some(own_session()))
                    .map(|visitor| visitor.port)
                    .collect()
            }));
        }
        if let Some(redis) = dependencies.redis.get(name) {
            let accepted = match dependencies.servers.get(name) {
                Some(OwnServer::Redis(server)) => server.callers(),
                _ => return Ok(None),
            };
            let callers = accepted.map_err(|error| error.to_string())?;
            let own = redis.own_ports();
            return Ok(Some(callers.difference(&own).copied().collect()));
        }
        if let Some(service) = dependencies.queues.get(name)
            && self.venue.keeps_callers(name, dependencies)
        {
            let mut callers = BTreeSet::new();
            for own in service.queues.values() {
                callers.extend(called(service, &own.name).await?);
            }
            return Ok(Some(callers));
        }
        Ok(None)
    }
}

async fn called(
    service: &dependencies::QueueService,
    queue: &str,
) -> Result<BTreeSet<u16>, String> {
    let place = format!(
        "http://{}{}callers?queue={queue}",
        service.address,
        admin::PREFIX
    );
    let client = reqwest::Client::builder().no_proxy().build();
    let asked = async {
        client?
            .get(place)
            .send()
            .await?
            .error_for_status()?
            .bytes()
            .await
    };
    let answer = asked.await.map_err(|error| error.to_string())?;
    let ports: admin::Ports = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    Ok(ports.ports)
}
