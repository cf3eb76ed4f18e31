//! Each manifest under `manifests/` with a mistake, and what is said of it.

use std::path::{Path, PathBuf};

use insta::{assert_snapshot, with_settings};
use miette::{GraphicalReportHandler, GraphicalTheme};
use rehearsal::manifest::{Manifest, ManifestError};

/// The manifests, relative to the package, so that messages are the same everywhere.
fn manifests() -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir("tests/manifests")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

fn rendered(error: &ManifestError) -> String {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut text, error)
        .unwrap();
    text
}

#[test]
fn each_mistake_is_shown_with_its_place_and_how_to_mend_it() {
    let mut wrong = 0;
    for path in manifests() {
        if name(&path) == "good" {
            continue;
        }
        let error = Manifest::load(&path).expect_err(name(&path));
        let shown = format!("{}\n{}", error.plain(), rendered(&error));
        with_settings!({
            snapshot_path => "../manifests",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            assert_snapshot!(name(&path), shown);
        });
        wrong += 1;
    }
    assert!(
        wrong >= 25,
        "only {wrong} manifests with mistakes were found"
    );
}

#[test]
fn the_manifest_that_the_others_are_made_from_is_right() {
    let manifest = Manifest::load(Path::new("tests/manifests/good.yaml"));
    manifest.unwrap_or_else(|error| panic!("{}", error.plain()));
}

#[test]
fn a_password_in_the_file_is_not_shown() {
    let error = Manifest::load(Path::new("tests/manifests/external_without_consent.yaml"));
    let error = error.unwrap_err();
    assert!(!rendered(&error).contains("hunter2"));
    assert!(!error.plain().contains("hunter2"));
    assert!(!format!("{error:?}").contains("hunter2"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Manifest::load(Path::new("tests/manifests/none.yaml")).unwrap_err();
    let shown = rendered(&error);
    assert!(shown.contains("tests/manifests/none.yaml"), "{shown}");
    assert!(shown.contains("help:"), "{shown}");
}
