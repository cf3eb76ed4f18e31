//! Parses large feature files in pieces. The parser takes time by the square of a file's
//! lines; a piece is as long as the file may be, and so all is linear.

use cucumber::gherkin::{Feature, GherkinEnv, ParseError, Scenario, Span};

/// Smaller files are parsed as they are.
const LARGE: usize = 32 * 1024;
/// How many scenarios a piece has.
const SCENARIOS: usize = 100;
/// What stands before each piece but the first.
const HEAD: &str = "Feature: piece\n";

/// Parses a feature file.
pub(super) fn parse(text: &str) -> Result<Feature, ParseError> {
    // What is wrong with a piece is told of the whole.
    match in_pieces(text) {
        Some(feature) => Ok(feature),
        None => Feature::parse(text, GherkinEnv::default()),
    }
}

/// Nothing if the file is small, has parts above its scenarios, or a piece is no feature.
fn in_pieces(text: &str) -> Option<Feature> {
    if text.len() < LARGE {
        return None;
    }
    let begins = beginnings(text)?;
    let cuts: Vec<usize> = begins.iter().copied().step_by(SCENARIOS).skip(1).collect();
    let first = cuts.first()?;
    let mut whole = Feature::parse(&text[..*first], GherkinEnv::default()).ok()?;
    let ends = cuts.iter().skip(1).copied().chain([text.len()]);
    for (start, end) in cuts.iter().copied().zip(ends) {
        let piece = format!("{HEAD}{}", &text[start..end]);
        let mut piece = Feature::parse(&piece, GherkinEnv::default()).ok()?;
        let plain = piece.background.is_none() && piece.rules.is_empty();
        if !plain || piece.description.is_some() {
            return None;
        }
        for scenario in &mut piece.scenarios {
            moved(scenario, start);
        }
        whole.scenarios.append(&mut piece.scenarios);
    }
    (whole.scenarios.len() == begins.len()).then_some(whole)
}

/// The first scenario of a large file that is no Gherkin, or what stands before all of them:
/// a text to look into, and how many lines of the file stand before it (a head of its own
/// among them is one less).
pub(super) fn faulty(text: &str) -> Option<(String, usize)> {
    if text.len() < LARGE {
        return None;
    }
    let begins = beginnings(text)?;
    let line = |at: usize| text[..at].matches('\n').count();
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    let pieces = begins.iter().copied().zip(ends);
    let first = *begins.first()?;
    let head = text[..first].to_owned();
    if Feature::parse(&head, GherkinEnv::default()).is_err() {
        return Some((head, 0));
    }
    pieces
        .map(|(start, end)| (format!("{HEAD}{}", &text[start..end]), start))
        .find(|(piece, _)| Feature::parse(piece, GherkinEnv::default()).is_err())
        .map(|(piece, start)| (piece, line(start).saturating_sub(1)))
}

/// Where each scenario begins, with the tags and comments right above it; nothing if the
/// file is not in English or has rules.
fn beginnings(text: &str) -> Option<Vec<usize>> {
    let mut begins = Vec::new();
    let mut quoted: Option<&str> = None;
    let (mut offset, mut lead) = (0, None);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let marks = ["\"\"\"", "```"]
            .into_iter()
            .find(|marks| trimmed.starts_with(marks));
        match (quoted, marks) {
            (None, Some(marks)) => quoted = Some(marks),
            (Some(open), Some(marks)) if open == marks => quoted = None,
            (Some(_), _) => {}
            (None, None) => {
                let keyword = trimmed.split(':').next().unwrap_or_default();
                let begins_one = trimmed.contains(':')
                    && matches!(
                        keyword,
                        "Scenario" | "Example" | "Scenario Outline" | "Scenario Template"
                    );
                if keyword == "Rule" || trimmed.starts_with('#') && trimmed.contains("language") {
                    return None;
                } else if begins_one {
                    begins.push(lead.take().unwrap_or(offset));
                } else if trimmed.starts_with(['@', '#']) {
                    lead = lead.or(Some(offset));
                } else {
                    lead = None;
                }
            }
        }
        offset += line.len();
    }
    Some(begins)
}

/// A scenario of a piece, at its place in the file.
fn moved(scenario: &mut Scenario, by: usize) {
    let shift = |span: &mut Span| {
        span.start = span.start + by - HEAD.len();
        span.end = span.end + by - HEAD.len();
    };
    shift(&mut scenario.span);
    for step in &mut scenario.steps {
        shift(&mut step.span);
        step.table
            .iter_mut()
            .for_each(|table| shift(&mut table.span));
    }
    for examples in &mut scenario.examples {
        shift(&mut examples.span);
        examples
            .table
            .iter_mut()
            .for_each(|table| shift(&mut table.span));
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::{Duration, Instant};

    use super::super::feature::read;
    use super::super::problem::FeatureText;
    use super::*;

    fn large(scenarios: usize) -> String {
        let mut text = "Feature: F\n  Background:\n    Given it\n".to_owned();
        for number in 0..scenarios {
            let _ = write!(
                text,
                "\n  # one\n  @tag\n  Scenario: number {number}\n    When it runs\n      | a | {number} |\n    Then it is\n      \"\"\"\n      Scenario: none\n      \"\"\"\n"
            );
            if number % 7 == 0 {
                text += "\n  Scenario Outline: ö <n>\n    When <n> runs\n    Examples:\n      | n |\n      | 1 |\n";
            }
        }
        text
    }

    #[test]
    fn a_file_in_pieces_reads_as_the_whole() {
        let text = large(700);
        let pieces = in_pieces(&text).unwrap();
        let whole = Feature::parse(&text, GherkinEnv::default()).unwrap();
        assert_eq!(pieces.scenarios.len(), whole.scenarios.len());
        for (piece, whole) in pieces.scenarios.iter().zip(&whole.scenarios) {
            assert_eq!(
                (&piece.name, &piece.tags, piece.span.start),
                (&whole.name, &whole.tags, whole.span.start)
            );
            let spans = |scenario: &Scenario| -> Vec<_> {
                let steps = scenario.steps.iter();
                steps
                    .map(|step| (step.span, step.table.as_ref().map(|table| table.span)))
                    .collect()
            };
            assert_eq!(spans(piece), spans(whole));
        }
        let outline = large(1).replace("Scenario Outline", "Rule: R\n  Scenario Outline");
        assert!(in_pieces(&outline.repeat(400)).is_none());
        assert!(in_pieces(&large(700).replacen("Then", "Thn", 1)).is_none());
    }

    #[test]
    fn the_fault_of_a_large_file_is_found_at_once() {
        for (keyword, nth) in [("    When it runs", 3), ("    When it runs", 698)] {
            let text = large(700);
            let at = text.match_indices(keyword).nth(nth).unwrap().0;
            let broken = format!(
                "{}    Whan it runs{}",
                &text[..at],
                &text[at + keyword.len()..]
            );
            let text = FeatureText::new("a.feature", &broken);
            let problems = read(&text).unwrap_err();
            let line = broken[..at].matches('\n').count() + 1;
            assert_eq!(problems[0].place(), format!("a.feature:{line}"));
        }
    }

    #[test]
    fn reading_takes_time_by_the_length_of_the_file() {
        let took = |scenarios: usize| {
            let text = FeatureText::new("a.feature", &large(scenarios));
            let reads = (0..3).map(|_| {
                let begun = Instant::now();
                read(&text).unwrap();
                begun.elapsed()
            });
            reads.min().unwrap_or(Duration::MAX)
        };
        let (small, large) = (took(500), took(4000));
        // By the square it would be 64 times as long.
        assert!(large < small * 24, "{small:?} and {large:?}");
    }
}
