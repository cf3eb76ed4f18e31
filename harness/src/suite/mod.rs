//! A team's suite: its manifest, with the phrases that its features may use and the
//! scene that each scenario plays in.

mod application;
mod declared;
mod findings;
mod instances;
mod plain;
mod scene;
mod steps;
mod submitted;
mod tags;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use crate::deployment::{DriverKind, Reexecute, Variables};
use crate::embedded::database::Search;
use crate::gherkin::{
    self, Interrupt, Names, Notes, Project, RunInfo, Shared, StepError, Vocabulary,
};
use crate::manifest::Manifest;
use crate::rehearsal::{Venue, VenueError, VenueOptions};

pub use application::{Rehearsals, test, watch_if_asked};
pub use scene::Scene;

/// The variable that says how processes are run where no command line does.
const DRIVER: &str = "REHEARSE_DRIVER";

/// The variable that says that the system was built before: where there is no compiler.
const BUILT: &str = "REHEARSE_NO_BUILD";

/// What the suite needs to know of the machine.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The harness's own environment; processes get what the allow-list lets through.
    pub ambient: Variables,
    /// Where all runs of one user keep their records.
    pub state_root: PathBuf,
    /// The harness's own program, for what it starts of itself.
    pub program: PathBuf,
}

impl Surroundings {
    /// How the harness's own program becomes a watchdog.
    fn watchdog(&self) -> Reexecute {
        let arguments = vec![OsString::from(application::WATCHDOG)];
        Reexecute {
            program: self.program.clone(),
            arguments,
        }
    }
}

/// A manifest with all that is needed to rehearse it.
pub struct Suite {
    manifest: Arc<Manifest>,
    surroundings: Surroundings,
}

impl Suite {
    /// The suite of a manifest. Starts nothing.
    pub fn new(manifest: Manifest, surroundings: Surroundings) -> Self {
        Self {
            manifest: Arc::new(manifest),
            surroundings,
        }
    }

    /// How the run's processes are run: as its command line says, else as the
    /// environment does (for test targets, which have no such argument), else as the
    /// manifest says.
    fn driver(&self, run: &RunInfo) -> Result<DriverKind, StepError> {
        if let Some(driver) = run.driver {
            return Ok(driver);
        }
        match self.surroundings.ambient.get(OsStr::new(DRIVER)) {
            Some(written) if !written.is_empty() => {
                let parsed = written.to_string_lossy().parse();
                parsed.map_err(|error: String| StepError::invalid(format!("${DRIVER}: {error}")))
            }
            _ => Ok(self.manifest.driver),
        }
    }

    /// The names that phrases may use.
    fn names(&self) -> Names {
        let manifest = &*self.manifest;
        let built_in = crate::manifest::built_in_totals::ALL
            .iter()
            .map(ToString::to_string);
        let stages = manifest
            .stages
            .iter()
            .filter_map(|(name, stage)| Some(("stage", name.as_str(), stage.doc.as_deref()?)));
        let settings = manifest.settings.iter().filter_map(|(name, setting)| {
            Some(("setting", name.as_str(), setting.doc.as_deref()?))
        });
        let told =
            |names: Names, (kind, name, doc): (&str, &str, &str)| names.meaning(kind, name, doc);
        let names = stages.chain(settings).fold(Names::new(), told);
        names
            .with("dependency", manifest.dependencies.keys())
            .with("stage", manifest.stages.keys())
            .with("setting", manifest.settings.keys())
            .with("kind", manifest.messages.kinds.keys())
            .with("process", manifest.processes.keys())
            .with("total", manifest.totals.keys().cloned().chain(built_in))
            .with("queue", manifest.queues().map(|(_, queue)| queue))
            .with("end", manifest.terminal.keys())
            .with("command", manifest.operator.keys())
            .with("observation", manifest.observations.keys())
    }
}

impl Project for Suite {
    fn warnings(&self) -> Vec<String> {
        let manifest = &self.manifest;
        let mut warnings = manifest.remarks.clone();
        warnings.extend(manifest.unclaimed_ends());
        warnings
    }

    fn profiles(&self) -> Vec<(String, Vec<(String, Vec<String>)>)> {
        let profiles = self.manifest.profiles.iter().cloned();
        profiles
            .map(|profile| (profile.name, profile.options))
            .collect()
    }

    type World = Scene;

    fn vocabulary(&self) -> Vocabulary<Scene> {
        steps::all(&self.manifest)
            .into_iter()
            .fold(Vocabulary::new(self.names()), Vocabulary::with)
            .checked_by(declared::check)
            .checked_by(submitted::check)
            .checked_by(|scenario, _| tags::check(scenario))
            .checked_by({
                let manifest = Arc::clone(&self.manifest);
                move |scenario, steps| instances::check(&manifest, scenario, steps)
            })
            .explained_by(plain::Plain::of(&self.manifest))
    }

    fn system(&self) -> String {
        self.manifest.name.clone()
    }

    fn limits(&self) -> gherkin::Limits {
        let limits = &self.manifest.limits;
        gherkin::Limits {
            step: limits.step,
            scenario: limits.scenario,
            // A scenario that passed is brought to rest once more when it is closed.
            close: 2 * limits.quiet + gherkin::Limits::default().close,
            ..gherkin::Limits::default()
        }
    }

    fn leaves_out(&self, run: &RunInfo, tags: &[String]) -> Option<String> {
        // What is wrong with the driver's name is said when the run is prepared.
        let driver = self.driver(run).ok()?;
        let other = match driver {
            DriverKind::Processes => DriverKind::Containers,
            DriverKind::Containers => DriverKind::Processes,
        };
        let tagged = |kind: DriverKind| tags.iter().any(|tag| *tag == kind.to_string());
        (tagged(other) && !tagged(driver)).then(|| {
            format!("it is tagged @{other}, and the driver is `{driver}`: add `--driver {other}`")
        })
    }

    async fn prepare(
        &self,
        run: &Arc<RunInfo>,
        notes: &Notes,
        _: &Interrupt,
    ) -> Result<Shared<Self>, StepError> {
        let notes = notes.clone();
        let tell = Arc::new(move |line: &str| notes.say(line));
        self.venue(run, tell).await.map(Arc::new)
    }

    fn remarks(&self, run: &RunInfo, shared: &Shared<Self>) -> Vec<String> {
        let mut remarks = shared.inferred();
        // Of a selection it is no wonder.
        if !run.whole {
            return remarks;
        }
        let never = shared.never_passed();
        if never.is_empty() {
            return remarks;
        }
        let count = never.len();
        let (were, are) = if count == 1 {
            ("stage was", "is it")
        } else {
            ("stages were", "are they")
        };
        remarks.push(format!(
            "{count} {were} passed by nobody in the whole run: {}; {are} written right, and is there a scenario that leads there?",
            never.join(", ")
        ));
        remarks
    }

    async fn finish(&self, shared: Arc<Shared<Self>>) -> Result<(), StepError> {
        let left = shared.close().await;
        if left.is_empty() {
            return Ok(());
        }
        Err(StepError::broken(format!(
            "the run left something behind: {}",
            left.join("; ")
        )))
    }
}

impl Suite {
    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The suite of another manifest, on the same machine.
    #[must_use]
    pub fn with(&self, manifest: Manifest) -> Self {
        Self::new(manifest, self.surroundings.clone())
    }

    /// Builds the system and starts what all its rehearsals share.
    ///
    /// # Errors
    /// When anything of it cannot be had.
    pub async fn venue(
        &self,
        run: &RunInfo,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Venue, StepError> {
        let opened = self.open(run, self.driver(run)?, false, tell).await;
        opened.map_err(|error| match &error {
            VenueError::Queries(_) => StepError::invalid(error.to_string()),
            _ => StepError::broken(error),
        })
    }

    /// Lets the databases that the manifest embeds look at its queries. What the run leaves
    /// goes to `directory`.
    ///
    /// # Errors
    /// When they refuse one, or cannot be had.
    pub async fn examine(&self, directory: PathBuf) -> Result<(), VenueError> {
        let run = RunInfo {
            id: gherkin::new_run_id(),
            system: self.system(),
            whole: false,
            seed: 0,
            directory,
            real_time: false,
            driver: None,
        };
        let venue = self.open(&run, DriverKind::Processes, true, Arc::new(|_: &str| {}));
        venue.await?.close().await;
        Ok(())
    }

    async fn open(
        &self,
        run: &RunInfo,
        driver: DriverKind,
        strict: bool,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Venue, VenueError> {
        let Surroundings {
            ambient,
            state_root,
            program,
        } = self.surroundings.clone();
        let set = |name| {
            ambient
                .get(OsStr::new(name))
                .is_some_and(|it| !it.is_empty())
        };
        let options = VenueOptions {
            driver: Some(driver),
            built: set(BUILT),
            run: run.id.clone(),
            directory: run.directory.clone(),
            state_root,
            database: Search::from_variables(&ambient),
            ambient,
            watchdog: self.surroundings.watchdog(),
            program,
        };
        let venue = Venue::open(Arc::clone(&self.manifest), options, tell).await?;
        match venue.check_queries(strict).await {
            Ok(()) => Ok(venue),
            Err(error) => {
                venue.close().await;
                Err(error)
            }
        }
    }
}
