//! Reading where an id stands in a call.

use super::context::Context;
use super::keys;
use super::node::Node;
use super::pattern::read_sql;
use super::problem::Defect;
use super::table::{Table, number, text, wrong_type};
use super::{BindPlace, CapturePlace, Place};

/// What is searched for a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// A request: body, header and path.
    Request,
    /// An answer: body and header.
    Answer,
    /// A queue message: its body.
    QueueMessage,
}

impl Holder {
    fn has(self, key: &str) -> bool {
        match self {
            Self::Request => true,
            Self::Answer => key != "path",
            Self::QueueMessage => key == "body",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::Answer => "an answer",
            Self::QueueMessage => "a queue message",
        }
    }
}

/// `{ body: $.id }`, `{ header: X-Id }` or `{ path: message }`.
pub(super) fn read_place<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    holder: Holder,
) -> Option<Place> {
    let table = Table::read(cx, node, keys::PLACE, title)?;
    read_place_of(cx, &table, holder)
}

fn read_place_of<'n>(cx: &mut Context<'n>, table: &Table<'n>, holder: Holder) -> Option<Place> {
    let (key, node) = table.exactly_one(cx, &["body", "header", "path"])?;
    if !holder.has(key) {
        let (what, holder) = (table.title.clone(), holder.name());
        cx.report(node.anchor(), Defect::PlaceDoesNotFit { what, key, holder });
        return None;
    }
    let what = table.what(key);
    let written = text(cx, node, &what)?;
    match key {
        "body" => super::table::json_path(cx, node.span, written).map(Place::Body),
        "header" => {
            check_header(cx, node.span, written)?;
            Some(Place::Header(written.to_ascii_lowercase()))
        }
        _ => super::table::choice(cx, node.span, what, written, &["message", "job"])
            .map(|segment| Place::Path(segment.to_owned())),
    }
}

/// Reports a header's name that HTTP does not allow.
pub(super) fn check_header(
    cx: &mut Context<'_>,
    span: super::source::Span,
    name: &str,
) -> Option<()> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if !name.is_empty() && name.chars().all(token) {
        return Some(());
    }
    cx.report(
        span,
        Defect::HeaderName {
            name: name.to_owned(),
        },
    );
    None
}

/// `{ statement: …, bind: 2 }`.
pub(super) fn read_bind<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
) -> Option<BindPlace> {
    let table = Table::read(cx, node, keys::BIND, title)?;
    read_bind_of(cx, &table)
}

fn read_bind_of<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<BindPlace> {
    let statement = table
        .need(cx, "statement")
        .and_then(|node| read_sql(cx, node, table));
    let what = table.what("bind");
    // PostgreSQL counts parameters in sixteen bits.
    let position = table
        .need(cx, "bind")
        .and_then(|node| number(cx, node, what, (1, 65_535)));
    Some(BindPlace {
        statement: statement?,
        position: usize::try_from(position?).ok()?,
    })
}

/// A captured value: a bind value for PostgreSQL, a place elsewhere.
pub(super) fn read_capture<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: String,
    holder: Option<Holder>,
) -> Option<CapturePlace> {
    let table = Table::read(cx, node, keys::CAPTURE, title)?;
    let binds = table.get("statement").or(table.get("bind"));
    let places = table
        .get("body")
        .or(table.get("header"))
        .or(table.get("path"));
    match (binds, places, holder) {
        (Some(_), Some(_), _) => {
            table.refuse(
                cx,
                if holder.is_none() {
                    &["body", "header", "path"]
                } else {
                    &["statement", "bind"]
                },
                if holder.is_none() {
                    "a call over HTTP or a queue"
                } else {
                    "a database call"
                },
            );
            None
        }
        (_, Some(_), Some(holder)) => read_place_of(cx, &table, holder).map(CapturePlace::Place),
        (_, None, None) => read_bind_of(cx, &table).map(CapturePlace::Bind),
        (_, Some(_), None) => {
            table.refuse(
                cx,
                &["body", "header", "path"],
                "a call over HTTP or a queue",
            );
            None
        }
        (Some(_), None, Some(_)) => {
            table.refuse(cx, &["statement", "bind"], "a database call");
            None
        }
        (None, None, Some(_)) => {
            let (keys, table_title) = (vec!["body", "header", "path"], table.title.clone());
            cx.report(
                table.anchor,
                Defect::MissingOneOf {
                    keys,
                    table: table_title,
                },
            );
            None
        }
    }
}

/// A list of places.
pub(super) fn read_list<'n, T>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    expected: &'static str,
    mut read: impl FnMut(&mut Context<'n>, &'n Node, &str) -> Option<T>,
) -> Option<Vec<T>> {
    let super::node::Value::List(items) = &node.value else {
        return wrong_type(cx, node, title.to_owned(), expected);
    };
    if items.is_empty() {
        cx.report(
            node.span,
            Defect::Empty {
                what: title.to_owned(),
            },
        );
        return None;
    }
    let items: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(index, item)| read(cx, item, &format!("place {} of {title}", index + 1)))
        .collect();
    items.into_iter().collect()
}
