//! What a manifest becomes when it is loaded.

use std::path::Path;

use rehearsal::ids::DependencyName;
use rehearsal::manifest::{
    Binding, CapturePlace, Defect, Manifest, ManifestError, Observation, Pattern, Place, Protocol,
    Provide, Ready, Recognise, ReplyBody, Restart,
};
use rehearsal::tap::Side;

/// The repository's own manifest, beside content files that are made for it.
fn own_manifest(directory: &Path) -> Manifest {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../rehearsal.yaml");
    let text = std::fs::read_to_string(own).unwrap();
    let path = directory.join("rehearsal.yaml");
    std::fs::write(&path, &text).unwrap();
    if let Err(error) = Manifest::load(&path) {
        for problem in error.problems() {
            let Defect::NoFile { path } = &problem.defect else {
                panic!("{}", error.plain())
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "content").unwrap();
        }
    }
    Manifest::load(&path).unwrap_or_else(|error| panic!("{}", error.plain()))
}

#[test]
fn the_manifest_of_the_repository_loads() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = own_manifest(directory.path());
    assert_eq!(manifest.root, directory.path());
    assert!(!manifest.build.is_empty());
    assert!(!manifest.terminal.is_empty());
}
