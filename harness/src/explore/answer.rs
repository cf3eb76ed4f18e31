//! The answer of an exploration: a table per process, and what failed, with its cause.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;

use super::counterexample::{Proof, Proven};
use super::effect::Strike;
use super::mark::Mark;
use super::point::{Plan, Point};
use super::results::Outcome;
use crate::gherkin::Exit;
use crate::ids::RoleName;

/// A place as wide as a table bears it.
const WIDEST: usize = 72;

/// What an exploration found, for people.
pub struct Answer<'a> {
    /// All points.
    pub plan: &'a Plan,
    /// What was found, in the order of the plan.
    pub outcomes: &'a [Outcome],
    /// Counterexamples, by the key of their point.
    pub proven: BTreeMap<String, Proven>,
}

impl Answer<'_> {
    /// How the run exits.
    pub fn exit(&self) -> Exit {
        let exits = self.outcomes.iter().map(|outcome| outcome.mark.exit());
        let worst = exits.max().unwrap_or(Exit::Unproven);
        // Of pairs a share is enough, which is told.
        let alone = self.alone().count();
        let tried = self.outcomes.iter().filter(|one| one.point.then.is_none());
        if tried.count() < alone {
            return worst.max(Exit::Unproven);
        }
        worst
    }

    /// The points of one fault.
    fn alone(&self) -> impl Iterator<Item = &Point> {
        let points = self.plan.points.iter();
        points.filter(|point| point.then.is_none())
    }

    /// A table for each process, in the order of its calls.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        let mut roles: Vec<&RoleName> = Vec::new();
        for point in &self.plan.points {
            let role = &point.class.boundary.process;
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        let strikes: Vec<Strike> = Strike::ALL
            .into_iter()
            .filter(|strike| self.plan.points.iter().any(|point| point.strike == *strike))
            .collect();
        for role in roles {
            let mut table = Table::new();
            table.load_style(UTF8_FULL_CONDENSED);
            let heading =
                std::iter::once(role.to_string()).chain(strikes.iter().map(ToString::to_string));
            table.set_header(heading);
            for (place, marks) in self.rows(role) {
                let cells = strikes
                    .iter()
                    .map(|strike| marks.get(strike).cloned().unwrap_or_else(|| "·".to_owned()));
                table.add_row(std::iter::once(place).chain(cells));
            }
            let _ = writeln!(text, "{table}");
        }
        text
    }

    /// The places of a process in order, each with its mark by effect.
    fn rows(&self, role: &RoleName) -> Vec<(String, BTreeMap<Strike, String>)> {
        let mut rows: Vec<(String, BTreeMap<Strike, String>)> = Vec::new();
        let found: BTreeMap<String, &Outcome> = self
            .outcomes
            .iter()
            .map(|outcome| (outcome.point.key(), outcome))
            .collect();
        for point in self
            .alone()
            .filter(|point| point.class.boundary.process == *role)
        {
            let place = shortened(&point.class.boundary.place());
            let mark = found
                .get(&point.key())
                .map_or_else(|| "not tried".to_owned(), |outcome| shown(outcome.mark));
            match rows.iter_mut().find(|(known, _)| *known == place) {
                Some((_, marks)) => _ = marks.insert(point.strike, mark),
                None => rows.push((place, BTreeMap::from([(point.strike, mark)]))),
            }
        }
        rows
    }

    /// What failed: points with one cause together, each with its counterexample.
    pub fn failures(&self) -> String {
        let mut text = String::new();
        for group in self.groups() {
            let Some(first) = group.first() else { continue };
            let _ = writeln!(text, "\n{} {}", sign(first.mark), first.mark.word());
            for outcome in &group {
                for (index, part) in outcome.point.parts().iter().enumerate() {
                    let (strike, boundary) = (part.strike, &part.class.boundary);
                    let and = if index == 0 { "" } else { "and then " };
                    let every = if part.every { ", every time" } else { "" };
                    let _ = writeln!(text, "    {and}{strike}: the {boundary}{every}");
                }
            }
            for reason in &first.reasons {
                let _ = writeln!(text, "    {}", reason.replace('\n', "\n    "));
            }
            if let Some(rule) = first.mark.rule() {
                let _ = writeln!(text, "    rule: {rule}");
            }
            if let Some(history) = &first.history {
                let _ = writeln!(text, "    history: {}", history.display());
            }
            for outcome in &group {
                let Some(proven) = self.proven.get(&outcome.point.key()) else {
                    continue;
                };
                let told = match proven.proof {
                    Proof::Confirmed => "fails again",
                    Proof::Unsteady => "passed when it was run again: unsteady",
                    Proof::Unproven => "proved nothing when it was run again",
                };
                let _ = writeln!(
                    text,
                    "    repeat:  rehearse {} ({told})",
                    proven.feature.display()
                );
                if let (Proof::Unsteady, Some(history)) = (proven.proof, &proven.history) {
                    let _ = writeln!(text, "    the other history: {}", history.display());
                }
            }
        }
        text
    }

    /// Outcomes that did not go well; those of one process with one mark and the same
    /// reasons have one cause.
    fn groups(&self) -> Vec<Vec<&Outcome>> {
        let mut groups: Vec<Vec<&Outcome>> = Vec::new();
        let bad = self.outcomes.iter();
        let well = [Mark::Survived, Mark::Unreached];
        for outcome in bad.filter(|outcome| !well.contains(&outcome.mark)) {
            let same = |group: &&mut Vec<&Outcome>| {
                group.first().is_some_and(|first| {
                    first.mark == outcome.mark
                        && first.reasons == outcome.reasons
                        && first.point.class.boundary.process
                            == outcome.point.class.boundary.process
                })
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(outcome),
                None => groups.push(vec![outcome]),
            }
        }
        groups
    }

    /// How many pairs of faults were tried, and of how many.
    fn pairs(&self) -> String {
        if self.plan.pairs == 0 {
            return String::new();
        }
        let tried = self.outcomes.iter().filter(|one| one.point.then.is_some());
        let tried = tried.count();
        format!(
            "pairs of faults: {tried} of {} tried ({} %)\n",
            self.plan.pairs,
            percent(tried, self.plan.pairs),
        )
    }

    /// What stays unknown whatever was found, in a few words each.
    pub fn limits(&self) -> String {
        let most = self
            .plan
            .points
            .iter()
            .map(|point| point.parts().len())
            .max();
        let faults = match most {
            Some(2) => "more than two faults at once",
            _ => "two faults at once (`--depth 2`)",
        };
        format!(
            "not tried, and not found: what these messages do not do without a fault; {faults}; \
             what crosses no wire; half a call; what is durable nowhere but in Redis. \
             Merging takes it that reads change nothing (`--unmerged`). See docs/exploring.md\n"
        )
    }

    /// How much was tried, and what came of it, in a few lines.
    pub fn summary(&self, tried: usize, took: Duration) -> String {
        let count = |mark: Mark| self.outcomes.iter().filter(|one| one.mark == mark).count();
        let marks = [
            Mark::Survived,
            Mark::Lost,
            Mark::Twice,
            Mark::Stuck,
            Mark::WrongEnd,
            Mark::Unreached,
            Mark::Unproven,
            Mark::Error,
        ];
        let counts: Vec<String> = marks
            .into_iter()
            .filter(|mark| *mark == Mark::Survived || count(*mark) > 0)
            .map(|mark| format!("{} {}", count(mark), mark.word()))
            .collect();
        let tried_here: Vec<&Outcome> = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.point.then.is_none())
            .filter(|outcome| !matches!(outcome.mark, Mark::Unproven | Mark::Error))
            .collect();
        let all: Vec<&Point> = self.alone().collect();
        let proven: Vec<&Point> = tried_here.iter().map(|outcome| &outcome.point).collect();
        let per_minute = pace(tried, took);
        let pairs = self.pairs();
        format!(
            "{} points: {}\n{pairs}coverage {} % ({} of {} boundaries{}) · {:.2} s · {per_minute} points a minute\n",
            self.plan.points.len(),
            counts.join(", "),
            percent(Plan::covered(&proven), Plan::covered(&all)),
            Plan::covered(&proven),
            Plan::covered(&all),
            if Plan::covered(&all) > all.len() {
                format!(", merged into {} points", all.len())
            } else {
                String::new()
            },
            took.as_secs_f64(),
        )
    }
}

fn pace(tried: usize, took: Duration) -> u64 {
    let tried = u64::try_from(tried).unwrap_or_default();
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    tried.saturating_mul(60_000) / millis
}

fn percent(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or_default()
}

fn shown(mark: Mark) -> String {
    format!("{} {}", sign(mark), mark.word())
}

fn sign(mark: Mark) -> char {
    match mark {
        Mark::Survived => '✓',
        Mark::Unreached => '·',
        Mark::Unproven => '?',
        Mark::Error => '!',
        Mark::Lost | Mark::Twice | Mark::Stuck | Mark::WrongEnd => '✗',
    }
}

fn shortened(place: &str) -> String {
    match place.char_indices().nth(WIDEST) {
        // The message and the time stand at the end.
        Some((end, _)) => match place.rfind("\" of ") {
            Some(quote) if quote > end => format!("{}…{}", &place[..end], &place[quote..]),
            _ => place.to_owned(),
        },
        None => place.to_owned(),
    }
}
