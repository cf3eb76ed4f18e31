//! Reading `operator` and `observations`: what can be done and read from outside.

use indexmap::IndexMap;

use super::command::read_command;
use super::context::Context;
use super::keys;
use super::node::Node;
use super::placeholders::Placeholders;
use super::problem::{Defect, Noun};
use super::route::{RouteFault, split_request};
use super::table::{Table, named_things};
use super::totals::read_claim;
use super::{Observation, OperatorCommand};
use crate::ids::RoleName;

pub(super) fn read_operator<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<String, OperatorCommand>> {
    let entries = named_things(cx, node, "`operator`", Noun::OperatorCommand, &[])?;
    let placeholders = Placeholders::of_operator(&cx.names);
    let commands: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| {
            let table = Table::read(
                cx,
                node,
                keys::COMMAND,
                format!("operator command `{name}`"),
            )?;
            let command = read_command(cx, &table, &placeholders)?;
            Some((name.to_owned(), OperatorCommand { command }))
        })
        .collect();
    commands.into_iter().collect()
}

pub(super) fn read_observations<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<String, Observation>> {
    let entries = named_things(cx, node, "`observations`", Noun::Observation, &[])?;
    let observations: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name.to_owned(), read_observation(cx, name, node)?)))
        .collect();
    observations.into_iter().collect()
}

fn read_observation<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<Observation> {
    let table = Table::read(cx, node, keys::OBSERVATION, format!("observation `{name}`"))?;
    let (key, _) = table.exactly_one(cx, &["query", "operator", "process"])?;
    match key {
        "query" => {
            table.refuse(cx, &["path"], "an observation by `operator`");
            table.refuse(cx, &["request", "json"], "an observation by `process`");
            let claim = read_claim(cx, &table, (1, 1));
            let base64 = table.flag(cx, "base64", false);
            Some(Observation::Query {
                claim: claim?,
                base64: base64?,
            })
        }
        "operator" => {
            table.refuse(cx, &["dependency"], "an observation by `query`");
            table.refuse(cx, &["request", "json"], "an observation by `process`");
            let command = table.need_text(cx, "operator").and_then(|(command, span)| {
                let known = cx.names.operator.clone();
                cx.one_of(span, Noun::OperatorCommand, command, &known)?;
                Some(command.to_owned())
            });
            let path = table.need_json_path(cx, "path");
            let base64 = table.flag(cx, "base64", false);
            Some(Observation::Operator {
                command: command?,
                path: path?,
                base64: base64?,
            })
        }
        _ => {
            table.refuse(cx, &["dependency"], "an observation by `query`");
            table.refuse(cx, &["path", "base64"], "an observation by `operator`");
            let role = table.need_text(cx, "process").and_then(|(role, span)| {
                cx.listening(span, role, &table.title)?;
                Some(RoleName::new(role))
            });
            let path = table.need_text(cx, "request").and_then(|(written, span)| {
                let path = match written.strip_prefix('/') {
                    Some(_) => Ok(written),
                    None => match split_request(written) {
                        Ok(("GET", path)) => Ok(path),
                        Ok((method, _)) => Err(RouteFault::NotGet(method.to_owned())),
                        Err(fault) => Err(fault),
                    },
                };
                match path {
                    Ok(path) => cx.template(span, path, &Placeholders::of_observation()),
                    Err(fault) => {
                        cx.report(
                            span,
                            Defect::Route {
                                written: written.to_owned(),
                                fault,
                            },
                        );
                        None
                    }
                }
            });
            let json = table.need_json_path(cx, "json");
            Some(Observation::Request {
                role: role?,
                path: path?,
                json: json?,
            })
        }
    }
}
