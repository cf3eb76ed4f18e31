//! A message that has its end is known by it where the system keeps it: what a stage showed
//! may have been another message's row, or may be gone again.

use crate::history::Event;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "the system knows of the end";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    for entry in evidence.entries {
        let Event::Observed {
            message,
            end,
            observation,
            value,
        } = &entry.event
        else {
            continue;
        };
        let terminal = evidence.manifest.terminal.get(end);
        let Some(observed) = terminal.and_then(|terminal| terminal.observed.as_ref()) else {
            continue;
        };
        if observed.is_met_by(value.as_deref()) {
            continue;
        }
        let expected = match &observed.reads {
            Some(reads) => format!(", not {reads:?}"),
            None => String::new(),
        };
        let account = ledger.accounts.get(message);
        let ended =
            account.and_then(|account| account.ends.iter().rfind(|(at, _)| *at < entry.seq));
        violations.push(Violation {
            invariant: NAME,
            text: match value {
                Some(value) => format!(
                    "{message} ended as `{end}`, and its `{observation}` reads {value:?}{expected}"
                ),
                None => {
                    format!("{message} ended as `{end}`, and there is no `{observation}` of it")
                }
            },
            evidence: ended
                .map(|(at, _)| *at)
                .into_iter()
                .chain([entry.seq])
                .collect(),
        });
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};
    use crate::manifest::Observed;

    fn told(reads: Option<&str>, value: Option<&str>) -> Vec<String> {
        let mut manifest = MANIFEST.clone();
        let observed = Observed {
            observation: "state".to_owned(),
            reads: reads.map(str::to_owned),
        };
        let end = manifest.terminal.get_mut("shipped");
        end.expect("there is such an end").observed = Some(observed);
        let story = Story::new().shipped("M1").quiet().then(Event::Observed {
            message: "M1".into(),
            end: "shipped".to_owned(),
            observation: "state".to_owned(),
            value: value.map(str::to_owned),
        });
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        let found = check(evidence, &Ledger::of(evidence)).into_iter();
        found.map(|violation| violation.text).collect()
    }

    #[test]
    fn what_the_system_reads_of_a_finished_message_is_held_against_its_end() {
        assert!(told(Some("gone"), Some(" gone\n")).is_empty());
        assert!(told(None, Some("1")).is_empty());
        assert_eq!(
            told(Some("gone"), Some("open")),
            ["M1 ended as `shipped`, and its `state` reads \"open\", not \"gone\""]
        );
        assert_eq!(
            told(None, None),
            ["M1 ended as `shipped`, and there is no `state` of it"]
        );
        assert_eq!(told(None, Some("  ")).len(), 1);
    }
}
