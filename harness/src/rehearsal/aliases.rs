//! Which ids mean which message of the scenario.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::MessageName;
use crate::stage::Subject;

/// Ids and the messages that they mean. An id never changes its meaning.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    known: BTreeMap<String, MessageName>,
}

impl Aliases {
    /// Learns that an id means a message; false if that was known or if the id already
    /// means another one.
    pub(super) fn learn(&mut self, id: &str, message: &MessageName) -> bool {
        if id.is_empty() || self.known.contains_key(id) {
            return false;
        }
        self.known.insert(id.to_owned(), message.clone());
        true
    }

    /// All ids and what they mean.
    pub(super) fn known(&self) -> &BTreeMap<String, MessageName> {
        &self.known
    }

    pub(super) fn get(&self, id: &str) -> Option<&MessageName> {
        self.known.get(id)
    }

    /// Every id with its message.
    pub(super) fn all(&self) -> Vec<(String, MessageName)> {
        let known = self.known.iter();
        known
            .map(|(id, message)| (id.clone(), message.clone()))
            .collect()
    }

    /// All messages that these ids mean, each once.
    pub(super) fn messages<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a String>,
    ) -> BTreeSet<MessageName> {
        ids.into_iter()
            .filter_map(|id| self.get(id).cloned())
            .collect()
    }

    /// The messages of one subject: by its own ids, else by the inherited ones.
    pub(super) fn of_subject(&self, subject: &Subject) -> BTreeSet<MessageName> {
        let own = self.messages(&subject.ids);
        if own.is_empty() {
            self.messages(&subject.inherited)
        } else {
            own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_ids_decide_before_inherited_ones() {
        let mut aliases = Aliases::default();
        assert!(aliases.learn("a", &"M1".into()));
        assert!(aliases.learn("b", &"M2".into()));
        assert!(!aliases.learn("a", &"M2".into()));
        let mut subject = Subject {
            ids: vec!["b".to_owned()],
            inherited: vec!["a".to_owned()],
            ..Subject::default()
        };
        assert_eq!(aliases.of_subject(&subject), BTreeSet::from(["M2".into()]));
        subject.ids = vec!["unknown".to_owned()];
        assert_eq!(aliases.of_subject(&subject), BTreeSet::from(["M1".into()]));
    }
}
