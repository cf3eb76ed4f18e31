//! Texts of a manifest: how a statement, a queue, a stage is named there.

use crate::shape::of_statement;
use crate::sql::{Lexer, Sql, Token};
use crate::tap::Statement;

/// How many words a statement is named by at most.
const MOST_WORDS: usize = 12;

/// The shortest beginning of a statement that means no other of these; none, where no
/// beginning does.
pub(super) fn statement(own: &Statement, others: &[&Statement]) -> Option<String> {
    let words = words(own.sql.written());
    let least = match words.first().map(String::as_str) {
        Some("insert" | "delete") => 3,
        Some("select") => from(&words)?,
        _ => 2,
    };
    // A read is known by where it reads.
    let source = words.iter().position(|word| word == "from");
    let source = source
        .and_then(|at| words.get(at..at + 2))
        .map(|words| words.join(" "));
    let beginnings = (least..=words.len()).map(|length| written(&words[..length]));
    let is_read = words.first().is_some_and(|word| word == "select");
    let mut named = source.filter(|_| is_read).into_iter().chain(beginnings);
    named.find(|name| {
        let part = Sql::from(name.as_str());
        let tells_apart = |other: &&Statement| other.sql.find(&part).is_none();
        own.sql.find(&part).is_some() && others.iter().all(tells_apart)
    })
}

/// The statements among these that another line of a program makes.
pub(super) fn others<'s>(
    own: &Statement,
    all: impl IntoIterator<Item = &'s Statement>,
) -> Vec<&'s Statement> {
    let shape = of_statement(own);
    let all = all.into_iter();
    all.filter(|other| of_statement(other) != shape).collect()
}

/// What a person would call it: `insert into parcels`.
pub(super) fn head(statement: &Statement) -> Option<String> {
    let words = words(statement.sql.written());
    let length = match words.first()?.as_str() {
        "insert" | "delete" => 3,
        "update" => 2,
        _ => 2.min(words.len()),
    };
    let named = words.get(..length)?;
    Some(written(named))
}

/// The table that an `insert into` fills, in its whole.
pub(super) fn inserted(statement: &Statement) -> Option<String> {
    let words = words(statement.sql.written());
    match words.as_slice() {
        [insert, into, table, ..] if insert == "insert" && into == "into" => Some(table.clone()),
        _ => None,
    }
}

/// Words as a person would write them.
fn written(words: &[String]) -> String {
    words.join(" ").replace(" , ", ", ")
}

/// How many words lead to the table that is read.
fn from(words: &[String]) -> Option<usize> {
    let at = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("from"));
    Some(at.map_or(words.len().min(4), |at| at + 2).min(words.len())).filter(|length| *length > 1)
}

/// The words of a statement up to the first value; a name with its schema is one.
fn words(sql: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut glue = false;
    for (token, _) in Lexer::new(sql) {
        let word = match token {
            Token::Word(word) => word.to_lowercase(),
            Token::Quoted(name) => format!("\"{name}\""),
            Token::Sign(".") => {
                glue = true;
                if let Some(last) = words.last_mut() {
                    last.push('.');
                }
                continue;
            }
            Token::Sign(sign @ ("," | "=" | "*")) => sign.to_owned(),
            Token::Sign(_) | Token::Text { .. } | Token::Number(_) | Token::Parameter(_) => break,
        };
        match words.last_mut() {
            Some(last) if glue => last.push_str(&word),
            _ => words.push(word),
        }
        glue = false;
        if words.len() == MOST_WORDS {
            break;
        }
    }
    while words
        .last()
        .is_some_and(|last| matches!(last.as_str(), "," | "="))
    {
        words.pop();
    }
    words
}

/// A name of the manifest: letters, digits, `-`, `_`, `/` and single blanks.
pub(super) fn stage(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let c = if c.is_alphanumeric() || "-_/".contains(c) {
            c
        } else {
            ' '
        };
        if c == ' ' && name.ends_with([' ', '/']) {
            continue;
        }
        if c == '/' && name.ends_with('/') {
            continue;
        }
        name.push(c);
    }
    name.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

/// A text as YAML has it within brackets.
pub(super) fn yaml(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./$ ".contains(c);
    let begins = text
        .chars()
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '$');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = !reserved.contains(&text.to_lowercase().as_str());
    if begins && is_word && text.chars().all(plain) && text.trim() == text {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Statement {
        Statement::new(sql, Vec::new())
    }

    #[test]
    fn a_statement_is_named_by_what_it_does_to_what() {
        let insert = of("INSERT INTO parcels (id, state) VALUES ($1, 'packed')");
        assert_eq!(statement(&insert, &[]).unwrap(), "insert into parcels");
        assert_eq!(head(&insert).unwrap(), "insert into parcels");
        let select = of("select id from outbox where not sent");
        assert_eq!(statement(&select, &[]).unwrap(), "from outbox");
        let another = of("select id, at from outbox where sent");
        assert_eq!(
            statement(&another, &[&select]).unwrap(),
            "select id, at from outbox"
        );
        let one = of("update jobs set state = $1 where id = $2");
        let other = of("update jobs set tries = tries + 1 where id = $1");
        assert_eq!(statement(&one, &[&other]).unwrap(), "update jobs set state");
        assert_eq!(statement(&other, &[&one]).unwrap(), "update jobs set tries");
        let same = of("update jobs set state = $1 where other = $2");
        assert_eq!(statement(&one, &[&same]), None);
        let qualified = of("insert into app.\"Jobs\" values ($1)");
        assert_eq!(
            statement(&qualified, &[]).unwrap(),
            "insert into app.\"Jobs\""
        );
    }

    #[test]
    fn a_stage_is_named_as_a_manifest_allows() {
        assert_eq!(stage("POST /labels/{}/pages"), "POST /labels/pages");
        assert_eq!(stage("insert into app.jobs"), "insert into app jobs");
    }

    #[test]
    fn texts_are_quoted_where_yaml_would_read_something_else() {
        assert_eq!(yaml("insert into parcels"), "insert into parcels");
        assert_eq!(yaml("insert into \"P\""), r#""insert into \"P\"""#);
        assert_eq!(yaml("true"), r#""true""#);
        assert_eq!(yaml("a: b"), r#""a: b""#);
    }
}
