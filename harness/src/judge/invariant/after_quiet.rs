//! Once everything was quiet and counted, nothing more happens to a finished job while the
//! deployment is watched: no write that a thread, a timer or a child that was left behind
//! does later, and no stage.

use crate::history::{Entry, Event};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "nothing happens once all is quiet";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let entries = evidence.entries;
    let lingers = entries
        .iter()
        .rposition(|entry| matches!(entry.event, Event::Lingers));
    let Some(lingers) = lingers else {
        return Vec::new();
    };
    let since = entries[lingers].seq;
    let is_finished = |message: &Option<_>| {
        let account = message.as_ref().and_then(|of| ledger.accounts.get(of));
        account.is_some_and(|account| account.ends.iter().any(|(at, _)| *at < since))
    };
    let late = |entry: &Entry| {
        let what = match &entry.event {
            Event::Performed {
                write,
                repeated,
                message,
                request,
                ..
            } if *write || *repeated => match message {
                Some(message) => format!("the outside service got {request} for {message}"),
                None => format!("the outside service got {request}"),
            },
            Event::Stage { stage, message, .. } if is_finished(message) => {
                format!("{} passed {stage}", shown(message.as_ref()))
            }
            Event::Sent { queue, message, .. } if is_finished(message) => {
                format!("{} was sent to {queue}", shown(message.as_ref()))
            }
            _ => return None,
        };
        let at = entry.at_us.saturating_sub(entries[lingers].at_us);
        let after = std::time::Duration::from_micros(at).as_secs_f64();
        Some(Violation {
            invariant: NAME,
            text: format!("{what} {after:.1} s after everything was quiet"),
            evidence: vec![since, entry.seq],
        })
    };
    entries[lingers..].iter().filter_map(late).collect()
}

fn shown(message: Option<&crate::ids::MessageName>) -> String {
    message.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::Story;

    fn watched() -> Story {
        Story::new().shipped("M1").quiet().then(Event::Lingers)
    }

    #[test]
    fn a_second_write_is_seen_while_the_deployment_is_watched() {
        assert!(watched().broken_rules().is_empty());
        assert!(watched().wrote("M1").broken_rules().contains(&NAME));
    }

    #[test]
    fn a_stage_or_a_copy_of_a_finished_job_is_seen_too() {
        assert_eq!(
            watched().passed("tried", "M1").broken_rules()[..1],
            ["no attempt without a receive"]
        );
        assert!(
            watched()
                .passed("weighing", "M1")
                .broken_rules()
                .contains(&NAME)
        );
        assert!(watched().sent("M1", "late").broken_rules().contains(&NAME));
    }

    #[test]
    fn what_happens_before_it_is_watched_is_as_ever() {
        let before = Story::new().shipped("M1").quiet().passed("weighing", "M1");
        assert!(!before.broken_rules().contains(&NAME));
    }
}
