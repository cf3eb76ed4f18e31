//! A shape as a person names it: `update parcels`, `DeleteMessage jobs`,
//! `POST /parcels/{}`. A part of the shape is enough.

use std::fmt;

use super::sentence::tokens;
use super::statement::canonical;
use super::{Asked, Shape, commands, path};
use crate::manifest::DependencyProtocol;

/// A shape as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    written: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// These words stand in the statement, one after the other.
    Statement(Vec<String>),
    /// A `COMMIT` whose transaction has these words; of any, if there is none.
    Commit(Vec<String>),
    /// This action, or its batch, of this queue.
    Action(String, Option<String>),
    /// This method, and this path without ids; of any path, if it is `*`.
    Request(String, String),
    /// These commands of Redis, with these keys where they are written.
    Commands(Vec<String>),
}

/// A text that names no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAShape {
    /// There is nothing in it.
    #[error(
        "an empty text names no call; write a part of a statement, an SQS action, a request or a command of Redis: \"update parcels\", \"DeleteMessage\", \"POST /parcels\", \"LPUSH jobs\""
    )]
    Empty,
    /// A method without a path.
    #[error("`{0}` is followed by no path; write it as \"{0} /parcels\"")]
    NoPath(String),
}

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

impl Wanted {
    /// Reads what a person wrote.
    ///
    /// # Errors
    /// When it can be the shape of no call.
    pub fn parse(written: &str) -> Result<Self, NotAShape> {
        let form = match written.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => return Err(NotAShape::Empty),
            _ if commands::are_commands(written) => Form::Commands(commands::wanted(written)),
            [method] if METHODS.contains(method) => {
                return Err(NotAShape::NoPath((*method).to_owned()));
            }
            [method, path] if is_method(method) && (path.starts_with('/') || *path == "*") => {
                let path = if *path == "*" {
                    (*path).to_owned()
                } else {
                    path::without_ids(path, [])
                };
                Form::Request(method.to_ascii_uppercase(), path)
            }
            [action, rest @ ..] if is_action(action) && rest.len() <= 1 => Form::Action(
                (*action).to_owned(),
                rest.first().map(|queue| (*queue).to_owned()),
            ),
            _ => {
                let words = canonical(tokens(written));
                match words.as_slice() {
                    [] => return Err(NotAShape::Empty),
                    [commit] if commit == "commit" => Form::Commit(Vec::new()),
                    [commit, of, rest @ ..] if commit == "commit" && of == "of" => {
                        let rest = super::sentence::written(rest);
                        Form::Commit(words_of(&rest))
                    }
                    _ => Form::Statement(words_of(written)),
                }
            }
        };
        Ok(Self {
            written: written.trim().to_owned(),
            form,
        })
    }

    /// On which wires such calls are made.
    pub fn protocol(&self) -> DependencyProtocol {
        match self.form {
            Form::Statement(_) | Form::Commit(_) => DependencyProtocol::Postgres,
            Form::Action(..) => DependencyProtocol::Sqs,
            Form::Request(..) => DependencyProtocol::Http,
            Form::Commands(_) => DependencyProtocol::Redis,
        }
    }

    /// Whether it is a commit.
    pub fn is_commit(&self) -> bool {
        matches!(self.form, Form::Commit(_))
    }

    /// The action of SQS and its queue, where it is one.
    pub fn action(&self) -> Option<(&str, Option<&str>)> {
        match &self.form {
            Form::Action(action, queue) => Some((action, queue.as_deref())),
            _ => None,
        }
    }

    /// Whether a call of this shape is meant.
    pub fn is(&self, shape: &Shape) -> bool {
        match (&self.form, &shape.asked) {
            (Form::Statement(words), Asked::Statements(statements)) => {
                contains(&tokens(statements), words)
            }
            (Form::Commit(words), Asked::Commit(written)) => {
                words.is_empty() || contains(&tokens(written), words)
            }
            (Form::Action(wanted, of), Asked::Action { action, queue }) => {
                (action == wanted || action.strip_suffix("Batch") == Some(wanted))
                    && (of.is_none() || of == queue)
            }
            (Form::Request(wanted, to), Asked::Request { method, path }) => {
                (wanted == "*" || wanted == method) && (to == "*" || same_path(to, path))
            }
            (Form::Commands(wanted), Asked::Commands(made)) => commands::are(wanted, made),
            _ => false,
        }
    }

    /// How far a shape is from this one, for a list of the nearest: nought is nearest.
    pub fn distance(&self, shape: &Shape) -> usize {
        let (own, other) = (
            self.written.to_lowercase(),
            shape.to_string().to_lowercase(),
        );
        let own_words = own.split_whitespace();
        let missing = own_words.filter(|word| !other.contains(word)).count();
        let start: String = other.chars().take(own.chars().count()).collect();
        missing * 100 + strsim::damerau_levenshtein(&own, &start)
    }

    /// The shapes that are nearest to this one, each once, nearest first.
    pub fn nearest<'s>(
        &self,
        shapes: impl IntoIterator<Item = &'s Shape>,
        at_most: usize,
    ) -> Vec<&'s Shape> {
        let mut shapes: Vec<&Shape> = shapes.into_iter().collect();
        shapes.sort();
        shapes.dedup();
        shapes.sort_by_key(|shape| self.distance(shape));
        shapes.truncate(at_most);
        shapes
    }
}

/// The words of a part of a statement. Each of its statements is put in order for itself.
fn words_of(written: &str) -> Vec<String> {
    let all = tokens(written);
    let statements = all.split(|token| token == ";");
    let statements: Vec<Vec<String>> = statements
        .map(|statement| canonical(statement.to_vec()))
        .collect();
    statements.join(&";".to_owned())
}

/// Whether these words stand in a statement, one after the other.
fn contains(statement: &[String], words: &[String]) -> bool {
    statement
        .windows(words.len().max(1))
        .any(|window| window == words)
}

/// Whether two paths without ids are the same: an id in one stands for any segment of
/// the other, for what is an id may be known on one side only.
fn same_path(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) =
        (one.split('/').collect(), other.split('/').collect());
    one.len() == other.len()
        && one
            .iter()
            .zip(&other)
            .all(|(one, other)| one == other || *one == path::ID || *other == path::ID)
}

/// `*` means any method.
fn is_method(word: &str) -> bool {
    word == "*" || METHODS.contains(&word.to_ascii_uppercase().as_str())
}

/// Actions of SQS are written in one word, with more than one capital: `DeleteMessage`.
fn is_action(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_alphabetic())
        && word.chars().any(|c| c.is_ascii_lowercase())
        && word.chars().filter(char::is_ascii_uppercase).count() > 1
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
