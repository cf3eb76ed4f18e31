//! Every accepted job has an end, or is still somewhere: waiting to be sent, or in a
//! queue, or set aside where a person sees it.

use std::collections::BTreeMap;

use crate::history::{DeathCause, Event};
use crate::ids::{Incarnation, MessageName};
use crate::judge::account::Account;
use crate::judge::totals::last_counted;
use crate::judge::{COPIES, Evidence, Ledger, Violation};

pub(super) const NAME: &str = "nothing is lost";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    // Where no end is known, none is missing.
    if evidence.manifest.terminal.is_empty() {
        return Vec::new();
    }
    let rest = Rest::of(evidence);
    let mut violations = Vec::new();
    for (message, account) in &ledger.accounts {
        let Some(accepted) = account.accepted else {
            continue;
        };
        if !account.is_unsettled() {
            continue;
        }
        if account.is_sent() && account.left().is_empty() {
            if rest.is_over_for(account) {
                violations.push(Violation {
                    invariant: NAME,
                    text: format!(
                        "{message} was accepted, has no end, and all its copies were deleted"
                    ),
                    evidence: std::iter::once(accepted)
                        .chain(account.deletions.iter().map(|deletion| deletion.at))
                        .collect(),
                });
            }
        } else if !account.is_sent() && accepted < rest.quiet {
            violations.push(Violation {
                invariant: NAME,
                text: never_sent(evidence, message, account),
                evidence: vec![accepted],
            });
        }
    }
    violations.extend(vanished(evidence, ledger));
    violations
}

/// Why no queue has it, by what was seen.
fn never_sent(evidence: Evidence<'_>, message: &MessageName, account: &Account) -> String {
    let mut dependencies = evidence.manifest.dependencies.values();
    let has_queues = dependencies.any(|dependency| !dependency.protocol.queues().is_empty());
    if !has_queues {
        format!("{message} was accepted and has no end, and all is quiet")
    } else if account.sent.is_empty() {
        format!("{message} was accepted and no queue ever got it")
    } else {
        format!("{message} was put back, has no end since, and no queue got it again")
    }
}

/// When nothing more could come of a message that is in no queue.
struct Rest<'e> {
    /// Where it was quiet last.
    quiet: u64,
    /// Where each process died during the scenario.
    deaths: BTreeMap<&'e Incarnation, u64>,
}

impl<'e> Rest<'e> {
    fn of(evidence: Evidence<'e>) -> Self {
        let mut rest = Self {
            quiet: 0,
            deaths: BTreeMap::new(),
        };
        for entry in evidence.entries {
            match &entry.event {
                Event::Quiet => rest.quiet = entry.seq,
                Event::Exited {
                    incarnation, cause, ..
                } if *cause != DeathCause::Shutdown => {
                    rest.deaths.insert(incarnation, entry.seq);
                }
                _ => {}
            }
        }
        rest
    }

    /// Whoever deletes early may work on: the message is lost once it came to rest, or all
    /// who deleted a copy of it are dead.
    fn is_over_for(&self, account: &Account) -> bool {
        let last = account.deletions.iter().map(|deletion| deletion.at).max();
        let dead = account.deletions.iter().all(|deletion| {
            let by = deletion.by.as_ref();
            by.and_then(|by| self.deaths.get(by))
                .is_some_and(|died| *died > deletion.at)
        });
        dead || last.is_none_or(|last| last < self.quiet)
    }
}

/// Messages whose copies nobody deleted, and that no queue holds any more: they expired,
/// or were purged.
fn vanished(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let figures = last_counted(evidence);
    let of = |source: &str| {
        let sources = figures.get(COPIES)?;
        sources.get(source)?.get("").copied()
    };
    let (Some((witnessed, _)), Some((held, at))) = (of("witness"), of("claim")) else {
        return Vec::new();
    };
    if held >= witnessed {
        return Vec::new();
    }
    let waiting: Vec<(&MessageName, &Account)> = ledger
        .accounts
        .iter()
        .filter(|(_, account)| account.is_unsettled() && account.is_sent())
        .filter(|(_, account)| !account.left().is_empty())
        .collect();
    let missing = witnessed - held;
    waiting
        .iter()
        .map(|(message, account)| {
            let sent = account.left().into_iter().filter_map(|copy| account.sent.get(copy));
            let text = if held == 0 {
                format!("{message} has no end, nobody deleted it, and no queue holds it any more")
            } else {
                format!(
                    "{message} has no end and nobody deleted it, and of such copies the queues lack {missing}"
                )
            };
            Violation {
                invariant: NAME,
                text,
                evidence: sent.copied().chain([at]).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    /// Where jobs that nobody can weigh come to rest.
    fn broken(story: &Story) -> Vec<String> {
        let mut manifest = MANIFEST.clone();
        manifest.resting = vec!["weighing".into()];
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        let violations = check(evidence, &Ledger::of(evidence));
        violations
            .into_iter()
            .map(|violation| violation.text)
            .collect()
    }

    #[test]
    fn what_rests_where_a_person_sees_it_is_not_lost() {
        let story = Story::new().accepted("M1").passed("weighing", "M1").quiet();
        assert!(broken(&story).is_empty());
        let sent = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("weighing", "M1")
            .deleted("M1", "copy")
            .quiet();
        assert!(broken(&sent).is_empty());
    }

    #[test]
    fn the_rest_of_one_message_is_no_rest_of_another() {
        let story = Story::new()
            .accepted("M1")
            .accepted("M2")
            .passed("weighing", "M2")
            .quiet();
        assert_eq!(broken(&story), ["M1 was accepted and no queue ever got it"]);
    }

    #[test]
    fn a_rest_belongs_to_its_series() {
        let story = Story::new()
            .accepted("M1")
            .passed("weighing", "M1")
            .passed("tried-again", "M1")
            .quiet();
        assert_eq!(broken(&story), ["M1 was accepted and no queue ever got it"]);
        let again = Story::new()
            .accepted("M1")
            .passed("weighing", "M1")
            .passed("tried-again", "M1")
            .passed("weighing", "M1")
            .quiet();
        assert!(broken(&again).is_empty());
    }

    #[test]
    fn where_no_stage_rests_nothing_is_excused() {
        let story = Story::new().accepted("M1").passed("weighing", "M1").quiet();
        assert_eq!(story.broken_rules(), [NAME]);
    }

    #[test]
    fn whoever_deletes_early_may_work_on_until_all_is_quiet_or_it_dies() {
        let early = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .deleted("M1", "copy");
        let lost = |story: &Story| story.broken_rules().contains(&NAME);
        assert!(!lost(&early));
        assert!(lost(&early.clone().quiet()));
        let died = early.clone().exited(DeathCause::Ordered, &[]);
        assert!(lost(&died));
        let ended = early.clone().exited(DeathCause::Shutdown, &[]);
        assert!(!lost(&ended), "the end of the rehearsal loses nothing");
        let late = early
            .wrote("M1")
            .passed("tried", "M1")
            .passed("shipped", "M1");
        assert!(!lost(&late.quiet()));
    }

    #[test]
    fn a_message_that_expired_is_named() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .shipped("M2")
            .quiet()
            .counted(COPIES, None, "witness", 1);
        let kept = story.clone().counted(COPIES, None, "claim", 1);
        assert!(kept.broken_rules().is_empty());
        let expired = story.counted(COPIES, None, "claim", 0);
        assert_eq!(expired.broken_rules(), [NAME]);
        assert_eq!(
            expired.judged().violations[0].text,
            "M1 has no end, nobody deleted it, and no queue holds it any more"
        );
    }
}
