//! Putting into a manifest what it does not say yet. What a person wrote stays as it is:
//! text is put between it, in the style of its surroundings, and the whole is read again.

use std::fmt::Write as _;

use super::node::{Node, Value};
use super::source::Source;

/// Something that is put under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// A value on its line: `{ body: $.id }`.
    Line(String),
    /// A table, each entry on a line of its own, with a word about it where there is one.
    Table(Vec<Entry>),
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key, as it is to be written.
    pub key: String,
    /// Its value, on one line.
    pub value: String,
    /// What is said about it, behind it.
    pub comment: Option<String>,
}

/// A manifest into which nothing can be put at this place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing can be put under `{place}` without touching what stands there: {reason}")]
pub struct NotEditable {
    /// Where.
    pub place: String,
    /// Why.
    pub reason: &'static str,
}

/// The text of a manifest that is being added to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Editor {
    text: String,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// In brackets, which begin here.
    Flow(usize),
    /// On lines of its own, deeper than this column (none: the file itself).
    Block(Option<usize>),
}

impl Editor {
    /// Of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The text as it is by now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether something stands under these keys.
    pub fn has(&self, path: &[&str]) -> bool {
        self.tree().is_some_and(|tree| find(&tree, path).is_some())
    }

    /// The keys of the table that stands under these.
    pub fn keys(&self, path: &[&str]) -> Vec<String> {
        let tree = self.tree();
        let Some(Value::Table(entries)) = tree
            .as_ref()
            .and_then(|tree| Some(&find(tree, path)?.value))
        else {
            return Vec::new();
        };
        let keys = entries.iter().filter_map(|(key, _)| match &key.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        keys.collect()
    }

    /// The text that stands under these keys.
    pub fn text_at(&self, path: &[&str]) -> Option<String> {
        match &find(&self.tree()?, path)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Whether a list without elements stands under these keys.
    pub fn is_empty_list(&self, path: &[&str]) -> bool {
        let tree = self.tree();
        let node = tree.as_ref().and_then(|tree| find(tree, path));
        matches!(node.map(|node| &node.value), Some(Value::List(elements)) if elements.is_empty())
    }

    /// Puts a value under a new key of the table that stands under `path`; above it what is
    /// said about it, where its lines are its own.
    ///
    /// # Errors
    /// When what stands there cannot be added to.
    pub fn put(
        &mut self,
        path: &[&str],
        key: &str,
        put: &Put,
        comment: &[String],
    ) -> Result<(), NotEditable> {
        let refused = |reason| NotEditable {
            place: path.join("."),
            reason,
        };
        let tree = self.tree().ok_or_else(|| refused("it is no YAML"))?;
        let node = find(&tree, path).ok_or_else(|| refused("there is no such key"))?;
        let (entries, empty) = match &node.value {
            Value::Table(entries) => (entries.as_slice(), entries.is_empty()),
            Value::Null => (&[][..], true),
            _ => return Err(refused("a value stands there, and no table")),
        };
        let style = self
            .style(node, path.is_empty())
            .ok_or_else(|| refused("it is written with an anchor, an alias or a tag"))?;
        let mut text = self.text.clone();
        match style {
            Style::Flow(open) => {
                let close =
                    closing(&text, open).ok_or_else(|| refused("its bracket never ends"))?;
                put_in_flow(&mut text, open, close, &format!("{key}: {}", put.in_flow()));
            }
            Style::Block(parent) => {
                let column = match entries.first() {
                    Some((first, _)) => self.column(first.span.offset),
                    None => parent.map_or(0, |column| column + 2),
                };
                let from = match parent {
                    Some(_) => node.key.map_or(0, |key| key.offset),
                    None => 0,
                };
                let at = self.end_of_block(from, parent);
                let lines = put.lines(key, column, comment, self.newline());
                self.insert_lines(&mut text, at, &lines, path.is_empty() && !empty);
            }
        }
        self.take(text, &tree, path, |editor| {
            editor.has(&[path, &[key]].concat())
        })
    }

    /// Adds an element to the list that stands under `path`.
    ///
    /// # Errors
    /// When what stands there cannot be added to.
    pub fn append(&mut self, path: &[&str], element: &str) -> Result<(), NotEditable> {
        let refused = |reason| NotEditable {
            place: path.join("."),
            reason,
        };
        let tree = self.tree().ok_or_else(|| refused("it is no YAML"))?;
        let node = find(&tree, path).ok_or_else(|| refused("there is no such key"))?;
        let Value::List(elements) = &node.value else {
            return Err(refused("a value stands there, and no list"));
        };
        let mut text = self.text.clone();
        match self.style(node, false) {
            Some(Style::Flow(open)) => {
                let close =
                    closing(&text, open).ok_or_else(|| refused("its bracket never ends"))?;
                put_in_flow(&mut text, open, close, element);
            }
            Some(Style::Block(Some(parent))) => {
                let Some(first) = elements.first() else {
                    return Err(refused("an empty list without brackets"));
                };
                // Behind `- `, wherever the element itself begins.
                let line = self.text[..first.span.offset]
                    .rfind('\n')
                    .map_or(0, |at| at + 1);
                let dash = self.text[line..].find('-').unwrap_or_default();
                let from = node.key.map_or(0, |key| key.offset);
                let at = self.end_of_list(from, parent, dash);
                let lines = format!("{:dash$}- {element}{}", "", self.newline());
                self.insert_lines(&mut text, at, &lines, false);
            }
            _ => return Err(refused("it is written with an anchor, an alias or a tag")),
        }
        let count = elements.len();
        self.take(text, &tree, path, |editor| {
            editor.count(path) == Some(count + 1)
        })
    }

    fn count(&self, path: &[&str]) -> Option<usize> {
        match &find(&self.tree()?, path)?.value {
            Value::List(elements) => Some(elements.len()),
            _ => None,
        }
    }

    /// Writes lines at the end of the file.
    pub fn add_lines(&mut self, lines: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text += self.newline();
        }
        self.text += lines;
    }

    /// Takes a new text if nothing that stood in the old one is gone from it, and what was
    /// put in is there: behind a comment nothing is.
    fn take(
        &mut self,
        text: String,
        before: &Node,
        path: &[&str],
        is_there: impl Fn(&Self) -> bool,
    ) -> Result<(), NotEditable> {
        let after = Self { text };
        let kept = after.tree().is_some_and(|tree| keeps(&tree, before));
        if !kept || !is_there(&after) {
            return Err(NotEditable {
                place: path.join("."),
                reason: "it is written in a way that cannot be added to",
            });
        }
        *self = after;
        Ok(())
    }

    fn tree(&self) -> Option<Node> {
        let source = Source::new(&self.text);
        Node::parse(&source, &self.text).ok()
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// In which column something begins, in characters from 0.
    fn column(&self, offset: usize) -> usize {
        let line = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        self.text[line..offset].chars().count()
    }

    fn style(&self, node: &Node, root: bool) -> Option<Style> {
        if root {
            let flow = self.text[node.span.offset.min(self.text.len())..].starts_with('{');
            return Some(if flow {
                Style::Flow(node.span.offset)
            } else {
                Style::Block(None)
            });
        }
        let key = node.key?;
        let behind = key.offset + key.length;
        let colon = behind + self.text[behind..].find(':')?;
        let rest = &self.text[colon + 1..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        match rest[blank..].chars().next() {
            Some('{' | '[') => Some(Style::Flow(colon + 1 + blank)),
            None | Some('\n' | '\r' | '#') => Some(Style::Block(Some(self.column(key.offset)))),
            Some(_) => None,
        }
    }

    /// Where the lines end that stand deeper than a column, below the line at `from`.
    fn end_of_block(&self, from: usize, parent: Option<usize>) -> usize {
        // A file of YAML may say where it ends.
        self.end_of(from, parent.is_some(), |column, line| match parent {
            Some(parent) => column > parent,
            None => column > 0 || line != "...",
        })
    }

    /// The same of a list, whose dashes may stand below its key.
    fn end_of_list(&self, from: usize, parent: usize, dash: usize) -> usize {
        self.end_of(from, true, |column, line| {
            column > parent || (column == dash && line.starts_with('-'))
        })
    }

    fn end_of(&self, from: usize, skip: bool, belongs: impl Fn(usize, &str) -> bool) -> usize {
        let mut at = from;
        if skip {
            at += self.text[from..]
                .find('\n')
                .map_or(self.text.len() - from, |end| end + 1);
        }
        let mut end = at;
        for line in self.text[at..].split_inclusive('\n') {
            at += line.len();
            let content = line.trim();
            let column = line.len() - line.trim_start_matches(' ').len();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if !belongs(column, content) {
                break;
            }
            end = at;
        }
        end
    }

    fn insert_lines(&self, text: &mut String, at: usize, lines: &str, apart: bool) {
        let newline = self.newline();
        let mut put = String::new();
        if at > 0 && !text[..at].ends_with('\n') {
            put += newline;
        }
        if apart {
            put += newline;
        }
        put += lines;
        text.insert_str(at, &put);
    }
}

impl Put {
    fn in_flow(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Table(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|entry| format!("{}: {}", entry.key, entry.value))
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }

    fn lines(&self, key: &str, column: usize, comment: &[String], newline: &str) -> String {
        let mut lines = String::new();
        if let (Self::Line(line), [comment], true) = (self, comment, column > 0) {
            let _ = write!(lines, "{:column$}{key}: {line} # {comment}{newline}", "");
            return lines;
        }
        for comment in comment {
            let _ = write!(lines, "{:column$}# {comment}{newline}", "");
        }
        match self {
            Self::Line(line) => {
                let _ = write!(lines, "{:column$}{key}: {line}{newline}", "");
            }
            Self::Table(entries) => {
                let _ = write!(lines, "{:column$}{key}:{newline}", "");
                for entry in entries {
                    let inner = column + 2;
                    let _ = write!(lines, "{:inner$}{}: {}", "", entry.key, entry.value);
                    if let Some(comment) = &entry.comment {
                        let _ = write!(lines, " # {comment}");
                    }
                    lines += newline;
                }
            }
        }
        lines
    }
}

fn find<'n>(tree: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(tree, |node, key| match &node.value {
        Value::Table(entries) => {
            let is = |name: &Node| matches!(&name.value, Value::Text(text) if text == key);
            let found = entries.iter().find(|(name, _)| is(name));
            found.map(|(_, value)| value)
        }
        _ => None,
    })
}

/// Puts something before the bracket that ends at `close`.
fn put_in_flow(text: &mut String, open: usize, close: usize, element: &str) {
    let inside = text[open + 1..close].trim_end();
    let end = open + 1 + inside.len();
    let is_last = |c| inside.trim_end().ends_with(c);
    let put = match inside.trim().is_empty() {
        true if text[open..].starts_with('[') => element.to_owned(),
        true => format!(" {element} "),
        false if is_last(',') => format!(" {element}"),
        false => format!(", {element}"),
    };
    if inside.trim().is_empty() {
        text.replace_range(open + 1..close, &put);
    } else {
        text.insert_str(end, &put);
    }
}

/// Where the bracket ends that begins at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut before = ' ';
    let mut comment = false;
    let mut escaped = false;
    for (at, c) in text[open..].char_indices() {
        match quote {
            _ if comment => comment = c != '\n',
            Some('"') if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None => match c {
                // Within a word they are a part of it.
                '"' | '\'' if !before.is_alphanumeric() => quote = Some(c),
                '#' if before.is_whitespace() => comment = true,
                '{' | '[' => depth += 1,
                '}' | ']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(open + at);
                    }
                }
                _ => {}
            },
        }
        before = c;
    }
    None
}

/// Whether all that stands in `before` stands in `after` too, in its order.
fn keeps(after: &Node, before: &Node) -> bool {
    match (&after.value, &before.value) {
        (Value::Table(after), Value::Table(before)) => {
            let mut rest = after.iter();
            before
                .iter()
                .all(|(key, value)| rest.any(|(found, now)| same(found, key) && keeps(now, value)))
        }
        (Value::List(after), Value::List(before)) => {
            after.len() >= before.len()
                && after
                    .iter()
                    .zip(before)
                    .all(|(after, before)| keeps(after, before))
        }
        (_, Value::Null) => true,
        _ => same(after, before),
    }
}

fn same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Null, Value::Null) => true,
        (Value::Flag(one, _), Value::Flag(other, _)) => one == other,
        (Value::Number(one), Value::Number(other)) | (Value::Text(one), Value::Text(other)) => {
            one == other
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str, path: &[&str], key: &str, value: &str) -> String {
        let mut editor = Editor::new(text);
        let put = Put::Line(value.to_owned());
        editor.put(path, key, &put, &["why".to_owned()]).unwrap();
        assert!(editor.has(&[path, &[key]].concat()));
        editor.text
    }

    #[test]
    fn a_key_is_put_behind_what_stands_there_in_its_style() {
        for (before, path, after) in [
            (
                "a:\n  b: 1 # one\n\n# c\nc: 2\n",
                &["a"][..],
                "a:\n  b: 1 # one\n  k: { v: 1 } # why\n\n# c\nc: 2\n",
            ),
            (
                "a: { b: \"}\", c: [1] } # x\n",
                &["a"],
                "a: { b: \"}\", c: [1], k: { v: 1 } } # x\n",
            ),
            ("a: {}\n", &["a"], "a: { k: { v: 1 } }\n"),
            ("a:\nb: 1\n", &["a"], "a:\n  k: { v: 1 } # why\nb: 1\n"),
            (
                "a:\n    b:\n        c: 1",
                &["a"],
                "a:\n    b:\n        c: 1\n    k: { v: 1 } # why\n",
            ),
            (
                "a:\n  b: {\n    c: 1,\n  }\n",
                &["a", "b"],
                "a:\n  b: {\n    c: 1, k: { v: 1 }\n  }\n",
            ),
            ("a: 1\n", &[], "a: 1\n\n# why\nk: { v: 1 }\n"),
            ("a: 1\r\n", &[], "a: 1\r\n\r\n# why\r\nk: { v: 1 }\r\n"),
            (
                "a: { b: { c: 1 } }\n",
                &["a", "b"],
                "a: { b: { c: 1, k: { v: 1 } } }\n",
            ),
            (
                "'a': # that\n  b: it's\n",
                &["a"],
                "'a': # that\n  b: it's\n  k: { v: 1 } # why\n",
            ),
            ("a: { b: it's }\n", &["a"], "a: { b: it's, k: { v: 1 } }\n"),
        ] {
            assert_eq!(put(before, path, "k", "{ v: 1 }"), after, "{before}");
        }
    }

    #[test]
    fn an_element_is_put_behind_the_others() {
        for (before, after) in [
            ("a: []\n", "a: [{ x: 1 }]\n"),
            ("a: [1, 2]\n", "a: [1, 2, { x: 1 }]\n"),
            (
                "a:\n  - 1\n  - { b: 2 }\nc: 1\n",
                "a:\n  - 1\n  - { b: 2 }\n  - { x: 1 }\nc: 1\n",
            ),
            (
                "a:\n- b: 1\n  c: 2\nd: 1\n",
                "a:\n- b: 1\n  c: 2\n- { x: 1 }\nd: 1\n",
            ),
        ] {
            let mut editor = Editor::new(before);
            editor.append(&["a"], "{ x: 1 }").unwrap();
            assert_eq!(editor.text(), after);
        }
    }

    #[test]
    fn nothing_is_put_behind_the_end_of_the_yaml() {
        let mut editor = Editor::new("---\na: 1\n# one\n...\n");
        editor
            .put(&[], "b", &Put::Line("2".to_owned()), &[])
            .unwrap();
        assert_eq!(editor.text(), "---\na: 1\n\nb: 2\n# one\n...\n");
    }

    #[test]
    fn what_cannot_be_added_to_is_left_as_it_is() {
        for text in [
            "a: &x { b: 1 }\n",
            "a: 1\n",
            "b: 1\n",
            "x: &x { b: 1 }\na: *x\n",
            "a: {\n  b: 1 # one\n  }\n",
        ] {
            let mut editor = Editor::new(text);
            let put = Put::Line("1".to_owned());
            assert!(editor.put(&["a"], "k", &put, &[]).is_err(), "{text}");
            assert_eq!(editor.text(), text);
        }
    }

    #[test]
    fn a_table_has_a_line_for_each_entry_or_stands_in_brackets() {
        let put = Put::Table(vec![Entry {
            key: "b c".to_owned(),
            value: "1".to_owned(),
            comment: Some("one".to_owned()),
        }]);
        let mut editor = Editor::new("x: 1\n");
        editor.put(&[], "a", &put, &[]).unwrap();
        assert_eq!(editor.text(), "x: 1\n\na:\n  b c: 1 # one\n");
        let mut editor = Editor::new("x: { y: 1 }\n");
        editor.put(&["x"], "a", &put, &[]).unwrap();
        assert_eq!(editor.text(), "x: { y: 1, a: { b c: 1 } }\n");
    }
}
