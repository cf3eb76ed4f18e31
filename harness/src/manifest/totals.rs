//! Reading `totals` and `terminal`: how figures are counted and what ends a job.

use indexmap::IndexMap;

use super::context::Context;
use super::keys;
use super::node::Node;
use super::problem::{Defect, Noun, ProtocolName};
use super::source::Span;
use super::table::{Table, list, named_things, number, text};
use super::{Claim, Observed, Order, Query, Terminal, Total, Witness, built_in_totals};
use crate::ids::{DependencyName, StageName};

/// No figure of a rehearsal comes near it.
const LARGEST: u64 = 1_000_000_000;

pub(super) fn read_totals<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<String, Total>> {
    let entries = named_things(cx, node, "`totals`", Noun::Total, built_in_totals::ALL)?;
    let totals: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name.to_owned(), read_total(cx, name, node)?)))
        .collect();
    totals.into_iter().collect()
}

fn read_total<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<Total> {
    let table = Table::read(cx, node, keys::TOTAL, format!("total `{name}`"))?;
    let witness = match table.get("witness") {
        None => Some(None),
        Some(node) => read_witness(cx, node, table.what("witness")).map(Some),
    };
    let claim = match table.get("claim") {
        None => Some(None),
        Some(node) => Table::read(cx, node, keys::CLAIM, table.what("claim"))
            .and_then(|table| read_claim(cx, &table, (0, 2)))
            .map(Some),
    };
    if table.get("witness").or(table.get("claim")).is_none() {
        let keys = vec!["witness", "claim"];
        cx.report(
            table.anchor,
            Defect::MissingOneOf {
                keys,
                table: table.title.clone(),
            },
        );
        return None;
    }
    let (witness, claim) = (witness?, claim?);
    let labels = read_labels(cx, &table, witness.as_ref())?;
    let always = match table.get("always") {
        None => None,
        Some(node) => {
            let figure = number(cx, node, table.what("always"), (0, LARGEST))?;
            Some(i64::try_from(figure).ok()?)
        }
    };
    Some(Total {
        witness,
        claim,
        labels,
        always,
    })
}

/// What a split total is split by. A label that nobody has would compare as 0, whatever
/// was meant.
fn read_labels<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    witness: Option<&Witness>,
) -> Option<Vec<String>> {
    let by = witness.map(|witness| witness.by.is_some());
    let node = match (table.get("labels"), by) {
        (None, Some(true)) => table.need(cx, "labels")?,
        (None, _) => return Some(Vec::new()),
        (Some(node), Some(false)) => {
            cx.report(
                node.span,
                Defect::KeyDoesNotFit {
                    key: "labels",
                    table: table.title.clone(),
                    belongs: "a total whose witness has `by`, or that has a claim alone",
                },
            );
            return None;
        }
        (Some(node), _) => node,
    };
    let what = table.what("labels");
    let labels: Option<Vec<String>> = list(cx, node, &what)?
        .iter()
        .map(|item| text(cx, item, &what).map(str::to_owned))
        .collect();
    let labels = labels?;
    if labels.is_empty() {
        cx.report(node.span, Defect::Empty { what });
        return None;
    }
    Some(labels)
}

fn read_witness<'n>(cx: &mut Context<'n>, node: &'n Node, title: String) -> Option<Witness> {
    let table = Table::read(cx, node, keys::WITNESS, title)?;
    let what = table.what("add");
    let add = table.need(cx, "add").and_then(|node| {
        let stages = read_stage_names(cx, node, &what)?;
        if stages.is_empty() {
            cx.report(node.span, Defect::Empty { what: what.clone() });
            return None;
        }
        Some(stages)
    });
    let subtract = match table.get("subtract") {
        None => Some(Vec::new()),
        Some(node) => read_stage_names(cx, node, &table.what("subtract")),
    };
    let distinct = table.flag(cx, "distinct", false);
    let by = table.text(cx, "by");
    let (add, subtract) = (add?, subtract?);
    let by = by?.map(|(by, span)| {
        for stage in add.iter().chain(&subtract) {
            check_captured(cx, span, stage, by);
        }
        by.to_owned()
    });
    let names = |stages: Vec<NamedStage<'n>>| stages.into_iter().map(|stage| stage.name).collect();
    Some(Witness {
        add: names(add),
        subtract: names(subtract),
        distinct: distinct?,
        by,
    })
}

/// A stage that is there, with what it captures.
struct NamedStage<'n> {
    name: StageName,
    captured: Vec<&'n str>,
}

fn read_stage_names<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    what: &str,
) -> Option<Vec<NamedStage<'n>>> {
    let stages: Vec<_> = list(cx, node, what)?
        .iter()
        .map(|item| {
            let name = text(cx, item, what)?;
            let captured = cx.stage(item.span, name)?;
            Some(NamedStage {
                name: name.into(),
                captured,
            })
        })
        .collect();
    stages.into_iter().collect()
}

fn check_captured(cx: &mut Context<'_>, span: Span, stage: &NamedStage<'_>, by: &str) {
    if !stage.captured.contains(&by) {
        cx.report(
            span,
            Defect::NotCaptured {
                stage: stage.name.to_string(),
                name: by.to_owned(),
                captured: stage.captured.iter().map(|&name| name.to_owned()).collect(),
            },
        );
    }
}

/// The name of a stage that is there.
pub(super) fn read_stage_name<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    what: &str,
) -> Option<StageName> {
    let name = text(cx, node, what)?;
    cx.stage(node.span, name)?;
    Some(name.into())
}

pub(super) fn read_order<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Vec<Order>> {
    let orders: Vec<_> = list(cx, node, "`order`")?
        .iter()
        .map(|item| {
            let table = Table::read(cx, item, keys::ORDER, "`order`")?;
            let stage = table
                .need(cx, "stage")
                .and_then(|node| read_stage_name(cx, node, "`stage`"));
            let after = table
                .need(cx, "after")
                .and_then(|node| read_stage_name(cx, node, "`after`"));
            Some(Order {
                stage: stage?,
                after: after?,
            })
        })
        .collect();
    orders.into_iter().collect()
}

pub(super) fn read_resting<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Vec<StageName>> {
    let stages = read_stage_names(cx, node, "`resting`")?;
    Some(stages.into_iter().map(|stage| stage.name).collect())
}

/// The keys `dependency` and `query`. The query is given so many values and has so many
/// columns at most.
pub(super) fn read_claim<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    shape: (usize, usize),
) -> Option<Claim> {
    let dependency = table.need_text(cx, "dependency").and_then(|(name, span)| {
        cx.dependency_speaking(span, name, ProtocolName::Postgres, &table.title)?;
        Some(name.into())
    });
    let written = table.need_text(cx, "query");
    let (dependency, written): (DependencyName, _) = (dependency?, written?);
    let query = Query::new((&table.title, dependency.clone()), written, shape);
    query.check(cx);
    cx.queries.push(query);
    Some(Claim {
        dependency,
        query: written.0.to_owned(),
    })
}

/// The keys `observation` and `reads`.
#[expect(
    clippy::option_option,
    reason = "like every reader: none after a mistake, and then none if the keys are missing"
)]
fn read_observed<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<Option<Observed>> {
    let reads = table.text(cx, "reads")?;
    let Some((name, span)) = table.text(cx, "observation")? else {
        if let Some((_, span)) = reads {
            cx.report(
                span,
                Defect::KeyDoesNotFit {
                    key: "reads",
                    table: table.title.clone(),
                    belongs: "an end with `observation`",
                },
            );
            return None;
        }
        return Some(None);
    };
    let known = cx.names.observations.clone();
    cx.one_of(span, Noun::Observation, name, &known)?;
    Some(Some(Observed {
        observation: name.to_owned(),
        reads: reads.map(|(reads, _)| reads.to_owned()),
    }))
}

pub(super) fn read_terminal<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<String, Terminal>> {
    let entries = named_things(cx, node, "`terminal`", Noun::End, &[])?;
    if entries.is_empty() {
        cx.report(
            node.anchor(),
            Defect::Empty {
                what: "`terminal`".to_owned(),
            },
        );
        return None;
    }
    let ends: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| {
            let table = Table::read(cx, node, keys::TERMINAL, format!("end `{name}`"))?;
            let stage = table.need_text(cx, "stage").and_then(|(stage, span)| {
                cx.stage(span, stage)?;
                if cx.names.passed_before.contains(&stage) {
                    let stage = stage.to_owned();
                    cx.report(span, Defect::EndBefore { stage });
                    return None;
                }
                Some(StageName::new(stage))
            });
            let requires_write = table.flag(cx, "requires_write", false);
            if let (Some(true), Some(node)) = (requires_write, table.get("requires_write"))
                && !cx
                    .names
                    .dependencies
                    .values()
                    .any(|dependency| dependency.writes)
            {
                cx.report(node.anchor(), Defect::NoWriteRoute);
            }
            let observed = read_observed(cx, &table);
            Some((
                name.to_owned(),
                Terminal {
                    stage: stage?,
                    requires_write: requires_write?,
                    observed: observed?,
                },
            ))
        })
        .collect();
    ends.into_iter().collect()
}
