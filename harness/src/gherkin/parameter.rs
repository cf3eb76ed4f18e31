//! The values that phrases can take: `{int}`, `{duration}`, `{signal}`, `{messages}`,
//! and names that the manifest gives, such as `{stage}`.
//!
//! Every parameter has a strict pattern. Those with a form of their own also have a
//! lenient one, that only serves to tell a wrong value from an unknown phrase.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::fault::{Times, Whose};
use crate::ids::{MessageName, RoleName};

/// The names that phrases may use, by kind of parameter: `stage` → the manifest's
/// stages. Any kind can be added; `process` is the one that also takes an instance
/// (`worker-2`).
#[derive(Clone, Debug, Default)]
pub struct Names {
    kinds: BTreeMap<String, Vec<String>>,
    /// What some of them mean, by kind and name.
    docs: BTreeMap<(String, String), String>,
}

impl Names {
    /// No kinds at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind with the names it may take. A phrase writes it as `{kind}`.
    #[must_use]
    pub fn with<N: ToString>(
        mut self,
        kind: impl Into<String>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        let names = names.into_iter().map(|name| name.to_string());
        self.kinds.entry(kind.into()).or_default().extend(names);
        self
    }

    /// Says what a name means.
    #[must_use]
    pub fn meaning(mut self, kind: &str, name: &str, doc: &str) -> Self {
        let key = (kind.to_owned(), name.to_owned());
        self.docs.insert(key, doc.to_owned());
        self
    }

    /// What a name means, if that was said.
    pub fn doc(&self, kind: &str, name: &str) -> Option<&str> {
        let key = (kind.to_owned(), name.to_owned());
        self.docs.get(&key).map(String::as_str)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.kinds
            .iter()
            .map(|(kind, names)| (kind.as_str(), names.as_slice()))
    }

    /// The names of one kind.
    pub fn of(&self, kind: &str) -> Option<&[String]> {
        self.kinds.get(kind).map(Vec::as_slice)
    }
}

/// A process as a phrase names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRef {
    /// Its role.
    pub role: RoleName,
    /// Which instance, from 1, if one was named.
    pub instance: Option<u32>,
}

/// A value that stood in a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `{int}`
    Int(i64),
    /// `{float}`
    Float(f64),
    /// `{word}`, `{figure}`, `{string}` and `{call}` (without their quotes)
    Text(String),
    /// `{duration}`
    Duration(Duration),
    /// `{signal}`
    Signal(Signal),
    /// `{message}` and `{messages}`
    Messages(Vec<MessageName>),
    /// `{whose}`
    Whose(Whose),
    /// `{times}`
    Times {
        /// How often.
        times: Times,
        /// Whether it need not come to it: `once, if it gets there`.
        may: bool,
    },
    /// `{process}`
    Process(ProcessRef),
    /// A name of any other kind.
    Name(String),
}

/// Why a text is not a value of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotAValue {
    /// It should be one of these names.
    Unknown {
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// It should look like this.
    Form(&'static str),
}

/// A kind of parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Int,
    Float,
    Word,
    String,
    Duration,
    Signal,
    Message,
    Messages,
    Whose,
    Times,
    Figure,
    Call,
    Name { kind: String, known: Vec<String> },
}

const ANYTHING: &str = ".+?";
const NOTHING: &str = r"[^\s\S]";
const MESSAGE: &str = r"M\d+";
const MESSAGES: &str = r"M\d+(?: to M\d+)?(?:, M\d+(?: to M\d+)?)*(?: and M\d+(?: to M\d+)?)?";
const TIMES: &str =
    r"(?:every time|once|the first time|the first \d+ times|on time \d+)(?:, if it gets there)?";
/// Stands after a number of times where it need not come to it.
const MAY: &str = ", if it gets there";
const FIGURE: &str = r"(?:at least \d+|at most \d+|\d+ to \d+|\d+)";
const CALL: &str = r#"(?:"[^"]*"|'[^']*'|[A-Z][A-Za-z]+(?: of [A-Za-z0-9_-]+)?)"#;
const DURATION: &str = r"\d+(?:\.\d+)? ?(?:ms|milliseconds?|s|seconds?|m|minutes?|h|hours?)";

impl Parameter {
    pub(super) fn of(kind: &str, names: &Names) -> Option<Self> {
        Some(match kind {
            "int" => Self::Int,
            "float" => Self::Float,
            "word" => Self::Word,
            "string" => Self::String,
            "duration" => Self::Duration,
            "signal" => Self::Signal,
            "message" => Self::Message,
            "messages" => Self::Messages,
            "whose" => Self::Whose,
            "times" => Self::Times,
            "figure" => Self::Figure,
            "call" => Self::Call,
            _ => Self::Name {
                kind: kind.to_owned(),
                known: names.of(kind)?.to_vec(),
            },
        })
    }

    /// How it is called in a report.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Int => "whole number",
            Self::Float => "number",
            Self::Word => "word",
            Self::String => "quoted text",
            Self::Duration => "duration",
            Self::Signal => "signal",
            Self::Message => "message",
            Self::Messages => "list of messages",
            Self::Whose => "messages that a fault waits for",
            Self::Times => "number of times",
            Self::Figure => "figure",
            Self::Call => "call",
            Self::Name { kind, .. } => kind,
        }
    }

    /// The pattern of its values. It has no capturing group.
    pub(super) fn strict(&self) -> String {
        match self {
            Self::Int => r"-?\d+".to_owned(),
            Self::Float => r"-?\d+(?:\.\d+)?".to_owned(),
            Self::Word => r#"(?:"[^"]*"|'[^']*'|\S+)"#.to_owned(),
            Self::String => r#""[^"]*"|'[^']*'"#.to_owned(),
            Self::Duration => DURATION.to_owned(),
            Self::Signal => alternatives(Signal::iterator().map(Signal::as_str)),
            Self::Message => MESSAGE.to_owned(),
            Self::Messages => MESSAGES.to_owned(),
            Self::Whose => format!("(?:{MESSAGES}|any message|each message)"),
            Self::Times => TIMES.to_owned(),
            Self::Figure => FIGURE.to_owned(),
            Self::Call => CALL.to_owned(),
            Self::Name { kind, known } => {
                let mut pattern = alternatives(known.iter().map(String::as_str));
                if kind == "process" {
                    let _ = write!(pattern, r"(?:-\d+)?");
                }
                pattern
            }
        }
    }

    /// A pattern that also takes values that are wrong.
    pub(super) fn lenient(&self) -> String {
        match self {
            Self::Int | Self::Float | Self::Word | Self::String => self.strict(),
            Self::Duration
            | Self::Signal
            | Self::Message
            | Self::Messages
            | Self::Whose
            | Self::Times
            | Self::Figure
            | Self::Call
            | Self::Name { .. } => ANYTHING.to_owned(),
        }
    }

    /// Reads a value.
    pub(super) fn read(&self, text: &str) -> Result<Value, NotAValue> {
        match self {
            Self::Int => text
                .parse()
                .ok()
                .filter(|number| *number >= 0)
                .map(Value::Int)
                .ok_or(NotAValue::Form("a whole number from 0 that fits in 64 bits")),
            Self::Float => text
                .parse()
                .map(Value::Float)
                .map_err(|_| NotAValue::Form("a number: 0.5")),
            Self::Word => Ok(Value::Text(unquoted(text).to_owned())),
            Self::String => Ok(Value::Text(text[1..text.len() - 1].to_owned())),
            Self::Duration => read_duration(text)
                .map(Value::Duration)
                .ok_or(NotAValue::Form("a duration: `2s`, `150 ms` or `2 seconds`")),
            Self::Signal => text.parse().map(Value::Signal).map_err(|_| {
                unknown(
                    text,
                    Signal::iterator().map(|signal| signal.as_str().to_owned()),
                )
            }),
            Self::Message => match read_messages(text) {
                Some(messages) if messages.len() == 1 => Ok(Value::Messages(messages)),
                _ => Err(NotAValue::Form("a message: `M3`")),
            },
            Self::Messages => read_messages(text)
                .map(Value::Messages)
                .ok_or(NotAValue::Form(
                    "messages: `M1`, `M1 to M5` or `M1, M2 and M4`, each once and at most 10000 in a row",
                )),
            Self::Whose => match text {
                "any message" => Some(Whose::Any),
                "each message" => Some(Whose::Each),
                _ => read_messages(text).map(Whose::These),
            }
            .map(Value::Whose)
            .ok_or(NotAValue::Form(
                "`M3`, `M1 to M5`, `any message` or `each message`",
            )),
            Self::Times => {
                let (times, may) = match text.strip_suffix(MAY) {
                    Some(times) => (times, true),
                    None => (text, false),
                };
                read_times(times)
                    .map(|times| Value::Times { times, may })
                    .ok_or(NotAValue::Form(
                        "`every time`, `once`, `the first 2 times` or `on time 2`, each also with `, if it gets there`",
                    ))
            }
            Self::Figure => is_figure(text)
                .then(|| Value::Text(text.to_owned()))
                .ok_or(NotAValue::Form(
                    "`4`, `2 to 4` (the smaller first), `at most 4` or `at least 2`",
                )),
            Self::Call => regex_is(CALL, text)
                .then(|| Value::Text(text.trim_matches(['"', '\'']).to_owned()))
                .ok_or(NotAValue::Form(
                    "`ReceiveMessage`, `SendMessage of jobs`, `\"POST /charges\"` or `\"update parcels\"`",
                )),
            Self::Name { kind, known } if kind == "process" => read_process(text, known)
                .map(Value::Process)
                .ok_or_else(|| unknown(text, known.iter().cloned())),
            Self::Name { known, .. } => {
                if known.iter().any(|name| name == text) {
                    Ok(Value::Name(text.to_owned()))
                } else {
                    Err(unknown(text, known.iter().cloned()))
                }
            }
        }
    }
}

/// A word may stand in quotes, and then be empty or have blanks.
fn unquoted(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

/// A number of 64 bits, or a range of such.
fn is_figure(text: &str) -> bool {
    let numbers: Vec<i64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let fits = text.contains(" to ") == (numbers.len() == 2) && !numbers.is_empty();
    regex_is(FIGURE, text) && fits && numbers.is_sorted()
}

fn regex_is(pattern: &str, text: &str) -> bool {
    regex::Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|regex| regex.is_match(text))
}

fn alternatives<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(regex::escape).collect();
    if names.is_empty() {
        NOTHING.to_owned()
    } else {
        format!("(?:{})", names.join("|"))
    }
}

fn unknown(text: &str, known: impl Iterator<Item = String>) -> NotAValue {
    let known: Vec<String> = known.collect();
    NotAValue::Unknown {
        nearest: nearest(text, &known).map(str::to_owned),
        known,
    }
}

/// The candidate that reads most like the text, if any is near.
pub(super) fn nearest<'a, S: AsRef<str>>(text: &str, candidates: &'a [S]) -> Option<&'a str> {
    candidates
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&name.as_ref().to_lowercase(), &text.to_lowercase()),
                name.as_ref(),
            )
        })
        .filter(|(likeness, _)| *likeness >= 0.7)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// Reads `2s`, `150 ms`, `2 seconds`.
pub fn read_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = (text[..unit].parse::<f64>().ok()?, text[unit..].trim());
    let seconds = match unit {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "second" | "seconds" => 1.0,
        "m" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * seconds).ok()
}

fn read_process(text: &str, known: &[String]) -> Option<ProcessRef> {
    if known.iter().any(|name| name == text) {
        return Some(ProcessRef {
            role: RoleName::new(text),
            instance: None,
        });
    }
    let (role, instance) = text.rsplit_once('-')?;
    let instance = instance.parse().ok().filter(|instance| *instance > 0)?;
    known.iter().any(|name| name == role).then(|| ProcessRef {
        role: RoleName::new(role),
        instance: Some(instance),
    })
}

/// How many messages one range may name.
const MOST_MESSAGES: u32 = 10_000;

/// Reads `M1`, `M1 to M5`, `M1, M2 and M4`. Each message stands in the list once.
pub fn read_messages(text: &str) -> Option<Vec<MessageName>> {
    let (mut messages, mut known) = (Vec::new(), BTreeSet::new());
    for item in text.split(", ").flat_map(|part| part.split(" and ")) {
        let (first, last) = match item.split_once(" to ") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(item)?, number(item)?),
        };
        if first > last || last - first >= MOST_MESSAGES {
            return None;
        }
        for number in first..=last {
            let message = MessageName::new(format!("M{number}"));
            if !known.insert(number) {
                return None;
            }
            messages.push(message);
        }
    }
    Some(messages)
}

/// Reads `every time`, `once`, `the first time`, `the first 2 times`, `on time 2`.
fn read_times(text: &str) -> Option<Times> {
    let count = |text: &str| text.parse::<u32>().ok().filter(|count| *count > 0);
    match text {
        "every time" => Some(Times::Every),
        "once" | "the first time" => Some(Times::First(1)),
        _ => {
            if let Some(number) = text.strip_prefix("on time ") {
                return count(number).map(Times::Nth);
            }
            let first = text.strip_prefix("the first ")?.strip_suffix(" times")?;
            count(first).map(Times::First)
        }
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('M')?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        Some(
            read_messages(text)?
                .iter()
                .map(ToString::to_string)
                .collect(),
        )
    }

    #[test]
    fn a_word_in_quotes_is_the_word() {
        for (written, meant) in [
            ("broken", "broken"),
            ("\"broken\"", "broken"),
            ("''", ""),
            ("\"", "\""),
        ] {
            let Ok(Value::Text(read)) = Parameter::Word.read(written) else {
                panic!("{written}")
            };
            assert_eq!(read, meant);
        }
    }

    #[test]
    fn messages_are_listed_as_people_write_them() {
        assert_eq!(names("M3").unwrap(), ["M3"]);
        assert_eq!(names("M1 to M3").unwrap(), ["M1", "M2", "M3"]);
        assert_eq!(names("M1, M2 and M4").unwrap(), ["M1", "M2", "M4"]);
        assert_eq!(names("M1 and M4 to M5").unwrap(), ["M1", "M4", "M5"]);
        assert_eq!(names("M3 to M1"), None);
        assert_eq!(names("M1 and M1"), None);
        assert_eq!(names("X1"), None);
    }

    #[test]
    fn times_are_read_as_people_say_them() {
        assert_eq!(read_times("every time"), Some(Times::Every));
        assert_eq!(read_times("once"), Some(Times::First(1)));
        assert_eq!(read_times("the first 3 times"), Some(Times::First(3)));
        assert_eq!(read_times("on time 2"), Some(Times::Nth(2)));
        assert_eq!(read_times("on time 0"), None);
    }

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!(read_duration("2s"), Some(Duration::from_secs(2)));
        assert_eq!(read_duration("150 ms"), Some(Duration::from_millis(150)));
        assert_eq!(read_duration("2 seconds"), Some(Duration::from_secs(2)));
        assert_eq!(read_duration("0.5 s"), Some(Duration::from_millis(500)));
        assert_eq!(read_duration("2"), None);
        assert_eq!(read_duration("2 parsecs"), None);
    }

    #[test]
    fn a_process_may_name_its_instance() {
        let known = ["worker".to_owned(), "dead-letter-reader".to_owned()];
        let reference =
            |text| read_process(text, &known).map(|one| (one.role.to_string(), one.instance));
        assert_eq!(reference("worker"), Some(("worker".to_owned(), None)));
        assert_eq!(reference("worker-2"), Some(("worker".to_owned(), Some(2))));
        assert_eq!(
            reference("dead-letter-reader"),
            Some(("dead-letter-reader".to_owned(), None))
        );
        assert_eq!(reference("waiter-2"), None);
    }

    #[test]
    fn a_wrong_name_is_told_with_its_nearest() {
        let names = Names::new().with("stage", ["processing", "received"]);
        let stage = Parameter::of("stage", &names).unwrap();
        assert_eq!(
            stage.read("received"),
            Ok(Value::Name("received".to_owned()))
        );
        let NotAValue::Unknown { nearest, .. } = stage.read("procesing").unwrap_err() else {
            panic!("a name is unknown, not malformed");
        };
        assert_eq!(nearest.as_deref(), Some("processing"));
        assert!(Parameter::of("settings", &names).is_none());
    }

    #[test]
    fn signals_are_written_with_their_prefix() {
        let signal = Parameter::Signal;
        assert_eq!(signal.read("SIGKILL"), Ok(Value::Signal(Signal::SIGKILL)));
        let NotAValue::Unknown { nearest, .. } = signal.read("SIGKIL").unwrap_err() else {
            panic!("a signal is unknown, not malformed");
        };
        assert_eq!(nearest.as_deref(), Some("SIGKILL"));
    }
}
