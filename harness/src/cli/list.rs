//! `rehearse --list`: what a selection means.

use std::sync::Arc;

use serde::Serialize;

use super::{Halt, Surroundings};
use crate::gherkin::{Exit, Scenario};

/// How a list is shown.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[derive(Serialize)]
struct Listed<'a> {
    place: String,
    path: &'a str,
    line: usize,
    feature: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    name: &'a str,
    tags: &'a [String],
}

pub(super) fn list(
    scenarios: &[Arc<Scenario>],
    format: Format,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    if matches!(format, Format::Json) {
        let listed = scenarios.iter().map(|scenario| Listed {
            place: scenario.selector(),
            path: &scenario.text.path,
            line: scenario.line,
            feature: &scenario.feature,
            rule: scenario.rule.as_deref(),
            name: &scenario.name,
            tags: &scenario.tags,
        });
        let text = serde_json::to_string_pretty(&listed.collect::<Vec<_>>());
        let text = text.map_err(|error| Halt::broken(miette::miette!("{error}")))?;
        writeln!(surroundings.out, "{text}").map_err(|error| Halt::output(&error))?;
        return Ok(Exit::Passed);
    }
    let width = scenarios
        .iter()
        .map(|scenario| scenario.selector().len())
        .max()
        .unwrap_or(0);
    for scenario in scenarios {
        let tags: Vec<String> = scenario
            .tags
            .iter()
            .map(|tag| format!("  @{tag}"))
            .collect();
        let line = format!(
            "{:width$}  {}{}",
            scenario.selector(),
            scenario.name,
            tags.concat()
        );
        writeln!(surroundings.out, "{line}").map_err(|error| Halt::output(&error))?;
    }
    surroundings
        .out
        .flush()
        .map_err(|error| Halt::output(&error))?;
    Ok(Exit::Passed)
}
