//! Lines that should have begun something and are misspelt: headings that count as
//! description, and what a line that is no Gherkin was probably meant as.

use super::problem::FeatureText;

/// What begins a part of a file, in English.
const HEADINGS: [&str; 8] = [
    "Feature",
    "Background",
    "Scenario",
    "Scenario Outline",
    "Scenario Template",
    "Scenarios",
    "Example",
    "Examples",
];

const STEPS: [&str; 5] = ["Given", "When", "Then", "And", "But"];

/// The heading that a line was probably meant as, if it is none as it stands.
fn meant(line: &str) -> Option<&'static str> {
    let line = line.trim();
    let head = match line.split_once(':') {
        Some((head, _)) => head.trim_end(),
        // A heading whose colon was forgotten.
        None => HEADINGS
            .into_iter()
            .filter(|heading| {
                let rest = line.strip_prefix(heading);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
            .max_by_key(|heading| heading.len())?,
    };
    if line.contains(':') && (HEADINGS.contains(&head) || head == "Rule") {
        return None;
    }
    let distance = |heading: &&str| {
        let heading = heading.to_lowercase();
        strsim::damerau_levenshtein(&heading, &head.to_lowercase())
    };
    let nearest = HEADINGS.into_iter().min_by_key(distance)?;
    (distance(&nearest) <= 2).then_some(nearest)
}

/// Headings that the parser took as description, with their lines: what comes next is a
/// step or a row, as below a heading and not below prose.
pub(super) fn misspelt(text: &FeatureText) -> Vec<(usize, &'static str)> {
    let english = |line: &str| {
        let language = line.trim_start().strip_prefix('#').map(str::trim_start);
        let language = language.and_then(|rest| rest.strip_prefix("language"));
        language.is_none_or(|rest| rest.trim_start_matches([':', ' ']).trim().starts_with("en"))
    };
    let mut found = Vec::new();
    let mut quoted: Option<&str> = None;
    let mut before: Option<(usize, &'static str)> = None;
    for (number, line) in (1..).zip(text.lines_from(1)) {
        let line = line.trim();
        if !english(line) {
            return Vec::new();
        }
        if let Some(fence) = quoted {
            quoted = Some(fence).filter(|fence| !line.starts_with(fence));
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fences = ["\"\"\"", "```"].into_iter();
        quoted = fences.into_iter().find(|fence| line.starts_with(fence));
        let word = line.split_whitespace().next().unwrap_or_default();
        let begins = STEPS.contains(&word) || line.starts_with(['|', '*']);
        if let Some(heading) = before.take().filter(|_| begins) {
            found.push(heading);
        }
        if !begins && quoted.is_none() {
            before = meant(line).map(|heading| (number, heading));
        }
    }
    found
}

/// How to mend a line that is no Gherkin where it stands.
pub(super) fn mending(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with('|') && !line.ends_with('|') {
        return Some("end each row of a table with `|`".to_owned());
    }
    if line.starts_with('|') {
        return Some("a table stands below a step, or below `Examples:`".to_owned());
    }
    if let Some(fence) = ["\"\"\"", "```"].iter().find(|it| line.starts_with(**it)) {
        return Some(format!(
            "the text that begins here is never closed: write `{fence}` on a line below it"
        ));
    }
    if line.starts_with("Feature:") {
        return Some("a file holds one feature: put this one into a file of its own".to_owned());
    }
    if let Some(heading) = meant(line) {
        return Some(format!("did you mean `{heading}: …`?"));
    }
    let word = line.split_whitespace().next()?;
    if STEPS.contains(&word) {
        return Some("steps stand below a `Scenario:` or a `Background:`".to_owned());
    }
    let distance = |step: &&str| {
        let (step, word) = (step.to_lowercase(), word.to_lowercase());
        strsim::damerau_levenshtein(&step, word.trim_end_matches(':'))
    };
    let step = STEPS.into_iter().min_by_key(distance)?;
    let slips = 1 + usize::from(step.len() > 4);
    (distance(&step) <= slips).then_some(())?;
    Some(format!("did you mean `{step} …`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(text: &str) -> Vec<(usize, &'static str)> {
        misspelt(&FeatureText::new("a.feature", text))
    }

    #[test]
    fn a_misspelt_heading_is_no_description() {
        let text = "Feature: F\n  Scenaro: S\n    Given it\n\n  Scenario outlin: S\n\n    # so\n    Given <it>\n    Exampels:\n      | it |\n  Scenario T\n    When it\n  scenario: U\n    * it\n";
        assert_eq!(
            headings(text),
            [
                (2, "Scenario"),
                (5, "Scenario Outline"),
                (9, "Examples"),
                (11, "Scenario"),
                (13, "Scenario")
            ]
        );
    }

    #[test]
    fn prose_and_texts_and_other_languages_are_left_alone() {
        let prose = "Feature: F\n  Scenarios that matter: all\n  Scenario planning is hard.\n  Sample: one\n\n  Rule: R\n  Scenario: S\n    Given it\n      \"\"\"\n      Scenaro: S\n      Given it\n      \"\"\"\n";
        assert_eq!(headings(prose), []);
        let german = "# language: de\nFunktionalität: F\n  Szenario: S\n    * it\n";
        assert_eq!(headings(german), []);
    }

    #[test]
    fn a_line_that_is_no_gherkin_says_how_it_is_mended() {
        for (line, told) in [
            ("  | a | 3 ", "end each row of a table with `|`"),
            ("\"\"\"", "write `\"\"\"` on a line below it"),
            ("Feature: G", "a file of its own"),
            ("Scenaro: S", "did you mean `Scenario: …`?"),
            ("Scenario S", "did you mean `Scenario: …`?"),
            ("Whn it", "did you mean `When …`?"),
            ("given: it", "did you mean `Given …`?"),
            ("Then it", "steps stand below"),
        ] {
            let mending = mending(line).unwrap_or_default();
            assert!(mending.contains(told), "{line}: {mending}");
        }
        assert_eq!(mending("it runs"), None);
    }
}
