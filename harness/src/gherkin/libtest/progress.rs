//! What a test target prints while it runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use super::super::event::RunEvent;
use super::super::exit::Exit;
use super::super::outcome::ScenarioOutcome;
use super::super::world::ScenarioInfo;
use super::position;
use crate::report::Repeat;
use crate::report::terminal::ending::of_scenario;
use crate::report::terminal::paint::Paint;

pub(super) struct Progress<'a> {
    out: &'a mut (dyn Write + Send),
    terse: bool,
    repeat: Repeat,
    names: Vec<String>,
    infos: Vec<Arc<ScenarioInfo>>,
    failures: BTreeMap<usize, Arc<ScenarioOutcome>>,
    passed: usize,
    ignored: usize,
    begun: Instant,
    problems: Vec<String>,
    error: Option<io::Error>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(
        out: &'a mut (dyn Write + Send),
        terse: bool,
        repeat: Repeat,
        names: Vec<String>,
    ) -> Self {
        Self {
            out,
            terse,
            repeat,
            names,
            infos: Vec::new(),
            failures: BTreeMap::new(),
            passed: 0,
            ignored: 0,
            begun: Instant::now(),
            problems: Vec::new(),
            error: None,
        }
    }

    pub(super) fn begin(&mut self, ignored: impl Iterator<Item = String>) -> io::Result<()> {
        let ignored: Vec<String> = ignored.collect();
        self.ignored = ignored.len();
        let all = self.names.len() + ignored.len();
        writeln!(
            self.out,
            "\nrunning {all} test{}",
            if all == 1 { "" } else { "s" }
        )?;
        for name in ignored {
            self.line(&name, "ignored", "i")?;
        }
        Ok(())
    }

    fn line(&mut self, name: &str, state: &str, sign: &str) -> io::Result<()> {
        if self.terse {
            write!(self.out, "{sign}")?;
        } else {
            writeln!(self.out, "test {name} ... {state}")?;
        }
        self.out.flush()
    }

    pub(super) fn event(&mut self, event: &RunEvent) {
        let told = match event {
            RunEvent::RunStarted { scenarios, .. } => {
                self.infos.clone_from(scenarios);
                Ok(())
            }
            RunEvent::ScenarioEnded { scenario, outcome } => {
                let number = position(*scenario);
                let name = self.names[number].clone();
                if !outcome.ran {
                    self.ignored += 1;
                    self.line(&name, "ignored, the run ended before it", "i")
                } else if outcome.verdict == Exit::Passed {
                    self.passed += 1;
                    self.line(&name, "ok", ".")
                } else {
                    self.failures.insert(number, Arc::clone(outcome));
                    self.line(&name, "FAILED", "F")
                }
            }
            RunEvent::RunEnded { result } => {
                let problems = result.evidence.iter();
                self.problems
                    .extend(problems.map(|one| format!("{}: {}", one.verdict, one.message)));
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(error) = told {
            self.error.get_or_insert(error);
        }
    }

    pub(super) fn end(mut self, filtered_out: usize) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.terse {
            writeln!(self.out)?;
        }
        for problem in &self.problems {
            writeln!(self.out, "\n{problem}")?;
        }
        if !self.failures.is_empty() {
            writeln!(self.out, "\nfailures:\n")?;
            for (number, outcome) in &self.failures {
                let plain = Paint { colour: false };
                let text = of_scenario(&self.infos[*number], outcome, plain, &self.repeat);
                writeln!(
                    self.out,
                    "---- {} stdout ----\n{text}\n",
                    self.names[*number]
                )?;
            }
            writeln!(self.out, "\nfailures:")?;
            for number in self.failures.keys() {
                writeln!(self.out, "    {}", self.names[*number])?;
            }
        }
        let well = self.failures.is_empty() && self.problems.is_empty();
        writeln!(
            self.out,
            "\ntest result: {}. {} passed; {} failed; {} ignored; 0 measured; {filtered_out} \
             filtered out; finished in {:.2}s\n",
            if well { "ok" } else { "FAILED" },
            self.passed,
            self.failures.len(),
            self.ignored,
            self.begun.elapsed().as_secs_f64(),
        )?;
        self.out.flush()
    }
}
