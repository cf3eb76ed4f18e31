//! Reading `dependencies`.

use indexmap::IndexMap;

use super::container::read_provided;
use super::context::Context;
use super::dependency;
use super::keys;
use super::node::{Node, Value};
use super::pattern::read_request_pattern;
use super::place::{Holder, check_header, read_place};
use super::placeholders::{Placeholders, RESERVED};
use super::problem::{Defect, Noun, ProtocolName};
use super::queues::read_queues;
use super::source::Span;
use super::table::{Table, choice, list, named_things, scalar, text};
use super::{
    Dependency, Place, Protocol, Provide, ReplyBody, Route, RouteReply, Template, redis,
    table_queue, tls,
};
use crate::ids::{DependencyName, RoleName};

pub(super) fn read_dependencies<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<DependencyName, Dependency>> {
    let entries = named_things(cx, node, "`dependencies`", Noun::Dependency, RESERVED)?;
    let dependencies: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name.into(), read_dependency(cx, name, node)?)))
        .collect();
    dependencies.into_iter().collect()
}

fn read_dependency<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<Dependency> {
    let table = Table::read(cx, node, keys::DEPENDENCY, format!("dependency `{name}`"))?;
    let protocol = table.need_text(cx, "protocol").and_then(|(written, span)| {
        let what = table.what("protocol");
        choice(
            cx,
            span,
            what,
            written,
            &["postgres", "sqs", "http", "redis"],
        )?;
        cx.names.dependencies.get(name)?.protocol
    });
    let allow_external = table.flag(cx, "allow_external", false);
    let provide = table.need_text(cx, "provide").and_then(|(written, span)| {
        let what = table.what("provide");
        let written = choice(
            cx,
            span,
            what,
            written,
            &["embedded", "container", "stub", "process", "external"],
        )?;
        Some((written, span))
    });
    let protocol = protocol?;
    let provide = provide.and_then(|(written, span)| {
        if !protocol.provisions().contains(&written) {
            cx.report(
                span,
                Defect::ProvideDoesNotFit {
                    provide: written,
                    protocol,
                },
            );
            return None;
        }
        if written != "external" {
            table.refuse(cx, &["url"], "a dependency with `provide: external`");
        }
        if written != "process" {
            table.refuse(cx, &["process"], "a dependency with `provide: process`");
        }
        if written != "container" {
            let own = "a dependency with `provide: container`";
            table.refuse(cx, &["image", "port", "environment"], own);
        }
        match written {
            "embedded" => Some(Provide::Embedded),
            "stub" => Some(Provide::Stub),
            "process" => read_process(cx, &table),
            "container" => read_provided(cx, &table, protocol),
            _ => {
                let url = read_url(cx, &table, name, protocol, allow_external.unwrap_or(true))?;
                Some(Provide::External { url })
            }
        }
    });
    if !protocol.has_queues() {
        table.refuse(
            cx,
            &["queues"],
            "a dependency with `protocol: sqs`, `redis` or `postgres`",
        );
    }
    if protocol != ProtocolName::Http {
        table.refuse(cx, &["routes"], "a dependency with `protocol: http`");
    }
    let protocol = match protocol {
        ProtocolName::Postgres => match table.get("queues") {
            None => Some(IndexMap::new()),
            Some(node) => table_queue::read_queues(cx, node, &table.what("queues")),
        }
        .map(|queues| Protocol::Postgres { queues }),
        ProtocolName::Sqs => table.need(cx, "queues").and_then(|node| {
            let queues = read_queues(cx, node, &table.what("queues"))?;
            Some(Protocol::Sqs { queues })
        }),
        ProtocolName::Redis => match table.get("queues") {
            None => Some(IndexMap::new()),
            Some(node) => redis::read_queues(cx, node, &table.what("queues")),
        }
        .map(|queues| Protocol::Redis { queues }),
        ProtocolName::Http => {
            let stub = table.get("provide").is_none_or(
                |node| !matches!(&node.value, Value::Text(written) if ["external", "container", "process"].contains(&written.as_str())),
            );
            let routes = match table.get("routes") {
                None if stub => table.need(cx, "routes").map(|_| Vec::new()),
                None => Some(Vec::new()),
                Some(node) => read_routes(cx, node, &table.what("routes"), stub),
            };
            routes.map(|routes| Protocol::Http { routes })
        }
    };
    Some(Dependency {
        protocol: protocol?,
        provide: provide?,
        allow_external: allow_external?,
    })
}

/// The process that is the service.
fn read_process<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<Provide> {
    let (written, span) = table.need_text(cx, "process")?;
    cx.listening(span, written, &table.what("process"))?;
    Some(Provide::Process {
        process: RoleName::new(written),
    })
}

fn read_url<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    name: &str,
    protocol: ProtocolName,
    allow_external: bool,
) -> Option<String> {
    let (written, span) = table.need_text(cx, "url")?;
    let schemes: &[&str] = match protocol {
        ProtocolName::Postgres => &["postgres", "postgresql"],
        ProtocolName::Sqs | ProtocolName::Http => &["http", "https"],
        ProtocolName::Redis => &["redis", "rediss"],
    };
    let url = reqwest::Url::parse(written)
        .ok()
        .filter(|url| schemes.contains(&url.scheme()));
    let host = url
        .as_ref()
        .and_then(|url| url.host_str())
        .filter(|host| !host.is_empty());
    let Some(host) = host else {
        cx.report(
            span,
            Defect::Url {
                what: table.what("url"),
                protocol,
            },
        );
        return None;
    };
    let asked = url
        .as_ref()
        .and_then(|url| tls::asked_by_address(url, protocol));
    if let Some(asked) = asked {
        let span = cx.source.narrow(span, &asked);
        cx.report(span, Defect::Encryption { asked });
        return None;
    }
    if !allow_external && !is_loopback(host) {
        let span = cx.source.narrow(span, host);
        let (dependency, host) = (name.to_owned(), host.to_owned());
        cx.report(span, Defect::NotLoopback { dependency, host });
        return None;
    }
    Some(written.to_owned())
}

/// Whether a URL's host is this machine, by its spelling alone.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn read_routes<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    stub: bool,
) -> Option<Vec<Route>> {
    let items = list(cx, node, title)?;
    let routes: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(index, node)| {
            let title = format!("route {} of {title}", index + 1);
            read_route(cx, node, title, stub)
        })
        .collect();
    routes.into_iter().collect()
}

fn read_route<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: String,
    stub: bool,
) -> Option<Route> {
    let table = Table::read(cx, node, keys::ROUTE, title)?;
    let what = table.what("on");
    let on = table.need(cx, "on").and_then(|node| {
        let written = text(cx, node, &what)?;
        read_request_pattern(cx, node, written)
    });
    let write = match table.get("write") {
        None => Some(None),
        Some(_) => table.flag(cx, "write", false).map(Some),
    };
    let store = table.flag(cx, "store", false);
    let path = on.as_ref().map(|(_, path)| path.as_str());
    let job = read_place_of_route(cx, &table, "job", path);
    let group = read_place_of_route(cx, &table, "group", path);
    let key_header = match table.get("idempotency") {
        Some(node) => {
            let by_method = on.as_ref().is_none_or(|(method, _)| {
                dependency::writes_by_method(method, store == Some(true))
            });
            if write.is_some_and(|write| !write.unwrap_or(by_method)) {
                table.refuse(cx, &["idempotency"], "a route that writes");
            }
            read_idempotency(cx, node, &table.what("idempotency")).map(Some)
        }
        None => Some(None),
    };
    if !stub {
        let own = "a dependency with `provide: stub`";
        let own_keys = ["store", "reply", "replies"];
        table.refuse(cx, &own_keys, own);
    }
    let replies = read_replies(cx, &table, node.span, stub);
    let (method, path) = on?;
    let (job, group, key_header, replies) = (job?, group?, key_header?, replies?);
    let named = path
        .split('/')
        .any(|part| matches!(part, "{message}" | "{job}"));
    let with_message = replies
        .iter()
        .find(|(reply, _)| matches!(reply.body, ReplyBody::Message));
    if let (Some((_, span)), false, true) = (with_message, named, job.is_none()) {
        cx.report(*span, Defect::ReplyWithoutMessage);
        return None;
    }
    Some(Route {
        method,
        path,
        write: write?,
        store: store?,
        job,
        group,
        key_header,
        replies: replies.into_iter().map(|(reply, _)| reply).collect(),
    })
}

/// Where a request says for whom it is.
#[expect(clippy::option_option, reason = "absent, or there and unsound")]
fn read_place_of_route<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
    path: Option<&str>,
) -> Option<Option<Place>> {
    let Some(node) = table.get(key) else {
        return Some(None);
    };
    let what = table.what(key);
    let place = read_place(cx, node, &what, Holder::Request)?;
    if let (Place::Path(segment), Some(path)) = (&place, path)
        && !path.split('/').any(|part| part == format!("{{{segment}}}"))
    {
        let defect = Defect::PlaceDoesNotFit {
            what,
            key: "path",
            holder: "this route",
        };
        cx.report(node.span, defect);
        return None;
    }
    Some(Some(place))
}

/// `reply`, or `replies` one after the other; without either an empty answer.
fn read_replies<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    span: Span,
    stub: bool,
) -> Option<Vec<(RouteReply, Span)>> {
    let plain = RouteReply {
        status: 200,
        body: ReplyBody::Empty,
    };
    if !stub {
        return Some(vec![(plain, span)]);
    }
    match (table.get("reply"), table.get("replies")) {
        (None, None) => Some(vec![(plain, span)]),
        (Some(node), None) => read_reply(cx, node, &table.what("reply")).map(|one| vec![one]),
        (None, Some(node)) => {
            let title = table.what("replies");
            let items = list(cx, node, &title)?;
            if items.is_empty() {
                cx.report(node.span, Defect::Empty { what: title });
                return None;
            }
            let replies: Vec<_> = items
                .iter()
                .enumerate()
                .map(|(index, node)| {
                    read_reply(cx, node, &format!("reply {} of {title}", index + 1))
                })
                .collect();
            replies.into_iter().collect()
        }
        (Some(_), Some(_)) => {
            table.exactly_one(cx, &["reply", "replies"]);
            None
        }
    }
}

/// `{ header: Idempotency-Key }`.
fn read_idempotency<'n>(cx: &mut Context<'n>, node: &'n Node, title: &str) -> Option<Template> {
    let table = Table::read(cx, node, keys::IDEMPOTENCY, title)?;
    let what = table.what("header");
    let node = table.need(cx, "header")?;
    let written = text(cx, node, &what)?;
    let header = cx.template(node.span, written, &Placeholders::of_settings(&cx.names))?;
    if header.placeholders().next().is_none() {
        check_header(cx, node.span, written)?;
    }
    Some(header)
}

fn read_reply<'n>(cx: &mut Context<'n>, node: &'n Node, title: &str) -> Option<(RouteReply, Span)> {
    let table = Table::read(cx, node, keys::REPLY, title)?;
    let status = table.number(cx, "status", 200, (200, 599));
    let body = match table.get("body") {
        None => Some((ReplyBody::Empty, node.span)),
        Some(node) => read_reply_body(cx, node, &table.what("body")).map(|body| (body, node.span)),
    };
    let (body, span) = body?;
    let status = u16::try_from(status?).ok()?;
    Some((RouteReply { status, body }, span))
}

/// `empty`, `message`, or `{ text: … }`.
fn read_reply_body<'n>(cx: &mut Context<'n>, node: &'n Node, title: &str) -> Option<ReplyBody> {
    if matches!(node.value, Value::Table(_)) {
        let table = Table::read(cx, node, keys::REPLY_BODY, title)?;
        let what = table.what("text");
        let node = table.need(cx, "text")?;
        return scalar(cx, node, &what).map(|text| ReplyBody::Text(text.to_owned()));
    }
    let written = text(cx, node, title)?;
    match choice(
        cx,
        node.span,
        title.to_owned(),
        written,
        &["empty", "message"],
    )? {
        "message" => Some(ReplyBody::Message),
        _ => Some(ReplyBody::Empty),
    }
}
