//! Whose doing it is that a client was told no job.

use super::Rehearsal;
use crate::history::{Entry, Event};
use crate::ids::{Author, CallId, MessageName};

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
}

impl Rehearsal {
    /// Whose doing it is that the submission that has just ended told no job.
    pub fn refusal(&self, message: &MessageName, status: Option<u16>) -> Refusal {
        let touched = self
            .board
            .history()
            .read(|entries| is_touched(entries, message));
        if touched {
            Refusal::Scenario
        } else if status.is_some_and(|status| (200..300).contains(&status)) {
            Refusal::Manifest
        } else if status.is_none()
            && let Some(role) = self.manifest.messages.submit.role()
            && self.board.is_held(role)
        {
            Refusal::Harness
        } else {
            Refusal::System
        }
    }
}

/// Whether the scenario did something to a call of the client since a message was
/// submitted last.
fn is_touched(entries: &[Entry], message: &MessageName) -> bool {
    let begun = entries.iter().rposition(
        |entry| matches!(&entry.event, Event::Submitting { message: of } if of == message),
    );
    let since = &entries[begun.unwrap_or(entries.len())..];
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
    use crate::history::{Attribution, Blob};
    use crate::ids::ConnectionId;
    use crate::judge::story::{Story, packer};
    use crate::tap::Side;

    fn injected(author: Author) -> Vec<Entry> {
        let story = Story::new()
            .then(Event::Submitting {
                message: "M1".into(),
            })
            .then(Event::Called {
                shape: None,
                call: CallId(1),
                connection: ConnectionId(1),
                author,
                dependency: "shop".into(),
                summary: String::new(),
                actions: vec!["POST".to_owned()],
                messages: Vec::new(),
                attribution: Attribution::None,
                receipts: Vec::new(),
                content: Blob::of(b""),
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
        assert!(is_touched(&injected(Author::Client), &"M1".into()));
        assert!(!is_touched(
            &injected(Author::Process(packer(1))),
            &"M1".into()
        ));
        assert!(!is_touched(&injected(Author::Client), &"M2".into()));
    }
}
