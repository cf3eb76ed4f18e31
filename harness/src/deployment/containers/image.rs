//! Images: those that are built from what is on this machine, and those with a name.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures::TryStreamExt as _;
use sha2::{Digest as _, Sha256};
use testcontainers::bollard::models::ImageInspect;
use testcontainers::bollard::query_parameters::CreateImageOptionsBuilder;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::engine::Engine;
use super::error::{EngineError, is_missing};
use super::label::RUN;
use crate::deployment::environment::{self, RUN_ID_VARIABLE};

/// What builds our images, here and by hand.
const BUILD: &str = include_str!("../../../reference/docker-build");
const PROCESS: &str = "rehearsal/process:1";
const POSTGRES: &str = "rehearsal/postgres:1";
const QUEUE: &str = "rehearsal/queue";
/// How many of the builder's last lines an error shows.
const LINES: usize = 8;

/// What a container is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// The libraries of this machine, for programs that were built on it.
    Process,
    /// A PostgreSQL server.
    Postgres,
    /// The embedded queue, served by this program.
    Queue(PathBuf, String),
    /// Somebody's, by name.
    Named(String),
}

impl Image {
    /// The image of the embedded queue that this program serves. Another build of it
    /// makes another image.
    pub fn queue(program: &Path) -> Self {
        let written = std::fs::metadata(program).map(|file| (file.len(), file.modified().ok()));
        let digest = Sha256::digest(format!("{}{written:?}", program.display()));
        let tag = digest
            .iter()
            .take(6)
            .fold(String::new(), |tag, byte| format!("{tag}{byte:02x}"));
        Self::Queue(program.to_owned(), format!("{QUEUE}:{tag}"))
    }

    /// What the engine calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Process => PROCESS,
            Self::Postgres => POSTGRES,
            Self::Queue(_, name) | Self::Named(name) => name,
        }
    }

    /// Makes sure that the engine has it: builds or pulls it if it does not.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn ensure(
        &self,
        engine: &Engine,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), EngineError> {
        match engine.docker().inspect_image(self.name()).await {
            Ok(image) if !self.hands_down_labels(&image) => return Ok(()),
            Ok(_) => {}
            Err(refusal) if is_missing(&refusal) => {}
            Err(refusal) => return Err(engine.refused("describe an image")(refusal)),
        }
        match self {
            Self::Named(name) => {
                tell(&format!("pulling the image {name}"));
                pull(engine, name).await
            }
            Self::Process => self.build(engine, &["process"], tell).await,
            Self::Postgres => self.build(engine, &["postgres"], tell).await,
            Self::Queue(program, _) => {
                let program = program.display().to_string();
                self.build(engine, &["queue", &program], tell).await
            }
        }
    }

    /// Whether it is one of ours, and was made when images still inherited the labels of
    /// a run: it is made anew.
    fn hands_down_labels(&self, image: &ImageInspect) -> bool {
        let labels = image.config.as_ref().and_then(|had| had.labels.as_ref());
        !matches!(self, Self::Named(_)) && labels.is_some_and(|labels| labels.contains_key(RUN))
    }

    async fn build(
        &self,
        engine: &Engine,
        words: &[&str],
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), EngineError> {
        tell(&format!("building the image {}", self.name()));
        let failed = |output: String| EngineError::Build {
            image: self.name().to_owned(),
            output,
        };
        let ambient = engine.registry().ambient().clone();
        let allowed = ambient
            .into_iter()
            .filter(|(name, _)| environment::is_allowed(name));
        let mut building = Command::new("sh")
            .arg("-s")
            .arg("--")
            .args(words)
            .env_clear()
            .envs(allowed)
            .env("DOCKER_HOST", engine.host())
            .env("IMAGE", self.name())
            .env(
                "LABELS",
                engine
                    .labels
                    .of("build")
                    .iter()
                    .fold(String::new(), |labels, (name, value)| {
                        format!("{labels} --label {name}={value}")
                    }),
            )
            .env(RUN_ID_VARIABLE, engine.labels.run())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        if let Some(mut input) = building.stdin.take() {
            // A builder that stopped reading says why itself.
            let _ = input.write_all(BUILD.as_bytes()).await;
        }
        let built = building
            .wait_with_output()
            .await
            .map_err(|error| failed(error.to_string()))?;
        if built.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&built.stderr);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        if last.to_lowercase().contains("no space left on device") {
            return Err(EngineError::NoSpace { reason: last });
        }
        Err(failed(last))
    }
}

async fn pull(engine: &Engine, name: &str) -> Result<(), EngineError> {
    let (repository, tag) = split(name);
    let options = CreateImageOptionsBuilder::new()
        .from_image(&repository)
        .tag(&tag)
        .build();
    let pulled = engine
        .docker()
        .create_image(Some(options), None, None)
        .try_for_each(|_| async { Ok(()) });
    pulled.await.map_err(|refusal| {
        let refused = engine.refused("pull an image")(refusal);
        match refused {
            EngineError::Refused { reason, .. } => EngineError::NoImage {
                image: name.to_owned(),
                reason,
            },
            other => other,
        }
    })
}

/// An image's name without its tag, and the tag: `latest` if it has none. The colon of
/// a registry's port belongs to the name, that of a digest divides.
pub(super) fn split(image: &str) -> (String, String) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name.to_owned(), tag.to_owned()),
        _ => (image.to_owned(), "latest".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_told_from_a_port() {
        let split = |image| {
            let (name, tag) = split(image);
            format!("{name} {tag}")
        };
        assert_eq!(split("postgres"), "postgres latest");
        assert_eq!(split("postgres:18"), "postgres 18");
        assert_eq!(split("localhost:5000/app"), "localhost:5000/app latest");
        assert_eq!(split("localhost:5000/app:2"), "localhost:5000/app 2");
        assert_eq!(split("app@sha256:abc"), "app@sha256 abc");
    }

    #[test]
    fn another_build_of_the_program_is_another_image() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("rehearse");
        std::fs::write(&program, "one").unwrap();
        let one = Image::queue(&program);
        assert_eq!(one, Image::queue(&program));
        std::fs::write(&program, "another").unwrap();
        assert_ne!(one, Image::queue(&program));
    }
}
