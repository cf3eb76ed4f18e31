//! What somebody starts from an image of ours is theirs: no sweep touches it, even if it
//! bears the labels of a run.

use std::path::Path;
use std::process::Command;

use rehearsal::deployment::containers::{Engine, Image};
use rehearsal::deployment::sweep;

use crate::driver_support::{begin, within};
use crate::needs;

fn docker(words: &[&str]) -> String {
    let done = Command::new("docker").args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A container of somebody else. Removed when it is dropped.
struct Foreign(String);

impl Foreign {
    fn start(image: &str, labels: &[String]) -> Self {
        let labels = labels.iter().map(|label| format!("--label={label}"));
        let labels: Vec<String> = labels.collect();
        let mut words = vec!["run", "--detach", "--network=none"];
        words.extend(labels.iter().map(String::as_str));
        words.extend(["--env=POSTGRES_PASSWORD=secret", image]);
        Self(docker(&words))
    }

    fn is_running(&self) -> bool {
        docker(&["inspect", "--format={{.State.Running}}", &self.0]) == "true"
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let mut removing = Command::new("docker");
        let _ = removing
            .args(["rm", "--force", "--volumes", &self.0])
            .output();
    }
}

fn labels_of(image: &str) -> String {
    docker(&[
        "image",
        "inspect",
        "--format={{json .Config.Labels}}",
        image,
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_started_from_an_image_of_ours_survives_every_sweep() {
    if !needs::docker() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let user = nix::unistd::Uid::current();
    let state_root = directory.path().join(format!("rehearsal-{user}"));
    let run = begin(&state_root, "foreign");
    let id = run.id().to_string();
    let engine = Engine::connect(run.registry()).await.unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_rehearse"));
    let mut images = Vec::new();
    for image in [Image::Process, Image::Postgres, Image::queue(program)] {
        image.ensure(&engine, &|_| {}).await.unwrap();
        let labels = labels_of(image.name());
        assert!(
            !labels.contains("rehearsal.run"),
            "{}: {labels}",
            image.name()
        );
        images.push(image.name().to_owned());
    }
    let inherited = [
        format!("rehearsal.run={id}"),
        format!("rehearsal.records={}", state_root.display()),
        "rehearsal.part=build".to_owned(),
    ];
    let mut foreign = Vec::new();
    for image in &images {
        foreign.push((image, Foreign::start(image, &[])));
        foreign.push((image, Foreign::start(image, &inherited)));
    }
    let own = format!("rehearsal-{id}-own");
    let labels = inherited.clone().map(|label| format!("--label={label}"));
    let mut create = vec!["create", "--network=none", "--name", &own];
    create.extend(labels.iter().map(String::as_str));
    create.push(&images[0]);
    docker(&create);

    let swept = within(run.finish()).await;
    assert_eq!(swept.killed, [format!("container {own}")]);
    assert_eq!(swept.problems, [""; 0]);
    assert!(sweep(&state_root).unwrap().swept.is_empty());
    docker(&create);
    // While another run is alive, the cached databases of the machine stay.
    let alive = begin(&state_root, "alive");
    let cleaned = Command::new(program)
        .arg("clean")
        .env("TMPDIR", directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&cleaned.stdout);
    let expected = format!(
        "container {own} is left alone, because its run has no record here: \
         `docker rm --force --volumes {own}` removes it\n"
    );
    docker(&["rm", &own]);
    within(alive.finish()).await;
    assert_eq!(said, expected, "{cleaned:?}");
    for (image, container) in &foreign {
        assert!(container.is_running(), "{image}: {}", container.0);
    }
}

#[test]
fn an_image_that_a_run_builds_bears_no_label_of_the_run() {
    if !needs::docker() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docker/build");
    let image = format!("rehearsal/test-{}:1", std::process::id());
    let built = Command::new(script)
        .arg("postgres")
        .env("IMAGE", &image)
        .env(
            "LABELS",
            "--label rehearsal.run=nobody --label rehearsal.records=/nowhere",
        )
        .env("REHEARSE_RUN_ID", format!("t{}-built", std::process::id()))
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    let labels = labels_of(&image);
    docker(&["rmi", &image]);
    assert!(
        !labels.contains("nobody") && !labels.contains("nowhere"),
        "{labels}"
    );
    assert!(labels.contains("rehearsal.image"), "{labels}");
}
