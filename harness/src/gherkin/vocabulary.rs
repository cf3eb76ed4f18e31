//! All phrases of a deployment, as values: listed, checked at start, and matched.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

use cucumber_expressions::{Expression, SingleExpression};
use regex::{Regex, RegexSet, RegexSetBuilder};

use super::arguments::Arguments;
use super::nearness;
use super::parameter::{Names, NotAValue, Parameter, Value};
use super::plain::{Meant, PlainSentences};
use super::scenario::{Scenario, StepText};
use super::step::{Deed, Objection, Step, StepKind};

/// A complaint about a whole scenario: where, what is wrong, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Which of the scenario's steps, from 0; none: the scenario itself.
    pub step: Option<usize>,
    /// Which row of its table, from 0, if one is meant.
    pub row: Option<usize>,
    /// Which line of the file, from 1, where it is no step's.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
}

type Check = Box<dyn Fn(&Scenario, &[(&str, &Arguments)]) -> Vec<Complaint> + Send + Sync>;

/// The phrases that features may use.
pub struct Vocabulary<W> {
    names: Names,
    steps: Vec<Step<W>>,
    checks: Vec<Check>,
    plain: Option<Box<dyn PlainSentences>>,
}

impl<W> Vocabulary<W> {
    /// No phrases yet. The names are those that `{stage}` and its like may take.
    pub fn new(names: Names) -> Self {
        Self {
            names,
            steps: Vec::new(),
            checks: Vec::new(),
            plain: None,
        }
    }

    /// Adds a pack of phrases.
    #[must_use]
    pub fn with(mut self, pack: impl IntoIterator<Item = Step<W>>) -> Self {
        self.steps.extend(pack);
        self
    }

    /// Adds a check of whole scenarios that runs before anything is started. It gets
    /// each step's phrase and values.
    #[must_use]
    pub fn checked_by(
        mut self,
        check: impl Fn(&Scenario, &[(&str, &Arguments)]) -> Vec<Complaint> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Box::new(check));
        self
    }

    /// Says who knows what sentences mean that are no phrase.
    #[must_use]
    pub fn explained_by(mut self, plain: impl PlainSentences + 'static) -> Self {
        self.plain = Some(Box::new(plain));
        self
    }

    /// Makes the vocabulary ready to match.
    ///
    /// # Errors
    /// All phrases that cannot be read, stand there twice, or lack a fitting example.
    pub fn compile(self) -> Result<Compiled<W>, VocabularyErrors> {
        let mut errors = Vec::new();
        let mut phrases = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            for expression in std::iter::once(&step.expression).chain(&step.aliases) {
                match Phrase::compile(index, expression, &self.names) {
                    Ok(phrase) => phrases.push(phrase),
                    Err(reason) => errors.push(VocabularyError::Unreadable {
                        expression: expression.clone(),
                        location: step.location,
                        reason,
                    }),
                }
            }
        }
        let patterns = phrases.iter().map(|phrase| phrase.strict.as_str());
        let compiled = Compiled {
            names: self.names,
            steps: self.steps,
            matching: RegexSetBuilder::new(patterns)
                .size_limit(SET)
                .dfa_size_limit(DFA)
                .build()
                .expect("each pattern was compiled alone"),
            phrases,
            checks: self.checks,
            plain: self.plain,
        };
        compiled.find_duplicates(&mut errors);
        compiled.check_examples(&mut errors);
        if errors.is_empty() {
            Ok(compiled)
        } else {
            Err(VocabularyErrors(errors))
        }
    }
}

/// A phrase that is so much like a sentence is meant rather than one of values alone.
const MEANT: f64 = 0.5;

/// How large all phrases together may become: some hundred with the names of a manifest.
const SET: usize = 1 << 30;

/// How much of it is kept ready while it matches.
const DFA: usize = 1 << 26;

/// A vocabulary that was checked and can match.
pub struct Compiled<W> {
    names: Names,
    steps: Vec<Step<W>>,
    phrases: Vec<Phrase>,
    /// All phrases at once: a large feature asks them for each step.
    matching: RegexSet,
    checks: Vec<Check>,
    plain: Option<Box<dyn PlainSentences>>,
}

/// What a step of a feature turned out to be.
pub(super) enum Found {
    /// One phrase of the vocabulary, with its values.
    One { step: usize, arguments: Arguments },
    /// None. The phrases that are near, the nearest first.
    None {
        nearest: Vec<String>,
        meant: Option<Meant>,
    },
    /// A phrase, but of another kind.
    OtherKind { step: usize },
    /// Several.
    Several { steps: Vec<usize> },
    /// A phrase with a value that is none.
    WrongValue {
        kind: String,
        text: String,
        reason: NotAValue,
        within: std::ops::Range<usize>,
    },
}

impl Found {
    /// Whether what stands for a process, a dependency or messages has too many words for one.
    fn is_half_a_sentence(&self) -> bool {
        let Self::WrongValue { kind, text, .. } = self else {
            return false;
        };
        let named_in_a_word = ["process", "dependency", "message", "messages"];
        let lists = |word: &str| word.starts_with('M') || word == "and" || word == "to";
        named_in_a_word.contains(&kind.as_str())
            && text.split_whitespace().filter(|word| !lists(word)).count() > 2
    }

    /// Whether a name in it is nearly one.
    fn is_misspelt(&self) -> bool {
        let Self::WrongValue { reason, .. } = self else {
            return false;
        };
        matches!(
            reason,
            NotAValue::Unknown {
                nearest: Some(_),
                ..
            }
        )
    }
}

impl<W> Compiled<W> {
    /// The phrases, in the order in which they were added.
    pub fn steps(&self) -> &[Step<W>] {
        &self.steps
    }

    /// The names that phrases may take, by kind.
    pub fn names(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.names.all()
    }

    /// Each kind of parameter that the phrases use, with the pattern of its values.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let mut parameters = BTreeMap::new();
        for phrase in &self.phrases {
            for (kind, parameter) in phrase.kinds.iter().zip(&phrase.parameters) {
                parameters.insert(kind.clone(), parameter.strict());
            }
        }
        parameters
    }

    /// What a name means, if that was said.
    pub fn doc_of(&self, kind: &str, name: &str) -> Option<&str> {
        self.names.doc(kind, name)
    }

    /// Runs the checks of whole scenarios.
    pub(super) fn complaints(
        &self,
        scenario: &Scenario,
        steps: &[(&str, &Arguments)],
    ) -> Vec<Complaint> {
        self.checks
            .iter()
            .flat_map(|check| check(scenario, steps))
            .collect()
    }

    /// Runs the check of one step, and looks at what stands below it.
    pub(super) fn objections(
        &self,
        step: usize,
        arguments: &Arguments,
        text: &StepText,
    ) -> Vec<Objection> {
        let step = &self.steps[step];
        let (table, doc_string) = (text.table.as_ref(), text.doc_string.as_ref());
        let stray = step.takes.objection(table.is_some(), doc_string.is_some());
        let check = step.check.as_ref();
        let objections = check.map_or_else(Vec::new, |check| check(arguments, table));
        stray.into_iter().chain(objections).collect()
    }

    pub(super) fn find(&self, kind: StepKind, text: &str) -> Found {
        let matching: Vec<&Phrase> = self
            .matching
            .matches(text)
            .into_iter()
            .map(|position| &self.phrases[position])
            .collect();
        let fitting: Vec<&Phrase> = matching
            .iter()
            .copied()
            .filter(|phrase| self.steps[phrase.step].may_be(kind))
            .collect();
        match fitting.as_slice() {
            [phrase] => return phrase.values(text, &phrase.strict).into_found(phrase.step),
            [] => {}
            [first, others @ ..] if others.iter().all(|other| other.step == first.step) => {
                return first.values(text, &first.strict).into_found(first.step);
            }
            several => {
                return Found::Several {
                    steps: several.iter().map(|phrase| phrase.step).collect(),
                };
            }
        }
        if let [phrase, ..] = matching.as_slice() {
            return Found::OtherKind { step: phrase.step };
        }
        self.no_phrase(kind, text)
    }

    /// What is to be told of a sentence that is no phrase: a value of it that is wrong, what
    /// it means, or what is near.
    fn no_phrase(&self, kind: StepKind, text: &str) -> Found {
        let near = || nearness::nearest(&self.steps, &self.names, (kind, text));
        let meant = self.meant(kind, text);
        let Some((phrase, wrong)) = self.nearly(kind, text) else {
            return Self::none(meant, near);
        };
        // A phrase of values alone takes any sentence that has its form.
        let takes_all = nearness::is_catch_all(&phrase.expression);
        let own = self.steps[phrase.step].expression.as_str();
        let is_likelier = |(likeness, phrase): &(f64, &str)| *likeness >= MEANT && *phrase != own;
        match meant {
            // The phrase is the right one, and a name in it is not.
            Some(meant) if !takes_all && wrong.is_misspelt() && meant.is_open() => wrong,
            Some(meant)
                if !takes_all
                    && meant.is_open()
                    && meant.say.iter().any(|say| phrase.lenient.is_match(say)) =>
            {
                wrong
            }
            Some(meant) => Self::none(Some(meant), near),
            // What is no name at all swallowed half of a sentence of another form.
            None if wrong.is_half_a_sentence() => Self::none(None, near),
            None if takes_all && near().first().is_some_and(is_likelier) => Self::none(None, near),
            None => wrong,
        }
    }

    fn none<'v>(meant: Option<Meant>, near: impl Fn() -> Vec<(f64, &'v str)>) -> Found {
        let nearest = match &meant {
            Some(_) => Vec::new(),
            None => near()
                .into_iter()
                .map(|(_, phrase)| phrase.to_owned())
                .collect(),
        };
        Found::None { nearest, meant }
    }

    /// What a sentence means that is no phrase.
    fn meant(&self, kind: StepKind, text: &str) -> Option<Meant> {
        let plain = self.plain.as_ref()?;
        let normal = plain.normal(text);
        let is_phrase = normal != text
            && self.matching.matches(&normal).into_iter().any(|position| {
                let phrase = &self.phrases[position];
                self.steps[phrase.step].may_be(kind)
                    && matches!(phrase.values(&normal, &phrase.strict), Values::Right(_))
            });
        if is_phrase {
            return Some(Meant::step(normal));
        }
        plain.meant(kind, &normal)
    }

    /// What a step does to the deployment, and to which process or dependency.
    pub fn deed(&self, step: &StepText) -> (Deed, Option<String>) {
        let Found::One {
            step: index,
            arguments,
        } = self.find(step.kind, &step.text)
        else {
            return (Deed::Plain, None);
        };
        let mut values = arguments.values().iter();
        let whom = values.find_map(|value| match value {
            Value::Process(process) => Some(process.role.to_string()),
            Value::Name(name) => Some(name.clone()),
            _ => None,
        });
        (self.steps[index].deed, whom)
    }

    /// The names of the manifest that a step holds, each with its kind.
    pub fn names_in(&self, step: &StepText) -> Vec<(&str, &str)> {
        let Found::One { step: index, .. } = self.find(step.kind, &step.text) else {
            return Vec::new();
        };
        let mut phrases = self.phrases.iter().filter(|phrase| phrase.step == index);
        let read = phrases.find_map(|phrase| match phrase.values(&step.text, &phrase.strict) {
            Values::Right(arguments) => Some((phrase, arguments)),
            _ => None,
        });
        let Some((phrase, arguments)) = read else {
            return Vec::new();
        };
        let values = phrase.parameters.iter().zip(arguments.values());
        values
            .filter_map(|(parameter, value)| match (parameter, value) {
                (Parameter::Name { kind, known }, Value::Name(name)) => {
                    let name = known.iter().find(|one| *one == name)?;
                    Some((kind.as_str(), name.as_str()))
                }
                _ => None,
            })
            .collect()
    }

    /// The phrase that a sentence is, if it is one.
    #[cfg(test)]
    pub(crate) fn meaning(&self, kind: StepKind, text: &str) -> Option<&str> {
        match self.find(kind, text) {
            Found::One { step, .. } => Some(&self.steps[step].expression),
            _ => None,
        }
    }

    /// What is told to whoever writes this: what it means, or the phrases that are near.
    #[cfg(test)]
    pub(crate) fn answer(&self, kind: StepKind, text: &str) -> Vec<String> {
        match self.find(kind, text) {
            Found::None {
                meant: Some(meant), ..
            } => meant.say.into_iter().chain(meant.remark).collect(),
            Found::None { nearest, .. } => nearest,
            Found::WrongValue { kind, text, .. } => vec![format!("no {kind}: {text}")],
            _ => Vec::new(),
        }
    }

    /// The phrase that fits but for its values, and which of them is wrong.
    fn nearly(&self, kind: StepKind, text: &str) -> Option<(&Phrase, Found)> {
        self.phrases
            .iter()
            .filter(|phrase| self.steps[phrase.step].may_be(kind))
            .filter_map(|phrase| match phrase.values(text, &phrase.lenient) {
                Values::Wrong { count, first } => Some((count, phrase, first)),
                _ => None,
            })
            .min_by_key(|(count, phrase, _)| (*count, usize::MAX - phrase.literal))
            .map(|(_, phrase, wrong)| (phrase, wrong))
    }

    fn find_duplicates(&self, errors: &mut Vec<VocabularyError>) {
        for (position, phrase) in self.phrases.iter().enumerate() {
            let step = &self.steps[phrase.step];
            let twin = self.phrases[..position].iter().find(|other| {
                other.strict.as_str() == phrase.strict.as_str()
                    && [StepKind::Given, StepKind::When, StepKind::Then]
                        .iter()
                        .any(|kind| step.may_be(*kind) && self.steps[other.step].may_be(*kind))
            });
            if let Some(twin) = twin {
                errors.push(VocabularyError::Twice {
                    expression: phrase.expression.clone(),
                    location: step.location,
                    first: self.steps[twin.step].location,
                });
            }
        }
    }

    /// An example may name things that this manifest does not have, so it is held
    /// against the lenient patterns only.
    fn check_examples(&self, errors: &mut Vec<VocabularyError>) {
        for (index, step) in self.steps.iter().enumerate() {
            let text = step
                .example
                .lines()
                .next()
                .and_then(|line| line.trim().split_once(' '))
                .map_or("", |(_, text)| text);
            let mut own = self.phrases.iter().filter(|phrase| phrase.step == index);
            if own.clone().next().is_some() && !own.any(|phrase| phrase.lenient.is_match(text)) {
                errors.push(VocabularyError::Example {
                    expression: step.expression.clone(),
                    location: step.location,
                    example: step.example.clone(),
                });
                continue;
            }
            let others: Vec<&Phrase> = self
                .phrases
                .iter()
                .filter(|phrase| phrase.step != index && phrase.strict.is_match(text))
                .filter(|phrase| self.steps[phrase.step].may_be(step.kind))
                .collect();
            if let [other, ..] = others.as_slice() {
                errors.push(VocabularyError::Overlap {
                    example: step.example.clone(),
                    location: step.location,
                    other: other.expression.clone(),
                    other_location: self.steps[other.step].location,
                });
            }
        }
    }
}

/// One expression of one step, compiled.
struct Phrase {
    step: usize,
    expression: String,
    /// As the expression writes them.
    kinds: Vec<String>,
    parameters: Vec<Parameter>,
    strict: Regex,
    lenient: Regex,
    /// How much of it is fixed text.
    literal: usize,
}

enum Values {
    No,
    Right(Arguments),
    Wrong { count: usize, first: Found },
}

impl Values {
    fn into_found(self, step: usize) -> Found {
        match self {
            Self::Right(arguments) => Found::One { step, arguments },
            Self::Wrong { first, .. } => first,
            Self::No => Found::None {
                nearest: Vec::new(),
                meant: None,
            },
        }
    }
}

impl Phrase {
    fn compile(step: usize, expression: &str, names: &Names) -> Result<Self, String> {
        let parsed = Expression::parse(expression).map_err(|error| error.to_string())?;
        let mut parameters = Vec::new();
        for part in parsed.iter() {
            if let SingleExpression::Parameter(parameter) = part {
                let kind = *parameter.input.fragment();
                let parameter = Parameter::of(kind, names)
                    .ok_or_else(|| format!("there is no parameter `{{{kind}}}`"))?;
                parameters.push((kind.to_owned(), parameter));
            }
        }
        let compile = |pattern: fn(&Parameter) -> String| {
            let patterns = parameters
                .iter()
                .map(|(kind, parameter)| (kind.clone(), pattern(parameter)))
                .collect::<std::collections::HashMap<_, _>>();
            Expression::regex_with_parameters(expression, &patterns)
                .map_err(|error| error.to_string())
        };
        let strict = compile(Parameter::strict)?;
        let lenient = compile(Parameter::lenient)?;
        let fixed: usize = parameters.iter().map(|(kind, _)| kind.len() + 2).sum();
        Ok(Self {
            step,
            expression: expression.to_owned(),
            strict,
            lenient,
            literal: expression.len().saturating_sub(fixed),
            kinds: parameters.iter().map(|(kind, _)| kind.clone()).collect(),
            parameters: parameters
                .into_iter()
                .map(|(_, parameter)| parameter)
                .collect(),
        })
    }

    fn values(&self, text: &str, pattern: &Regex) -> Values {
        let Some(captures) = pattern.captures(text) else {
            return Values::No;
        };
        let mut values: Vec<Value> = Vec::new();
        let mut wrong = Vec::new();
        for (parameter, group) in self.parameters.iter().zip(1..) {
            let group = captures.get(group);
            let found = group.map_or("", |group| group.as_str());
            match parameter.read(found) {
                Ok(value) => values.push(value),
                Err(reason) => wrong.push(Found::WrongValue {
                    kind: parameter.kind().to_owned(),
                    text: found.to_owned(),
                    reason,
                    within: group.map_or(0..0, |group| group.range()),
                }),
            }
        }
        let count = wrong.len();
        match wrong.into_iter().next() {
            None => Values::Right(Arguments::new(values)),
            Some(first) => Values::Wrong { count, first },
        }
    }
}

/// A phrase of a step pack cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VocabularyError {
    /// It is no cucumber expression, or names a parameter that there is not.
    #[error("`{expression}` ({location}) is no phrase: {reason}")]
    Unreadable {
        /// The expression.
        expression: String,
        /// Where it is defined.
        location: &'static Location<'static>,
        /// What is wrong with it.
        reason: String,
    },
    /// Two steps have it.
    #[error("`{expression}` stands in the vocabulary twice: {first} and {location}")]
    Twice {
        /// The expression.
        expression: String,
        /// Where it is defined again.
        location: &'static Location<'static>,
        /// Where it was defined first.
        first: &'static Location<'static>,
    },
    /// Its example is none.
    #[error("the example `{example}` does not fit its phrase `{expression}` ({location})")]
    Example {
        /// The expression.
        expression: String,
        /// Where it is defined.
        location: &'static Location<'static>,
        /// The example.
        example: String,
    },
    /// Its example also fits another phrase.
    #[error(
        "the example `{example}` ({location}) also fits the phrase `{other}` ({other_location})"
    )]
    Overlap {
        /// The example.
        example: String,
        /// Where it is defined.
        location: &'static Location<'static>,
        /// The other phrase.
        other: String,
        /// Where that is defined.
        other_location: &'static Location<'static>,
    },
}

/// All that is wrong with a vocabulary.
#[derive(Debug)]
pub struct VocabularyErrors(pub Vec<VocabularyError>);

impl fmt::Display for VocabularyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the step vocabulary is faulty")?;
        self.0.iter().try_for_each(|error| write!(f, "\n- {error}"))
    }
}

impl std::error::Error for VocabularyErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(expression: &str, example: &str) -> Step<()> {
        Step::<()>::when(expression)
            .example(example)
            .run(|(), _, _, _| Box::pin(async { Ok(()) }))
    }

    fn names() -> Names {
        Names::new()
            .with("stage", ["processing", "attempt-recorded", "outside sent"])
            .with("process", ["worker", "api"])
    }

    fn killing() -> Compiled<()> {
        let kill = step(
            "the {process} is killed with {signal} at {stage} of {messages}",
            "When the worker is killed with SIGKILL at processing of M3",
        );
        let wait = step("{duration} pass(es)", "When 2s pass");
        Vocabulary::new(names())
            .with([kill, wait])
            .compile()
            .unwrap()
    }

    #[test]
    fn a_step_brings_its_values_along() {
        let vocabulary = killing();
        let text = "the worker-2 is killed with SIGTERM at outside sent of M1 to M3";
        let Found::One { step: 0, arguments } = vocabulary.find(StepKind::When, text) else {
            panic!("the phrase is known");
        };
        assert_eq!(arguments.process(0).instance, Some(2));
        assert_eq!(arguments.signal(1), nix::sys::signal::Signal::SIGTERM);
        assert_eq!(arguments.stage(2).as_str(), "outside sent");
        assert_eq!(arguments.messages(3).len(), 3);
        let Found::One { step: 1, .. } = vocabulary.find(StepKind::When, "150 ms pass") else {
            panic!("the phrase is known");
        };
    }

    #[test]
    fn a_wrong_value_is_told_from_an_unknown_phrase() {
        let vocabulary = killing();
        let text = "the worker is killed with SIGKILL at procesing of M3";
        let Found::WrongValue { kind, text, .. } = vocabulary.find(StepKind::When, text) else {
            panic!("only the stage is wrong");
        };
        assert_eq!((kind.as_str(), text.as_str()), ("stage", "procesing"));
        let unknown = vocabulary.find(StepKind::When, "the worker is killed softly");
        assert!(matches!(unknown, Found::None { nearest, .. } if !nearest.is_empty()));
    }

    #[test]
    fn a_phrase_stands_where_its_kind_says() {
        let found = killing().find(StepKind::Then, "2s pass");
        assert!(matches!(found, Found::OtherKind { step: 1 }));
    }

    #[test]
    fn a_faulty_vocabulary_is_told_whole() {
        let pack = [
            step("it is {int}", "When it is 3"),
            step("it is {int}", "When it is 3"),
            step("it is {colour}", "When it is red"),
            step("all is well", "When all is fine"),
        ];
        let errors = Vocabulary::new(names())
            .with(pack)
            .compile()
            .err()
            .unwrap()
            .0;
        assert!(
            errors
                .iter()
                .any(|error| matches!(error, VocabularyError::Unreadable { .. }))
        );
        assert!(
            errors
                .iter()
                .any(|error| matches!(error, VocabularyError::Twice { .. }))
        );
        assert!(
            errors
                .iter()
                .any(|error| matches!(error, VocabularyError::Example { .. }))
        );
    }
}
