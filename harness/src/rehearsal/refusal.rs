//! Whose doing it is that a client was told no job.

use super::Rehearsal;
use crate::history::{Entry, Event};
use crate::ids::{Author, CallId, MessageName, RoleName};

/// Whose doing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The system's: it refused, or did not answer in time.
    System,
    /// The scenario's: it answered in the system's place, or dropped the call or its answer.
    Scenario,
    /// The harness's: it holds the process that was to answer.
    Harness,
    /// The manifest's: the system accepted, and the job's id stands elsewhere.
    Manifest,
    /// The manifest's: nothing was ever accepted, and the system says that it is asked wrongly.
    Request,
}

impl Rehearsal {
    /// Whose doing it is that the submission that has just ended told no job.
    pub fn refusal(&self, message: &MessageName, status: Option<u16>) -> Refusal {
        let role = self.manifest.messages.submit.role();
        let (touched, struck, accepted) = self.board.history().read(|entries| {
            let since = since_submitted(entries, message);
            (
                is_touched(since),
                role.is_some_and(|role| is_struck(since, role)),
                entries
                    .iter()
                    .any(|entry| matches!(entry.event, Event::Accepted { .. })),
            )
        });
        // Whoever is killed answers nobody: also not those whose calls the fault did not mean.
        if touched || (struck && status.is_none()) {
            Refusal::Scenario
        } else if status.is_some_and(|status| (200..300).contains(&status)) {
            Refusal::Manifest
        } else if !accepted && status.is_some_and(says_asked_wrongly) {
            Refusal::Request
        } else if status.is_none()
            && let Some(role) = role
            && self.board.is_held(role)
        {
            Refusal::Harness
        } else {
            Refusal::System
        }
    }
}

/// Whether an answer speaks against what was asked, whatever the system is in: not those that
/// tell of its load or of what it holds.
fn says_asked_wrongly(status: u16) -> bool {
    matches!(status, 404 | 405 | 406 | 411 | 415 | 501)
}

/// What happened since a message was submitted last.
fn since_submitted<'e>(entries: &'e [Entry], message: &MessageName) -> &'e [Entry] {
    let begun = entries.iter().rposition(
        |entry| matches!(&entry.event, Event::Submitting { message: of } if of == message),
    );
    &entries[begun.unwrap_or(entries.len())..]
}

/// Whether a fault sent a signal to a process of this role.
fn is_struck(since: &[Entry], role: &RoleName) -> bool {
    since.iter().any(|entry| {
        matches!(&entry.event, Event::Signalled { incarnation, fault: Some(_), .. }
            if incarnation.role == *role)
    })
}

/// Whether the scenario did something to a call of the client.
fn is_touched(since: &[Entry]) -> bool {
    let of_client = |wanted: CallId| {
        since.iter().any(|entry| {
            matches!(&entry.event, Event::Called { call, author: Author::Client, .. } if *call == wanted)
        })
    };
    since.iter().any(|entry| match &entry.event {
        Event::Injected { call, .. } => of_client(*call),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Attribution, Text};
    use crate::ids::{ConnectionId, FaultId};
    use crate::judge::story::{Story, packer};
    use crate::tap::Side;

    fn injected(author: Author) -> Vec<Entry> {
        let story = Story::new()
            .then(Event::Submitting {
                message: "M1".into(),
            })
            .then(Event::Called {
                kind: None,
                shape: None,
                call: CallId(1),
                connection: ConnectionId(1),
                author,
                dependency: "shop".into(),
                summary: Text::default(),
                actions: vec!["POST".to_owned()].into(),
                messages: Vec::new(),
                attribution: Attribution::None,
                receipts: Vec::new(),
                content: None,
            })
            .then(Event::Injected {
                call: CallId(1),
                side: Side::Before,
                what: "answered 503".to_owned(),
                fault: None,
            });
        story.entries()
    }

    #[test]
    fn what_the_scenario_did_to_the_clients_call_is_no_refusal_of_the_system() {
        let touched =
            |author, message: &str| is_touched(since_submitted(&injected(author), &message.into()));
        assert!(touched(Author::Client, "M1"));
        assert!(!touched(Author::Process(packer(1)), "M1"));
        assert!(!touched(Author::Client, "M2"));
    }

    #[test]
    fn whoever_is_killed_by_a_fault_owes_nobody_an_answer() {
        let signalled = |fault| Event::Signalled {
            incarnation: packer(1),
            signal: "SIGKILL".to_owned(),
            fault,
        };
        let story = injected_nothing().then(signalled(Some(FaultId(1))));
        assert!(is_struck(&story.entries(), &packer(1).role));
        assert!(!is_struck(&story.entries(), &"shop".into()));
        let ended = injected_nothing().then(signalled(None));
        assert!(!is_struck(&ended.entries(), &packer(1).role));
    }

    fn injected_nothing() -> Story {
        Story::new().then(Event::Submitting {
            message: "M1".into(),
        })
    }
}
