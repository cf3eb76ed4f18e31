//! Reading `messages`: how one is submitted, recognised, and what it may carry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indexmap::IndexMap;

use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::place::{Holder, check_header, read_bind, read_list, read_place, read_single_place};
use super::placeholders::Placeholders;
use super::problem::{Defect, Noun, ProtocolName};
use super::processes::read_queue;
use super::route::split_request;
use super::table::{Table, choice, named, named_things, template, text, wrong_type};
use super::totals::read_stage_name;
use super::{Kind, Messages, Place, Recognise, Submit, SubmitPut, SubmitRequest, Template};
use crate::ids::{DependencyName, RoleName};

pub(super) fn read_messages<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Messages> {
    let table = Table::read(cx, node, keys::MESSAGES, "`messages`")?;
    let submit = table
        .need(cx, "submit")
        .and_then(|node| read_submit(cx, node));
    let recognise = match table.get("recognise") {
        None => Some(IndexMap::new()),
        Some(node) => read_recognise(cx, node),
    };
    let kinds = match table.get("kinds") {
        None => Some(IndexMap::from([(PLAIN.to_owned(), plain())])),
        Some(node) => read_kinds(cx, node),
    };
    Some(Messages {
        submit: submit?,
        recognise: recognise?,
        kinds: kinds?,
    })
}

/// The one kind where the manifest names none.
const PLAIN: &str = "plain";

fn plain() -> Kind {
    Kind {
        content: None,
        media_type: "text/plain".to_owned(),
        kills: None,
    }
}

fn read_submit<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Submit> {
    let table = Table::read(cx, node, keys::SUBMIT, "`submit`")?;
    if table.get("queue").is_some() {
        let (key, node) = table.exactly_one(cx, &["process", "queue"])?;
        let others = ["request", "headers", "job", "durable"];
        table.refuse(cx, &others, "a submission that a process takes");
        return read_put(cx, &table, node, &table.what(key)).map(Submit::Put);
    }
    read_request(cx, &table).map(Submit::Request)
}

/// `dependency/queue`, or a queue whose name is the only one.
fn read_put<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    node: &'n Node,
    what: &str,
) -> Option<SubmitPut> {
    let (dependency, queue) = read_queue(cx, node, what)?;
    let is_table = cx.names.dependencies.get(dependency.as_str());
    let is_table = is_table.and_then(|names| names.protocol) == Some(ProtocolName::Postgres);
    if is_table && cx.without_put.contains(&queue) {
        cx.report(node.span, Defect::NoPut { queue });
        return None;
    }
    let placeholders = Placeholders::of_submit(&cx.names);
    let body = table
        .need(cx, "body")
        .and_then(|node| read_json(cx, node, &table.what("body"), &placeholders));
    Some(SubmitPut {
        dependency,
        queue,
        body: body?,
    })
}

fn read_request<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<SubmitRequest> {
    let placeholders = Placeholders::of_submit(&cx.names);
    let role = table.need_text(cx, "process").and_then(|(name, span)| {
        cx.listening(span, name, "`submit`")?;
        Some(RoleName::new(name))
    });
    let request = table.need_text(cx, "request").and_then(|(written, span)| {
        let (method, path) = match split_request(written) {
            Ok(("*", _)) => Err(super::route::RouteFault::Method("*".to_owned())),
            other => other,
        }
        .map_err(|fault| {
            let written = written.to_owned();
            cx.report(span, Defect::Route { written, fault });
        })
        .ok()?;
        Some((method.to_owned(), cx.template(span, path, &placeholders)?))
    });
    let headers = match table.get("headers") {
        None => Some(BTreeMap::new()),
        Some(node) => read_headers(cx, node, &table.what("headers"), &placeholders),
    };
    let body = match table.get("body") {
        None => Some(serde_json::Value::Null),
        Some(node) => read_json(cx, node, &table.what("body"), &placeholders),
    };
    let what = table.what("job");
    let job = table
        .need(cx, "job")
        .and_then(|node| read_single_place(cx, node, &what, Holder::Answer));
    let durable = match table.get("durable") {
        None => Some(None),
        Some(node) => read_stage_name(cx, node, &table.what("durable")).map(Some),
    };
    let (method, path) = request?;
    Some(SubmitRequest {
        role: role?,
        method,
        path,
        headers: headers?,
        body: body?,
        job: job?,
        durable: durable?,
    })
}

fn read_headers<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    placeholders: &Placeholders,
) -> Option<BTreeMap<String, Template>> {
    let mut whole = true;
    let mut headers = BTreeMap::new();
    for (name, key, value) in named(cx, node, title)? {
        whole &= check_header(cx, key, name).is_some();
        match template(cx, value, &format!("`{name}` in {title}"), placeholders) {
            Some(value) => _ = headers.insert(name.to_owned(), value),
            None => whole = false,
        }
    }
    whole.then_some(headers)
}

/// A JSON value whose strings are templates.
fn read_json<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    placeholders: &Placeholders,
) -> Option<serde_json::Value> {
    use serde_json::Value as Json;
    match &node.value {
        Value::Null => Some(Json::Null),
        Value::Flag(flag, _) => Some(Json::Bool(*flag)),
        Value::Number(written) => match written.parse::<serde_json::Number>() {
            Ok(number) => Some(Json::Number(number)),
            Err(_) => wrong_type(cx, node, title.to_owned(), "a JSON value"),
        },
        Value::Text(text) => {
            cx.template(node.span, text, placeholders)?;
            Some(Json::String(text.clone()))
        }
        Value::List(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| read_json(cx, item, title, placeholders))
                .collect();
            items.into_iter().collect::<Option<_>>().map(Json::Array)
        }
        Value::Table(_) => {
            let members: Vec<_> = named(cx, node, title)?
                .into_iter()
                .map(|(name, _, value)| {
                    Some((name.to_owned(), read_json(cx, value, title, placeholders)?))
                })
                .collect();
            members.into_iter().collect::<Option<_>>().map(Json::Object)
        }
    }
}

fn read_recognise<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<DependencyName, Recognise>> {
    let mut whole = true;
    let mut recognise = IndexMap::new();
    for (name, key, node) in named(cx, node, "`recognise`")? {
        let Some(names) = cx.dependency(key, name) else {
            whole = false;
            continue;
        };
        let title = format!("`recognise` for `{name}`");
        let read = match names.protocol {
            // Its protocol is reported where the dependency stands.
            None => None,
            Some(ProtocolName::Postgres) => read_binds(cx, node, &title),
            Some(ProtocolName::Sqs) => read_places(cx, node, &title, Holder::QueueMessage),
            Some(ProtocolName::Redis) => read_values(cx, node, &title),
            Some(ProtocolName::Http) => read_places(cx, node, &title, Holder::Request)
                .and_then(|places| check_segments(cx, node, name, &names.routes, places)),
        };
        match read {
            Some(read) => _ = recognise.insert(name.into(), read),
            None => whole = false,
        }
    }
    whole.then_some(recognise)
}

fn read_binds<'n>(cx: &mut Context<'n>, node: &'n Node, title: &str) -> Option<Recognise> {
    if let Value::Text(written) = &node.value {
        choice(cx, node.span, title.to_owned(), written, &["any-bind"])?;
        return Some(Recognise::AnyBind);
    }
    let expected = "`any-bind` or a list like `[{ statement: …, bind: 1 }]`";
    read_list(cx, node, title, expected, read_bind).map(Recognise::Binds)
}

fn read_values<'n>(cx: &mut Context<'n>, node: &'n Node, title: &str) -> Option<Recognise> {
    if let Value::Text(written) = &node.value {
        choice(cx, node.span, title.to_owned(), written, &["any-value"])?;
        return Some(Recognise::AnyValue);
    }
    let expected = "`any-value` or a list of places like `[{ body: $.id }]`";
    read_list(cx, node, title, expected, |cx, node, title| {
        read_place(cx, node, title, Holder::Command)
    })
    .map(Recognise::Places)
}

fn read_places<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    holder: Holder,
) -> Option<Recognise> {
    let expected = "a list of places like `[{ body: $.id }]`";
    read_list(cx, node, title, expected, |cx, node, title| {
        read_place(cx, node, title, holder)
    })
    .map(Recognise::Places)
}

/// A segment that is to be recognised must be named by a route.
fn check_segments(
    cx: &mut Context<'_>,
    node: &Node,
    dependency: &str,
    routes: &[&str],
    recognise: Recognise,
) -> Option<Recognise> {
    let Recognise::Places(places) = &recognise else {
        return Some(recognise);
    };
    for place in places {
        if let Place::Path(segment) = place
            && !routes
                .iter()
                .any(|route| route.contains(&format!("{{{segment}}}")))
        {
            let span = cx.source.narrow(node.span, segment);
            let (dependency, segment) = (dependency.to_owned(), segment.clone());
            cx.report(
                span,
                Defect::SegmentNowhere {
                    dependency,
                    segment,
                },
            );
            return None;
        }
    }
    Some(recognise)
}

fn read_kinds<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<IndexMap<String, Kind>> {
    let entries = named_things(cx, node, "`kinds`", Noun::Kind, &[])?;
    if entries.is_empty() {
        cx.report(
            node.anchor(),
            Defect::Empty {
                what: "`kinds`".to_owned(),
            },
        );
        return None;
    }
    let kinds: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name.to_owned(), read_kind(cx, name, node)?)))
        .collect();
    kinds.into_iter().collect()
}

fn read_kind<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<Kind> {
    let table = Table::read(cx, node, keys::KIND, format!("kind `{name}`"))?;
    let what = table.what("content");
    let content = table.need(cx, "content").and_then(|node| {
        let written = text(cx, node, &what)?;
        let path = cx.root.join(written);
        if !path.is_file() {
            cx.report(node.span, Defect::NoFile { path });
            return None;
        }
        Some(PathBuf::from(written))
    });
    let media_type = table.need_text(cx, "type").and_then(|(written, span)| {
        let shaped = written.split_once('/').is_some_and(|(kind, rest)| {
            !kind.is_empty() && !rest.is_empty() && written.is_ascii() && !written.contains('\n')
        });
        if !shaped {
            cx.report(
                span,
                Defect::MediaType {
                    written: written.to_owned(),
                },
            );
            return None;
        }
        Some(written.to_owned())
    });
    let kills = match table.text(cx, "kills") {
        None => None,
        Some(None) => Some(None),
        Some(Some((role, span))) => cx.process(span, role).map(|_| Some(RoleName::new(role))),
    };
    Some(Kind {
        content: Some(content?),
        media_type: media_type?,
        kills: kills?,
    })
}
