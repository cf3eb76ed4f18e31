//! The outside services of one rehearsal: those that the harness plays, and those of which its
//! taps see what they perform.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::RehearsalError;
use super::board::Late;
use super::messages::{Contents, Served};
use crate::ids::DependencyName;
use crate::manifest::{Manifest, Protocol, Provide, Route};
use crate::stub::{Performed, PlayedRoute, Stub, Witnessed};

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
        let (told, of) = (board.clone(), name.clone());
        let on_performed = move |performed: &Performed| {
            let Some(board) = told.get() else { return };
            let request = format!("{} {}", performed.request.method, performed.request.path);
            let subject = performed.job.clone().or_else(|| performed.message.clone());
            board.performed(&of, request, subject, performed);
        };
        let unplayable = |source| RehearsalError::Stub {
            dependency: name.clone(),
            source,
        };
        let routes = played(routes, settings).map_err(unplayable)?;
        let served = Arc::new(Served::new(contents, board));
        let stub = Stub::start(routes, served, on_performed).await;
        let stub = stub.map_err(unplayable)?;
        stubs.insert(name.clone(), stub);
    }
    Ok(stubs)
}

/// The services that the harness does not play. With the name of the one whose routes cannot
/// be read, and why.
pub(super) fn witnessed(
    manifest: &Manifest,
    settings: &BTreeMap<String, String>,
    contents: &Arc<Contents>,
    board: &Late,
) -> Result<BTreeMap<DependencyName, Witnessed>, (DependencyName, io::Error)> {
    let mut services = BTreeMap::new();
    for (name, dependency) in &manifest.dependencies {
        let Protocol::Http { routes } = &dependency.protocol else {
            continue;
        };
        if dependency.provide != Provide::Stub {
            let routes = played(routes, settings).map_err(|why| (name.clone(), why))?;
            let served = Arc::new(Served::new(contents, board));
            services.insert(name.clone(), Witnessed::new(routes, served));
        }
    }
    Ok(services)
}

fn played(
    routes: &[Route],
    settings: &BTreeMap<String, String>,
) -> Result<Vec<PlayedRoute>, io::Error> {
    let lookup = |name: &str| settings.get(name).cloned();
    let routes = routes.iter();
    routes
        .map(|route| PlayedRoute::new(route.clone(), &lookup))
        .collect::<Result<_, _>>()
        .map_err(io::Error::other)
}
