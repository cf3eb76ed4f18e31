//! Variables in a compose file: `$NAME`, `${NAME}`, `${NAME:-other}` and their kin, and files
//! of variables.

use std::collections::BTreeMap;

/// Variables by name.
pub(super) type Variables = BTreeMap<String, String>;

/// Puts the values of variables into a text.
///
/// # Errors
/// When one that must be there is not, or the text is no template.
pub(super) fn substitute(text: &str, variables: &Variables) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let end = closing(after).ok_or_else(|| format!("`${{{after}` never ends"))?;
            out += &expression(&after[..end], variables)?;
            rest = &after[end + 1..];
        } else {
            let end = name_end(rest);
            if end == 0 {
                out.push('$');
            } else {
                out += variables.get(&rest[..end]).map_or("", String::as_str);
            }
            rest = &rest[end..];
        }
    }
    Ok(out + rest)
}

/// Where a name ends.
fn name_end(text: &str) -> usize {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let inside = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    if begins {
        text.find(inside).unwrap_or(text.len())
    } else {
        0
    }
}

/// Where the brace closes that was opened before a text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn expression(text: &str, variables: &Variables) -> Result<String, String> {
    let end = name_end(text);
    let (name, rule) = text.split_at(end);
    if name.is_empty() {
        return Err(format!("`${{{text}}}` names no variable"));
    }
    let value = variables.get(name);
    let (empty_counts, rule) = match rule.strip_prefix(':') {
        Some(rule) => (true, rule),
        None => (false, rule),
    };
    let set = value.filter(|value| !(empty_counts && value.is_empty()));
    match (rule.chars().next(), set) {
        (None, _) => Ok(value.cloned().unwrap_or_default()),
        (Some('-' | '?'), Some(value)) => Ok(value.clone()),
        (Some('-'), None) | (Some('+'), Some(_)) => substitute(&rule[1..], variables),
        (Some('+'), None) => Ok(String::new()),
        (Some('?'), None) => Err(format!("${name} must be set: {}", &rule[1..])),
        _ => Err(format!(
            "`${{{text}}}` is written in a way that is not known here"
        )),
    }
}

/// The variables of a file with lines like `NAME=value`.
pub(super) fn variables_of(text: &str) -> Variables {
    let mut variables = Variables::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let value = value.trim();
        let quoted = |quote: char| {
            let inner = value.strip_prefix(quote)?;
            inner.find(quote).map(|end| &inner[..end])
        };
        let plain = || value.split(" #").next().unwrap_or_default().trim_end();
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain);
        variables.insert(name.trim().to_owned(), value.to_owned());
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_the_place_of_variables() {
        let variables = variables_of("A=1\n# C=2\nexport EMPTY=\nB=\"x y\" # z\nD=it # that\n");
        for (text, value) in [
            ("$A-${B}", "1-x y"),
            ("${D}", "it"),
            ("${X:-y}", "y"),
            ("${X-${A}}", "1"),
            ("${EMPTY:-y}${EMPTY-y}", "y"),
            ("${A:+set}${X:+set}", "set"),
            ("$$A ${A:?no}", "$A 1"),
            ("a $ b", "a $ b"),
            ("$X!", "!"),
        ] {
            assert_eq!(substitute(text, &variables).unwrap(), value, "{text}");
        }
        for text in ["${X:?give one}", "${A", "${}", "${A%b}"] {
            assert!(substitute(text, &variables).is_err(), "{text}");
        }
    }
}
