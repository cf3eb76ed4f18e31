//! The traps of Gherkin: what the parser takes silently and nobody meant.

use std::sync::Arc;

use cucumber::gherkin::{self, EnvError, GherkinEnv};

use super::chunk;
use super::heading;
use super::parameter::nearest;
use super::problem::{FeatureText, Problem, ProblemKind};

/// The lines on which the rows of a table stand that begins at `start`. Blank lines and
/// comments may stand between them.
pub(super) fn row_lines(text: &FeatureText, start: usize, rows: usize) -> Vec<usize> {
    let first = text.line(start);
    (first..)
        .zip(text.lines_from(first))
        .filter(|(_, line)| line.trim_start().starts_with('|'))
        .map(|(number, _)| number)
        .take(rows)
        .collect()
}

/// What is wrong with a file that the parser took.
pub(super) fn problems(text: &Arc<FeatureText>, feature: &gherkin::Feature) -> Vec<Problem> {
    let mut lint = Lint {
        text,
        problems: Vec::new(),
    };
    let ruled = feature.rules.iter().flat_map(|rule| &rule.scenarios);
    let backgrounds = feature.background.iter();
    let backgrounds = backgrounds.chain(
        feature
            .rules
            .iter()
            .filter_map(|rule| rule.background.as_ref()),
    );
    for background in backgrounds {
        lint.description(background.span.start, background.description.as_deref());
        background
            .steps
            .iter()
            .filter_map(|step| step.table.as_ref())
            .for_each(|table| lint.table(table));
    }
    for scenario in feature.scenarios.iter().chain(ruled) {
        lint.scenario(scenario);
    }
    for (line, keyword) in heading::misspelt(text) {
        lint.add(line, ProblemKind::Heading { keyword });
    }
    lint.problems.sort_by_key(|problem| problem.span.start);
    lint.problems
}

struct Lint<'a> {
    text: &'a Arc<FeatureText>,
    problems: Vec<Problem>,
}

impl Lint<'_> {
    fn add(&mut self, line: usize, kind: ProblemKind) {
        self.problems.push(Problem::at_line(self.text, line, kind));
    }

    fn scenario(&mut self, scenario: &gherkin::Scenario) {
        let line = self.text.line(scenario.span.start);
        let before = self.problems.len();
        self.description(scenario.span.start, scenario.description.as_deref());
        if scenario.steps.is_empty() && before == self.problems.len() {
            self.add(line, ProblemKind::NoSteps);
        }
        for table in scenario.steps.iter().filter_map(|step| step.table.as_ref()) {
            self.table(table);
        }
        let keyword = scenario.keyword.to_lowercase();
        if scenario.examples.is_empty()
            && (keyword.contains("outline") || keyword.contains("template"))
        {
            self.add(line, ProblemKind::NoExamples);
        }
        for examples in &scenario.examples {
            match &examples.table {
                Some(table) if table.rows.len() > 1 => {
                    self.table(table);
                    self.placeholders(scenario, &table.rows[0]);
                }
                _ => self.add(self.text.line(examples.span.start), ProblemKind::NoRows),
            }
        }
    }

    /// The parser cuts rows that are wider than the first.
    fn table(&mut self, table: &gherkin::Table) {
        let expected = table.row_width();
        for line in row_lines(self.text, table.span.start, table.rows.len()) {
            let written = self.text.lines_from(line).next();
            let cells = cells(written.unwrap_or_default());
            if cells != expected {
                self.add(line, ProblemKind::UnevenRow { cells, expected });
            }
        }
    }

    fn placeholders(&mut self, scenario: &gherkin::Scenario, heading: &[String]) {
        for step in &scenario.steps {
            let line = self.text.line(step.span.start);
            let cells = step
                .table
                .iter()
                .flat_map(|table| table.rows.iter().flatten());
            let mut names: Vec<&str> = std::iter::once(&step.value)
                .chain(cells)
                .flat_map(|text| placeholders(text))
                .collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                if !heading.iter().any(|column| column == name) {
                    let nearest = nearest(name, heading).map(str::to_owned);
                    self.add(
                        line,
                        ProblemKind::NoColumn {
                            name: name.to_owned(),
                            nearest,
                        },
                    );
                }
            }
        }
    }

    /// A step with a misspelt keyword, if it is the first, is taken as description.
    fn description(&mut self, start: usize, description: Option<&str>) {
        const KEYWORDS: [&str; 5] = ["Given", "When", "Then", "And", "But"];
        if description.is_none() {
            return;
        }
        let first = self.text.line(start);
        let text = Arc::clone(self.text);
        for (number, line) in (first + 1..).zip(text.lines_from(first + 1)) {
            let line = line.trim();
            let word = line.split_whitespace().next().unwrap_or_default();
            if KEYWORDS.contains(&word) || word.starts_with(['@', '|', '*']) || word.ends_with(':')
            {
                break;
            }
            let keyword = KEYWORDS.iter().find(|keyword| {
                strsim::damerau_levenshtein(keyword, word) == 1 && word.len() >= 4
                    || (keyword.eq_ignore_ascii_case(word) && word.chars().all(char::is_uppercase))
            });
            if let Some(keyword) = keyword {
                self.add(
                    number,
                    ProblemKind::Keyword {
                        keyword: (*keyword).to_owned(),
                    },
                );
            }
        }
    }
}

/// The names between `<` and `>`.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('<').skip(1).filter_map(|rest| {
        let name = &rest[..rest.find('>')?];
        let plain = !name.is_empty() && name.trim() == name;
        plain.then_some(name)
    })
}

/// How many cells a row has as written.
fn cells(row: &str) -> usize {
    let mut bars = 0_usize;
    let mut escaped = false;
    for c in row.trim().chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '|' if !escaped => bars += 1,
            _ => escaped = false,
        }
    }
    bars.saturating_sub(1)
}

/// Where the fault of an unreadable file is: on the first line after the longest run of
/// lines that can be read. The parser's own place is that of its last attempt.
pub(super) fn locate_fault(text: &Arc<FeatureText>) -> Vec<Problem> {
    let Some((piece, before)) = chunk::faulty(&text.text) else {
        return locate(text);
    };
    let found = locate(&FeatureText::new(text.path.as_str(), &piece));
    let at_place = |problem: Problem| {
        let line = problem.text.line(problem.span.start) + before;
        Problem::at_line(text, line, problem.kind)
    };
    found.into_iter().map(at_place).collect()
}

fn locate(text: &Arc<FeatureText>) -> Vec<Problem> {
    let lines: Vec<&str> = text.text.split_inclusive('\n').collect();
    let meaningful = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let written: Vec<usize> = (1..)
        .zip(&lines)
        .filter(|(_, line)| meaningful(line))
        .map(|(number, _)| number)
        .collect();
    let unsupported = || {
        lines.iter().position(|line| {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            let language = directive.and_then(|text| text.strip_prefix("language"));
            language
                .and_then(|text| text.trim_start().strip_prefix(':'))
                .is_some_and(|language| {
                    matches!(
                        GherkinEnv::new(language.trim()),
                        Err(EnvError::UnsupportedLanguage(_))
                    )
                })
        })
    };
    if let Some(line) = unsupported() {
        return vec![Problem::at_line(text, line + 1, ProblemKind::Language)];
    }
    let readable = written.iter().rev().skip(1).copied().find(|number| {
        let prefix = lines[..*number].concat();
        gherkin::Feature::parse(prefix, GherkinEnv::default()).is_ok()
    });
    let fault = match readable {
        None => {
            let line = written.first().copied().unwrap_or(1);
            return vec![Problem::at_line(text, line, ProblemKind::NoFeature)];
        }
        Some(last) => written
            .iter()
            .copied()
            .find(|number| *number > last)
            .unwrap_or(last),
    };
    let row = |line: usize| lines[line - 1].trim_start().starts_with('|');
    if row(fault) {
        let mut first = fault;
        for number in written
            .iter()
            .rev()
            .copied()
            .filter(|number| *number < fault)
        {
            if !row(number) {
                break;
            }
            first = number;
        }
        let (expected, cells) = (cells(lines[first - 1]), cells(lines[fault - 1]));
        if expected != cells {
            return vec![Problem::at_line(
                text,
                fault,
                ProblemKind::UnevenRow { cells, expected },
            )];
        }
    }
    let help = heading::mending(lines[fault - 1]);
    vec![Problem::at_line(
        text,
        fault,
        ProblemKind::Unreadable { help },
    )]
}

#[cfg(test)]
mod tests {
    use super::super::feature::read;
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        let problems = read(&FeatureText::new("a.feature", text)).unwrap_err();
        let told = |problem: Problem| {
            (
                problem.text.line(problem.span.start),
                problem.kind.to_string(),
            )
        };
        problems.into_iter().map(told).collect()
    }

    #[test]
    fn rows_of_another_width_are_found_with_their_line() {
        let wide =
            "Feature: F\n  Scenario: S\n    Given it\n      | a | b |\n      | 1 | 2 | 3 |\n";
        assert_eq!(
            found(wide),
            [(
                5,
                "the row has 3 cells, the table's first row has 2".to_owned()
            )]
        );
        let narrow = "Feature: F\n  Scenario: S\n    Given it\n      | a | b |\n      | 1 |\n    Then it is\n";
        assert_eq!(
            found(narrow),
            [(
                5,
                "the row has 1 cells, the table's first row has 2".to_owned()
            )]
        );
    }

    #[test]
    fn examples_without_rows_or_columns_are_found() {
        let text = "Feature: F\n  Scenario Outline: S\n    Given <limit>\n    Examples:\n      | limit |\n\n  Scenario Outline: T\n    Given <limits>\n    Examples:\n      | limit |\n      | 1 |\n  Scenario Outline: U\n    Given it\n";
        let found = found(text);
        assert_eq!(
            found.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
            [4, 8, 12]
        );
        assert_eq!(found[1].1, "the examples have no column `limits`");
    }

    #[test]
    fn a_scenario_that_does_nothing_is_found() {
        let text = "Feature: F\n  Scenario: S\n    it describes\n\n  Scenario: T\n    Givn five messages\n    When it runs\n";
        let found = found(text);
        assert_eq!(found[0].0, 2);
        assert_eq!(found[1].0, 6);
    }

    #[test]
    fn the_fault_of_an_unreadable_file_has_a_line() {
        let text = "Feature: F\n  Scenario: S\n    Given it\n    Whan it runs\n    Then it is\n";
        assert_eq!(
            found(text),
            [(4, "this line is no Gherkin here".to_owned())]
        );
        assert_eq!(found("")[0].1, "there is no feature in the file");
        assert_eq!(found("\n# language: xx\nFeature: F\n")[0].0, 2);
    }
}
