//! What a manifest names and no scenario uses.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::gherkin::{Compiled, Scenario};
use crate::manifest::Manifest;

/// Kinds of names that only scenarios use. (A stage may serve the manifest itself.)
const KINDS: [(&str, &str); 7] = [
    ("stage", "these stages"),
    ("observation", "these observations"),
    ("setting", "these settings"),
    ("kind", "these kinds of content"),
    ("total", "these totals"),
    ("end", "these ends"),
    ("command", "these commands"),
];

/// What a manifest names and no scenario uses, by kind.
pub fn unused<W>(
    manifest: &Manifest,
    scenarios: &[Arc<Scenario>],
    vocabulary: &Compiled<W>,
) -> Vec<(String, Vec<String>)> {
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut cells: BTreeSet<&str> = BTreeSet::new();
    for step in scenarios.iter().flat_map(|scenario| &scenario.steps) {
        used.extend(vocabulary.names_in(step));
        let rows = step.table.iter().flat_map(|table| &table.rows);
        cells.extend(rows.flatten().map(String::as_str));
    }
    let in_manifest = of_manifest(manifest);
    let mut unused = Vec::new();
    for (kind, words) in KINDS {
        let all = vocabulary.names().find(|(name, _)| *name == kind);
        let names = all.into_iter().flat_map(|(_, names)| names);
        let names: Vec<String> = names
            .filter(|name| {
                let by_manifest = kind == "stage" && in_manifest.contains(name.as_str());
                // What messages carry where nothing else is said.
                let usual = manifest.messages.kinds.keys().next() == Some(*name);
                let somewhere = used.contains(&(kind, name.as_str()))
                    || cells.iter().any(|cell| cell.contains(name.as_str()));
                !(somewhere || by_manifest || kind == "kind" && usual)
            })
            .cloned()
            .collect();
        if !names.is_empty() {
            unused.push((words.to_owned(), names));
        }
    }
    let labels: Vec<String> = manifest
        .totals
        .iter()
        .flat_map(|(total, described)| {
            let labels = described.labels.iter();
            labels.map(move |label| format!("{total} ({label})"))
        })
        .filter(|label| !cells.iter().any(|cell| cell.contains(label.as_str())))
        .collect();
    if !labels.is_empty() {
        unused.push(("these labels".to_owned(), labels));
    }
    unused
}

/// Stages that the manifest itself needs.
fn of_manifest(manifest: &Manifest) -> BTreeSet<&str> {
    let ends = manifest.terminal.values().map(|end| &end.stage);
    let totals = manifest
        .totals
        .values()
        .filter_map(|total| total.witness.as_ref());
    let counted = totals.flat_map(|witness| witness.add.iter().chain(&witness.subtract));
    let ordered = manifest
        .order
        .iter()
        .flat_map(|order| [&order.stage, &order.after]);
    let consumption = manifest.consumption.iter().flat_map(|consumption| {
        let turns = consumption.paused.iter().chain(&consumption.stopped);
        turns.chain(&consumption.resumed)
    });
    let stages = ends
        .chain(counted)
        .chain(consumption)
        .chain(ordered)
        .chain(&manifest.replay)
        .chain(&manifest.resting)
        .chain(manifest.messages.submit.durable());
    stages.map(super::super::ids::StageName::as_str).collect()
}
