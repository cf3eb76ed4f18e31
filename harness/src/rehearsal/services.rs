//! The outside services of one rehearsal: those that the harness plays, and those of which its
//! taps see what they perform.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::RehearsalError;
use super::board::Board;
use super::messages::{Contents, Served};
use crate::ids::DependencyName;
use crate::manifest::{Manifest, Protocol, Provide, Route};
use crate::stub::{Performed, PlayedRoute, Stub, Witnessed};

type Late = Arc<OnceLock<Board>>;

pub(super) async fn start_stubs(
    manifest: &Manifest,
    settings: &BTreeMap<String, String>,
    contents: &Arc<Contents>,
    board: &Late,
) -> Result<BTreeMap<DependencyName, Stub>, RehearsalError> {
    let mut stubs = BTreeMap::new();
    for (name, dependency) in &manifest.dependencies {
        let (Protocol::Http { routes }, Provide::Stub) =
            (&dependency.protocol, &dependency.provide)
        else {
            continue;
        };
        let (told, of) = (Arc::clone(board), name.clone());
        let on_performed = move |performed: &Performed| {
            let Some(board) = told.get() else { return };
            let request = format!("{} {}", performed.request.method, performed.request.path);
            let subject = performed.job.clone().or_else(|| performed.message.clone());
            board.performed(&of, request, subject, performed);
        };
        let routes = played(name, routes, settings)?;
        let served = Arc::new(Served::new(contents, board));
        let stub = Stub::start(routes, served, on_performed).await;
        let stub = stub.map_err(|source| RehearsalError::Stub {
            dependency: name.clone(),
            source,
        })?;
        stubs.insert(name.clone(), stub);
    }
    Ok(stubs)
}

/// The services that the harness does not play.
pub(super) fn witnessed(
    manifest: &Manifest,
    settings: &BTreeMap<String, String>,
    contents: &Arc<Contents>,
    board: &Late,
) -> Result<BTreeMap<DependencyName, Witnessed>, RehearsalError> {
    let mut services = BTreeMap::new();
    for (name, dependency) in &manifest.dependencies {
        let Protocol::Http { routes } = &dependency.protocol else {
            continue;
        };
        if dependency.provide != Provide::Stub {
            let routes = played(name, routes, settings)?;
            let served = Arc::new(Served::new(contents, board));
            services.insert(name.clone(), Witnessed::new(routes, served));
        }
    }
    Ok(services)
}

fn played(
    dependency: &DependencyName,
    routes: &[Route],
    settings: &BTreeMap<String, String>,
) -> Result<Vec<PlayedRoute>, RehearsalError> {
    let lookup = |name: &str| settings.get(name).cloned();
    let routes = routes.iter();
    routes
        .map(|route| PlayedRoute::new(route.clone(), &lookup))
        .collect::<Result<_, _>>()
        .map_err(|error| RehearsalError::Stub {
            dependency: dependency.clone(),
            source: std::io::Error::other(error),
        })
}
