//! A run on the terminal: what is happening now, how each scenario ended, how many.

pub(crate) mod ending;
mod live;
pub(crate) mod paint;
pub(crate) mod table;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::live::Live;
use self::paint::Paint;
use super::repeat::Repeat;
use super::{Report, ReportError};
use crate::gherkin::{Exit, RunEvent, ScenarioId, ScenarioInfo};

/// What the terminal can do and the user wants.
#[derive(Clone, Debug)]
pub struct TerminalOptions {
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to keep a live view of what is happening now below the lines.
    pub live: bool,
    /// How wide it is, if known.
    pub width: Option<usize>,
    /// Whether the totals of scenarios that passed are shown, too.
    pub verbose: bool,
    /// How a scenario is repeated.
    pub repeat: Repeat,
}

/// How often the live view is drawn while nothing happens.
const REDRAWN: Duration = Duration::from_millis(100);

/// Writes to a terminal, or to whatever stands in for one.
pub struct Terminal<W> {
    to: W,
    options: TerminalOptions,
    paint: Paint,
    live: Live,
    scenarios: Vec<Arc<ScenarioInfo>>,
    running: BTreeMap<ScenarioId, Now>,
    /// What went wrong with the environment, and where that was told first.
    told: HashMap<String, String>,
    drawn: Instant,
}

/// What a scenario does now.
pub(super) struct Now {
    since: Instant,
    step: String,
    note: String,
}

impl<W: Write + Send> Terminal<W> {
    /// Writes there.
    pub fn new(to: W, options: TerminalOptions) -> Self {
        let paint = Paint {
            colour: options.colour,
        };
        let live = Live::new(options.live, options.width);
        Self {
            to,
            options,
            paint,
            live,
            scenarios: Vec::new(),
            running: BTreeMap::new(),
            told: HashMap::new(),
            drawn: Instant::now(),
        }
    }

    /// Writes lines that stay, above the live view.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.live.clear(&mut self.to)?;
        writeln!(self.to, "{text}")?;
        self.draw()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.live
            .draw(&mut self.to, self.paint, &self.scenarios, &self.running)?;
        self.drawn = Instant::now();
        self.to.flush()
    }

    fn now(&mut self, scenario: ScenarioId, change: impl FnOnce(&mut Now)) -> io::Result<()> {
        if let Some(now) = self.running.get_mut(&scenario) {
            change(now);
        }
        self.draw()
    }

    fn tell(&mut self, event: &RunEvent) -> io::Result<()> {
        match event {
            RunEvent::RunStarted {
                run,
                scenarios,
                jobs,
            } => {
                self.scenarios.clone_from(scenarios);
                self.live.begin(scenarios.len());
                let count = ending::scenarios(scenarios.len());
                let jobs = jobs.min(&scenarios.len()).to_owned();
                let side = if jobs > 1 {
                    format!(", {jobs} at a time")
                } else {
                    String::new()
                };
                let line = format!("run {}: {count}{side}, seed {}", run.id, run.seed);
                self.say(&self.paint.dim(&line))
            }
            RunEvent::RunNote { text } => {
                if self.options.live {
                    self.live.note(text);
                    self.draw()
                } else {
                    self.say(text)
                }
            }
            RunEvent::ScenarioStarted { scenario } => {
                let now = Now {
                    since: Instant::now(),
                    step: "opening".to_owned(),
                    note: String::new(),
                };
                self.running.insert(*scenario, now);
                self.draw()
            }
            RunEvent::StepStarted { scenario, text, .. } => self.now(*scenario, |now| {
                now.step.clone_from(text);
                now.note.clear();
            }),
            RunEvent::StepEnded { scenario, .. } => self.now(*scenario, |now| now.note.clear()),
            RunEvent::ScenarioNote { scenario, text } => {
                self.now(*scenario, |now| now.note.clone_from(text))
            }
            RunEvent::ScenarioEnded { scenario, outcome } => {
                self.running.remove(scenario);
                if !outcome.ran {
                    return Ok(());
                }
                self.live.ended(outcome.verdict);
                let info = Arc::clone(&self.scenarios[scenario.0]);
                let outcome = &ending::told_once(&info, outcome, &mut self.told);
                let mut text =
                    ending::of_scenario(&info, outcome, self.paint, &self.options.repeat);
                if self.options.verbose && outcome.verdict == Exit::Passed {
                    text.extend(ending::totals(outcome).map(|line| format!("\n    {line}")));
                }
                self.say(&text)
            }
            RunEvent::Interrupted => {
                let text =
                    "interrupted: steps end, worlds are closed; once more to wait for nothing";
                self.say(&self.paint.warning(text))
            }
            RunEvent::RunEnded { result } => {
                self.live.end(&mut self.to)?;
                let text = ending::of_run(result, self.paint);
                writeln!(self.to, "{text}")?;
                self.to.flush()
            }
        }
    }
}

impl<W: Write + Send> Report for Terminal<W> {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        Ok(self.tell(event)?)
    }

    fn tick(&mut self) -> Result<(), ReportError> {
        if self.options.live && self.drawn.elapsed() >= REDRAWN {
            self.draw()?;
        }
        Ok(())
    }
}
