//! Reading where an id stands in a call.

use std::fmt;

use super::context::Context;
use super::keys;
use super::node::Node;
use super::pattern::read_sql;
use super::pipeline::{Pipeline, PipelineFault, split_pipeline};
use super::problem::Defect;
use super::redis::read_key;
use super::source::Span;
use super::table::{Table, number, text, wrong_type};
use super::{BindPlace, CapturePlace};
use crate::protocol::redis::KeyPattern;

/// Where a job's id (or a message's name) stands in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the body: `$.job_id`, `$.Message | json | $.job`.
    Body(Pipeline),
    /// In the header with this name (lower case).
    Header(String, Pipeline),
    /// In the attribute of a queue message with this name.
    Attribute(String, Pipeline),
    /// In the segment of the path that this pattern names `{job}` or `{message}`.
    Path(String),
    /// In a key of Redis, where this pattern names it.
    Key(KeyPattern),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, key, name: &str, pipeline: &Pipeline| {
            let bar = if pipeline.0.is_empty() { "" } else { " | " };
            write!(f, "{key}: {name}{bar}{pipeline}")
        };
        match self {
            Self::Body(pipeline) => write!(f, "body: {pipeline}"),
            Self::Header(name, pipeline) => named(f, "header", name, pipeline),
            Self::Attribute(name, pipeline) => named(f, "attribute", name, pipeline),
            Self::Path(segment) => write!(f, "path: {segment}"),
            Self::Key(pattern) => write!(f, "key: {pattern}"),
        }
    }
}

/// The keys of a place.
const PLACES: &[&str] = &["body", "header", "attribute", "path", "key"];

/// What is searched for a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// A request: body, header and path.
    Request,
    /// An answer: body and header.
    Answer,
    /// A queue message: its body and its attributes.
    QueueMessage,
    /// A command of Redis: its keys, elements and fields.
    Command,
}

impl Holder {
    fn has(self, key: &str) -> bool {
        match self {
            Self::Request => !matches!(key, "attribute" | "key"),
            Self::Answer => matches!(key, "body" | "header"),
            Self::QueueMessage => matches!(key, "body" | "attribute"),
            Self::Command => matches!(key, "body" | "attribute" | "key"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::Answer => "an answer",
            Self::QueueMessage => "a queue message",
            Self::Command => "a command of Redis",
        }
    }
}

/// `{ body: $.id }`, `{ header: X-Id }`, `{ attribute: id }` or `{ path: message }`.
pub(super) fn read_place<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    holder: Holder,
) -> Option<Place> {
    let table = Table::read(cx, node, keys::PLACE, title)?;
    read_place_of(cx, &table, holder)
}

/// A place that holds one value.
pub(super) fn read_single_place<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    holder: Holder,
) -> Option<Place> {
    let place = read_place(cx, node, title, holder)?;
    let (Place::Body(pipeline) | Place::Header(_, pipeline) | Place::Attribute(_, pipeline)) =
        &place
    else {
        return Some(place);
    };
    if pipeline.finds_several() {
        let (what, written) = (title.to_owned(), pipeline.to_string());
        cx.report(node.anchor(), Defect::SeveralValues { what, written });
        return None;
    }
    Some(place)
}

fn read_place_of<'n>(cx: &mut Context<'n>, table: &Table<'n>, holder: Holder) -> Option<Place> {
    let (key, node) = table.exactly_one(cx, PLACES)?;
    if !holder.has(key) {
        let (what, holder) = (table.title.clone(), holder.name());
        cx.report(node.anchor(), Defect::PlaceDoesNotFit { what, key, holder });
        return None;
    }
    let what = table.what(key);
    if key == "key" {
        let pattern = read_key(cx, node, &what)?;
        if !pattern.has_id() {
            let (written, part) = (pattern.to_string(), "no id".to_owned());
            cx.report(node.span, Defect::KeyPattern { written, part });
            return None;
        }
        return Some(Place::Key(pattern));
    }
    let written = text(cx, node, &what)?;
    match key {
        "body" => read_body(cx, node.span, written).map(Place::Body),
        "header" => {
            let (name, pipeline) = read_named(cx, node.span, written)?;
            check_header(cx, node.span, name)?;
            Some(Place::Header(name.to_ascii_lowercase(), pipeline))
        }
        "attribute" => {
            let (name, pipeline) = read_named(cx, node.span, written)?;
            Some(Place::Attribute(name.to_owned(), pipeline))
        }
        _ => super::table::choice(cx, node.span, what, written, &["message", "job"])
            .map(|segment| Place::Path(segment.to_owned())),
    }
}

/// `$.id`, or with decoders `$.Message | json | $.id`.
fn read_body(cx: &mut Context<'_>, span: Span, written: &str) -> Option<Pipeline> {
    let parts = match split_pipeline(written) {
        Ok(parts) => parts,
        Err(fault) => return refuse_pipeline(cx, span, written, fault),
    };
    match (Pipeline::parse(&parts), parts.as_slice()) {
        (Ok(pipeline), _) => Some(pipeline),
        (Err(PipelineFault::JsonPath { fault, .. }), [_]) => {
            let written = written.to_owned();
            cx.report(span, Defect::JsonPath { written, fault });
            None
        }
        (Err(fault), _) => refuse_pipeline(cx, span, written, fault),
    }
}

/// A name, and perhaps decoders: `job | base64 | json | $.id`.
fn read_named<'t>(
    cx: &mut Context<'_>,
    span: Span,
    written: &'t str,
) -> Option<(&'t str, Pipeline)> {
    let read = split_pipeline(written)
        .and_then(|parts| Ok((parts[0], Pipeline::parse_tail(&parts[1..])?)));
    match read {
        Ok(read) => Some(read),
        Err(fault) => refuse_pipeline(cx, span, written, fault),
    }
}

fn refuse_pipeline<T>(
    cx: &mut Context<'_>,
    span: Span,
    written: &str,
    fault: PipelineFault,
) -> Option<T> {
    let written = written.to_owned();
    cx.report(span, Defect::Pipeline { written, fault });
    None
}

/// Reports a header's name that HTTP does not allow.
pub(super) fn check_header(cx: &mut Context<'_>, span: Span, name: &str) -> Option<()> {
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
    let places = PLACES.iter().find_map(|place| table.get(place));
    match (binds, places, holder) {
        (Some(_), Some(_), _) => {
            table.refuse(
                cx,
                if holder.is_none() {
                    PLACES
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
            table.refuse(cx, PLACES, "a call over HTTP or a queue");
            None
        }
        (Some(_), None, Some(_)) => {
            table.refuse(cx, &["statement", "bind"], "a database call");
            None
        }
        (None, None, Some(_)) => {
            let (keys, table_title) = (PLACES.to_vec(), table.title.clone());
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
