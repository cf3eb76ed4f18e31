//! Which ids mean which message of the scenario.

use std::collections::{BTreeMap, BTreeSet};

use super::search;
use crate::ids::MessageName;
use crate::stage::{Subject, WITHIN};

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
            .flat_map(|id| meanings(&self.known, id))
            .cloned()
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

/// Longer ids stand in no other text by chance, whatever is next to them.
const UNMISTAKABLE: usize = 16;

/// The messages that an id means, or that the ids in a text mean.
pub(super) fn meanings<'k>(
    known: &'k BTreeMap<String, MessageName>,
    id: &str,
) -> Vec<&'k MessageName> {
    let Some(text) = id.strip_prefix(WITHIN) else {
        return known.get(id).into_iter().collect();
    };
    if let Some(whole) = known.get(text) {
        return vec![whole];
    }
    let within = known.iter().filter(|(id, _)| stands_in(text, id));
    let found: Vec<&MessageName> = within.map(|(_, message)| message).collect();
    if !found.is_empty() {
        return found;
    }
    // Perhaps encoded.
    let finds = search::find(known, &search::Root::Body, text.as_bytes());
    let exact = finds.iter().filter(|find| find.exact);
    exact.filter_map(|find| known.get(&find.id)).collect()
}

/// Whether a text holds an id, as it is or encoded.
pub(super) fn holds(text: &str, id: &str) -> bool {
    let known = BTreeMap::from([(id.to_owned(), MessageName::new(""))]);
    !meanings(&known, text).is_empty()
}

fn stands_in(text: &str, id: &str) -> bool {
    if id.len() >= UNMISTAKABLE {
        return text.contains(id);
    }
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(id).any(|(at, _)| {
        !word(text[..at].chars().next_back()) && !word(text[at + id.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_id_is_found_within_a_text() {
        let mut aliases = Aliases::default();
        aliases.learn("M1", &"M1".into());
        aliases.learn("0190b2c4-7d1e-7c3f", &"M2".into());
        let find = |text: &[u8]| aliases.messages(&[crate::stage::text_with_ids(text)]);
        assert_eq!(
            find(b"\x80\x04\x8c\x02M1\x94."),
            BTreeSet::from(["M1".into()])
        );
        assert!(find(b"M10").is_empty());
        assert_eq!(find(b"X0190b2c4-7d1e-7c3fq"), BTreeSet::from(["M2".into()]));
        let encoded = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, "{\"a\":\"M1\"}");
        assert_eq!(find(encoded.as_bytes()), BTreeSet::from(["M1".into()]));
    }

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
