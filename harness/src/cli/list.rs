//! `rehearse --list`: what a selection means.

use std::sync::Arc;

use super::{Halt, Surroundings};
use crate::gherkin::{Exit, Scenario};

pub(super) fn list(
    scenarios: &[Arc<Scenario>],
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
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
