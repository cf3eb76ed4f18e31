//! The command `rehearse`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rehearsal::cli::{self, Application, Surroundings};
use rehearsal::gherkin::{
    Closing, Context, Exit, Interrupt, Limits, Names, Notes, Project, RunInfo, ScenarioInfo,
    ScenarioOutcome, StepError, Vocabulary, World,
};

/// Until a deployment can be opened there is nothing to rehearse: features are read
/// and every step is refused.
struct Nothing;

impl Application for Nothing {
    type Project = Self;

    fn load(&self, manifest: &Path) -> Result<Self, miette::Report> {
        if manifest.is_file() {
            return Ok(Self);
        }
        Err(miette::miette!(
            help = "name the manifest with `--manifest FILE`",
            "`{}` does not exist",
            manifest.display()
        ))
    }

    fn clean(&self, _: &Path, _: &mut dyn FnMut(&str)) -> Result<(), StepError> {
        Ok(())
    }
}

impl World for Nothing {
    type Shared = ();

    async fn open(_: &Context<()>, _: &ScenarioInfo) -> Result<Self, StepError> {
        Ok(Self)
    }

    async fn close(&mut self, _: &ScenarioOutcome) -> Closing {
        Closing::quiet()
    }
}

impl Project for Nothing {
    type World = Self;

    fn vocabulary(&self) -> Vocabulary<Self> {
        Vocabulary::new(Names::new())
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    async fn prepare(&self, _: &Arc<RunInfo>, _: &Notes, _: &Interrupt) -> Result<(), StepError> {
        Ok(())
    }

    async fn finish(&self, _: Arc<()>) -> Result<(), StepError> {
        Ok(())
    }
}

fn main() -> ExitCode {
    match Surroundings::of_process() {
        Ok(mut surroundings) => cli::main(&Nothing, std::env::args_os(), &mut surroundings).into(),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "cannot listen to signals: {error}");
            Exit::Broken.into()
        }
    }
}
