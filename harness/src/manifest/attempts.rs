//! Reading `attempts`: how they are counted, and what is on record once they are used up.

use super::context::Context;
use super::keys;
use super::node::Node;
use super::placeholders::Placeholders;
use super::problem::{Defect, Noun};
use super::table::{Table, template};
use super::{Attempts, Exhausted};

pub(super) fn read_attempts<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Attempts> {
    let table = Table::read(cx, node, keys::ATTEMPTS, "`attempts`")?;
    let started = read_started(cx, &table);
    let exhausted = match table.get("exhausted") {
        None => Some(None),
        Some(node) => read_exhausted(cx, node, table.what("exhausted")).map(Some),
    };
    Some(Attempts {
        started: started?,
        exhausted: exhausted?,
    })
}

#[expect(
    clippy::option_option,
    reason = "like every reader: none after a mistake, and then none if the key is missing"
)]
fn read_started<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<Option<String>> {
    let Some((total, span)) = table.text(cx, "started")? else {
        return Some(None);
    };
    let known: Vec<&str> = cx.names.totals.keys().copied().collect();
    cx.one_of(span, Noun::Total, total, &known)?;
    if !cx.names.totals[total] {
        let total = total.to_owned();
        cx.report(span, Defect::NotWitnessed { total });
        return None;
    }
    Some(Some(total.to_owned()))
}

fn read_exhausted<'n>(cx: &mut Context<'n>, node: &'n Node, title: String) -> Option<Exhausted> {
    let table = Table::read(cx, node, keys::EXHAUSTED, title)?;
    let end = table.need_text(cx, "end").and_then(|(end, span)| {
        let known: Vec<&str> = cx.names.ends.keys().copied().collect();
        cx.one_of(span, Noun::End, end, &known)?;
        Some(end)
    });
    let label = read_label(cx, &table, end);
    let what = table.what("limit");
    let placeholders = Placeholders::of_settings(&cx.names);
    let limit = table
        .need(cx, "limit")
        .and_then(|node| template(cx, node, &what, &placeholders));
    let counted = observation(cx, &table, "counted");
    let content = observation(cx, &table, "content");
    let last_stage = observation(cx, &table, "last_stage");
    Some(Exhausted {
        end: end?.to_owned(),
        label: label?,
        limit: limit?,
        counted: counted?,
        content: content?,
        last_stage: last_stage?,
    })
}

/// The keys `by` and `label`, which belong together.
#[expect(
    clippy::option_option,
    reason = "like every reader: none after a mistake, and then none if the keys are missing"
)]
fn read_label<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    end: Option<&'n str>,
) -> Option<Option<(String, String)>> {
    if table.get("by").or(table.get("label")).is_none() {
        return Some(None);
    }
    let by = table.need_text(cx, "by");
    let label = table.need_text(cx, "label");
    let (by, span) = by?;
    let stage = end.and_then(|end| cx.names.ends.get(end).copied().flatten());
    if let Some(stage) = stage
        && let Some(captured) = cx.names.stages.get(stage)
        && !captured.contains(&by)
    {
        let defect = Defect::NotCaptured {
            stage: stage.to_owned(),
            name: by.to_owned(),
            captured: captured.iter().map(|&name| name.to_owned()).collect(),
        };
        cx.report(span, defect);
        return None;
    }
    Some(Some((by.to_owned(), label?.0.to_owned())))
}

#[expect(
    clippy::option_option,
    reason = "like every reader: none after a mistake, and then none if the key is missing"
)]
fn observation<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
) -> Option<Option<String>> {
    let Some((name, span)) = table.text(cx, key)? else {
        return Some(None);
    };
    let known = cx.names.observations.clone();
    cx.one_of(span, Noun::Observation, name, &known)?;
    Some(Some(name.to_owned()))
}
