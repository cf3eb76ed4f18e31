//! Settings of the scenario.

use std::sync::Arc;

use crate::gherkin::{Objection, Step, StepError, StepKind, read_duration};
use crate::manifest::{MOST_INSTANCES, Manifest};
use crate::suite::{Scene, instances};

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let settings = Arc::clone(manifest);
    vec![
        Step::given("the {setting} is {word}")
            .checked(move |arguments, _| {
                let (name, value) = (arguments.text(0), arguments.text(1));
                let default = settings.settings.get(name).map(|setting| setting.default.as_str());
                default.and_then(|default| another_form(name, default, value)).into_iter().collect()
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
        StepError::invalid(format!(
            "{count} instances are too many; at most {MOST_INSTANCES} may run"
        ))
    })
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
