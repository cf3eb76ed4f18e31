//! A message is not delivered again while its owner has it in hand, unless a fault struck:
//! else it stays hidden for less time than the work takes, and nobody asks for more.
//!
//! An owner that asks for more messages and touches the one in its hand no more has let go
//! of it: letting its time run out is how many consumers try again. So has one that said for
//! how long it stays hidden, and did nothing about it since. Whoever then uses the receipt of
//! old had not let go.

use std::collections::HashMap;
use std::time::Duration;

use super::super::disturbance::Disturbance;
use crate::history::Event;
use crate::ids::{CallId, Incarnation};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "a message in hand is not delivered again";

/// A delivery that is not over.
struct Hold<'e> {
    receipt: &'e str,
    owner: &'e Incarnation,
    queue: &'e str,
    at: u64,
    at_us: u64,
    /// Where its call began.
    asked: u64,
    /// Where its owner last did something about it.
    used: u64,
    /// Whether that was to say how long it stays hidden: it may be given back so, or kept.
    hidden: bool,
    /// Where its owner asked for more last.
    let_go: u64,
}

impl Hold<'_> {
    /// Whether its owner seems to be done with it.
    fn is_let_go(&self) -> bool {
        self.hidden || self.let_go > self.used
    }

    fn asked_for_more(&mut self, at: u64) {
        self.let_go = self.let_go.max(at);
    }

    fn used(&mut self, at: u64, hidden: bool) {
        self.used = at;
        self.hidden = hidden;
    }
}

/// A delivery that another one followed.
struct Followed {
    violation: Violation,
    /// Whether its owner seemed to have let go.
    let_go: bool,
}

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let whose: HashMap<u64, &str> = ledger
        .accounts
        .iter()
        .flat_map(|(message, account)| {
            let delivered = account.delivered.iter();
            delivered.map(move |at| (*at, message.as_str()))
        })
        .collect();
    let mut holds: HashMap<&str, Hold<'_>> = HashMap::new();
    let mut copies: HashMap<&str, &str> = HashMap::new();
    let mut followed: HashMap<&str, Followed> = HashMap::new();
    let mut callers: HashMap<CallId, (u64, &Incarnation)> = HashMap::new();
    let mut disturbance = Disturbance::default();
    let mut found: Vec<Violation> = Vec::new();
    for entry in evidence.entries {
        disturbance.feed(entry);
        match &entry.event {
            Event::Called {
                call,
                author,
                messages,
                receipts,
                actions,
                ..
            } => {
                let Some(by) = author.incarnation() else {
                    continue;
                };
                callers.insert(*call, (entry.seq, by));
                for receipt in receipts {
                    // By a receipt that is over: its owner had not let go.
                    if let Some(late) = followed.remove(receipt.as_str())
                        && late.let_go
                    {
                        found.push(late.violation);
                    }
                }
                let asks = actions.iter().any(|action| action == "ReceiveMessage");
                let hides = actions
                    .iter()
                    .any(|action| action.starts_with("ChangeMessageVisibility"));
                for hold in holds.values_mut().filter(|hold| hold.owner == by) {
                    if asks {
                        hold.asked_for_more(entry.seq);
                    }
                    let is_about = receipts.iter().any(|receipt| receipt == hold.receipt)
                        || messages
                            .iter()
                            .any(|message| whose.get(&hold.at) == Some(&message.as_str()));
                    if is_about {
                        hold.used(entry.seq, hides);
                    }
                }
            }
            Event::Stage {
                incarnation,
                message: Some(message),
                ..
            } => {
                let of = |hold: &&mut Hold<'_>| {
                    hold.owner == incarnation && whose.get(&hold.at) == Some(&message.as_str())
                };
                for hold in holds.values_mut().filter(of) {
                    hold.used(entry.seq, false);
                }
            }
            Event::Receiving { incarnation, .. } => {
                for hold in holds.values_mut().filter(|hold| hold.owner == incarnation) {
                    hold.asked_for_more(entry.seq);
                }
            }
            Event::Delivered {
                call,
                author,
                queue,
                message_id,
                receipt,
                deliverable,
                ..
            } => {
                let Some(owner) = author.incarnation() else {
                    continue;
                };
                let asked = callers.get(call).map_or(entry.seq, |(at, _)| *at);
                if let Some(earlier) = holds.remove(message_id.as_str())
                    && earlier.queue == queue
                    && !disturbance.is_since(earlier.asked)
                {
                    let name = whose.get(&entry.seq).copied().unwrap_or(message_id);
                    let gone = entry.at_us.saturating_sub(earlier.at_us);
                    let violation = Violation {
                        invariant: NAME,
                        text: format!(
                            "{name} was delivered to {owner} {:.1} s after {} had received it, which had it in hand still, and no fault had struck",
                            Duration::from_micros(gone).as_secs_f64(),
                            earlier.owner
                        ),
                        evidence: vec![earlier.at, entry.seq],
                    };
                    // Who gets it again itself was asking for more.
                    let let_go = earlier.owner == owner || earlier.is_let_go();
                    if !let_go {
                        found.push(violation.clone());
                    }
                    followed.insert(earlier.receipt, Followed { violation, let_go });
                }
                if *deliverable {
                    copies.insert(receipt, message_id);
                    holds.insert(
                        message_id,
                        Hold {
                            receipt,
                            owner,
                            queue,
                            at: entry.seq,
                            at_us: entry.at_us,
                            asked,
                            used: entry.seq,
                            hidden: false,
                            let_go: 0,
                        },
                    );
                }
            }
            Event::Deleted { receipt, .. } | Event::Expired { receipt, .. } => {
                end(&mut holds, &copies, receipt);
            }
            Event::VisibilityChanged {
                call,
                receipt,
                seconds: 0,
                ..
            } => {
                // Who takes it out of another's hand does not let go of it.
                let by = callers.get(call).map(|(_, by)| *by);
                let copy = copies.get(receipt.as_str());
                let owner = copy.and_then(|copy| holds.get(copy)).map(|hold| hold.owner);
                if by.is_none() || by == owner {
                    end(&mut holds, &copies, receipt);
                }
            }
            Event::Exited { incarnation, .. } => holds.retain(|_, hold| hold.owner != incarnation),
            _ => {}
        }
    }
    found.sort_by(|one, other| one.evidence.cmp(&other.evidence));
    found
}

/// What came by this receipt is in no hand any more.
fn end<'e>(
    holds: &mut HashMap<&'e str, Hold<'e>>,
    copies: &HashMap<&'e str, &'e str>,
    receipt: &str,
) {
    if let Some(copy) = copies.get(receipt)
        && holds.get(copy).is_some_and(|hold| hold.receipt == receipt)
    {
        holds.remove(copy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::DeathCause;
    use crate::ids::FaultId;
    use crate::judge::story::{Story, packer};

    fn received() -> Story {
        Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
    }

    fn asks(story: Story) -> Story {
        let call = CallId(story.last_call().0 + 50);
        story.then(Event::Receiving {
            call,
            incarnation: packer(1),
            at_most: 1,
            hides: None,
        })
    }

    /// M1 is delivered to another process.
    fn to_another(story: &Story) -> Story {
        let other = Incarnation {
            instance: 2,
            ..packer(1)
        };
        let told = story.clone().delivered("M1", "copy");
        let mut events = told.events().to_vec();
        for event in events.iter_mut().rev().take(2) {
            if let Event::Called { author, .. } | Event::Delivered { author, .. } = event {
                *author = crate::ids::Author::Process(other.clone());
            }
        }
        Story::of(events).calling_from(told.last_call().0)
    }

    fn told(story: &Story) -> Vec<String> {
        let found = story.judged().warnings.into_iter();
        found
            .filter(|one| one.invariant == NAME)
            .map(|one| one.text)
            .collect()
    }

    #[test]
    fn a_message_that_comes_again_while_its_owner_works_is_told() {
        let story = to_another(&received().passed("tried", "M1"));
        let told = told(&story);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("M1 was delivered to packer-2#1 0.0 s after packer-1#1"),
            "{told:?}"
        );
        assert!(!story.broken_rules().contains(&NAME));
    }

    #[test]
    fn an_owner_that_asks_for_more_has_let_go_unless_it_uses_the_receipt_again() {
        let receipt = format!("copy-{}", received().last_call().0);
        let story = asks(received().passed("tried", "M1")).delivered("M1", "copy");
        assert!(told(&story).is_empty());
        let late = story.called(&packer(1), "DeleteMessage orders");
        let mut events = late.events().to_vec();
        if let Some(Event::Called { receipts, .. }) = events.last_mut() {
            receipts.push(receipt);
        }
        assert_eq!(told(&Story::of(events)).len(), 1);
    }

    #[test]
    fn what_was_given_back_or_lost_or_struck_comes_again_by_right() {
        let receipt = format!("copy-{}", received().last_call().0);
        let given_back = received().then(Event::VisibilityChanged {
            call: CallId(900),
            receipt,
            message: Some("M1".into()),
            seconds: 0,
        });
        let lost = received().exited(DeathCause::Ordered, &["M1"]);
        let struck = received().triggered(1).landed(1);
        for story in [given_back, lost, struck] {
            assert!(told(&story.delivered("M1", "copy")).is_empty());
        }
    }

    #[test]
    fn an_outage_that_is_at_work_explains_it_and_one_that_is_over_does_not() {
        let outage = Event::Armed {
            fault: FaultId(1),
            text: "the database hangs".to_owned(),
            expected: 1,
            outage: Some("database".into()),
        };
        let at_work = Story::new().then(outage).triggered(1).landed(1);
        let comes_again = |story: Story| {
            let story = story
                .accepted("M1")
                .sent("M1", "copy")
                .delivered("M1", "copy");
            to_another(&story)
        };
        assert!(told(&comes_again(at_work.clone())).is_empty());
        let over = at_work.then(Event::Disarmed { fault: FaultId(1) });
        assert_eq!(told(&comes_again(over)).len(), 1);
    }
}
