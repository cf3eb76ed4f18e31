//! The rows that a statement spells out, and its literals.

use std::borrow::Cow;

use super::lexer::{Lexer, Token};

/// What stands at one place of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// This parameter, from 1, whatever it is cast to.
    Parameter(usize),
    /// A literal, whatever it is cast to.
    Literal(String),
    /// Something that is computed, or nothing.
    Other,
}

/// What a statement spells out.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The longest list of `VALUES`.
    pub(super) values: Vec<Vec<Cell>>,
    pub(super) literals: Vec<String>,
    /// Whether rows are made of the elements of a list: it is no value of one column.
    pub(super) takes_lists_apart: bool,
}

impl Rows {
    pub(super) fn of(sql: &str) -> Self {
        let tokens = || Lexer::new(sql).map(|(token, _)| token).peekable();
        let mut rows = Self {
            values: Vec::new(),
            literals: tokens().filter_map(literal).collect(),
            takes_lists_apart: tokens().any(takes_lists_apart),
        };
        let mut rest = tokens();
        while let Some(token) = rest.next() {
            if !token.is("values") {
                continue;
            }
            let mut list = Vec::new();
            while rest.next_if(|token| token.is_sign("(")).is_some() {
                list.push(cells(&mut rest));
                if rest.next_if(|token| token.is_sign(",")).is_none() {
                    break;
                }
            }
            if list.len() > rows.values.len() {
                rows.values = list;
            }
        }
        rows
    }
}

fn takes_lists_apart(token: Token<'_>) -> bool {
    token.name().is_some_and(|name| {
        matches!(&*name, "unnest" | "any")
            || name.ends_with("_elements")
            || name.ends_with("_elements_text")
            || name.ends_with("recordset")
    })
}

fn literal(token: Token<'_>) -> Option<String> {
    match token {
        Token::Number(number) => Some(number.to_owned()),
        token => token.content().map(Cow::into_owned),
    }
}

/// The cells of a list whose parenthesis is open, up to the one that closes it.
pub(super) fn cells<'a>(tokens: &mut impl Iterator<Item = Token<'a>>) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut cell = Reading::default();
    let mut depth = 0_usize;
    for token in tokens {
        match token {
            Token::Sign(")") if depth == 0 => break,
            Token::Sign(",") if depth == 0 => cells.push(std::mem::take(&mut cell).finish()),
            Token::Sign(sign) => {
                match sign {
                    "(" | "[" => depth += 1,
                    ")" | "]" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                cell.push(token);
            }
            token => cell.push(token),
        }
    }
    if !cells.is_empty() || cell.tokens > 0 {
        cells.push(cell.finish());
    }
    cells
}

/// A cell that is being read: one value in it stands for the cell, two do not.
#[derive(Default)]
struct Reading {
    tokens: usize,
    values: usize,
    value: Option<Cell>,
}

impl Reading {
    fn push(&mut self, token: Token<'_>) {
        self.tokens += 1;
        let value = match token {
            Token::Parameter(number) => number.parse().ok().map(Cell::Parameter),
            token => literal(token).map(Cell::Literal),
        };
        if value.is_some() {
            self.values += 1;
            self.value = value;
        }
    }

    fn finish(self) -> Cell {
        match self.value {
            Some(value) if self.values == 1 => value,
            _ => Cell::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Cell {
        Cell::Literal(text.to_owned())
    }

    #[test]
    fn each_tuple_of_a_list_is_a_row() {
        let rows = Rows::of(
            "insert into t (a, b) values ($1, 'x'), ($2::uuid, 'it''s'), (cast($3 as int), now())",
        );
        assert_eq!(
            rows.values,
            [
                vec![Cell::Parameter(1), literal("x")],
                vec![Cell::Parameter(2), literal("it's")],
                vec![Cell::Parameter(3), Cell::Other],
            ]
        );
        assert_eq!(rows.literals, ["x", "it's"]);
        assert!(Rows::of("insert into t select 1").values.is_empty());
    }

    #[test]
    fn a_list_is_found_wherever_it_stands() {
        let rows = Rows::of("insert into t select a from (values (1, 2), (3, 4)) as v (a, b)");
        assert_eq!(rows.values.len(), 2);
        assert_eq!(rows.values[1], [literal("3"), literal("4")]);
        assert_eq!(Rows::of("values ()").values, [Vec::new()]);
    }
}
