//! One scenario against one fresh deployment.
//!
//! A rehearsal is first planned (settings, messages, faults), then started, driven,
//! brought to rest, counted once in one snapshot, ended and judged.
//!
//! ```text
//! plan ─▶ start ─▶ submit, faults, outages ─▶ quiet ─▶ snapshot ─▶ end ─▶ judgement
//! ```

mod ahead;
mod aliases;
mod backlog;
mod board;
mod bypass;
mod calls;
mod client;
mod clock;
mod company;
mod consumption;
mod control;
mod deliveries;
mod dependencies;
mod doors;
mod durable;
mod exhausted;
mod expected_death;
mod facts;
mod foreign;
mod hidden;
mod messages;
mod operator;
mod outages;
mod overrides;
mod own;
mod plan;
mod preflight;
mod processes;
mod progress;
mod provided;
mod quiet;
mod redrive;
mod refusal;
mod refused;
pub(crate) mod search;
mod services;
mod settling;
mod snapshot;
mod surroundings;
mod told;
mod unnamed;
mod unrest;
mod venue;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use backlog::BacklogError;
pub use board::{Passed, Site};
pub use client::{ClientAnswer, Posting, Submission};
pub use control::CopyEnd;
pub use dependencies::DependencyError;
pub use durable::{Durable, Row, Write};
pub use expected_death::ExpectedDeath;
pub use operator::{OperatorAnswer, OperatorError};
pub use overrides::Overrides;
pub use plan::{Plan, PlanError};
pub use processes::ProcessError;
pub use refusal::Refusal;
pub use snapshot::Snapshot;
pub use unrest::{Blame, NotQuiet, Pace, Reason, Told, Unrest};
pub use venue::{Venue, VenueError, VenueOptions};

use self::board::{Board, Late};
use self::dependencies::Dependencies;
use self::doors::Doors;
use self::messages::Contents;
use self::processes::Processes;
use crate::fault::Fault;
use crate::history::{Event, History, HistoryError, SCHEMA};
use crate::ids::{DependencyName, FaultId, MessageName, RoleName};
use crate::judge::{Judgement, Ledger, judge_by};
use crate::manifest::Manifest;
use crate::outage::{Injection, RealServer};

/// A rehearsal could not go on, through no fault of the system.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The run's servers, or its own database and queues, could not be had.
    #[error(transparent)]
    Venue(#[from] VenueError),
    /// The history could not be begun.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A process could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A dependency could not be asked.
    #[error(transparent)]
    Dependency(#[from] DependencyError),
    /// Nobody could tell how much waits.
    #[error(transparent)]
    Backlog(#[from] BacklogError),
    /// The address of a process could not be opened.
    #[error("cannot open an address for processes to reach each other: {0}")]
    Door(std::io::Error),
    /// There is no thread for it.
    #[error("cannot start a thread for a rehearsal: {0}")]
    Thread(std::io::Error),
    /// A service that the harness plays could not be started.
    #[error("cannot play `{dependency}`: {source}")]
    Stub {
        /// Which.
        dependency: DependencyName,
        /// Why.
        source: std::io::Error,
    },
    /// Content of a message could not be read.
    #[error("cannot read {path}, the content of `{kind}` messages: {source}")]
    Content {
        /// The kind.
        kind: String,
        /// Its file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Who a scenario is, for its history.
#[derive(Clone, Debug)]
pub struct Title {
    /// The run.
    pub run: String,
    /// The scenario's name.
    pub scenario: String,
    /// Where it stands.
    pub place: String,
    /// Its seed.
    pub seed: u64,
    /// Whether visibility timeouts are waited for where they could be shortened.
    pub real_time: bool,
}

/// One scenario against one fresh deployment, under way.
pub struct Rehearsal {
    manifest: Arc<Manifest>,
    venue: Arc<Venue>,
    board: Board,
    contents: Arc<Contents>,
    dependencies: Arc<Dependencies>,
    processes: Processes,
    /// Where processes reach each other.
    _doors: doors::Open,
    /// What was counted when it last was quiet, and where in the history that was.
    snapshot: Option<(u64, Snapshot)>,
    /// Of all that happened, as far as it was read.
    ledger: Mutex<Ledger>,
    operators: u32,
    directory: PathBuf,
    injections: Vec<Injection>,
    stop_expected: bool,
    /// How long the client waits for an answer.
    patience: Duration,
    /// Who deleted a message early and does nothing but receive for so long is at rest.
    rest: Duration,
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        self.board.dismiss_actor();
    }
}

impl Rehearsal {
    /// Makes a fresh deployment and starts it: returns once every process is ready.
    ///
    /// # Errors
    /// When anything of it cannot be had. Nothing is left running then.
    pub async fn start(
        venue: &Arc<Venue>,
        plan: &Plan,
        title: &Title,
        directory: PathBuf,
    ) -> Result<Self, RehearsalError> {
        let manifest = Arc::clone(venue.manifest());
        let number = venue.next_rehearsal();
        let history = Arc::new(History::begin(&directory, venue.secrets())?);
        history.append(Event::Began {
            system: manifest.name.clone(),
            schema: SCHEMA,
            run: title.run.clone(),
            scenario: title.scenario.clone(),
            place: title.place.clone(),
            seed: title.seed,
            versions: venue.versions().clone(),
        });
        let contents = Arc::new(Contents::default());
        let late = Late::default();
        let doors = Doors::build(&manifest, venue.driver().near_side()).await;
        let doors = doors.map_err(RehearsalError::Door)?;
        let mut settings = plan.settings(&manifest);
        settings.extend(doors.values().map_err(RehearsalError::Door)?);
        let stubs = services::start_stubs(&manifest, &settings, &contents, &late).await?;
        let witnessed = services::witnessed(&manifest, &settings, &contents, &late)
            .map_err(|(dependency, source)| RehearsalError::Stub { dependency, source })?;
        let dependencies = venue
            .provide(&manifest, number, settings, stubs, plan.owned())
            .await?;
        if let Some(offset) = plan.surveyed() {
            dependencies.advance_sequences(offset).await?;
        }
        let dependencies = Arc::new(dependencies);
        let queue_names = dependencies.queue_names();
        let board = Board::new(Arc::clone(&manifest), history, queue_names);
        // Nothing calls a stub before a process runs, so the board is always there.
        late.set(&board);
        board.set_witnessed(witnessed);
        for (name, server) in &dependencies.servers {
            let server: Arc<dyn RealServer> = Arc::new(server.clone());
            board.outages().provide(name.clone(), server);
        }
        let processes = Processes::new(
            board.clone(),
            Arc::clone(&dependencies),
            Arc::clone(venue.driver()),
            directory.join("processes"),
            title.real_time,
            plan.own_values(),
        );
        board.set_actor(Arc::new(processes.clone()));
        let mut rehearsal = Self {
            manifest,
            venue: Arc::clone(venue),
            board,
            contents,
            dependencies,
            _doors: doors.open(&processes),
            processes,
            snapshot: None,
            ledger: Mutex::default(),
            operators: 0,
            directory,
            injections: Vec::new(),
            stop_expected: plan.stop_expected(),
            patience: plan.patience().unwrap_or(client::PATIENCE),
            rest: plan.rest().unwrap_or(quiet::LONG_REST),
        };
        let unjudged = preflight::unjudged(&rehearsal.manifest).filter(|_| !plan.is_surveyed());
        for warning in preflight::warnings(&rehearsal.manifest, plan)
            .into_iter()
            .chain(unjudged)
        {
            rehearsal.board.history().append(Event::Warned { warning });
        }
        if plan.stop_expected() {
            rehearsal.board.history().append(Event::StopExpected);
        }
        for death in plan.expected_deaths() {
            rehearsal.board.expect_death(death.clone());
        }
        if plan.is_surveyed() {
            rehearsal.board.begin_survey();
        }
        if plan.is_recorded() {
            rehearsal.board.begin_recording();
        }
        for message in plan.messages() {
            rehearsal.declare(message)?;
        }
        for fault in plan.faults() {
            rehearsal.board.arm(fault.clone());
        }
        for outage in plan.outages() {
            rehearsal.strike(outage.clone()).await;
        }
        let instances: Vec<(RoleName, u32)> = rehearsal
            .manifest
            .processes
            .iter()
            .flat_map(|(role, process)| {
                (1..=plan.instances(role, process)).map(|instance| (role.clone(), instance))
            })
            .collect();
        let starting = rehearsal.processes.start_all(instances);
        if let Err(error) = rehearsal.until_ready(starting).await {
            rehearsal.end().await;
            return Err(error.into());
        }
        Ok(rehearsal)
    }

    /// Arms a fault in the running deployment.
    pub fn arm(&mut self, fault: Fault) -> FaultId {
        self.board.arm(fault)
    }

    /// Takes all faults back.
    pub fn disarm_all(&mut self) {
        self.board.disarm_all();
    }

    /// Stops every instance of a role in order (SIGTERM, its grace, SIGKILL); it stays
    /// down.
    ///
    /// # Errors
    /// When it does not run.
    pub async fn stop(&mut self, role: &RoleName) -> Result<(), RehearsalError> {
        Ok(self.processes.stop(role).await?)
    }

    /// Starts every instance of a role that is down.
    ///
    /// # Errors
    /// When it cannot be run.
    pub async fn start_role(&mut self, role: &RoleName) -> Result<(), RehearsalError> {
        Ok(self.processes.start(role).await?)
    }

    /// Kills every instance of a role with SIGKILL; it is started again.
    ///
    /// # Errors
    /// When it does not run.
    pub async fn kill(&mut self, role: &RoleName) -> Result<(), RehearsalError> {
        Ok(self.processes.kill(role).await?)
    }

    /// Cuts every instance of a role off from everything: nothing it sends arrives, and
    /// nothing reaches it, without any answer. It keeps its address.
    ///
    /// # Errors
    /// When it does not run, or shares the host's network.
    pub async fn cut_off(&mut self, role: &RoleName) -> Result<(), RehearsalError> {
        Ok(self.processes.cut_off(role).await?)
    }

    /// Ends [`Rehearsal::cut_off`].
    ///
    /// # Errors
    /// When the container engine refuses.
    pub async fn join(&mut self, role: &RoleName) -> Result<(), RehearsalError> {
        Ok(self.processes.join(role).await?)
    }

    /// Ends the deployment: kills every process, waits for their connections to end,
    /// and removes what was made for this rehearsal. Whatever could not be removed goes
    /// to the history.
    pub async fn end(&mut self) {
        self.board.note_unmet();
        self.board.disarm_all();
        self.board.outages().heal_all().await;
        self.injections.clear();
        self.processes.shut_down().await;
        self.board.doubt_unnamed();
        self.board.doubt_unclear();
        self.note_bypasses().await;
        self.note_undeclared();
        for reason in self.venue.withdraw(&self.dependencies).await {
            self.board.history().append(Event::Trouble { reason });
        }
        if let Some(reason) = self.board.history().trouble() {
            self.board.history().append(Event::Trouble { reason });
        }
        self.board.history().end();
    }

    /// The calls that were made, if the plan asked to keep them.
    pub fn survey(&self) -> Vec<Site> {
        self.board.survey()
    }

    /// Whether all faults landed but for some that need not come to it.
    pub fn lacks_what_may_be(&self) -> bool {
        self.board.lacks_what_may_be()
    }

    /// The calls as they passed, if the plan asked to keep them, and all ids that are known.
    pub fn recording(&self) -> (Vec<Passed>, BTreeMap<String, MessageName>) {
        (self.board.recording(), self.board.known_ids())
    }

    /// Notes in the history what the scenario's own steps came to.
    pub fn conclude(&self, verdict: String, reasons: Vec<String>) {
        self.board
            .history()
            .append(Event::Concluded { verdict, reasons });
    }

    /// Judges all that was witnessed so far.
    pub fn judgement(&self) -> Judgement {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        self.evidence(|evidence| {
            ledger.catch_up(evidence);
            judge_by(evidence, &ledger)
        })
    }

    /// The history.
    pub fn history(&self) -> &Arc<History> {
        self.board.history()
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The job id of a message: as its client was told, else as it was seen to be made
    /// durable. A message that the harness put on a queue goes by its `MessageId`.
    pub fn job_of(&self, message: &MessageName) -> Option<String> {
        let history = self.board.history();
        history.tally(|tally| tally.job(message).cloned())
    }
}
