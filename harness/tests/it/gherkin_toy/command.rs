//! The command line with the toy project, in this process, with its output kept.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rehearsal::cli::{self, Application, Surroundings};
use rehearsal::deployment::{RunError, RunGuard};
use rehearsal::embedded::database::Search;
use rehearsal::gherkin::{Exit, Interrupt, StepError};

use rehearsal::report::Ci;

use super::{Diary, ToyProject};

/// Loads the toy for any manifest that exists.
#[derive(Default)]
pub struct ToyApplication {
    pub diary: Arc<Diary>,
}

impl Application for ToyApplication {
    type Project = ToyProject;

    fn load(&self, manifest: &Path) -> Result<ToyProject, miette::Report> {
        if !manifest.exists() {
            return Err(miette::miette!(
                help = "write one",
                "`{}` does not exist",
                manifest.display()
            ));
        }
        Ok(ToyProject {
            diary: Arc::clone(&self.diary),
            ..ToyProject::default()
        })
    }

    fn begin_serving(&self) -> Result<(RunGuard, Search), RunError> {
        unreachable!("these tests serve no database")
    }

    fn clean(&self, say: &mut dyn FnMut(&str)) -> Result<(), StepError> {
        say("removed the toy");
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What a command did.
pub struct Done {
    pub exit: Exit,
    pub out: String,
    pub err: String,
}

/// A directory with features and a manifest, and commands in it. Paths are given from
/// the directory; output shows it as `DIR`.
pub struct Workshop {
    directory: tempfile::TempDir,
    pub ci: Ci,
}

impl Workshop {
    pub fn new(features: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("rehearsal.yaml"), "version: 1\n").unwrap();
        for (name, text) in features {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self {
            directory,
            ci: Ci::default(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command. `DIR` in an argument is the directory.
    pub fn rehearse(&self, arguments: &[&str]) -> Done {
        let directory = self.directory.path().to_str().unwrap();
        let words = arguments
            .iter()
            .map(|word| word.replace("DIR", directory).into());
        let (out, err) = (Kept::default(), Kept::default());
        let mut surroundings = Surroundings {
            out: Box::new(out.clone()),
            err: Box::new(err.clone()),
            out_is_terminal: false,
            live: false,
            err_is_terminal: false,
            colour: None,
            // Wide enough that no path of a temporary directory is wrapped.
            width: Some(400),
            interrupt: Interrupt::new(),
            ci: self.ci.clone(),
        };
        let words = std::iter::once("rehearse".into()).chain(words);
        let exit = cli::main(&ToyApplication::default(), words, &mut surroundings);
        let tidy = |text: String| text.replace(directory, "DIR");
        Done {
            exit,
            out: tidy(out.text()),
            err: tidy(err.text()),
        }
    }

    /// Runs scenarios of the workshop, with reports in it.
    pub fn run(&self, arguments: &[&str]) -> Done {
        let mut words = vec![
            "--manifest",
            "DIR/rehearsal.yaml",
            "--reports",
            "DIR/reports",
            "--jobs",
            "1",
        ];
        words.extend(arguments);
        self.rehearse(&words)
    }

    /// The only run's report of this name.
    pub fn report(&self, name: &str) -> String {
        let runs = std::fs::read_dir(self.path("reports")).unwrap();
        let mut runs = runs
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir());
        let text = std::fs::read_to_string(runs.next().unwrap().join(name)).unwrap();
        text.replace(self.directory.path().to_str().unwrap(), "DIR")
    }
}
