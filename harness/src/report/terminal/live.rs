//! The live view: some lines at the bottom that are drawn again and again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use console::truncate_str;

use super::Now;
use super::ending::seconds;
use super::paint::Paint;
use crate::gherkin::{Exit, ScenarioId, ScenarioInfo};

/// How many running scenarios are shown.
const SHOWN: usize = 10;

pub(super) struct Live {
    on: bool,
    width: usize,
    /// How many lines stand there now.
    drawn: usize,
    all: usize,
    done: usize,
    not_passed: usize,
    note: String,
}

impl Live {
    pub(super) fn new(on: bool, width: Option<usize>) -> Self {
        Self {
            on,
            width: width.unwrap_or(80),
            drawn: 0,
            all: 0,
            done: 0,
            not_passed: 0,
            note: String::new(),
        }
    }

    pub(super) fn begin(&mut self, all: usize) {
        self.all = all;
    }

    pub(super) fn note(&mut self, text: &str) {
        text.clone_into(&mut self.note);
    }

    pub(super) fn ended(&mut self, verdict: Exit) {
        self.done += 1;
        self.not_passed += usize::from(verdict != Exit::Passed);
    }

    /// Takes the view away, for lines that stay.
    pub(super) fn clear(&mut self, to: &mut dyn Write) -> io::Result<()> {
        if self.drawn > 0 {
            write!(to, "\x1b[{}A\x1b[J", self.drawn)?;
            self.drawn = 0;
        }
        Ok(())
    }

    /// Takes the view away for good.
    pub(super) fn end(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.clear(to)?;
        self.on = false;
        Ok(())
    }

    pub(super) fn draw(
        &mut self,
        to: &mut dyn Write,
        paint: Paint,
        scenarios: &[Arc<ScenarioInfo>],
        running: &BTreeMap<ScenarioId, Now>,
    ) -> io::Result<()> {
        if !self.on {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (scenario, now) in running.iter().take(SHOWN) {
            let name = &scenarios[scenario.0].name;
            let note = if now.note.is_empty() {
                String::new()
            } else {
                format!(" · {}", now.note)
            };
            let head = format!(
                "▸ {:>8}  {name}: {}{note}",
                seconds(now.since.elapsed()),
                now.step
            );
            lines.push(truncate_str(&head, self.width, "…").into_owned());
        }
        if running.len() > SHOWN {
            lines.push(format!("  and {} more", running.len() - SHOWN));
        }
        let state = if running.is_empty() && self.done == 0 && !self.note.is_empty() {
            self.note.clone()
        } else {
            let failed = match self.not_passed {
                0 => String::new(),
                more => format!(", {more} not passed"),
            };
            format!("{} of {} done{failed}", self.done, self.all)
        };
        lines.push(paint.dim(&truncate_str(&state, self.width, "…")));
        // One write, so that no half view is ever seen.
        let mut view = String::new();
        if self.drawn > 0 {
            let _ = write!(view, "\x1b[{}A\x1b[J", self.drawn);
        }
        for line in &lines {
            view += line;
            view.push('\n');
        }
        self.drawn = lines.len();
        to.write_all(view.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_is_taken_away_line_by_line() {
        let mut live = Live::new(true, Some(20));
        live.begin(3);
        let (mut out, paint) = (Vec::new(), Paint { colour: false });
        live.draw(&mut out, paint, &[], &BTreeMap::new()).unwrap();
        live.draw(&mut out, paint, &[], &BTreeMap::new()).unwrap();
        live.end(&mut out).unwrap();
        live.draw(&mut out, paint, &[], &BTreeMap::new()).unwrap();
        let seen = String::from_utf8(out).unwrap();
        assert_eq!(seen, "0 of 3 done\n\x1b[1A\x1b[J0 of 3 done\n\x1b[1A\x1b[J");
    }
}
