//! Whom requests concern: ids in their bodies, headers and paths.

use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Dependency, Manifest, Pattern, Place, Recognise, Stage};
use crate::place;
use crate::protocol::concern::{Concerns, Wire, subjects_of};
use crate::stage::Subject;

use super::HttpRequest;

impl Concerns for HttpRequest {
    fn ids(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<String> {
        let Some(Recognise::Places(places)) = manifest.messages.recognise.get(dependency) else {
            return Vec::new();
        };
        let found = |place| at_place(manifest, dependency, place, self);
        places.iter().flat_map(found).collect()
    }

    fn together(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Vec<String>> {
        vec![self.ids(manifest, dependency)]
    }

    fn concerned(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Subject> {
        subjects_of(std::iter::once(self.ids(manifest, dependency)))
    }

    fn matches(&self, _wire: Wire<'_>, pattern: &Pattern) -> bool {
        let Pattern::Request { method, path } = pattern else {
            return false;
        };
        (method == "*" || method.eq_ignore_ascii_case(&self.method))
            && place::match_path(path, &self.path).is_some()
    }

    fn subjects(&self, wire: Wire<'_>, stage: &Stage) -> Vec<Subject> {
        let captured = stage
            .capture
            .iter()
            .filter_map(|(name, place)| match place {
                CapturePlace::Place(place) => {
                    let found = at_place(wire.manifest, wire.dependency, place, self);
                    Some((name.clone(), found.into_iter().next()?))
                }
                CapturePlace::Bind(_) => None,
            });
        vec![Subject {
            ids: self.ids(wire.manifest, wire.dependency),
            captured: captured.collect(),
            ..Subject::default()
        }]
    }
}

/// A path segment is named by the routes of the dependency.
fn at_place(
    manifest: &Manifest,
    dependency: &DependencyName,
    place: &Place,
    request: &HttpRequest,
) -> Vec<String> {
    let known = manifest.dependencies.get(dependency);
    let routes = known.map(Dependency::routes).unwrap_or_default();
    let paths = routes.iter().map(|route| route.path.as_str());
    place::lookup(place, request, paths)
}
