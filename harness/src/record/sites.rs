//! What was seen, for people: the calls of each process in their order.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;

use super::seen::{Seen, Spot};
use crate::ids::{MessageName, RoleName};
use crate::manifest::Manifest;
use crate::shape::Shape;

/// A call as wide as a table bears it.
const WIDEST: usize = 72;

/// A table for each process: which calls it makes for a message, how often, and where in
/// them its id stands.
pub fn table(manifest: &Manifest, runs: &[Seen], messages: &[MessageName]) -> String {
    let mut text = String::new();
    for role in manifest.processes.keys() {
        let rows = rows(role, runs, messages);
        if rows.is_empty() {
            let _ = writeln!(text, "{role} made no call");
            continue;
        }
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header([role.as_str(), "for a message", "its id stands in"]);
        for row in rows {
            table.add_row(row);
        }
        let _ = writeln!(text, "{table}");
    }
    text
}

fn rows(role: &RoleName, runs: &[Seen], messages: &[MessageName]) -> Vec<[String; 3]> {
    let mut shapes: Vec<&Shape> = Vec::new();
    for passed in runs.iter().flat_map(|run| &run.calls) {
        let own = Seen::role(passed) == Some(role) && !Seen::is_announcement(passed);
        if own && !shapes.contains(&&passed.shape) {
            shapes.push(&passed.shape);
        }
    }
    let rows = shapes.into_iter().map(|shape| {
        let mut counts: BTreeSet<usize> = BTreeSet::new();
        let mut spots: BTreeSet<String> = BTreeSet::new();
        for run in runs {
            let calls = || {
                let calls = run.calls.iter();
                calls.filter(|one| Seen::role(one) == Some(role) && one.shape == *shape)
            };
            for message in messages {
                counts.insert(
                    calls()
                        .filter(|one| run.messages(one).contains(message))
                        .count(),
                );
            }
            for sighting in calls().flat_map(|one| run.sightings(one)) {
                spots.insert(told(&sighting.spot));
            }
        }
        let often = match (counts.first(), counts.last()) {
            (Some(0), Some(0)) | (None, _) | (_, None) => "-".to_owned(),
            (Some(least), Some(most)) if least == most => format!("{least} ×"),
            (Some(least), Some(most)) => format!("{least} to {most} ×"),
        };
        let spots: Vec<String> = spots.into_iter().collect();
        [shortened(&shape.to_string()), often, spots.join(", ")]
    });
    rows.collect()
}

fn told(spot: &Spot) -> String {
    match spot {
        Spot::Place(place) => place.clone(),
        Spot::Segment(index) => format!("segment {index} of the path"),
        Spot::Bind(position) => format!("${position}"),
        Spot::Literal => "a literal".to_owned(),
        Spot::Receipt => "the receipt".to_owned(),
        Spot::Value => "an argument".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
