//! Which phrases a sentence may have meant.
//!
//! A sentence and a phrase are alike by the words that tell phrases apart: a word that
//! stands in every second phrase says little. Names of the manifest count as what they
//! name, and a phrase may be known by other words, too ([`Step::known_as`]).

use std::collections::BTreeMap;

use super::parameter::Names;
use super::step::{Step, StepKind};

/// Phrases below this are not like the sentence at all.
const ALIKE: f64 = 0.3;
/// What a phrase is worth that may not stand where the sentence stands.
const ELSEWHERE: f64 = 0.8;
/// How many are told.
const TOLD: usize = 3;
/// What a known name says, as a word does that stands in one phrase of many.
const NAME: f64 = 1.5;
/// What a number, a time or a list of messages says.
const VALUE: f64 = 0.7;

/// A piece of a sentence or of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Word(String),
    /// A value of one of these kinds.
    Value(Vec<String>),
}

/// The phrases that read most like a sentence, the nearest first, each with how much: 1 is
/// the same.
pub(super) fn nearest<'v, W>(
    steps: &'v [Step<W>],
    names: &Names,
    (kind, sentence): (StepKind, &str),
) -> Vec<(f64, &'v str)> {
    let weights = Weights::of(steps);
    let said = tokens(names, sentence);
    let mut alike: Vec<(f64, &str)> = steps
        .iter()
        .map(|step| {
            let of = |phrase| weights.likeness(&expected(phrase), &step.synonyms, &said);
            let phrases = std::iter::once(&step.expression).chain(&step.aliases);
            let best = phrases.map(|phrase| of(phrase)).fold(0.0, f64::max);
            let fits = if step.may_be(kind) { 1.0 } else { ELSEWHERE };
            (best * fits, step.expression.as_str())
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let best = alike.first().map_or(0.0, |(likeness, _)| *likeness);
    alike
        .into_iter()
        .take_while(|(likeness, _)| *likeness >= best * 0.7)
        .take(TOLD)
        .collect()
}

/// Whether a phrase has no words of its own: it takes any sentence of its form.
pub(super) fn is_catch_all(expression: &str) -> bool {
    expected(expression).iter().all(|tokens| {
        tokens.iter().all(|token| match token {
            Token::Word(word) => is_small(word),
            Token::Value(_) => true,
        })
    })
}

/// How rare each word is among all phrases.
struct Weights {
    phrases: f64,
    frequency: BTreeMap<String, f64>,
}

impl Weights {
    fn of<W>(steps: &[Step<W>]) -> Self {
        let mut frequency: BTreeMap<String, f64> = BTreeMap::new();
        for step in steps {
            let mut words: Vec<String> = expected(&step.expression)
                .into_iter()
                .flatten()
                .filter_map(|token| match token {
                    Token::Word(word) => Some(word),
                    Token::Value(_) => None,
                })
                .collect();
            words.sort_unstable();
            words.dedup();
            for word in words {
                *frequency.entry(word).or_default() += 1.0;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "there are some hundred phrases")]
        let phrases = steps.len().max(2) as f64;
        Self { phrases, frequency }
    }

    fn of_token(&self, token: &Token) -> f64 {
        match token {
            Token::Word(word) if is_small(word) => 0.1,
            Token::Word(word) => {
                let frequency = self.frequency.get(word).copied().unwrap_or(1.0);
                // From 1 for a word of every phrase to 2 for one of a single phrase.
                1.0 + (self.phrases / frequency).ln() / self.phrases.ln()
            }
            Token::Value(kinds) if kinds.iter().any(|kind| is_plain(kind)) => VALUE,
            Token::Value(_) => NAME,
        }
    }

    /// What a phrase and a sentence share, by what either says.
    fn likeness(&self, phrase: &[Vec<Token>], synonyms: &[String], said: &[Token]) -> f64 {
        let mut rest: Vec<&Token> = said.iter().collect();
        let (mut same, mut unheard) = (0.0, 0.0);
        for options in phrase {
            let weights = options.iter().map(|token| self.of_token(token));
            let weight = weights.fold(0.0, f64::max);
            let is_meant = |said: &&Token| options.iter().any(|option| are_alike(option, said));
            match rest.iter().position(is_meant) {
                Some(position) => {
                    rest.remove(position);
                    same += weight;
                }
                None => unheard += weight,
            }
        }
        let is_synonym = |token: &Token| match token {
            Token::Word(word) => synonyms.iter().any(|synonym| stem(synonym) == *word),
            Token::Value(_) => false,
        };
        let (other_words, unsaid): (Vec<&Token>, Vec<&Token>) =
            rest.into_iter().partition(|token| is_synonym(token));
        let weight = |tokens: Vec<&Token>| -> f64 {
            tokens.into_iter().map(|token| self.of_token(token)).sum()
        };
        let meant = weight(other_words);
        same += meant;
        // What another word says need not be said by the phrase's own, and a sentence may
        // leave out what a phrase asks for.
        let unheard = (unheard - meant).max(0.0) / 2.0;
        let all = 2.0 * same + unheard + weight(unsaid);
        if all > 0.0 { 2.0 * same / all } else { 0.0 }
    }
}

fn are_alike(expected: &Token, said: &Token) -> bool {
    match (expected, said) {
        (Token::Word(expected), Token::Word(said)) => {
            expected == said || expected.len() > 3 && strsim::jaro_winkler(expected, said) > 0.92
        }
        (Token::Value(expected), Token::Value(said)) => {
            expected.iter().any(|kind| said.contains(kind))
        }
        _ => false,
    }
}

/// A phrase in pieces: each with the alternatives that it may be.
fn expected(expression: &str) -> Vec<Vec<Token>> {
    expression
        .split_whitespace()
        .map(|word| {
            if let Some((_, parameter)) = word.split_once('{') {
                let kind = parameter.split('}').next().unwrap_or_default();
                return vec![value(kind)];
            }
            // `time(s)` is `time` or `times`, which have one stem.
            let plain = word.replace("(s)", "s");
            plain.split('/').filter_map(self::word).collect()
        })
        .filter(|options: &Vec<Token>| !options.is_empty())
        .collect()
}

/// A sentence in pieces.
fn tokens(names: &Names, sentence: &str) -> Vec<Token> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let mut tokens = Vec::new();
    let mut rest = words.as_slice();
    while let [first, ..] = rest {
        if let Some((length, kinds)) = name_at(names, rest) {
            tokens.push(Token::Value(kinds));
            rest = &rest[length..];
            continue;
        }
        tokens.extend(plain_value(first).or_else(|| word(first)));
        rest = &rest[1..];
    }
    tokens
}

/// The longest known name at the beginning of these words, and what it may name.
fn name_at(names: &Names, words: &[&str]) -> Option<(usize, Vec<String>)> {
    let longest = words.len().min(6);
    (1..=longest).rev().find_map(|length| {
        let written = words[..length].join(" ");
        let written = written.trim_matches(|c: char| !c.is_alphanumeric() && c != ')');
        let kinds: Vec<String> = names
            .all()
            .filter(|(kind, known)| {
                let whole = known.iter().any(|name| name == written);
                let instance = || {
                    let (role, number) = written.rsplit_once('-').unwrap_or_default();
                    number.parse::<u32>().is_ok() && known.iter().any(|name| name == role)
                };
                whole || *kind == "process" && instance()
            })
            .map(|(kind, _)| kind.to_owned())
            .collect();
        (!kinds.is_empty()).then_some((length, kinds))
    })
}

fn value(kind: &str) -> Token {
    let kind = match kind {
        "message" | "whose" => "messages",
        "float" => "int",
        kind => kind,
    };
    Token::Value(vec![kind.to_owned()])
}

fn plain_value(word: &str) -> Option<Token> {
    let word = word.trim_matches([',', '.', ';']);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if word.strip_prefix('M').is_some_and(digits) {
        Some(value("messages"))
    } else if digits(word) {
        Some(value("int"))
    } else if super::parameter::read_duration(word).is_some() {
        Some(value("duration"))
    } else if word.starts_with("SIG") && word.len() > 3 {
        Some(value("signal"))
    } else if word.starts_with(['"', '\'']) {
        Some(value("string"))
    } else {
        None
    }
}

fn word(word: &str) -> Option<Token> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
    (!word.is_empty()).then(|| Token::Word(stem(word)))
}

/// A word without the ending that its tense or number gives it.
pub(crate) fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let irregular = [
        ("died", "die"),
        ("dies", "die"),
        ("has", "have"),
        ("was", "be"),
        ("were", "be"),
        ("is", "be"),
        ("are", "be"),
        ("sent", "send"),
        ("got", "get"),
        ("gets", "get"),
        ("ran", "run"),
        ("lost", "lose"),
        ("stopped", "stop"),
    ];
    if let Some((_, stem)) = irregular.iter().find(|(from, _)| *from == word) {
        return (*stem).to_owned();
    }
    for ending in ["ing", "ed", "es", "s"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
        {
            return stem.trim_end_matches('e').to_owned();
        }
    }
    word.trim_end_matches('e').to_owned()
}

/// A word that stands anywhere.
fn is_small(word: &str) -> bool {
    const SMALL: [&str; 24] = [
        "th", "a", "an", "of", "be", "have", "to", "at", "by", "in", "for", "and", "it", "its",
        "that", "this", "with", "from", "on", "once", "all", "som", "i", "do",
    ];
    SMALL.contains(&word)
}

fn is_plain(kind: &str) -> bool {
    matches!(
        kind,
        "messages" | "int" | "string" | "word" | "times" | "duration"
    )
}
