//! The rows that a statement spells out: the tuples of its `VALUES`, the rows of its COPY,
//! the elements of arrays and of JSON that it takes apart. Each may concern another message.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sql::Cell;
use crate::tap::{Bind, Statement};

/// What one row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Values by the position of their bind in the statement, and in a COPY by their
    /// column; several where one bind holds a list.
    pub(super) by_position: BTreeMap<usize, Vec<String>>,
}

impl Row {
    /// All its values.
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.by_position.values().flatten()
    }

    fn of(values: impl Iterator<Item = Vec<String>>) -> Self {
        Self {
            by_position: (1..)
                .zip(values)
                .filter(|(_, texts)| !texts.is_empty())
                .collect(),
        }
    }
}

/// The rows that a statement spells out: at least one.
pub(super) fn rows(statement: &Statement) -> Vec<Row> {
    if let Some(copied) = &statement.copied {
        let read = |row: &Vec<Bind>| Row::of(row.iter().map(texts));
        return copied.rows.iter().map(read).collect();
    }
    let values = statement.sql.values();
    if values.len() > 1 {
        return tuples(statement, values);
    }
    if statement.binds.is_empty() {
        let literals = statement.sql.literals();
        return vec![Row::of(literals.iter().map(|text| parts(text)))];
    }
    elements(statement)
}

/// One row for each tuple. A bind of the first tuple stands for its column.
fn tuples(statement: &Statement, values: &[Vec<Cell>]) -> Vec<Row> {
    let cell = |cell: &Cell| match cell {
        Cell::Parameter(number) => bind(statement, *number).map(texts).unwrap_or_default(),
        Cell::Literal(text) => parts(text),
        Cell::Other => Vec::new(),
    };
    let first = &values[0];
    let column_of = |position: usize| {
        first
            .iter()
            .position(|cell| *cell == Cell::Parameter(position))
    };
    let in_tuples = |position: usize| {
        let is = |cell: &Cell| *cell == Cell::Parameter(position);
        values.iter().any(|tuple| tuple.iter().any(is))
    };
    values
        .iter()
        .map(|tuple| {
            let mut by_position = BTreeMap::new();
            for (column, first) in first.iter().enumerate() {
                let position = match first {
                    Cell::Parameter(number) => *number,
                    // Where the values are written out, columns are counted.
                    _ if statement.binds.is_empty() => column + 1,
                    _ => continue,
                };
                let texts = tuple.get(column).map(cell).unwrap_or_default();
                by_position.insert(position, texts);
            }
            // Values beside the list hold for each row, others of the tuple by their own bind.
            for position in 1..=statement.binds.len() {
                let own = tuple.contains(&Cell::Parameter(position));
                if column_of(position).is_none() && (own || !in_tuples(position)) {
                    let texts = bind(statement, position).map(texts).unwrap_or_default();
                    by_position.entry(position).or_insert(texts);
                }
            }
            by_position.retain(|_, texts: &mut Vec<String>| !texts.is_empty());
            Row { by_position }
        })
        .collect()
}

/// One row for each element, where lists are taken apart that are all of one length; else
/// one.
fn elements(statement: &Statement) -> Vec<Row> {
    let whole = || vec![Row::of(statement.binds.iter().map(texts))];
    if !statement.sql.takes_lists_apart() {
        return whole();
    }
    let lists: Vec<Option<Vec<Vec<String>>>> = statement
        .binds
        .iter()
        .map(|bind| match bind {
            Bind::Text(text) => list(text),
            Bind::Null | Bind::Opaque { .. } => None,
        })
        .collect();
    let mut lengths = lists.iter().flatten().map(Vec::len);
    let length = lengths.next().unwrap_or(0);
    if length == 0 || lengths.any(|other| other != length) {
        return whole();
    }
    (0..length)
        .map(|at| {
            let value = |(bind, list): (&Bind, &Option<Vec<Vec<String>>>)| match list {
                Some(list) => list[at].clone(),
                None => texts(bind),
            };
            Row::of(statement.binds.iter().zip(&lists).map(value))
        })
        .collect()
}

fn bind(statement: &Statement, position: usize) -> Option<&Bind> {
    statement.binds.get(position.checked_sub(1)?)
}

fn texts(bind: &Bind) -> Vec<String> {
    match bind {
        Bind::Text(text) => parts(text),
        Bind::Null | Bind::Opaque { .. } => Vec::new(),
    }
}

/// The value, and what it holds where it is a list or an object.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![text.to_owned()];
    if let Some(json) = json(text) {
        scalars(&json, &mut parts);
    } else {
        parts.extend(list(text).into_iter().flatten().flatten());
    }
    parts
}

/// The elements of a list, each with what it holds.
fn list(text: &str) -> Option<Vec<Vec<String>>> {
    match json(text) {
        Some(Value::Array(elements)) => Some(
            elements
                .iter()
                .map(|element| {
                    let mut parts = Vec::new();
                    scalars(element, &mut parts);
                    parts
                })
                .collect(),
        ),
        Some(_) => None,
        None => array(text).map(|elements| elements.into_iter().map(Vec::from_iter).collect()),
    }
}

/// A list or an object in JSON.
fn json(text: &str) -> Option<Value> {
    let value = text.trim_start();
    if !value.starts_with(['[', '{']) {
        return None;
    }
    serde_json::from_str(value).ok()
}

fn scalars(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Number(number) => into.push(number.to_string()),
        Value::Array(elements) => elements.iter().for_each(|element| scalars(element, into)),
        Value::Object(members) => members.values().for_each(|member| scalars(member, into)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The elements of an array in PostgreSQL's text form, those of several dimensions one
/// after the other; nothing for NULL.
fn array(text: &str) -> Option<Vec<Option<String>>> {
    let text = text.trim();
    let text = match text.strip_prefix('[') {
        // Bounds other than the usual ones stand before.
        Some(bounds) => bounds.split_once("]=")?.1,
        None => text,
    };
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    let mut elements = Vec::new();
    let mut signs = text.chars().peekable();
    let mut depth = 0_usize;
    while let Some(sign) = signs.next() {
        match sign {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            ',' => {}
            sign if sign.is_whitespace() => {}
            '"' => {
                let mut element = String::new();
                loop {
                    match signs.next()? {
                        '"' => break,
                        '\\' => element.push(signs.next()?),
                        sign => element.push(sign),
                    }
                }
                elements.push(Some(element));
            }
            sign => {
                let mut element = sign.to_string();
                while let Some(sign) = signs.next_if(|sign| !matches!(sign, ',' | '}' | '{')) {
                    element.push(sign);
                }
                let element = element.trim_end();
                let null = element.eq_ignore_ascii_case("null");
                elements.push((!null).then(|| element.to_owned()));
            }
        }
    }
    (depth == 0).then_some(elements)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::tap::Copied;

    fn statement(sql: &str, binds: &[&str]) -> Statement {
        let binds = binds.iter().map(|bind| Bind::Text((*bind).to_owned()));
        Statement::new(sql, binds.collect())
    }

    /// What stands at a position of each row.
    fn at(statement: &Statement, position: usize) -> Vec<Vec<String>> {
        let of = |row: &Row| row.by_position.get(&position).cloned().unwrap_or_default();
        rows(statement).iter().map(of).collect()
    }

    #[test]
    fn each_tuple_is_a_row_and_binds_of_the_first_stand_for_their_columns() {
        let sql = "insert into t (a, b) values ($1, $2), ($3, $4), ($5, 'x')";
        let statement = statement(sql, &["7", "p", "8", "q", "9"]);
        assert_eq!(at(&statement, 1), [["7"], ["8"], ["9"]]);
        assert_eq!(at(&statement, 2), [["p"], ["q"], ["x"]]);
    }

    #[test]
    fn a_value_beside_the_list_holds_for_each_row() {
        let sql = "insert into t select $1, v.a from (values ($2), ($3)) as v (a)";
        let statement = statement(sql, &["all", "7", "8"]);
        assert_eq!(at(&statement, 1), [["all"], ["all"]]);
        assert_eq!(at(&statement, 2), [["7"], ["8"]]);
    }

    #[test]
    fn values_that_are_written_out_are_counted_by_columns() {
        let many = statement("insert into t values (7, 'p'), (8, 'q')", &[]);
        assert_eq!(at(&many, 1), [["7"], ["8"]]);
        assert_eq!(at(&many, 2), [["p"], ["q"]]);
        let one = statement("insert into t values (7, 'p')", &[]);
        assert_eq!(at(&one, 2), [["p"]]);
    }

    #[test]
    fn arrays_and_json_of_one_length_are_taken_apart_together() {
        let sql = "insert into t select unnest($1::text[]), unnest($2::int[]), $3";
        let arrays = statement(sql, &["{a,\"b, \\\"c\\\"\",NULL}", "{1,2,3}", "all"]);
        assert_eq!(at(&arrays, 1), [vec!["a"], vec!["b, \"c\""], vec![]]);
        assert_eq!(at(&arrays, 2), [["1"], ["2"], ["3"]]);
        assert_eq!(at(&arrays, 3), [["all"], ["all"], ["all"]]);
        let sql = "insert into t select * from jsonb_to_recordset($1)";
        let json = statement(sql, &[r#"[{"id": "a", "n": [1]}, {"id": "b"}]"#]);
        assert_eq!(at(&json, 1), [vec!["a", "1"], vec!["b"]]);
        let one = statement(sql, &["[7]"]);
        assert_eq!(at(&one, 1), [["7"]]);
        let uneven = statement("select unnest($1), unnest($2)", &["{a,b}", "{1}"]);
        assert_eq!(at(&uneven, 1), [["{a,b}", "a", "b"]]);
    }

    #[test]
    fn a_list_in_one_column_is_one_row() {
        let tags = statement("insert into t values ($1, $2)", &["7", "{a,b}"]);
        assert_eq!(at(&tags, 1), [["7"]]);
        let object = statement("insert into t values ($1)", &[r#"{"id": "a"}"#]);
        assert_eq!(at(&object, 1), [[r#"{"id": "a"}"#, "a"]]);
    }

    #[test]
    fn a_copied_row_is_a_row() {
        let row = |id: &str| vec![Bind::Text(id.to_owned()), Bind::Null];
        let statement = Statement {
            copied: Some(Arc::new(Copied {
                rows: vec![row("7"), row("8")],
                more: false,
            })),
            ..statement("copy t from stdin", &[])
        };
        assert_eq!(at(&statement, 1), [["7"], ["8"]]);
        assert_eq!(at(&statement, 2), [Vec::<String>::new(), Vec::new()]);
    }

    #[test]
    fn arrays_are_read_as_the_server_writes_them() {
        let read = |text| array(text).map(|elements| elements.into_iter().flatten().collect());
        assert_eq!(read("{}"), Some(Vec::<String>::new()));
        assert_eq!(
            read("[0:1]={{1},{2}}"),
            Some(vec!["1".to_owned(), "2".to_owned()])
        );
        assert_eq!(read("{\"NULL\",null}"), Some(vec!["NULL".to_owned()]));
        assert_eq!(read("plain"), None);
        assert_eq!(read("{open"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic(text in "[-{}\\[\\]\",:\\\\a1= ]{0,30}|\\PC*") {
            let _ = (parts(&text), list(&text));
        }
    }
}
