//! How a call that names nobody known can be made to: what is said already is not asked for.

use super::{Binding, Manifest};
use crate::ids::{DependencyName, StageName};

impl Manifest {
    /// What its author can do about a call of this wire whose message cannot be told.
    pub fn how_to_recognise(&self, dependency: &DependencyName) -> String {
        if self.messages.recognise.contains_key(dependency) {
            format!(
                "what `messages.recognise.{dependency}` names held no known id there: name the \
                 place in that call that does, or have the call carry the id"
            )
        } else {
            format!("say under `messages.recognise.{dependency}` where the id stands")
        }
    }

    /// The same of the calls that a stage is bound to.
    pub fn how_to_recognise_at(&self, stage: &StageName) -> String {
        match self.stages.get(stage).map(|stage| &stage.binding) {
            Some(Binding::Boundary { dependency, .. }) => self.how_to_recognise(dependency),
            Some(Binding::Checkpoint(_)) | None => {
                "announce it with an id of the message".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::story::MANIFEST;

    #[test]
    fn what_is_said_under_recognise_is_not_asked_for() {
        let (said, unsaid) = ("carrier".into(), "nowhere".into());
        assert!(MANIFEST.messages.recognise.contains_key(&said));
        assert!(
            MANIFEST
                .how_to_recognise(&said)
                .contains("held no known id")
        );
        assert!(MANIFEST.how_to_recognise(&unsaid).starts_with("say under"));
        assert!(
            MANIFEST
                .how_to_recognise_at(&"unheard of".into())
                .contains("announce")
        );
    }
}
