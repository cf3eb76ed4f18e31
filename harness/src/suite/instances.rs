//! A step that names an instance names one that runs: found before anything is started.

use std::collections::BTreeMap;

use crate::gherkin::{Arguments, Complaint, Scenario, Table, Value};
use crate::ids::RoleName;
use crate::manifest::Manifest;

pub(super) const RUN: &str = "{int} instances of the {process} run";

pub(super) fn check(
    manifest: &Manifest,
    scenario: &Scenario,
    steps: &[(&str, &Arguments)],
) -> Vec<Complaint> {
    let mut running: BTreeMap<RoleName, i64> = BTreeMap::new();
    let mut complaints = Vec::new();
    for (step, (phrase, arguments)) in steps.iter().enumerate() {
        if *phrase == RUN {
            running.insert(arguments.process(1).role, arguments.int(0));
            continue;
        }
        let named = arguments.values().iter().filter_map(|value| match value {
            Value::Process(process) => Some((None, process.role.clone(), process.instance?)),
            _ => None,
        });
        let table = scenario
            .steps
            .get(step)
            .and_then(|step| step.table.as_ref());
        for (row, role, instance) in named.chain(table.into_iter().flat_map(in_rows)) {
            let usual = || {
                let known = manifest.processes.get(&role);
                known.map(|process| i64::from(process.instances))
            };
            let Some(count) = running.get(&role).copied().or_else(usual) else {
                continue;
            };
            if i64::from(instance) <= count {
                continue;
            }
            complaints.push(Complaint {
                step: Some(step),
                row,
                line: None,
                message: format!("there is no `{role}-{instance}`: of the {role}, {count} run"),
                help: Some(format!(
                    "`Given {instance} instances of the {role} run` makes it one"
                )),
            });
        }
    }
    complaints
}

/// Instances in the rows of a step: `| of | worker-2 |`.
fn in_rows(table: &Table) -> impl Iterator<Item = (Option<usize>, RoleName, u32)> {
    let rows = table.rows.iter().enumerate();
    let values = rows.filter_map(|(number, row)| match row.as_slice() {
        [key, value] if key == "of" => Some((number, value)),
        _ => None,
    });
    values.filter_map(|(number, value)| {
        let (role, instance) = value.rsplit_once('-')?;
        Some((Some(number), RoleName::new(role), instance.parse().ok()?))
    })
}
