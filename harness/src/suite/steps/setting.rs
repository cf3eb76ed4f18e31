//! Settings of the scenario.

use std::sync::Arc;

use super::objections;
use crate::gherkin::{Objection, ProcessRef, Step, StepError, StepKind, read_duration};
use crate::ids::RoleName;
use crate::manifest::{MOST_INSTANCES, Manifest, OPERATOR};
use crate::suite::{Scene, instances};

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let (settings, of_one) = (Arc::clone(manifest), Arc::clone(manifest));
    vec![
        Step::given("the {setting} is {word}")
            .checked(move |arguments, _| {
                let (name, value) = (arguments.text(0), arguments.text(1));
                let default = settings.settings.get(name).map(|setting| setting.default.as_str());
                let form = default.and_then(|default| another_form(name, default, value));
                let unused = settings.unused_settings.iter().any(|unused| unused == name);
                form.into_iter().chain(unused.then(|| changes_nothing(name))).collect()
            })
            .doc("Sets a setting of the manifest for this scenario.")
            .example("Given the attempt limit is 5")
            .group("settings")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (setting, value) = (arguments.text(0), arguments.text(1));
                    scene.plan(setting)?.set(setting, value);
                    Ok(())
                })
            }),
        Step::given("the {setting} of the {process} is {word}")
            .known_as("one instance only other different worker-2 differs own")
            .checked(move |arguments, _| {
                let (name, role, value) = (arguments.text(0), arguments.process(1).role, arguments.text(2));
                let default = of_one.settings.get(name).map(|setting| setting.default.as_str());
                let form = default.and_then(|default| another_form(name, default, value));
                form.into_iter().chain(unused(&of_one, name, &role)).collect()
            })
            .doc("Sets a setting of the manifest for one process, or for one instance of it, in this scenario: its command and environment get this value.")
            .example("Given the attempt limit of the worker-2 is 5")
            .group("settings")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (setting, value) = (arguments.text(0), arguments.text(2));
                    let ProcessRef { role, instance } = arguments.process(1);
                    let overrides = scene.plan(setting)?.overrides();
                    overrides.set(role, instance, setting, value);
                    Ok(())
                })
            }),
        Step::given("the variable {word} of the {process} is {string}")
            .known_as("environment env one instance only different")
            .doc("Sets an environment variable of one process, or of one instance of it, in this scenario.")
            .example("Given the variable TZ of the worker-2 is \"Asia/Tokyo\"")
            .group("settings")
            .checked(|arguments, _| check_variable(arguments.text(0)))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (name, value) = (arguments.text(0), arguments.text(2));
                    let ProcessRef { role, instance } = arguments.process(1);
                    let overrides = scene.plan("what processes get")?.overrides();
                    overrides.set_variable(role, instance, name, value);
                    Ok(())
                })
            }),
        Step::given("the variable {word} of every process is {string}")
            .known_as("environment env all processes everywhere")
            .doc("Sets an environment variable of all processes, and of what the operator runs, in this scenario.")
            .example("Given the variable TZ of every process is \"Asia/Tokyo\"")
            .group("settings")
            .checked(|arguments, _| check_variable(arguments.text(0)))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (name, value) = (arguments.text(0), arguments.text(1));
                    let mut roles: Vec<RoleName> = scene.manifest().processes.keys().cloned().collect();
                    roles.push(OPERATOR.into());
                    let overrides = scene.plan("what processes get")?.overrides();
                    for role in roles {
                        overrides.set_variable(role, None, name, value);
                    }
                    Ok(())
                })
            }),
        Step::given(instances::RUN)
            .known_as("two three several workers parallel scale concurrent copies replicas")
            .checked(|arguments, _| {
                too_many(arguments.int(0)).err().map(Objection::from).into_iter().collect()
            })
            .doc("Sets how many instances of a process run.")
            .example("Given 2 instances of the worker run")
            .group("settings")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let count = too_many(arguments.int(0))?;
                    let process = arguments.process(1);
                    scene.plan("the number of instances")?.run(process.role, count);
                    Ok(())
                })
            }),
        Step::given("the system is running")
            .also(StepKind::When)
            .doc("Starts every process and waits until all are ready. Other steps do so by themselves.")
            .example("Given the system is running")
            .group("settings")
            .run(|scene: &mut Scene, _, _, _| Box::pin(async move { scene.running().await.map(drop) })),
    ]
}

fn too_many(count: i64) -> Result<u32, StepError> {
    let fits = u32::try_from(count)
        .ok()
        .filter(|count| *count <= MOST_INSTANCES);
    fits.ok_or_else(|| {
        StepError::invalid(format!("{count} instances cannot run"))
            .with_help(format!("write a number from 0 to {MOST_INSTANCES}"))
    })
}

fn check_variable(name: &str) -> Vec<Objection> {
    let starts = |first: char| first.is_ascii_alphabetic() || first == '_';
    let others = |c: char| c.is_ascii_alphanumeric() || c == '_';
    objections(if name.starts_with(starts) && name.chars().all(others) {
        Ok(())
    } else {
        let error = format!("`{name}` is no name of an environment variable");
        Err(StepError::invalid(error))
    })
}

/// A setting that a process never sees does nothing for it alone.
fn unused(manifest: &Manifest, setting: &str, role: &RoleName) -> Option<Objection> {
    let process = manifest.processes.get(role)?;
    let wanted = format!("setting.{setting}");
    let templates = process.command.words.iter();
    let mut templates = templates.chain(process.command.environment.values());
    if templates.any(|template| template.placeholders().any(|name| name == wanted)) {
        return None;
    }
    let error = StepError::invalid(format!("the {role} does not get the {setting}"));
    let help = format!(
        "`${{{wanted}}}` stands neither in its command nor in its environment: set it for all with `Given the {setting} is …`"
    );
    Some(error.with_help(help).into())
}

fn changes_nothing(name: &str) -> Objection {
    let error = StepError::invalid(format!(
        "nothing in the manifest uses the setting `{name}`, so this would change nothing"
    ));
    let help = format!("put `${{setting.{name}}}` where the system takes it");
    error.with_help(help).into()
}

/// What can be said against a value whose form is not that of the setting's default.
fn another_form(name: &str, default: &str, value: &str) -> Option<Objection> {
    let form = form(default)?;
    if self::form(value) == Some(form) {
        return None;
    }
    let error = StepError::invalid(format!("the {name} is {form}, and `{value}` is none"));
    Some(
        error
            .with_help(format!("its default is `{default}`"))
            .into(),
    )
}

/// What a value is, where it is more than a text.
fn form(value: &str) -> Option<&'static str> {
    if value.parse::<f64>().is_ok() {
        Some("a number")
    } else if matches!(value, "true" | "false") {
        Some("`true` or `false`")
    } else {
        read_duration(value).map(|_| "a duration")
    }
}

#[cfg(test)]
mod tests {
    use super::another_form;

    #[test]
    fn a_value_has_the_form_of_its_default() {
        for (default, value) in [
            ("3", "5"),
            ("3", "0.5"),
            ("1m", "2s"),
            ("true", "false"),
            ("", "x"),
            ("word", "7"),
        ] {
            assert!(
                another_form("limit", default, value).is_none(),
                "{default} {value}"
            );
        }
        for (default, value) in [("3", "one"), ("1m", "10"), ("true", "yes"), ("3", "2s")] {
            assert!(
                another_form("limit", default, value).is_some(),
                "{default} {value}"
            );
        }
    }
}
