//! A sentence as the phrases would write it: figures for number words, short durations, no
//! fillers.

use std::sync::LazyLock;

use regex::{Captures, Regex};

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

fn regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("it is compiled in each test of sentences")
}

/// What is said otherwise than phrases say it, in the order in which it is replaced.
static OTHERWISE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\s+", " "),
        (r"[.!;]+$", ""),
        (
            r"^(?:(?:then|and|now|finally|afterwards|eventually|later|after that|also|please),? )+",
            "",
        ),
        (r"^(?:i|we|you|one can|somebody|someone) ", ""),
        (
            r"\b(?:should|must|shall|has to|have to) not (?:be|have been)\b",
            "is not",
        ),
        (
            r"\b(?:should|must|shall|will|has to|have to) (?:still |only )?(?:be|have been)\b",
            "is",
        ),
        (
            r"\b(?:isn't|aren't|wasn't|has not been|have not been|was not|were not|are not)\b",
            "is not",
        ),
        (r"\b(?:doesn't|didn't|did not|do not|don't)\b", "does not"),
        (r"\b(?:can't|can not)\b", "cannot"),
        (r"\b(?:the )?messages? (M\d)", "$1"),
        (r"\bjobs? (M\d)", "$1"),
        (r"\b(?:exactly |only |just )?once\b", "1 time"),
        (r"\btwice\b", "2 times"),
        (r"\bthrice\b", "3 times"),
        (r"\bexactly (\d)", "$1"),
        (r"\bhalf a minute\b", "30s"),
        (r"\ba (second|minute|hour)\b", "1 $1"),
    ]
    .map(|(pattern, plain)| (regex(pattern), plain))
    .into()
});

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(\d+(?:\.\d+)?)[ -]?(milliseconds?|msecs?|ms|seconds?|secs?|sec|minutes?|mins?|min|hours?)\b",
    )
});

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"\b(?:{})\b", NUMBERS.join("|"))));

pub(super) fn normal(sentence: &str) -> String {
    // What stands in quotes stays as it is.
    let parts = sentence.split('"').enumerate();
    let parts: Vec<String> = parts
        .map(|(position, part)| {
            if position % 2 == 0 {
                plain(part)
            } else {
                part.to_owned()
            }
        })
        .collect();
    parts.join("\"").trim().to_owned()
}

fn plain(part: &str) -> String {
    let number = |found: &Captures<'_>| {
        let word = found[0].to_lowercase();
        let number = NUMBERS.iter().position(|number| *number == word);
        number.map_or_else(|| found[0].to_owned(), |number| number.to_string())
    };
    let part = NUMBER.replace_all(part, number).into_owned();
    let part = OTHERWISE.iter().fold(part, |part, (pattern, plain)| {
        pattern.replace_all(&part, *plain).into_owned()
    });
    let time = |found: &Captures<'_>| {
        let unit = match found[2].to_lowercase().as_str() {
            unit if unit.starts_with("ms") || unit.starts_with("milli") => "ms",
            unit if unit.starts_with('s') => "s",
            unit if unit.starts_with('m') => "m",
            _ => "h",
        };
        format!("{}{unit}", &found[1])
    };
    TIME.replace_all(&part, time).into_owned()
}
