//! Places in JSON: `$.a.b[0]`, and `$['odd name']` for names with other characters.

use std::fmt::Write as _;

/// A step of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A member of an object.
    Member(String),
    /// An element of an array.
    Element(usize),
    /// Every element of an array.
    Each,
}

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
    #[error("has a bracket that is not `[0]`, `[*]` or `['name']`")]
    Bracket,
    /// Something stands where a dot or bracket must.
    #[error("has something other than `.name` or `[0]` in it")]
    Unexpected,
    /// `[*]` where one value is wanted.
    #[error("has `[*]`, and one value is wanted here")]
    Several,
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
    if inside == "*" {
        return Ok((PathStep::Each, after));
    }
    if !inside.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(JsonPathFault::Bracket);
    }
    let element = inside.parse().map_err(|_| JsonPathFault::Bracket)?;
    Ok((PathStep::Element(element), after))
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
            PathStep::Each => write!(text, "[*]"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_as_it_is_written() {
        for text in ["$", "$.a['odd name'][1]", "$.jobs[*].id"] {
            assert_eq!(show_json_path(&parse_json_path(text).unwrap()), text);
        }
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
