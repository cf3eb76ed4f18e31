//! Removes what a run left at a container engine, by its labels and nothing else. For
//! the end of a run, its watchdog, and whoever comes later; all of them block.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use testcontainers::bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveVolumeOptions,
};
use testcontainers::bollard::{Docker, errors::Error as Refusal};

use super::engine::blocking;
use super::error::{has_status, is_missing};
use super::label::{RECORDS, RUN, filter};

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
        let mine = |labels: &Labels| {
            labels.get(RUN).map(String::as_str) == Some(run) && of_records(labels, records)
        };
        remove(docker, RUN, Some(run), &mine).await
    });
    removing.unwrap_or_else(|reason| Removed::failed(&reason))
}

/// Removes what was left by runs whose very record is gone: all that belongs to these
/// records and to a run that has none. A run makes its record before all else.
pub(in crate::deployment) fn remove_forgotten(host: &str, records: &Path) -> Removed {
    let removing = blocking(host, async |docker| {
        let (root, records) = (records, &*records.to_string_lossy());
        let dead = |labels: &Labels| {
            of_records(labels, records)
                && labels.get(RUN).is_some_and(|run| !root.join(run).exists())
        };
        remove(docker, RECORDS, Some(records), &dead).await
    });
    removing.unwrap_or_else(|reason| Removed::failed(&reason))
}

type Labels = std::collections::HashMap<String, String>;

fn of_records(labels: &Labels, records: &str) -> bool {
    labels.get(RECORDS).map(String::as_str) == Some(records)
}

/// Containers first: networks and volumes are in use until they are gone. Asks again
/// until nothing is left, because what was being made when the run died may yet appear.
async fn remove(
    docker: &Docker,
    label: &str,
    value: Option<&str>,
    wanted: &dyn Fn(&Labels) -> bool,
) -> Removed {
    let mut things = BTreeSet::new();
    let mut problems = Vec::new();
    loop {
        let round = take_all_away(docker, label, value, wanted, &mut things, &mut problems);
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
    label: &str,
    value: Option<&str>,
    wanted: &dyn Fn(&Labels) -> bool,
    things: &mut BTreeSet<String>,
    problems: &mut Vec<String>,
) -> Result<Round, Refusal> {
    loop {
        let found = find(docker, label, value, wanted).await?;
        if found.is_empty() {
            return Ok(Round::Clean);
        }
        let mut progress = false;
        problems.clear();
        for (kind, id, what) in found {
            match take_away(docker, kind, &id).await {
                Err(refusal) if !is_missing(&refusal) => {
                    problems.push(still_there(kind, &what, &refusal));
                }
                Ok(()) | Err(_) => progress |= things.insert(what),
            }
        }
        if progress {
            return Ok(Round::Progress);
        }
        tokio::time::sleep(TICK).await;
    }
}

fn still_there(kind: Kind, what: &str, refusal: &Refusal) -> String {
    let hint = match kind {
        Kind::Network if has_status(refusal, 403) => {
            "; if nothing is in it, the engine has miscounted, and counts anew when it is \
             started again: `rehearse clean` removes it then"
        }
        _ => "",
    };
    format!("{what} is still there: {refusal}{hint}")
}

#[derive(Clone, Copy)]
enum Kind {
    Container,
    Network,
    Volume,
}

async fn take_away(docker: &Docker, kind: Kind, id: &str) -> Result<(), Refusal> {
    match kind {
        Kind::Container => {
            let options = RemoveContainerOptionsBuilder::new()
                .force(true)
                .v(true)
                .build();
            docker.remove_container(id, Some(options)).await
        }
        Kind::Network => docker.remove_network(id).await,
        Kind::Volume => docker.remove_volume(id, None::<RemoveVolumeOptions>).await,
    }
}

async fn find(
    docker: &Docker,
    label: &str,
    value: Option<&str>,
    wanted: &dyn Fn(&Labels) -> bool,
) -> Result<Vec<(Kind, String, String)>, Refusal> {
    let filters = filter(label, value);
    let mut found = Vec::new();
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    for container in docker.list_containers(Some(options)).await? {
        let labels = container.labels.unwrap_or_default();
        if let Some(id) = container.id.filter(|_| wanted(&labels)) {
            let name = container.names.unwrap_or_default().concat();
            found.push((
                Kind::Container,
                id,
                format!("container {}", name.trim_start_matches('/')),
            ));
        }
    }
    let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
    for network in docker.list_networks(Some(options)).await? {
        let labels = network.labels.unwrap_or_default();
        if let Some(id) = network.id.filter(|_| wanted(&labels)) {
            found.push((
                Kind::Network,
                id,
                format!("network {}", network.name.unwrap_or_default()),
            ));
        }
    }
    let options = ListVolumesOptionsBuilder::new().filters(&filters).build();
    for volume in docker
        .list_volumes(Some(options))
        .await?
        .volumes
        .unwrap_or_default()
    {
        if wanted(&volume.labels) {
            found.push((
                Kind::Volume,
                volume.name.clone(),
                format!("volume {}", volume.name),
            ));
        }
    }
    Ok(found)
}
