//! Reads a feature file and unfolds it into scenarios.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use cucumber::gherkin::{self, StepType};

use super::problem::{FeatureText, Problem};
use super::scenario::{Extent, Feature, Scenario, StepText};
use super::step::StepKind;
use super::table::{DocString, Table};
use super::{chunk, lint};

/// Reads one feature file's text.
///
/// # Errors
/// All that is wrong with it.
pub fn read(text: &Arc<FeatureText>) -> Result<Feature, Vec<Problem>> {
    let parsed = chunk::parse(&text.text).map_err(|_| lint::locate_fault(text))?;
    let problems = lint::problems(text, &parsed);
    if !problems.is_empty() {
        return Err(problems);
    }
    let reading = Reading {
        text,
        feature: &parsed,
    };
    let mut scenarios = Vec::new();
    for scenario in &parsed.scenarios {
        scenarios.extend(reading.scenario(scenario, None));
    }
    for rule in &parsed.rules {
        for scenario in &rule.scenarios {
            scenarios.extend(reading.scenario(scenario, Some(rule)));
        }
    }
    tell_apart(&mut scenarios);
    Ok(Feature {
        text: Arc::clone(text),
        name: parsed.name.clone(),
        scenarios: scenarios.into_iter().map(Arc::new).collect(),
    })
}

/// Names tell scenarios apart in every report, so a name that stands in a file again
/// gets its line.
fn tell_apart(scenarios: &mut [Scenario]) {
    let mut known: HashSet<String> = HashSet::with_capacity(scenarios.len());
    for scenario in scenarios {
        if known.contains(&scenario.name) {
            scenario.name = format!("{} (line {})", scenario.name, scenario.line);
        }
        known.insert(scenario.name.clone());
    }
}

struct Reading<'a> {
    text: &'a Arc<FeatureText>,
    feature: &'a gherkin::Feature,
}

impl Reading<'_> {
    fn scenario(
        &self,
        scenario: &gherkin::Scenario,
        rule: Option<&gherkin::Rule>,
    ) -> Vec<Scenario> {
        let mut tags = Tags::default();
        tags.add(&self.feature.tags);
        tags.add(rule.map_or(&[][..], |rule| &rule.tags));
        tags.add(&scenario.tags);
        let backgrounds = self.feature.background.iter();
        let backgrounds = backgrounds.chain(rule.and_then(|rule| rule.background.as_ref()));
        let background: Vec<StepText> = backgrounds
            .flat_map(|background| self.steps(&background.steps, &Row::NONE))
            .collect();
        let extent = Extent {
            examples: None,
            scenario: self.lines(scenario.span),
            rule: rule.map(|rule| self.lines(rule.span)),
        };
        let unfold = |row: &Row<'_>, tags: Tags, line: usize, extent: Extent| {
            let own = self.steps(&scenario.steps, row);
            Scenario {
                text: Arc::clone(self.text),
                feature: self.feature.name.clone(),
                rule: rule.map(|rule| rule.name.clone()),
                name: row.name(&scenario.name),
                line,
                tags: tags.0,
                steps: background.iter().cloned().chain(own).collect(),
                extent,
            }
        };
        if scenario.examples.is_empty() {
            let line = self.text.line(scenario.span.start);
            return vec![unfold(&Row::NONE, tags, line, extent)];
        }
        let mut scenarios = Vec::new();
        for examples in &scenario.examples {
            let Some(table) = &examples.table else {
                continue;
            };
            let Some((heading, rows)) = table.rows.split_first() else {
                continue;
            };
            let lines = lint::row_lines(self.text, table.span.start, table.rows.len());
            let mut tags = tags.clone();
            tags.add(&examples.tags);
            let block =
                self.text.line(examples.span.start)..lines.last().map_or(0, |line| line + 1);
            for (row, line) in rows.iter().zip(lines.into_iter().skip(1)) {
                let extent = Extent {
                    examples: Some(block.clone()),
                    ..extent.clone()
                };
                scenarios.push(unfold(
                    &Row {
                        heading,
                        cells: row,
                    },
                    tags.clone(),
                    line,
                    extent,
                ));
            }
        }
        scenarios
    }

    /// The steps of one block. The parser takes each `*` as Given, and what continues one.
    fn steps(&self, steps: &[gherkin::Step], row: &Row<'_>) -> Vec<StepText> {
        let mut before = StepKind::Given;
        let mut starred = false;
        let read = steps.iter().map(|step| {
            let mut read = self.step(step, row);
            let star = read.keyword == "*";
            if star || starred && self.continues(step) {
                read.kind = before;
            }
            starred = star || starred && self.continues(step);
            before = read.kind;
            read
        });
        read.collect()
    }

    /// Whether a keyword means what the step before means, in any language: elsewhere in
    /// the file it stands for something else than Given.
    fn continues(&self, step: &gherkin::Step) -> bool {
        let keyword = step.keyword.trim();
        let scenarios = self.feature.rules.iter().flat_map(|rule| &rule.scenarios);
        let scenarios = self.feature.scenarios.iter().chain(scenarios);
        matches!(keyword, "And" | "But")
            || step.ty == StepType::Given
                && scenarios
                    .flat_map(|scenario| &scenario.steps)
                    .any(|other| other.keyword.trim() == keyword && other.ty != StepType::Given)
    }

    fn step(&self, step: &gherkin::Step, row: &Row<'_>) -> StepText {
        let table = step.table.as_ref().map(|table| Table {
            rows: table
                .rows
                .iter()
                .map(|cells| cells.iter().map(|cell| row.fill(cell)).collect())
                .collect(),
            lines: lint::row_lines(self.text, table.span.start, table.rows.len()),
        });
        let doc_string = step
            .docstring
            .as_ref()
            .and_then(|_| DocString::read(&self.text.text, step.span.end))
            .map(|doc_string| DocString {
                content: row.fill(&doc_string.content),
                ..doc_string
            });
        let filled = row.fill(&step.value);
        let written = &self.text.text[step.span.start..step.span.end];
        StepText {
            keyword: step.keyword.trim().to_owned(),
            kind: match step.ty {
                StepType::Given => StepKind::Given,
                StepType::When => StepKind::When,
                StepType::Then => StepKind::Then,
            },
            verbatim: filled == step.value,
            text: filled,
            table,
            doc_string,
            line: self.text.line(step.span.start),
            phrase: step.span.start + written.find(step.value.as_str()).unwrap_or(0),
            span: step.span.start..step.span.start + written.trim_end().len(),
        }
    }

    /// The lines of a block, the tags and comments right above it included.
    fn lines(&self, span: gherkin::Span) -> Range<usize> {
        let mut first = self.text.line(span.start);
        let leads = |line: usize| {
            let written = self.text.lines_from(line).next().unwrap_or_default();
            written.trim_start().starts_with(['@', '#'])
        };
        while first > 1 && leads(first - 1) {
            first -= 1;
        }
        let content = self.text.text[..span.end].trim_end().len();
        first..self.text.line(content) + 1
    }
}

#[derive(Clone, Default)]
struct Tags(Vec<String>);

impl Tags {
    fn add(&mut self, tags: &[String]) {
        for tag in tags {
            if !self.0.contains(tag) {
                self.0.push(tag.clone());
            }
        }
    }
}

/// The values of one row of the examples.
struct Row<'a> {
    heading: &'a [String],
    cells: &'a [String],
}

impl Row<'static> {
    const NONE: Self = Self {
        heading: &[],
        cells: &[],
    };
}

impl Row<'_> {
    /// Fills in placeholders in one pass, so that a value never becomes one.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            let (before, from) = rest.split_at(start);
            filled.push_str(before);
            let value = from.find('>').and_then(|end| {
                let column = self.heading.iter().position(|name| *name == from[1..end])?;
                Some((end, self.cells.get(column)?))
            });
            if let Some((end, value)) = value {
                filled.push_str(value);
                rest = &from[end + 1..];
            } else {
                filled.push('<');
                rest = &from[1..];
            }
        }
        filled.push_str(rest);
        filled
    }

    fn name(&self, name: &str) -> String {
        let filled = self.fill(name);
        if self.heading.is_empty() || filled != name {
            return filled;
        }
        let values = self.heading.iter().zip(self.cells);
        let values: Vec<String> = values
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        format!("{name} ({})", values.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> Feature {
        read(&FeatureText::new("a.feature", text)).unwrap()
    }

    #[test]
    fn each_row_of_the_examples_is_a_scenario() {
        let feature = features(
            "\u{feff}@all\r\nFeature: Limits\r\n  Background:\r\n    Given a deployment\r\n\r\n  @outline\r\n  Scenario Outline: gives up\r\n    Given the limit is <limit>\r\n      | a | <limit> |\r\n\r\n    @some\r\n    Examples:\r\n      | limit | left |\r\n      # the default\r\n      | 3     | <limit> |\r\n      | 5     | 0 |\r\n",
        );
        let [first, second] = feature.scenarios.as_slice() else {
            panic!("two rows")
        };
        assert_eq!(first.name, "gives up (limit: 3, left: <limit>)");
        assert_eq!((first.line, second.line), (15, 16));
        assert_eq!(first.tags, ["all", "outline", "some"]);
        assert_eq!(first.steps[0].text, "a deployment");
        assert_eq!(second.steps[1].text, "the limit is 5");
        assert_eq!(second.steps[1].table.as_ref().unwrap().rows, [["a", "5"]]);
        assert_eq!(second.steps[1].table.as_ref().unwrap().lines, [9]);
        assert_eq!(second.extent.scenario, 6..17);
        assert_eq!(second.extent.examples, Some(12..17));
    }

    #[test]
    fn a_star_continues_the_step_before_it() {
        use StepKind::{Given, Then, When};
        let feature = features(
            "Feature: F\n  Background:\n    * one\n  Scenario: S\n    * two\n    When three\n    * four\n    And five\n    Then six\n    * seven\n    But eight\n    Given nine\n    * ten\n",
        );
        let kinds = feature.scenarios[0].steps.iter().map(|step| step.kind);
        let expected = [
            Given, Given, When, When, When, Then, Then, Then, Given, Given,
        ];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
        let german = features(
            "# language: de\nFunktionalität: F\n  Szenario: S\n    Wenn eins\n    Und zwei\n    * drei\n    Und vier\n",
        );
        let kinds = german.scenarios[0].steps.iter().map(|step| step.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [When; 4]);
    }

    #[test]
    fn a_rule_adds_its_background_after_the_features() {
        let feature = features(
            "Feature: F\n  Background:\n    Given one\n  Scenario: plain\n    When it runs\n  @slow\n  Rule: R\n    Background:\n      Given two\n    Scenario: ruled\n      When it runs\n        \"\"\"\n        text\n        \"\"\"\n",
        );
        let [plain, ruled] = feature.scenarios.as_slice() else {
            panic!("two scenarios")
        };
        assert_eq!(plain.steps.len(), 2);
        let texts: Vec<&str> = ruled.steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!(texts, ["one", "two", "it runs"]);
        assert_eq!(ruled.rule.as_deref(), Some("R"));
        assert_eq!(ruled.tags, ["slow"]);
        assert_eq!(ruled.steps[2].doc_string.as_ref().unwrap().content, "text");
    }
}
