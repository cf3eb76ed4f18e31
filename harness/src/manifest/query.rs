//! The queries of a manifest: claims, observations, backlogs, modes. What can be told of
//! one without a database is told when the manifest is read; a database that was prepared
//! tells the rest ([`Manifest::refused`]).

use super::Manifest;
use super::context::Context;
use super::error::{Invalid, ManifestError};
use super::problem::{Defect, Problem};
use super::source::{Source, Span};
use crate::ids::DependencyName;
use crate::sql::{Lexer, Token, split};

/// A query, and where it stands.
#[derive(Clone, Debug)]
pub struct Query {
    /// What asks it, as messages call it.
    pub title: String,
    /// Which database is asked.
    pub dependency: DependencyName,
    /// The query.
    pub sql: String,
    /// How many values it is given: the job's id, where it is about one message.
    pub given: usize,
    /// How many columns it may have at most.
    pub columns: usize,
    span: Span,
}

/// What a database says against a query.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What is wrong, in a clause.
    pub fault: String,
    /// How to mend it, if that is known.
    pub help: Option<String>,
    /// Where in the query, in characters from 1.
    pub position: Option<usize>,
    /// Whether it asks for what is not there and may come with the processes.
    pub absent: bool,
}

impl Query {
    pub(super) fn new(
        (title, dependency): (&str, DependencyName),
        (sql, span): (&str, Span),
        (given, columns): (usize, usize),
    ) -> Self {
        Self {
            title: title.to_owned(),
            dependency,
            sql: sql.to_owned(),
            given,
            columns,
            span,
        }
    }

    /// Reports what can be told of it without a database.
    pub(super) fn check(&self, cx: &mut Context<'_>) {
        if let Some((fault, at)) = fault(&self.sql, self.given) {
            let span = at.map_or(self.span, |at| self.place(cx.source, at));
            cx.report(span, self.defect(fault, None));
        }
    }

    fn defect(&self, fault: String, help: Option<String>) -> Defect {
        Defect::Query {
            title: self.title.clone(),
            fault,
            help,
        }
    }

    /// Where the word at a byte of the query stands in the file, which may fold its lines.
    fn place(&self, source: &Source<'_>, at: usize) -> Span {
        let Some(rest) = self.sql.get(at..) else {
            return self.span;
        };
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let word = &rest[..length.max(first)];
        if word.is_empty() {
            return self.span;
        }
        let before = self.sql[..at].matches(word).count();
        let written = source.slice(self.span);
        let found = written.match_indices(word).nth(before);
        found.map_or(self.span, |(offset, word)| Span {
            offset: self.span.offset + offset,
            length: word.len(),
        })
    }
}

impl Manifest {
    /// All queries, in the order in which they stand in the file's sections.
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// Where a query stands in the file, and what asks it: `rehearsal.yaml:12, …`.
    pub fn where_asked(&self, dependency: &DependencyName, sql: &str) -> Option<String> {
        let mut queries = self.queries.iter();
        let query = queries.find(|query| query.dependency == *dependency && query.sql == sql)?;
        let line = Source::new(&self.text).spot(query.span).line;
        let path = self.path.display();
        Some(format!("{path}:{line}, {}", query.title))
    }

    /// The mistakes that databases found in queries, each given by its position among
    /// [`Manifest::queries`], at their places in the file.
    pub fn refused(&self, refusals: &[(usize, Refusal)]) -> ManifestError {
        let source = Source::new(&self.text);
        let problems = refusals.iter().map(|(query, refusal)| {
            let query = &self.queries[*query];
            let byte = refusal.position.and_then(|position| {
                let mut places = query.sql.char_indices().map(|(at, _)| at);
                places.nth(position.saturating_sub(1))
            });
            let span = byte.map_or(query.span, |at| query.place(&source, at));
            Problem {
                spot: source.spot(span),
                defect: query.defect(refusal.fault.clone(), refusal.help.clone()),
                earlier: None,
            }
        });
        let problems = problems.collect();
        let name = self.path.display().to_string();
        ManifestError::Invalid(Box::new(Invalid::new(name, self.text.clone(), problems)))
    }
}

/// What is wrong with a query by its tokens alone, and at which byte.
fn fault(sql: &str, given: usize) -> Option<(String, Option<usize>)> {
    let statements = split(sql, true);
    let [statement] = statements.as_slice() else {
        let fault = match statements.len() {
            0 => "holds no statement".to_owned(),
            several => format!("holds {several} statements; one is asked"),
        };
        return Some((fault, None));
    };
    let mut tokens = Lexer::new(sql);
    let (first, at) = tokens.find(|(token, _)| !token.is_sign("("))?;
    let reads = ["select", "with", "values", "table", "show"];
    if !reads.iter().any(|word| first.is(word)) {
        return Some((
            "does not read: it begins with none of `select`, `with`, `values`, `table`, `show`"
                .to_owned(),
            Some(at.start),
        ));
    }
    let mut open = Vec::new();
    for (token, at) in Lexer::new(sql) {
        match token {
            Token::Sign("(") => open.push(at.start),
            Token::Sign(")") if open.pop().is_none() => {
                return Some(("closes what it did not open".to_owned(), Some(at.start)));
            }
            Token::Parameter(number) if number.parse().is_ok_and(|n: usize| n > given) => {
                let fault = match given {
                    0 => format!("asks for `${number}`, and it is given nothing"),
                    _ => format!("asks for `${number}`, and it is given the job's id alone: `$1`"),
                };
                return Some((fault, Some(at.start)));
            }
            Token::Sign("$") if sql[at.end..].starts_with('{') => {
                let fault = match given {
                    0 => "has a placeholder, and none is filled in here",
                    _ => "has a placeholder, and none is filled in here: the job's id is `$1`",
                };
                return Some((fault.to_owned(), Some(at.start)));
            }
            Token::Text { .. } | Token::Quoted(_) if !closes(sql, at.start, at.end) => {
                return Some((
                    "has a quote that is never closed".to_owned(),
                    Some(at.start),
                ));
            }
            _ => {}
        }
    }
    let unclosed = open.pop();
    unclosed
        .filter(|_| !statement.is_empty())
        .map(|at| ("opens what it does not close".to_owned(), Some(at)))
}

/// Whether a literal or a quoted name ends with the mark that it begins with.
fn closes(sql: &str, start: usize, end: usize) -> bool {
    let written = sql.get(start..end).unwrap_or_default();
    let Some(begin) = written.find(['\'', '"', '$']) else {
        return true;
    };
    let rest = &written[begin..];
    let mark = match rest.strip_prefix('$') {
        Some(tag) => &rest[..tag.find('$').map_or(1, |at| at + 2)],
        None => &rest[..1],
    };
    rest.len() >= 2 * mark.len() && rest.ends_with(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sql: &str, given: usize) -> Option<String> {
        fault(sql, given).map(|(fault, _)| fault)
    }

    #[test]
    fn what_a_query_cannot_be_is_told_without_a_database() {
        for (sql, given, part) in [
            ("", 0, "no statement"),
            ("-- nothing", 0, "no statement"),
            ("select 1; select 2", 0, "2 statements"),
            ("delete from jobs", 0, "does not read"),
            ("selct count(*) from jobs", 0, "does not read"),
            ("select count(* from jobs", 0, "opens"),
            ("select count(*)) from jobs", 0, "closes"),
            ("select count(*) from jobs where state = 'done", 0, "quote"),
            ("select count(*) from \"jobs", 0, "quote"),
            ("select count(*) from jobs where state = $$done", 0, "quote"),
            ("select count(*) from jobs where id = $1", 0, "nothing"),
            (
                "select state from jobs where id = $1 or id = $2",
                1,
                "job's id",
            ),
            ("select true from jobs where id = ${message.job}", 1, "`$1`"),
        ] {
            let told = told(sql, given);
            assert!(
                told.as_ref().is_some_and(|told| told.contains(part)),
                "{sql}: {told:?}"
            );
        }
    }

    #[test]
    fn what_may_be_right_is_left_to_the_database() {
        for (sql, given) in [
            ("select count(*) from jobs;", 0),
            ("(select 1) union all (select 2)", 0),
            ("with a as (select 1) select * from a", 0),
            ("select state from jobs where id = $1::uuid", 1),
            (
                "select '$2 (' || \"odd \"\"name\"\"\" || $tag$ ' $tag$ || E'\\''",
                1,
            ),
            ("select 'it''s' from jobs -- where (", 0),
        ] {
            assert_eq!(told(sql, given), None, "{sql}");
        }
    }
}
