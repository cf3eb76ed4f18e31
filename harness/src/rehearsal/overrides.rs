//! What one process, or one instance of it, gets that the others do not.

use std::collections::BTreeMap;

use crate::ids::{Incarnation, RoleName};

/// A role, and one instance of it or all.
type Whom = (RoleName, Option<u32>);

/// Settings and environment variables of single processes.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    settings: BTreeMap<Whom, BTreeMap<String, String>>,
    environment: BTreeMap<Whom, BTreeMap<String, String>>,
}

impl Overrides {
    /// Sets a setting of the manifest for a role, or for one instance of it.
    pub fn set(&mut self, role: RoleName, instance: Option<u32>, setting: &str, value: &str) {
        let of = self.settings.entry((role, instance)).or_default();
        of.insert(format!("setting.{setting}"), value.to_owned());
    }

    /// Sets an environment variable for a role, or for one instance of it.
    pub fn set_variable(&mut self, role: RoleName, instance: Option<u32>, name: &str, value: &str) {
        let of = self.environment.entry((role, instance)).or_default();
        of.insert(name.to_owned(), value.to_owned());
    }

    /// The values of placeholders that differ for this incarnation.
    pub(super) fn settings_of(
        &self,
        incarnation: &Incarnation,
    ) -> impl Iterator<Item = (&String, &String)> {
        of(&self.settings, incarnation)
    }

    /// The variables that differ for this incarnation.
    pub(super) fn variables_of(
        &self,
        incarnation: &Incarnation,
    ) -> impl Iterator<Item = (&String, &String)> {
        of(&self.environment, incarnation)
    }
}

/// What was said of the role, then what was said of the instance: the later outweighs.
fn of<'a>(
    values: &'a BTreeMap<Whom, BTreeMap<String, String>>,
    incarnation: &Incarnation,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    let role = incarnation.role.clone();
    let all = values.get(&(role.clone(), None));
    let own = values.get(&(role, Some(incarnation.instance)));
    all.into_iter().chain(own).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_outweighs_its_role_and_others_are_left_alone() {
        let mut overrides = Overrides::default();
        overrides.set("packer".into(), Some(2), "limit", "5");
        overrides.set("packer".into(), None, "limit", "4");
        overrides.set_variable("packer".into(), Some(1), "ZONE", "a");
        let of = |instance| {
            let incarnation = Incarnation {
                role: "packer".into(),
                instance,
                start: 1,
            };
            let settings: BTreeMap<_, _> = overrides.settings_of(&incarnation).collect();
            let limit = settings[&"setting.limit".to_owned()].clone();
            (limit, overrides.variables_of(&incarnation).count())
        };
        assert_eq!(of(1), ("4".to_owned(), 1));
        assert_eq!(of(2), ("5".to_owned(), 0));
        let other = Incarnation {
            role: "shop".into(),
            instance: 2,
            start: 1,
        };
        assert_eq!(overrides.settings_of(&other).count(), 0);
    }
}
