//! Which values went together: before a client is told its job's id, the id has stood
//! beside the message's name or key, as when the system wrote its job down.

use std::collections::{BTreeMap, BTreeSet};

use super::aliases::Aliases;
use crate::ids::MessageName;

/// Values, each with the messages beside which it stood. One that stood beside several is
/// no id of any.
#[derive(Debug, Default)]
pub(super) struct Company(BTreeMap<String, BTreeSet<MessageName>>);

impl Company {
    /// Values that stood together: in a row, in a body.
    pub(super) fn note(&mut self, together: &[String], aliases: &Aliases) {
        let messages = aliases.messages(together);
        if messages.is_empty() {
            return;
        }
        for value in together {
            if !value.is_empty() && aliases.get(value).is_none() {
                let beside = self.0.entry(value.clone()).or_default();
                beside.extend(messages.iter().cloned());
            }
        }
    }

    /// The one message of these that such an id can mean by the company it kept.
    pub(super) fn presume<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a String>,
        among: &BTreeSet<MessageName>,
    ) -> Option<MessageName> {
        let kept = ids.into_iter().filter_map(|id| self.0.get(id));
        let sole: BTreeSet<&MessageName> = kept
            .filter(|beside| beside.len() == 1)
            .flatten()
            .filter(|message| among.contains(*message))
            .collect();
        match sole.len() {
            1 => sole.first().map(|message| (*message).clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_id_is_known_by_the_one_message_it_stood_beside() {
        let mut aliases = Aliases::default();
        aliases.learn("M1", &"M1".into());
        aliases.learn("M2", &"M2".into());
        let among = BTreeSet::from(["M1".into(), "M2".into()]);
        let mut company = Company::default();
        company.note(&texts(&["7f", "pending", "M1"]), &aliases);
        company.note(&texts(&["8a", "pending", "M2"]), &aliases);
        company.note(&texts(&["pending", "else"]), &aliases);
        let presumed = |ids: &[&str]| company.presume(&texts(ids), &among);
        assert_eq!(presumed(&["7f"]), Some("M1".into()));
        assert_eq!(presumed(&["pending", "8a"]), Some("M2".into()));
        assert_eq!(presumed(&["pending"]), None);
        assert_eq!(presumed(&["7f", "8a"]), None);
        assert_eq!(presumed(&["else"]), None);
        assert_eq!(company.presume(&texts(&["7f"]), &BTreeSet::new()), None);
    }
}
