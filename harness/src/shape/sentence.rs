//! A statement as tokens: what can be compared without regard to white space, case,
//! comments, literals and bind values.

use crate::sql::{Lexer, Token};

/// What stands for a literal or a bind value.
pub(super) const VALUE: &str = "?";

/// The tokens of a statement in lower case.
pub(super) fn tokens(statement: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for (token, _) in Lexer::new(statement) {
        let token = match token {
            Token::Word(word) => word.to_lowercase(),
            Token::Quoted(name) => word(name),
            Token::Text { .. } | Token::Number(_) | Token::Parameter(_) | Token::Sign(VALUE) => {
                if is_sign(&tokens) {
                    tokens.pop();
                }
                VALUE.to_owned()
            }
            Token::Sign(":") if tokens.last().is_some_and(|last| last == ":") => {
                tokens.pop();
                "::".to_owned()
            }
            Token::Sign(sign) => sign.to_owned(),
        };
        tokens.push(token);
    }
    while tokens.last().is_some_and(|token| token == ";") {
        tokens.pop();
    }
    tokens
}

/// A quoted name as one word: no blank and no quote is left in it.
fn word(name: &str) -> String {
    let word: String = name
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| {
            if c.is_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
        return format!("_{word}");
    }
    word
}

/// Whether the last token is the sign of a number that follows, not a subtraction.
fn is_sign(tokens: &[String]) -> bool {
    let [before @ .., last] = tokens else {
        return false;
    };
    let subtracts = before.last().is_some_and(|token| {
        token == ")"
            || token == VALUE
            || token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    (last == "-" || last == "+") && !subtracts
}

/// Tokens as a person would write them; [`tokens`] reads them back.
pub(super) fn written(tokens: &[String]) -> String {
    let mut text = String::new();
    let mut before: Option<&str> = None;
    for token in tokens {
        let close = matches!(token.as_str(), "," | ")" | ";" | "." | "]" | "::");
        let open = matches!(before, None | Some("(" | "." | "[" | "::"));
        if !close && !open {
            text.push(' ');
        }
        text.push_str(token);
        before = Some(token);
    }
    text
}
