//! Places in JSON: `$.a.b[0]`, and `$['odd name']` for names with other characters.

use std::fmt::Write as _;

use serde_json::Value;

use super::PathStep;

/// Why a text is no JSON path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathFault {
    /// It does not begin with `$`.
    #[error("does not begin with `$`")]
    NoRoot,
    /// A dot or bracket without a name.
    #[error("has a dot or bracket with no name behind it")]
    NoName,
    /// A bracket stays open, or holds neither a number nor a quoted name.
    #[error("has a bracket that is not `[0]` or `['name']`")]
    Bracket,
    /// Something stands where a dot or bracket must.
    #[error("has something other than `.name` or `[0]` in it")]
    Unexpected,
}

/// Reads a path.
pub(super) fn parse_json_path(text: &str) -> Result<Vec<PathStep>, JsonPathFault> {
    let mut rest = text.strip_prefix('$').ok_or(JsonPathFault::NoRoot)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(member) = rest.strip_prefix('.') {
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let end = member.find(|c| !is_name(c)).unwrap_or(member.len());
            if end == 0 {
                return Err(JsonPathFault::NoName);
            }
            steps.push(PathStep::Member(member[..end].to_owned()));
            rest = &member[end..];
        } else if let Some(bracket) = rest.strip_prefix('[') {
            let (step, after) = parse_bracket(bracket)?;
            steps.push(step);
            rest = after;
        } else {
            return Err(JsonPathFault::Unexpected);
        }
    }
    Ok(steps)
}

fn parse_bracket(bracket: &str) -> Result<(PathStep, &str), JsonPathFault> {
    for quote in ['\'', '"'] {
        if let Some(quoted) = bracket.strip_prefix(quote) {
            let end = quoted.find(quote).ok_or(JsonPathFault::Bracket)?;
            let after = quoted[end + 1..]
                .strip_prefix(']')
                .ok_or(JsonPathFault::Bracket)?;
            return Ok((PathStep::Member(quoted[..end].to_owned()), after));
        }
    }
    let (inside, after) = bracket.split_once(']').ok_or(JsonPathFault::Bracket)?;
    if !inside.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(JsonPathFault::Bracket);
    }
    let element = inside.parse().map_err(|_| JsonPathFault::Bracket)?;
    Ok((PathStep::Element(element), after))
}

/// The value at a path, if the JSON has one there.
pub fn select<'v>(value: &'v Value, path: &[PathStep]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        PathStep::Member(name) => value.get(name),
        PathStep::Element(index) => value.get(index),
    })
}

/// The path as a manifest writes it.
pub fn show_json_path(path: &[PathStep]) -> String {
    let mut text = "$".to_owned();
    for step in path {
        // Writing to a String cannot fail.
        let _ = match step {
            PathStep::Member(name)
                if !name.is_empty()
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || c == '_' || c == '-') =>
            {
                write!(text, ".{name}")
            }
            PathStep::Member(name) if name.contains('\'') => write!(text, "[\"{name}\"]"),
            PathStep::Member(name) => write!(text, "['{name}']"),
            PathStep::Element(index) => write!(text, "[{index}]"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_finds_members_and_elements() {
        let value = json!({ "a": { "odd name": [10, 20] } });
        let path = parse_json_path("$.a['odd name'][1]").unwrap();
        assert_eq!(select(&value, &path), Some(&json!(20)));
        assert_eq!(show_json_path(&path), "$.a['odd name'][1]");
        assert_eq!(select(&value, &parse_json_path("$.b").unwrap()), None);
        assert_eq!(parse_json_path("$").unwrap(), []);
    }

    #[test]
    fn a_faulty_path_says_what_is_wrong() {
        for (text, fault) in [
            ("id", JsonPathFault::NoRoot),
            ("$.", JsonPathFault::NoName),
            ("$..a", JsonPathFault::NoName),
            ("$.a[x]", JsonPathFault::Bracket),
            ("$.a[-1]", JsonPathFault::Bracket),
            ("$.a[0", JsonPathFault::Bracket),
            ("$a", JsonPathFault::Unexpected),
        ] {
            assert_eq!(parse_json_path(text), Err(fault), "{text}");
        }
    }
}
