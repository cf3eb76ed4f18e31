//! Removes what a run left at a container engine. For the end of a run, its watchdog, and
//! whoever comes later; all of them block.
//!
//! A label alone proves nothing: containers inherit those of their image. What is removed
//! belongs to a run that has a record, bears its labels, and has a name that this run
//! gives.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use testcontainers::bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveVolumeOptions,
};
use testcontainers::bollard::{Docker, errors::Error as Refusal};

use super::engine::blocking;
use super::error::{has_status, is_missing};
use super::label::{Filter, RECORDS, RUN, filter, is_name_of};

/// How long the engine may take until the next thing is gone.
const REMOVAL: Duration = Duration::from_secs(20);
/// Between two looks at what is still there.
const TICK: Duration = Duration::from_millis(50);

/// What was removed, and what could not be.
#[derive(Debug, Default)]
pub(in crate::deployment) struct Removed {
    pub(in crate::deployment) things: BTreeSet<String>,
    pub(in crate::deployment) problems: Vec<String>,
}

impl Removed {
    fn failed(reason: &str) -> Self {
        Self {
            problems: vec![format!("cannot remove containers: {reason}")],
            ..Self::default()
        }
    }
}

/// Removes all that a run left.
pub(in crate::deployment) fn remove_all(host: &str, run: &str, records: &str) -> Removed {
    let removing = blocking(host, async |docker| {
        let mine = |thing: &Thing| thing.run() == Some(run) && thing.is_of(records);
        remove(docker, run, &mine).await
    });
    removing.unwrap_or_else(|reason| Removed::failed(&reason))
}

/// What bears the label and a name of a run that has no record among these, and how a
/// person removes it. Nobody here can tell whose it is: a run makes its record before all
/// else.
pub(in crate::deployment) fn unrecorded(host: &str, records: &Path) -> Vec<String> {
    let looking = blocking(host, async |docker| {
        find(docker, &filter(RECORDS, Some(&records.to_string_lossy()))).await
    });
    let found = looking.ok().and_then(Result::ok).unwrap_or_default();
    let unknown = |thing: &Thing| {
        let run = thing.run();
        thing.is_of(&records.to_string_lossy())
            && run.is_some_and(|run| !records.join(run).exists())
    };
    let unknown = found.into_iter().filter(unknown);
    unknown.map(|thing| thing.left_alone()).collect()
}

/// Containers first: networks and volumes are in use until they are gone. Asks again
/// until nothing is left, because what was being made when the run died may yet appear.
async fn remove(docker: &Docker, run: &str, wanted: &dyn Fn(&Thing) -> bool) -> Removed {
    let mut things = BTreeSet::new();
    let mut problems = Vec::new();
    loop {
        let round = take_all_away(docker, run, wanted, &mut things, &mut problems);
        match tokio::time::timeout(REMOVAL, round).await {
            Ok(Ok(Round::Clean)) => problems.clear(),
            Ok(Ok(Round::Progress)) => continue,
            Ok(Err(refusal)) => problems.push(format!("cannot remove containers: {refusal}")),
            Err(_) if problems.is_empty() => problems.push(format!(
                "the engine did not answer for {REMOVAL:?} when asked to remove containers"
            )),
            Err(_) => {}
        }
        return Removed { things, problems };
    }
}

enum Round {
    /// Nothing is left.
    Clean,
    /// Something more is gone; there may be more.
    Progress,
}

/// Returns when something is gone or nothing was there; `problems` says what is still
/// there, and why.
async fn take_all_away(
    docker: &Docker,
    run: &str,
    wanted: &dyn Fn(&Thing) -> bool,
    things: &mut BTreeSet<String>,
    problems: &mut Vec<String>,
) -> Result<Round, Refusal> {
    loop {
        let mut found = find(docker, &filter(RUN, Some(run))).await?;
        found.retain(wanted);
        if found.is_empty() {
            return Ok(Round::Clean);
        }
        let mut progress = false;
        problems.clear();
        for thing in found {
            match take_away(docker, &thing).await {
                Err(refusal) if !is_missing(&refusal) => {
                    problems.push(still_there(&thing, &refusal));
                }
                Ok(()) | Err(_) => progress |= things.insert(thing.to_string()),
            }
        }
        if progress {
            return Ok(Round::Progress);
        }
        tokio::time::sleep(TICK).await;
    }
}

fn still_there(thing: &Thing, refusal: &Refusal) -> String {
    let hint = match thing.kind {
        Kind::Network if has_status(refusal, 403) => {
            "; if nothing is in it, the engine has miscounted, and counts anew when it is \
             started again: `rehearse clean` removes it then"
        }
        _ => "",
    };
    format!("{thing} is still there: {refusal}{hint}")
}

#[derive(Clone, Copy)]
enum Kind {
    Container,
    Network,
    Volume,
}

/// Something at the engine that bears a label of ours.
struct Thing {
    kind: Kind,
    id: String,
    name: String,
    labels: HashMap<String, String>,
}

impl Thing {
    /// The run that made it, if its name says so as well as its label.
    fn run(&self) -> Option<&str> {
        let run = self.labels.get(RUN)?;
        is_name_of(&self.name, run).then_some(run)
    }

    fn is_of(&self, records: &str) -> bool {
        self.labels.get(RECORDS).map(String::as_str) == Some(records)
    }

    fn left_alone(&self) -> String {
        let command = match self.kind {
            Kind::Container => "docker rm --force --volumes",
            Kind::Network => "docker network rm",
            Kind::Volume => "docker volume rm",
        };
        let name = &self.name;
        format!(
            "{self} is left alone, because its run has no record here: `{command} {name}` removes it"
        )
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Container => "container",
            Kind::Network => "network",
            Kind::Volume => "volume",
        };
        write!(out, "{kind} {}", self.name)
    }
}

async fn take_away(docker: &Docker, thing: &Thing) -> Result<(), Refusal> {
    match thing.kind {
        Kind::Container => {
            let options = RemoveContainerOptionsBuilder::new()
                .force(true)
                .v(true)
                .build();
            docker.remove_container(&thing.id, Some(options)).await
        }
        Kind::Network => docker.remove_network(&thing.id).await,
        Kind::Volume => {
            let none = None::<RemoveVolumeOptions>;
            docker.remove_volume(&thing.id, none).await
        }
    }
}

async fn find(docker: &Docker, filters: &Filter) -> Result<Vec<Thing>, Refusal> {
    let mut found = Vec::new();
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(filters)
        .build();
    for container in docker.list_containers(Some(options)).await? {
        // Of a container with links there are several; the own one has no further slash.
        let mut names = container.names.unwrap_or_default().into_iter();
        let own = names.find(|name| !name.trim_start_matches('/').contains('/'));
        found.push(Thing {
            kind: Kind::Container,
            id: container.id.unwrap_or_default(),
            name: own.unwrap_or_default().trim_start_matches('/').to_owned(),
            labels: container.labels.unwrap_or_default(),
        });
    }
    let options = ListNetworksOptionsBuilder::new().filters(filters).build();
    for network in docker.list_networks(Some(options)).await? {
        found.push(Thing {
            kind: Kind::Network,
            id: network.id.unwrap_or_default(),
            name: network.name.unwrap_or_default(),
            labels: network.labels.unwrap_or_default(),
        });
    }
    let options = ListVolumesOptionsBuilder::new().filters(filters).build();
    let volumes = docker.list_volumes(Some(options)).await?.volumes;
    for volume in volumes.unwrap_or_default() {
        found.push(Thing {
            kind: Kind::Volume,
            id: volume.name.clone(),
            name: volume.name,
            labels: volume.labels,
        });
    }
    Ok(found)
}
