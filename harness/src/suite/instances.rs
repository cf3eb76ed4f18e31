//! A step that names an instance names one that runs: found before anything is started.

use std::collections::BTreeMap;

use crate::gherkin::{Arguments, Complaint, Scenario, Value};
use crate::ids::RoleName;
use crate::manifest::Manifest;

pub(super) const RUN: &str = "{int} instances of the {process} run";

pub(super) fn check(
    manifest: &Manifest,
    _: &Scenario,
    steps: &[(&str, &Arguments)],
) -> Vec<Complaint> {
    let mut running: BTreeMap<RoleName, i64> = BTreeMap::new();
    let mut complaints = Vec::new();
    for (step, (phrase, arguments)) in steps.iter().enumerate() {
        if *phrase == RUN {
            running.insert(arguments.process(1).role, arguments.int(0));
            continue;
        }
        for value in arguments.values() {
            let Value::Process(process) = value else {
                continue;
            };
            let usual = || {
                let known = manifest.processes.get(&process.role);
                known.map_or(0, |process| i64::from(process.instances))
            };
            let count = running.get(&process.role).copied().unwrap_or_else(usual);
            let Some(instance) = process.instance.filter(|number| i64::from(*number) > count)
            else {
                continue;
            };
            let role = &process.role;
            complaints.push(Complaint {
                step,
                row: None,
                message: format!("there is no `{role}-{instance}`: of the {role}, {count} run"),
                help: Some(format!(
                    "`Given {instance} instances of the {role} run` makes it one"
                )),
            });
        }
    }
    complaints
}
