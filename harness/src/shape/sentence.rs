//! A statement as tokens: what can be compared without regard to white space, case,
//! comments, literals and bind values.

/// What stands for a literal or a bind value.
pub(super) const VALUE: &str = "?";

/// The tokens of a statement in lower case.
pub(super) fn tokens(statement: &str) -> Vec<String> {
    let folded = crate::manifest::fold_statement(statement);
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = folded.as_str();
    while let Some(first) = rest.chars().next() {
        let (token, length) = next(rest, first);
        rest = &rest[length..];
        let Some(token) = token else { continue };
        if token == VALUE && is_sign(&tokens) {
            tokens.pop();
        }
        tokens.push(token);
    }
    while tokens.last().is_some_and(|token| token == ";") {
        tokens.pop();
    }
    tokens
}

/// The token that a text begins with, and its length; white space is none.
fn next(text: &str, first: char) -> (Option<String>, usize) {
    let value = || Some(VALUE.to_owned());
    if first.is_whitespace() {
        return (None, first.len_utf8());
    }
    if first == '\'' {
        return (value(), quoted(text, '\''));
    }
    if first == '"' {
        let length = quoted(text, '"');
        let name = text[1..length].trim_end_matches('"');
        return (Some(word(name)), length);
    }
    if let Some(length) = dollar_quoted(text) {
        return (value(), length);
    }
    if first == '$' || first == '?' {
        let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
        return (value(), 1 + digits);
    }
    if first.is_ascii_digit() {
        return (value(), run(text, |c| is_word(c) || c == '.'));
    }
    if is_word(first) {
        let length = run(text, is_word);
        // E'…', B'…', X'…', N'…' are literals.
        if length == 1 && text[1..].starts_with('\'') && "ebxn".contains(first) {
            return (value(), 1 + quoted(&text[1..], '\''));
        }
        return (Some(text[..length].to_owned()), length);
    }
    if is_operator(first) {
        let length = run(text, is_operator);
        return (Some(text[..length].to_owned()), length);
    }
    (Some(first.to_string()), first.len_utf8())
}

/// A quoted name as one word: no blank and no quote is left in it.
fn word(name: &str) -> String {
    let word: String = name
        .chars()
        .map(|c| if is_word(c) { c } else { '_' })
        .collect();
    if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit() || c == '$') {
        return format!("_{word}");
    }
    word
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The length of what is quoted; a doubled quote ends nothing.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

fn dollar_quoted(text: &str) -> Option<usize> {
    let name = text.strip_prefix('$')?;
    let end = name.find('$')?;
    let is_tag = name[..end].chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let tag = is_tag.then(|| &text[..end + 2])?;
    let body = &text[tag.len()..];
    Some(body.find(tag).map_or(text.len(), |end| end + 2 * tag.len()))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_operator(c: char) -> bool {
    "+-*/<>=~!@#%^&|`:".contains(c)
}

/// Whether the last token is the sign of a number that follows, not a subtraction.
fn is_sign(tokens: &[String]) -> bool {
    let [before @ .., last] = tokens else {
        return false;
    };
    let subtracts = before
        .last()
        .is_some_and(|token| token == ")" || token == VALUE || token.starts_with(is_word));
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
