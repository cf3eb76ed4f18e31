//! Defects of the team's own, as variants.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::course::ProveError;
use super::meant::meant;
use super::variant::{Kind, Made, Variant};
use crate::gherkin::Scenario;
use crate::manifest::{Manifest, OwnDefect};

/// A defect of the team's own.
pub(super) fn own(
    manifest: &Manifest,
    scenarios: &[Arc<Scenario>],
    name: &str,
    defect: &OwnDefect,
) -> Result<Variant, ProveError> {
    let variables = manifest.defects.variables(name, defect);
    if variables.is_empty() && defect.build.is_none() {
        let defect = name.to_owned();
        return Err(ProveError::ChangesNothing { defect });
    }
    let mut places = Vec::new();
    for written in &defect.scenarios {
        let these = meant(written, scenarios);
        if these.is_empty() {
            return Err(ProveError::MeansNothing {
                defect: name.to_owned(),
                written: written.clone(),
            });
        }
        places.extend(
            these
                .into_iter()
                .filter(|place| !places.contains(place))
                .collect::<Vec<_>>(),
        );
    }
    let given: Vec<String> = variables
        .iter()
        .map(|(variable, value)| format!("the variable {variable} of every process is \"{value}\""))
        .collect();
    Ok(Variant {
        kind: Kind::Defect,
        name: name.to_owned(),
        what: defect.what.clone().unwrap_or_default(),
        given,
        left_out: Vec::new(),
        others: (0..scenarios.len())
            .filter(|place| !places.contains(place))
            .collect(),
        meant: places,
        made: Some(Made {
            build: defect.build.clone().unwrap_or_default(),
            prepare: if defect.prepares {
                variables
            } else {
                BTreeMap::new()
            },
        }),
    })
}
