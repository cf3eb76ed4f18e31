//! Reading one table of the file: its keys, and the plain values under them.

use std::time::Duration;

use indexmap::IndexMap;

use super::context::Context;
use super::duration::{DurationFault, parse_duration};
use super::json_path::{JsonPathFault, PathStep, parse_json_path};
use super::keys::Keys;
use super::node::{Node, Value};
use super::problem::{Defect, Noun};
use super::source::Span;
use super::suggestion::nearest;
use super::{Template, placeholders::Placeholders};

/// A table whose keys are known beforehand.
pub(super) struct Table<'n> {
    /// What messages call it: ``process `worker` ``.
    pub(super) title: String,
    /// Where something that is missing from it is shown.
    pub(super) anchor: Span,
    keys: Keys,
    entries: IndexMap<&'n str, &'n Node>,
}

impl<'n> Table<'n> {
    /// Reads the node as such a table. Unknown and repeated keys are reported; one that was
    /// probably meant as another is read as that, any other is passed over.
    pub(super) fn read(
        cx: &mut Context<'n>,
        node: &'n Node,
        keys: Keys,
        title: impl Into<String>,
    ) -> Option<Self> {
        let title = title.into();
        let mut entries = IndexMap::new();
        let mut meant = Vec::new();
        for (name, key, value) in named(cx, node, &title)? {
            if keys.keys.contains(&name) {
                entries.insert(name, value);
                continue;
            }
            let nearest = keys.meant(name);
            meant.extend(nearest.map(|nearest| (nearest, value)));
            let defect = Defect::UnknownKey {
                key: name.to_owned(),
                table: title.clone(),
                nearest: nearest.map(str::to_owned),
                known: keys.keys,
            };
            cx.report(key, defect);
        }
        // A slip of the pen is one mistake: what stands under it is read all the same.
        for (name, value) in meant {
            entries.entry(name).or_insert(value);
        }
        Some(Self {
            title,
            anchor: node.anchor(),
            keys,
            entries,
        })
    }

    /// The value under a key.
    pub(super) fn get(&self, key: &'static str) -> Option<&'n Node> {
        assert!(
            self.keys.keys.contains(&key),
            "`{key}` is not among the keys of the table"
        );
        self.entries.get(key).copied()
    }

    /// The value under a key that must be there.
    pub(super) fn need(&self, cx: &mut Context<'n>, key: &'static str) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            cx.report(
                self.anchor,
                Defect::MissingKey {
                    key,
                    table: self.title.clone(),
                },
            );
        }
        found
    }

    /// The keys of the table under a key, each with its place; none if it is no table.
    pub(super) fn keys_of(&self, key: &'static str) -> Vec<(&'n str, Span)> {
        let entries = match self.get(key).map(|node| &node.value) {
            Some(Value::Table(entries)) => entries.as_slice(),
            _ => &[],
        };
        let named = entries.iter().filter_map(|(key, _)| match &key.value {
            Value::Text(name) => Some((name.as_str(), key.span)),
            _ => None,
        });
        named.collect()
    }

    /// What messages call the value under a key.
    pub(super) fn what(&self, key: &str) -> String {
        format!("`{key}` of {}", self.title)
    }

    /// The one key of several that is there, or a report.
    pub(super) fn exactly_one(
        &self,
        cx: &mut Context<'n>,
        keys: &[&'static str],
    ) -> Option<(&'static str, &'n Node)> {
        let mut there = keys.iter().filter_map(|&key| Some((key, self.get(key)?)));
        let Some(first) = there.next() else {
            let (keys, table) = (keys.to_vec(), self.title.clone());
            cx.report(self.anchor, Defect::MissingOneOf { keys, table });
            return None;
        };
        if let Some(second) = there.next() {
            let table = self.title.clone();
            let defect = Defect::Excluding {
                first: first.0,
                second: second.0,
                table,
            };
            cx.report_clash(second.1.anchor(), first.1.anchor(), defect);
            return None;
        }
        Some(first)
    }

    /// Reports each of the keys that is there though it means nothing.
    pub(super) fn refuse(
        &self,
        cx: &mut Context<'n>,
        keys: &[&'static str],
        belongs: &'static str,
    ) {
        for &key in keys {
            if let Some(node) = self.get(key) {
                let table = self.title.clone();
                cx.report(
                    node.anchor(),
                    Defect::KeyDoesNotFit {
                        key,
                        table,
                        belongs,
                    },
                );
            }
        }
    }

    /// A text that must be there.
    pub(super) fn need_text(
        &self,
        cx: &mut Context<'n>,
        key: &'static str,
    ) -> Option<(&'n str, Span)> {
        let node = self.need(cx, key)?;
        Some((text(cx, node, &self.what(key))?, node.span))
    }

    /// A text, outer none when it is wrong.
    #[expect(
        clippy::option_option,
        reason = "wrong and absent are different things"
    )]
    pub(super) fn text(
        &self,
        cx: &mut Context<'n>,
        key: &'static str,
    ) -> Option<Option<(&'n str, Span)>> {
        match self.get(key) {
            None => Some(None),
            Some(node) => Some(Some((text(cx, node, &self.what(key))?, node.span))),
        }
    }

    /// `true` or `false`, else the default.
    pub(super) fn flag(
        &self,
        cx: &mut Context<'n>,
        key: &'static str,
        default: bool,
    ) -> Option<bool> {
        let Some(node) = self.get(key) else {
            return Some(default);
        };
        match node.value {
            Value::Flag(flag, _) => Some(flag),
            _ => wrong_type(cx, node, self.what(key), "true or false"),
        }
    }

    /// A whole number in a range, else the default.
    pub(super) fn number(
        &self,
        cx: &mut Context<'n>,
        key: &'static str,
        default: u64,
        (least, most): (u64, u64),
    ) -> Option<u64> {
        let Some(node) = self.get(key) else {
            return Some(default);
        };
        number(cx, node, self.what(key), (least, most))
    }

    /// A duration, else the default.
    pub(super) fn duration(
        &self,
        cx: &mut Context<'n>,
        key: &'static str,
        default: Duration,
    ) -> Option<Duration> {
        let Some(node) = self.get(key) else {
            return Some(default);
        };
        let (Value::Text(written) | Value::Number(written)) = &node.value else {
            return wrong_type(cx, node, self.what(key), "a duration like `2s`");
        };
        match parse_duration(written) {
            Ok(duration) => Some(duration),
            Err(fault) => {
                // YAML lets `1_0` and `0x10` be numbers; either way a unit is missing.
                let number = matches!(node.value, Value::Number(_));
                let fault = if number { DurationFault::NoUnit } else { fault };
                cx.report(
                    node.span,
                    Defect::Duration {
                        written: written.clone(),
                        fault,
                    },
                );
                None
            }
        }
    }

    /// A JSON path that must be there.
    pub(super) fn need_json_path(
        &self,
        cx: &mut Context<'n>,
        key: &'static str,
    ) -> Option<Vec<PathStep>> {
        let (written, span) = self.need_text(cx, key)?;
        json_path(cx, span, written)
    }
}

/// The entries of a table whose keys are free. Repeated keys are reported and passed over.
pub(super) fn named<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
) -> Option<Vec<(&'n str, Span, &'n Node)>> {
    let Value::Table(entries) = &node.value else {
        return wrong_type(cx, node, title.to_owned(), "a table of keys");
    };
    let mut seen: IndexMap<&str, Span> = IndexMap::new();
    let mut result = Vec::new();
    for (key, value) in entries {
        let (Value::Text(name) | Value::Number(name) | Value::Flag(_, name)) = &key.value else {
            wrong_type::<()>(cx, key, format!("a key of {title}"), "a text");
            continue;
        };
        if let Some(&earlier) = seen.get(name.as_str()) {
            let (name, table) = (name.clone(), title.to_owned());
            cx.report_clash(key.span, earlier, Defect::DuplicateKey { key: name, table });
            continue;
        }
        seen.insert(name, key.span);
        result.push((name.as_str(), key.span, value));
    }
    Some(result)
}

/// The entries of a table whose keys name things of one kind.
pub(super) fn named_things<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    noun: Noun,
    reserved: &[&str],
) -> Option<Vec<(&'n str, &'n Node)>> {
    let entries = named(cx, node, title)?;
    for &(name, span, _) in &entries {
        if reserved.contains(&name) {
            cx.report(
                span,
                Defect::ReservedName {
                    name: name.to_owned(),
                    noun,
                },
            );
        } else if !is_name(stem(name, noun), noun) {
            let blanks = noun.has_blanks();
            cx.report(
                span,
                Defect::BadName {
                    name: name.to_owned(),
                    noun,
                    blanks,
                },
            );
        }
    }
    Some(
        entries
            .into_iter()
            .map(|(name, _, node)| (name, node))
            .collect(),
    )
}

/// A name without the end that FIFO queues have.
fn stem(name: &str, noun: Noun) -> &str {
    match name.strip_suffix(".fifo") {
        Some(stem) if noun == Noun::Queue => stem,
        _ => name,
    }
}

fn is_name(name: &str, noun: Noun) -> bool {
    let blanks = noun.has_blanks();
    // A stage may be called after a request.
    let path = noun == Noun::Stage;
    let inside = |c: char| {
        c.is_alphanumeric() || c == '-' || c == '_' || (blanks && c == ' ') || (path && c == '/')
    };
    let allowed = name.chars().all(inside) && !name.contains("  ");
    let (first, last) = (name.chars().next(), name.chars().next_back());
    allowed
        && if blanks {
            first.is_some_and(char::is_alphanumeric) && last.is_some_and(char::is_alphanumeric)
        } else {
            // Names of processes and queues become parts of files' and queues' names.
            name.is_ascii() && first.is_some_and(char::is_alphabetic)
        }
}

/// Reports a value of another type.
pub(super) fn wrong_type<T>(
    cx: &mut Context<'_>,
    node: &Node,
    what: String,
    expected: &'static str,
) -> Option<T> {
    let span = match node.value {
        Value::Null => node.anchor(),
        _ => node.span,
    };
    cx.report(
        span,
        Defect::WrongType {
            what,
            expected,
            found: node.found(),
        },
    );
    None
}

/// A text that is not empty.
pub(super) fn text<'n>(cx: &mut Context<'n>, node: &'n Node, what: &str) -> Option<&'n str> {
    match &node.value {
        Value::Text(text) if text.trim().is_empty() => {
            cx.report(
                node.span,
                Defect::Empty {
                    what: what.to_owned(),
                },
            );
            None
        }
        Value::Text(text) => Some(text),
        _ => wrong_type(cx, node, what.to_owned(), "a text"),
    }
}

/// A text, number or truth value, as written. Texts may be empty.
pub(super) fn scalar<'t>(cx: &mut Context<'_>, node: &'t Node, what: &str) -> Option<&'t str> {
    match &node.value {
        Value::Text(text) | Value::Number(text) | Value::Flag(_, text) => Some(text),
        _ => wrong_type(
            cx,
            node,
            what.to_owned(),
            "a text, a number, or true or false",
        ),
    }
}

/// A text, number or truth value as a template.
pub(super) fn template(
    cx: &mut Context<'_>,
    node: &Node,
    what: &str,
    placeholders: &Placeholders,
) -> Option<Template> {
    let written = scalar(cx, node, what)?;
    cx.template(node.span, written, placeholders)
}

/// A whole number in a range.
pub(super) fn number(
    cx: &mut Context<'_>,
    node: &Node,
    what: String,
    (least, most): (u64, u64),
) -> Option<u64> {
    let Value::Number(written) = &node.value else {
        return wrong_type(cx, node, what, "a whole number");
    };
    match written.parse() {
        Ok(number) if (least..=most).contains(&number) => Some(number),
        _ => {
            let written = written.clone();
            cx.report(
                node.span,
                Defect::OutOfRange {
                    what,
                    written,
                    least,
                    most,
                },
            );
            None
        }
    }
}

/// The items of a list.
pub(super) fn list<'n>(cx: &mut Context<'n>, node: &'n Node, what: &str) -> Option<&'n [Node]> {
    match &node.value {
        Value::List(items) => Some(items),
        _ => wrong_type(cx, node, what.to_owned(), "a list"),
    }
}

/// A JSON path to one value.
fn json_path(cx: &mut Context<'_>, span: Span, written: &str) -> Option<Vec<PathStep>> {
    let single = |steps: Vec<PathStep>| {
        let several = steps.contains(&PathStep::Each);
        if several {
            Err(JsonPathFault::Several)
        } else {
            Ok(steps)
        }
    };
    match parse_json_path(written).and_then(single) {
        Ok(steps) => Some(steps),
        Err(fault) => {
            cx.report(
                span,
                Defect::JsonPath {
                    written: written.to_owned(),
                    fault,
                },
            );
            None
        }
    }
}

/// One word of a few.
pub(super) fn choice(
    cx: &mut Context<'_>,
    span: Span,
    what: String,
    written: &str,
    known: &'static [&'static str],
) -> Option<&'static str> {
    let found = known.iter().copied().find(|&known| known == written);
    if found.is_none() {
        let nearest = nearest(written, known.iter().copied());
        let written = written.to_owned();
        cx.report(
            span,
            Defect::UnknownChoice {
                what,
                written,
                nearest,
                known,
            },
        );
    }
    found
}
