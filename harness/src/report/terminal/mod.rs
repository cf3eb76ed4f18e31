//! A run on the terminal: what is happening now, how each scenario ended, how many.

pub(crate) mod ending;
mod experience;
mod live;
pub(crate) mod paint;
mod screen;
pub(crate) mod table;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::experience::Experience;
use self::live::Live;
use self::paint::Paint;
use self::screen::Screen;
use super::repeat::Repeat;
use super::{Report, ReportError};
use crate::gherkin::{Exit, RunEvent, RunInfo, ScenarioId, ScenarioInfo, ScenarioOutcome};

/// What the terminal can do and the user wants.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct TerminalOptions {
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to keep a live view of what is happening now below the lines.
    pub live: bool,
    /// How wide it is now, if that is known: it may change while the run goes on.
    pub width: fn() -> Option<usize>,
    /// Whether the totals of scenarios that passed are shown, too.
    pub verbose: bool,
    /// Whether nothing but what did not pass is shown, and how many.
    pub quiet: bool,
    /// How a scenario is repeated.
    pub repeat: Repeat,
}

/// How often the live view is drawn while nothing happens.
const REDRAWN: Duration = Duration::from_millis(200);

/// Writes to a terminal, or to whatever stands in for one.
pub struct Terminal<W> {
    to: Screen<W>,
    options: TerminalOptions,
    paint: Paint,
    live: Option<Live>,
    scenarios: Vec<Arc<ScenarioInfo>>,
    /// What went wrong with the environment, and where that was told first.
    told: HashMap<String, String>,
    drawn: Instant,
}

impl<W: Write + Send + 'static> Terminal<W> {
    /// Writes there.
    pub fn new(to: W, options: TerminalOptions) -> Self {
        let paint = Paint {
            colour: options.colour,
        };
        let to = Screen::new(to, options.width);
        Self {
            live: options.live.then(|| Live::new(to.clone(), paint)),
            to,
            options,
            paint,
            scenarios: Vec::new(),
            told: HashMap::new(),
            drawn: Instant::now(),
        }
    }

    /// Writes lines that stay, above the live view.
    fn say(&mut self, text: &str) -> io::Result<()> {
        let mut to = self.to.clone();
        let mut write = || writeln!(to, "{text}").and_then(|()| Write::flush(&mut to));
        match &self.live {
            Some(live) => live.aside(write),
            None => write(),
        }
    }

    fn begin(&mut self, run: &RunInfo, jobs: usize) -> io::Result<()> {
        let jobs = jobs.min(self.scenarios.len());
        if let Some(live) = &mut self.live {
            let reports = run.directory.parent().unwrap_or(Path::new("."));
            live.begin(&self.scenarios, jobs, Experience::of_runs(reports));
        }
        if self.options.quiet {
            return Ok(());
        }
        let count = ending::scenarios(self.scenarios.len());
        let side = if jobs > 1 {
            format!(", {jobs} at a time")
        } else {
            String::new()
        };
        let line = format!("run {}: {count}{side}, seed {}", run.id, run.seed);
        self.say(&self.paint.dim(&line))
    }

    fn ended(&mut self, scenario: ScenarioId, outcome: &ScenarioOutcome) -> io::Result<()> {
        if !outcome.ran {
            return Ok(());
        }
        let info = Arc::clone(&self.scenarios[scenario.0]);
        if let Some(live) = &mut self.live {
            live.ended(scenario, &info, outcome.verdict);
        }
        let passed = outcome.verdict == Exit::Passed;
        if self.options.quiet && passed {
            return Ok(());
        }
        let outcome = &ending::told_once(&info, outcome, &mut self.told);
        let mut text = ending::of_scenario(&info, outcome, self.paint, &self.options.repeat);
        if self.options.verbose && passed {
            text.extend(ending::totals(outcome).map(|line| format!("\n    {line}")));
        }
        self.say(&text)
    }

    fn tell(&mut self, event: &RunEvent) -> io::Result<()> {
        match event {
            RunEvent::RunStarted {
                run,
                scenarios,
                jobs,
            } => {
                self.scenarios.clone_from(scenarios);
                self.begin(run, *jobs)
            }
            RunEvent::RunNote { text } => match &mut self.live {
                Some(live) => {
                    live.note(text);
                    Ok(())
                }
                None if self.options.quiet => Ok(()),
                None => self.say(text),
            },
            RunEvent::ScenarioStarted { scenario } => {
                let info = Arc::clone(&self.scenarios[scenario.0]);
                if let Some(live) = &mut self.live {
                    live.started(*scenario, &info);
                }
                Ok(())
            }
            RunEvent::StepStarted { scenario, text, .. } => {
                if let Some(live) = &mut self.live {
                    live.step(*scenario, text);
                }
                Ok(())
            }
            RunEvent::StepEnded { scenario, .. } => {
                if let Some(live) = &mut self.live {
                    live.remark(*scenario, "");
                }
                Ok(())
            }
            RunEvent::ScenarioNote { scenario, text } => {
                if let Some(live) = &mut self.live {
                    live.remark(*scenario, text);
                }
                Ok(())
            }
            RunEvent::ScenarioEnded { scenario, outcome } => self.ended(*scenario, outcome),
            RunEvent::Interrupted => {
                let text =
                    "interrupted: steps end, worlds are closed; once more to wait for nothing";
                self.say(&self.paint.warning(text))
            }
            RunEvent::RunEnded { result } => {
                if let Some(mut live) = self.live.take() {
                    live.end();
                }
                self.say(&ending::of_run(result, self.paint))
            }
        }
    }
}

impl<W: Write + Send + 'static> Report for Terminal<W> {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        Ok(self.tell(event)?)
    }

    fn tick(&mut self) -> Result<(), ReportError> {
        if let Some(live) = &mut self.live
            && self.drawn.elapsed() >= REDRAWN
        {
            live.tick();
            self.drawn = Instant::now();
        }
        Ok(())
    }
}
