//! Everything that the harness puts around one incarnation: a tap before each
//! dependency, a checkpoint server, a port with a tap in front of it, and the values
//! of its command's placeholders.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use super::board::Board;
use super::dependencies::Dependencies;
use super::overrides::Overrides;
use super::processes::ProcessError;
use crate::checkpoint::{self, Checkpoint};
use crate::deployment::{Logs, Seat, Start};
use crate::ids::{Author, DependencyName, Incarnation};
use crate::manifest::{Command, Manifest, Protocol};
use crate::protocol::{self, redis};
use crate::tap::{Director, Gate, Tap, TapContext};

/// What surrounds one incarnation.
pub(super) struct Surroundings {
    pub(super) gate: Arc<Gate>,
    taps: Vec<Tap>,
    checkpoint: Checkpoint,
    /// The tap between its clients and itself.
    pub(super) front: Option<Tap>,
    values: BTreeMap<String, String>,
    /// Variables that the scenario gives this one alone.
    variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Opens everything for an incarnation; gives back where it will be reached, if
    /// it listens.
    pub(super) async fn of_process(
        board: &Board,
        dependencies: &Dependencies,
        incarnation: &Incarnation,
        listens: bool,
        seat: &Seat,
        near_side: IpAddr,
    ) -> Result<(Self, Option<SocketAddr>), ProcessError> {
        let mut around = Self::open(board, dependencies, incarnation, near_side).await?;
        if !listens {
            return Ok((around, None));
        }
        let own = DependencyName::new(incarnation.role.as_str());
        let failed = |source| ProcessError::Tap {
            incarnation: incarnation.clone(),
            dependency: own.clone(),
            source,
        };
        let port = seat.port().map_err(failed)?;
        let context = TapContext {
            author: Author::Client,
            dependency: own.clone(),
            upstream: port.reached,
            near_side: Ipv4Addr::LOCALHOST.into(),
            director: Arc::new(board.clone()) as Arc<dyn Director>,
            gate: Arc::new(Gate::new()),
        };
        around.front = Some(protocol::http::open(context).await.map_err(failed)?);
        let values = [
            ("listen", port.listen.to_string()),
            ("port", port.listen.port().to_string()),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        around.values.extend(values);
        Ok((around, Some(port.reached)))
    }

    /// Opens the taps and the checkpoint server of an incarnation.
    pub(super) async fn open(
        board: &Board,
        dependencies: &Dependencies,
        incarnation: &Incarnation,
        near_side: IpAddr,
    ) -> Result<Self, ProcessError> {
        let gate = Arc::new(Gate::new());
        let author = Author::Process(incarnation.clone());
        let director: Arc<dyn Director> = Arc::new(board.clone());
        let manifest = board.manifest();
        let mut taps = Vec::new();
        let mut values = dependencies.settings().clone();
        values.insert("root".to_owned(), manifest.root.display().to_string());
        for (name, dependency) in &manifest.dependencies {
            let context = TapContext {
                author: author.clone(),
                dependency: name.clone(),
                upstream: dependencies.address(name),
                near_side,
                director: Arc::clone(&director),
                gate: Arc::clone(&gate),
            };
            let opened = match &dependency.protocol {
                Protocol::Postgres { .. } => {
                    protocol::postgres::open_before(context, dependencies.shared(name)).await
                }
                Protocol::Sqs { .. } => {
                    protocol::sqs::open(context, dependencies.names(name)).await
                }
                Protocol::Http { .. } => protocol::http::open(context).await,
                Protocol::Redis { .. } => {
                    redis::open_before(context, dependencies.view(name)).await
                }
            };
            let tap = opened.map_err(|source| ProcessError::Tap {
                incarnation: incarnation.clone(),
                dependency: name.clone(),
                source,
            })?;
            values.extend(dependencies.values(name, tap.address()));
            board
                .outages()
                .attach(incarnation, name, tap.address(), tap.line())
                .await;
            taps.push(tap);
        }
        let checkpoint = Checkpoint::open_at(near_side, author, director, Arc::clone(&gate)).await;
        let checkpoint = checkpoint.map_err(|source| ProcessError::Tap {
            incarnation: incarnation.clone(),
            dependency: DependencyName::new(checkpoint::DEPENDENCY),
            source,
        })?;
        values.insert("checkpoint.url".to_owned(), checkpoint.url());
        Ok(Self {
            gate,
            taps,
            checkpoint,
            front: None,
            values,
            variables: BTreeMap::new(),
        })
    }

    /// Gives an incarnation what the scenario gives it alone.
    pub(super) fn give(&mut self, overrides: &Overrides, incarnation: &Incarnation) {
        let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
        self.values
            .extend(overrides.settings_of(incarnation).map(owned));
        self.variables
            .extend(overrides.variables_of(incarnation).map(owned));
    }

    /// Adds a value for a placeholder.
    pub(super) fn set(&mut self, name: &str, value: String) {
        self.values.insert(name.to_owned(), value);
    }

    /// A command with its placeholders filled in.
    pub(super) fn start(
        &self,
        manifest: &Manifest,
        incarnation: &Incarnation,
        command: &Command,
        logs: Logs,
    ) -> Result<Start, ProcessError> {
        let value = |name: &str| self.values.get(name).cloned();
        let failed = |source| ProcessError::Placeholder {
            role: incarnation.role.clone(),
            source,
        };
        let words: Vec<String> = command
            .words
            .iter()
            .map(|word| word.render(&value))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let mut environment = defaults(&self.values);
        for (name, template) in &command.environment {
            environment.insert(name.into(), template.render(&value).map_err(failed)?.into());
        }
        for (name, value) in &self.variables {
            environment.insert(name.into(), value.into());
        }
        let (program, arguments) = words.split_first().expect("a command has a program");
        Ok(Start {
            name: incarnation.to_string(),
            program: PathBuf::from(program),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment,
            directory: manifest.root.clone(),
            logs,
            account: None,
            memory: None,
            namespace: false,
        })
    }

    /// After the author's death: waits until every connection has ended on both sides.
    pub(super) async fn drain(&self) {
        futures::future::join_all(self.taps.iter().map(Tap::drain)).await;
        self.checkpoint.drain().await;
        if let Some(front) = &self.front {
            front.close().await;
        }
    }
}

/// What every process gets, whatever its manifest says: where to announce stages, and
/// credentials that are good for nothing.
fn defaults(values: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let checkpoint = values.get("checkpoint.url").cloned().unwrap_or_default();
    [
        (checkpoint::VARIABLE, checkpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "rehearsal"),
        ("AWS_SECRET_ACCESS_KEY", "rehearsal"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect()
}
