//! Reading `consumption`: what consumers may do at a time.

use super::Consumption;
use super::context::Context;
use super::keys;
use super::node::Node;
use super::placeholders::Placeholders;
use super::table::{Table, list, scalar, template, text};
use super::totals::{read_claim, read_stage_name};
use crate::ids::{RoleName, StageName};

pub(super) fn read_consumption<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Consumption> {
    let table = Table::read(cx, node, keys::CONSUMPTION, "`consumption`")?;
    let role = table.need_text(cx, "process").and_then(|(role, span)| {
        cx.process(span, role)?;
        Some(RoleName::new(role))
    });
    let mode = table.need(cx, "mode").and_then(|node| {
        let table = Table::read(cx, node, keys::CLAIM, table.what("mode"))?;
        read_claim(cx, &table, (0, 1))
    });
    let ownerless = match table.get("ownerless") {
        None => Some(None),
        Some(node) => Table::read(cx, node, keys::CLAIM, table.what("ownerless"))
            .and_then(|table| read_claim(cx, &table, (0, 2)))
            .map(Some),
    };
    let what = table.what("in_hand");
    let placeholders = Placeholders::of_settings(&cx.names);
    let in_hand = table
        .need(cx, "in_hand")
        .and_then(|node| template(cx, node, &what, &placeholders));
    let normal = table
        .need_text(cx, "normal")
        .map(|(normal, _)| normal.to_owned());
    let what = table.what("rests");
    let rests = match table.get("rests") {
        None => Some(Vec::new()),
        Some(node) => list(cx, node, &what).and_then(|items| {
            let modes: Vec<_> = items
                .iter()
                .map(|item| text(cx, item, &what).map(str::to_owned))
                .collect();
            modes.into_iter().collect()
        }),
    };
    let paused = stage(cx, &table, "paused");
    let stopped = stage(cx, &table, "stopped");
    let what = table.what("resumed");
    let resumed = match table.get("resumed") {
        None => Some(Vec::new()),
        Some(node) => list(cx, node, &what).and_then(|items| {
            let stages: Vec<_> = items
                .iter()
                .map(|item| read_stage_name(cx, item, &what))
                .collect();
            stages.into_iter().collect()
        }),
    };
    let what = table.what("probes");
    let probes = match table.get("probes") {
        None => Some(0),
        Some(node) => scalar(cx, node, &what).and_then(|probes| match probes.parse() {
            Ok(probes) => Some(probes),
            Err(_) => super::table::wrong_type(cx, node, what, "a whole number"),
        }),
    };
    Some(Consumption {
        role: role?,
        mode: mode?,
        ownerless: ownerless?,
        in_hand: in_hand?,
        normal: normal?,
        rests: rests?,
        paused: paused?,
        resumed: resumed?,
        stopped: stopped?,
        probes: probes?,
    })
}

#[expect(
    clippy::option_option,
    reason = "like every reader: none after a mistake, and then none if the key is missing"
)]
fn stage<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
) -> Option<Option<StageName>> {
    match table.get(key) {
        None => Some(None),
        Some(node) => {
            let what = table.what(key);
            read_stage_name(cx, node, &what).map(Some)
        }
    }
}
