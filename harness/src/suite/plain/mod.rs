//! Plain sentences that are no phrase: what they mean is said as the phrase, with the names
//! of the manifest.
//!
//! A [`rules::Rule`] is a pattern and the lines to write; [`Nouns`] finds what a manifest
//! calls the things that people call *the queue*, *the worker* or *processed*.

mod normal;
mod nouns;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};

use crate::gherkin::{Meant, PlainSentences, StepKind};
use crate::manifest::Manifest;
use nouns::Nouns;
use rules::RULES;

/// What is known of plain sentences about one system.
pub(super) struct Plain {
    nouns: Nouns,
}

impl Plain {
    pub(super) fn of(manifest: &Arc<Manifest>) -> Self {
        Self {
            nouns: Nouns::of(manifest),
        }
    }
}

struct Compiled {
    kinds: &'static [StepKind],
    pattern: Regex,
    answer: &'static str,
}

static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
    let compile = |(kinds, pattern, answer): &(&'static [StepKind], &str, &'static str)| {
        let pattern = rules::spelled_out(pattern);
        let pattern = Regex::new(&format!("(?i)^(?:{pattern})$"));
        Compiled {
            kinds,
            pattern: pattern.expect("each rule is compiled in a test"),
            answer,
        }
    };
    RULES.iter().map(compile).collect()
});

impl PlainSentences for Plain {
    fn normal(&self, sentence: &str) -> String {
        normal::normal(sentence)
    }

    fn meant(&self, kind: StepKind, sentence: &str) -> Option<Meant> {
        COMPILED
            .iter()
            .filter(|rule| rule.kinds.is_empty() || rule.kinds.contains(&kind))
            .find_map(|rule| {
                let found = rule.pattern.captures(sentence)?;
                self.answer(rule, &found)
            })
    }
}

impl Plain {
    /// None where a noun of the sentence is no such thing.
    fn answer(&self, rule: &Compiled, found: &Captures<'_>) -> Option<Meant> {
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        for name in rule.pattern.capture_names().flatten() {
            if let Some(text) = found.name(name) {
                // `S2` is the stage where the sentence has it in another place.
                let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
                values.insert(name, text.as_str().to_owned());
            }
        }
        let mut meant = Meant::default();
        let (say, remark) = match rule.answer.split_once('!') {
            Some((say, remark)) => (say, Some(remark.trim())),
            None => (rule.answer, None),
        };
        for line in say.lines().map(str::trim).filter(|line| !line.is_empty()) {
            meant.say.extend(self.filled(line, &values)?);
        }
        let mut remarks: Vec<String> = remark.map(str::to_owned).into_iter().collect();
        remarks.extend(self.nouns.left_open(&meant.say));
        meant.remark = (!remarks.is_empty()).then(|| remarks.join("\n"));
        Some(meant)
    }

    /// A line with its values; a line of rows that the sentence does not ask for is none.
    fn filled(&self, line: &str, values: &BTreeMap<&str, String>) -> Option<Vec<String>> {
        if line == "{rows}" {
            return Some(self.rows(values));
        }
        let mut filled = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            filled.push_str(before);
            filled.push_str(&self.value(name, values)?);
            rest = after;
        }
        filled.push_str(rest);
        Some(vec![filled])
    }

    /// From when and until when, as the table of an outage says it.
    fn rows(&self, values: &BTreeMap<&str, String>) -> Vec<String> {
        let mut rows = Vec::new();
        let whose = |stage: &str| match values.get("M") {
            Some(message) => format!("{stage} of {message}"),
            None => stage.to_owned(),
        };
        if let Some(said) = values.get("S") {
            let side = values.get("side").map_or("", String::as_str);
            let stage = self.nouns.stage(said, side);
            let key = if side.contains("until") {
                "until"
            } else {
                "from"
            };
            rows.push(format!("| {key} | {} |", whose(&stage)));
        }
        if let Some(time) = values.get("t") {
            rows.push(format!("| until | {time} |"));
        }
        rows
    }

    fn value(&self, name: &str, values: &BTreeMap<&str, String>) -> Option<String> {
        let said = values.get(name).map_or("", String::as_str);
        let side = values.get("side").map_or("", String::as_str);
        let number = || values.get("n").and_then(|n| n.parse::<u64>().ok());
        let always = ["every time", "each time", "whenever"];
        let is_always = values.contains_key("every") || always.contains(&side);
        Some(match name {
            "D" => self.nouns.dependency(said)?,
            "P" => self.nouns.process(said)?,
            "K" => self.nouns.named("kind", said)?,
            "C" => self.nouns.named("command", said)?,
            "S" => self.nouns.stage(said, side),
            "E" => self.nouns.end(said),
            "T" => self.nouns.total(said),
            "never" => self.nouns.stage_of_end(said_or(values, "E")),
            "attempts" => self.nouns.attempts(),
            "error" => self.nouns.error(said_or(values, "D"))?,
            "calls" => self.nouns.delete(said_or(values, "P"))?,
            "success" => self.nouns.end(""),
            "dependency" | "process" | "stage" | "end" | "kind" | "total" => format!("{{{name}}}"),
            "last" => match number()? {
                1 => "M1".to_owned(),
                more => format!("M1 to M{more}"),
            },
            "n+1" => (number()? + 1).to_string(),
            "times" => match (is_always, number()) {
                (true, _) => "every time".to_owned(),
                (false, None | Some(1)) => "once".to_owned(),
                (false, Some(count)) => format!("the first {count} times"),
            },
            _ => values.get(name)?.clone(),
        })
    }
}

fn said_or<'v>(values: &'v BTreeMap<&str, String>, name: &str) -> &'v str {
    values.get(name).map_or("", String::as_str)
}
