//! The shape of one statement: values taken out, columns in one order, rows of a list
//! counted once.

use super::sentence::{VALUE, tokens, written};

/// The shape of a statement, as text that reads back to itself.
pub(super) fn shape(statement: &str) -> String {
    written(&canonical(tokens(statement)))
}

/// Whether a shape ends a transaction durably.
pub(super) fn commits(shape: &str) -> bool {
    matches!(
        shape,
        "commit" | "end" | "commit transaction" | "commit work" | "end transaction"
    )
}

/// Whether a statement of this shape can change anything for good.
pub(super) fn may_write(shape: &str) -> bool {
    let verb = shape.split([' ', '(']).next().unwrap_or_default();
    let reads = [
        "begin",
        "start",
        "set",
        "show",
        "select",
        "savepoint",
        "release",
        "rollback",
        "declare",
        "fetch",
        "close",
        "deallocate",
        "discard",
        "reset",
        "listen",
        "unlisten",
        "values",
    ];
    !reads.contains(&verb)
}

/// Beginnings by which a person would name a statement: what is done to which table.
pub(super) fn heads(shape: &str) -> Vec<String> {
    let tokens = tokens(shape);
    let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let length = match words.as_slice() {
        ["insert", "into", ..] | ["delete", "from", ..] => 3,
        ["update", ..] => 2,
        _ => return Vec::new(),
    };
    // A name with its schema is three tokens.
    let qualified = words.get(length) == Some(&".");
    let length = if qualified { length + 2 } else { length };
    match tokens.get(..length) {
        Some(head) => vec![written(head)],
        None => Vec::new(),
    }
}

/// Tokens with what does not matter taken out.
pub(super) fn canonical(mut tokens: Vec<String>) -> Vec<String> {
    forget_names(&mut tokens);
    let tokens = short_lists(&tokens);
    let tokens = sort_insert(tokens);
    let tokens = sort_between(&tokens, "set", &["where", "from", "returning"]);
    let tokens = sort_between(&tokens, "returning", &[]);
    if tokens.first().is_some_and(|verb| verb == "select") {
        return sort_between(
            &tokens,
            "select",
            &["from", "where", "order", "limit", "for"],
        );
    }
    tokens
}

/// Savepoints, prepared statements and cursors get a new name each time.
fn forget_names(tokens: &mut [String]) {
    let verb = tokens.first().cloned().unwrap_or_default();
    if ![
        "savepoint",
        "release",
        "rollback",
        "deallocate",
        "fetch",
        "close",
        "declare",
    ]
    .contains(&verb.as_str())
    {
        return;
    }
    let known = ["savepoint", "to", "all", "work", "transaction", "prepare"];
    let name = tokens
        .iter()
        .skip(1)
        .position(|token| !known.contains(&token.as_str()));
    if let Some(name) = name {
        VALUE.clone_into(&mut tokens[name + 1]);
    }
}

/// `in (?, ?, ?)` is `in (?)`, `values (?, ?), (?, ?)` is `values (?, ?)`.
fn short_lists(tokens: &[String]) -> Vec<String> {
    let mut short: Vec<String> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let after_in = short.last().is_some_and(|token| token == "in");
        let end = (tokens[at] == "(").then(|| closing(tokens, at)).flatten();
        if let (true, Some(end)) = (after_in, end)
            && tokens[at + 1..end]
                .iter()
                .all(|token| token == VALUE || token == ",")
        {
            short.extend(["(", VALUE, ")"].map(str::to_owned));
            at = end + 1;
            continue;
        }
        short.push(tokens[at].clone());
        at += 1;
        if short.last().is_some_and(|token| token == "values")
            && let Some(end) = group(tokens, at)
        {
            short.extend_from_slice(&tokens[at..=end]);
            at = end + 1;
            while tokens.get(at).is_some_and(|token| token == ",")
                && let Some(end) = group(tokens, at + 1)
            {
                at = end + 1;
            }
        }
    }
    short
}

/// Where the parenthesis that opens at `at` closes.
fn group(tokens: &[String], at: usize) -> Option<usize> {
    (tokens.get(at)? == "(")
        .then(|| closing(tokens, at))
        .flatten()
}

fn closing(tokens: &[String], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts of a list, cut at its own commas.
fn parts(tokens: &[String]) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new()];
    let mut depth = 0_i32;
    for token in tokens {
        match token.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            _ => {}
        }
        if token == "," && depth == 0 {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token.clone());
        }
    }
    parts
}

fn joined(parts: &[Vec<String>]) -> Vec<String> {
    parts.join(&",".to_owned())
}

/// `insert into t (b, a) values (?, now())` has its columns in order, each with its value.
fn sort_insert(tokens: Vec<String>) -> Vec<String> {
    let Some(into) = tokens
        .windows(2)
        .position(|pair| pair[0] == "insert" && pair[1] == "into")
    else {
        return tokens;
    };
    let open = tokens
        .iter()
        .skip(into)
        .position(|token| ["(", "values", "select", "default"].contains(&token.as_str()))
        .map(|found| found + into);
    let Some((open, close)) = open.and_then(|open| Some((open, group(&tokens, open)?))) else {
        return tokens;
    };
    let columns = parts(&tokens[open + 1..close]);
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by(|one, other| columns[*one].cmp(&columns[*other]));
    let sorted: Vec<_> = order.iter().map(|index| columns[*index].clone()).collect();
    let mut result = tokens[..=open].to_vec();
    result.extend(joined(&sorted));
    result.push(")".to_owned());
    let values = (tokens.get(close + 1).is_some_and(|token| token == "values"))
        .then(|| group(&tokens, close + 2))
        .flatten();
    let Some(end) = values else {
        result.extend_from_slice(&tokens[close + 1..]);
        return result;
    };
    let values = parts(&tokens[close + 3..end]);
    result.extend(["values", "("].map(str::to_owned));
    if values.len() == columns.len() {
        let sorted: Vec<_> = order.iter().map(|index| values[*index].clone()).collect();
        result.extend(joined(&sorted));
    } else {
        result.extend(joined(&values));
    }
    result.extend_from_slice(&tokens[end..]);
    result
}

/// Each list that follows a word is put in order, up to one of `ends`, a closing
/// parenthesis or the end.
fn sort_between(tokens: &[String], word: &str, ends: &[&str]) -> Vec<String> {
    let mut sorted = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        sorted.push(tokens[at].clone());
        at += 1;
        if sorted.last().is_none_or(|token| token != word) {
            continue;
        }
        let mut end = at;
        let mut depth = 0_i32;
        while let Some(token) = tokens.get(end) {
            let over = token == ";" || token == ")" || ends.contains(&token.as_str());
            if depth == 0 && over {
                break;
            }
            match token.as_str() {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            end += 1;
        }
        let mut list = parts(&tokens[at..end]);
        list.sort();
        sorted.extend(joined(&list));
        at = end;
    }
    sorted
}
