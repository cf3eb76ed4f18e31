//! Why it is not quiet, as facts; the words are made from them and never read back.

use std::fmt;
use std::time::Duration;

use crate::ids::{Author, DependencyName, Incarnation, MessageName, RoleName};

/// One thing that keeps it from being quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A process is not ready, or on its way to its next start.
    Starting {
        /// Which.
        process: String,
    },
    /// A client waits for its answer.
    Submitting {
        /// With which message.
        message: MessageName,
    },
    /// The harness itself holds a call.
    Held {
        /// Which, whose, and at which side.
        what: String,
    },
    /// An outage of the scenario lasts, and will end by itself.
    Outage {
        /// In words.
        outage: String,
    },
    /// A fault was triggered, and its effect was not seen yet.
    Armed {
        /// In words.
        fault: String,
        /// How often it landed so far.
        landed: u32,
    },
    /// A living owner has a message in hand.
    InHand {
        /// Who.
        owner: Incarnation,
        /// The message, else the copy.
        message: String,
        /// By which delivery.
        receipt: String,
    },
    /// A consumer did not ask for more since its last effect.
    NotAsked {
        /// Who.
        consumer: Incarnation,
        /// At which of its queues, if it has several.
        queue: Option<String>,
        /// Where its last effect stands; nought: it had none.
        effect: u64,
        /// Whether it ever asked.
        ever: bool,
    },
    /// A transaction that wrote something is open.
    Writing {
        /// Whose.
        author: Author,
    },
    /// A timer did not tick once since the last effect of anybody.
    NotTicked {
        /// Its place in the manifest.
        timer: usize,
        /// Whose.
        incarnation: Incarnation,
        /// The call that shows a tick.
        call: String,
        /// Whether anybody of its role ever made that call.
        ever: bool,
    },
    /// A queue that somebody alive consumes holds messages.
    Queue {
        /// Of which dependency.
        dependency: DependencyName,
        /// Its name in the manifest.
        queue: String,
        /// Messages that can be received.
        visible: i64,
        /// Messages that somebody received.
        in_flight: i64,
        /// Messages that become visible later.
        delayed: i64,
    },
    /// A queue holds messages, and nothing tells who takes them from there.
    Unconsumed {
        /// Of which dependency.
        dependency: DependencyName,
        /// Its name in the manifest.
        queue: String,
        /// How many.
        holds: i64,
    },
    /// Something had an effect less than the settle time ago.
    Settling {
        /// The settle time.
        within: Duration,
    },
    /// Who tells how much waits for somebody is not there.
    Unanswered {
        /// For whom.
        role: RoleName,
    },
    /// Work waits for a timer whose process is alive.
    Backlog {
        /// Whose.
        role: RoleName,
        /// How much.
        waiting: i64,
    },
}

impl Reason {
    /// Whether the harness itself is the cause.
    pub fn is_own_doing(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Armed { .. })
    }

    /// Whether it may be the manifest that is wrong: what it names was never seen.
    pub fn is_sight(&self) -> bool {
        matches!(
            self,
            Self::NotTicked { ever: false, .. } | Self::Unconsumed { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting { process } => write!(f, "{process} is starting"),
            Self::Submitting { message } => write!(f, "{message} is being submitted"),
            Self::Held { what } => write!(f, "held: {what}"),
            Self::Outage { outage } => write!(f, "an outage lasts: {outage}"),
            Self::Armed { fault, landed } => write!(f, "armed: {fault} (landed {landed} times)"),
            Self::InHand { owner, message, .. } => write!(f, "{owner} has {message} in hand"),
            Self::NotAsked {
                consumer,
                queue,
                effect,
                ever,
            } => {
                write!(f, "{consumer} has not asked ")?;
                match queue {
                    Some(queue) => write!(f, "`{queue}` for more")?,
                    None => f.write_str("for more")?,
                }
                if *ever {
                    write!(f, " since its last effect (history: {effect})")
                } else {
                    f.write_str(" since it started")
                }
            }
            Self::Writing { author } => {
                write!(f, "{author} has a transaction open in which it wrote")
            }
            Self::NotTicked {
                incarnation,
                call,
                ever,
                ..
            } => {
                write!(
                    f,
                    "{incarnation} has not ticked once since the last effect ({call})"
                )?;
                if !ever {
                    f.write_str(
                        ", and no call like that was ever seen: is `background` of the manifest right?",
                    )?;
                }
                Ok(())
            }
            Self::Queue {
                dependency,
                queue,
                visible,
                in_flight,
                delayed,
            } => write!(
                f,
                "{dependency}/{queue} holds {visible} visible, {in_flight} in flight, {delayed} delayed"
            ),
            Self::Unconsumed {
                dependency,
                queue,
                holds,
            } => write!(
                f,
                "{dependency}/{queue} holds {holds} messages and nobody is said, or was seen, to take any: say `consumes` of the process that does, or `consumed: false` of the queue"
            ),
            Self::Settling { within } => write!(
                f,
                "the last effect is less than {} ago (`settle` of the manifest)",
                seconds(*within)
            ),
            Self::Unanswered { role } => {
                write!(f, "nobody answers how much waits for the {role}")
            }
            Self::Backlog { role, waiting } => write!(f, "{waiting} wait for the {role}"),
        }
    }
}

/// It did not become quiet in time.
#[derive(Clone, Debug, thiserror::Error)]
#[error("not quiet after {within:?}: {}{}{}{}", listed(.reasons), .pace, self.patience(), lasting(.own))]
pub struct NotQuiet {
    /// The limit (`limits.quiet`).
    pub within: Duration,
    /// What still went on.
    pub reasons: Vec<Told>,
    /// What the scenario itself does to the system, and had not ended.
    pub own: Vec<String>,
    /// Whether anything came of it lately.
    pub pace: Pace,
}

/// A reason with what the history knows of it.
#[derive(Clone, Debug)]
pub struct Told {
    /// The fact.
    pub reason: Reason,
    /// Since when, and what keeps it so, in words; empty where nothing is known.
    pub more: String,
    /// Whether it is a fault in itself, however long one waits: what has its end is still in
    /// a hand that asked for more since.
    pub forgotten: bool,
    /// Whether it is over by a queue's clock, and nobody's turn before.
    pub by_clock: bool,
}

/// Whether the system got on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nothing new happened for so long.
    Stands {
        /// How long.
        since: Duration,
        /// The last new thing.
        seq: u64,
        /// What was received again and again meanwhile, and how often.
        round: Option<(String, usize)>,
    },
    /// Something new happened just before the limit.
    GetsOn {
        /// Where.
        seq: u64,
    },
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands { since, seq, round } => {
                let since = seconds(*since);
                write!(f, "\nnothing new has happened for {since} (history: {seq})")?;
                match round {
                    Some((whose, times)) => {
                        write!(f, "; {whose} was received {times} times since")
                    }
                    None => Ok(()),
                }
            }
            Self::GetsOn { seq } => write!(
                f,
                "\nthe system was still getting on (history: {seq}): give it more time by `limits: {{ quiet: … }}` of the manifest"
            ),
        }
    }
}

/// A duration as people say it.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn listed(reasons: &[Told]) -> String {
    let told: Vec<String> = reasons
        .iter()
        .map(|told| format!("{}{}", told.reason, told.more))
        .collect();
    told.join("; ")
}

/// Names what a scenario itself does to the system and has not ended, if anything: what
/// seems to be the system's failure may be its consequence.
pub(super) fn lasting(own: &[String]) -> String {
    if own.is_empty() {
        return String::new();
    }
    format!(
        "\nthe scenario's own doing is still on: {}; either it never ends, or the system never brings its end about",
        own.join("; ")
    )
}

/// Whom a system that is not quiet in time speaks against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The system stands, or turns in a circle.
    System,
    /// The scenario keeps it from being quiet.
    Scenario,
    /// The harness cannot tell: its limit is too short, or what it waits for is described
    /// wrongly.
    Harness,
}

impl NotQuiet {
    /// How to learn what comes when a queue's time is over.
    fn patience(&self) -> &'static str {
        if self.waits_for_a_clock() {
            "\nthat is later than the limit: give it more time by `limits: { quiet: … }` of the manifest, or give its queue a shorter visibility"
        } else {
            ""
        }
    }

    /// Whether more is known than that it is not quiet: somebody forgot what has its end.
    pub fn is_more_than_late(&self) -> bool {
        matches!(self.pace, Pace::Stands { .. }) && self.reasons.iter().any(|told| told.forgotten)
    }

    /// Whether nothing goes round, and all that it waits for is over by a queue's clock: what
    /// comes then nobody can tell.
    fn waits_for_a_clock(&self) -> bool {
        let goes_round = matches!(&self.pace, Pace::Stands { round: Some(_), .. });
        let waits = |told: &Told| told.by_clock || told.reason.is_own_doing();
        !goes_round
            && self.reasons.iter().any(|told| told.by_clock)
            && self.reasons.iter().all(waits)
    }

    /// Whom it speaks against.
    pub fn blame(&self) -> Blame {
        let all = |is: fn(&Reason) -> bool| {
            !self.reasons.is_empty() && self.reasons.iter().all(|told| is(&told.reason))
        };
        if all(Reason::is_own_doing) {
            Blame::Scenario
        } else if all(Reason::is_sight)
            || matches!(self.pace, Pace::GetsOn { .. })
            || self.waits_for_a_clock()
        {
            Blame::Harness
        } else {
            Blame::System
        }
    }
}

/// What a wait for quiet came to.
#[derive(Debug, thiserror::Error)]
pub enum Unrest {
    /// It did not become quiet.
    #[error(transparent)]
    NotQuiet(#[from] Box<NotQuiet>),
    /// It will not: consumption stopped.
    #[error("{0}")]
    Stopped(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reason: Reason) -> Told {
        Told {
            reason,
            more: String::new(),
            forgotten: false,
            by_clock: false,
        }
    }

    fn held() -> Reason {
        Reason::Held {
            what: "COMMIT of packer-1#1".to_owned(),
        }
    }

    fn in_hand() -> Reason {
        Reason::InHand {
            owner: Incarnation {
                role: "packer".into(),
                instance: 1,
                start: 1,
            },
            message: "M1".to_owned(),
            receipt: "r".to_owned(),
        }
    }

    fn blame(reasons: Vec<Reason>, gets_on: bool) -> Blame {
        let pace = if gets_on {
            Pace::GetsOn { seq: 7 }
        } else {
            Pace::Stands {
                since: Duration::from_secs(30),
                seq: 7,
                round: None,
            }
        };
        let not_quiet = NotQuiet {
            within: Duration::from_secs(30),
            reasons: reasons.into_iter().map(told).collect(),
            own: Vec::new(),
            pace,
        };
        not_quiet.blame()
    }

    #[test]
    fn a_system_that_stands_fails_and_one_that_gets_on_had_too_little_time() {
        assert_eq!(blame(vec![in_hand()], false), Blame::System);
        assert_eq!(blame(vec![in_hand()], true), Blame::Harness);
    }

    #[test]
    fn what_a_clock_will_end_speaks_against_nobody_unless_it_goes_round() {
        let not_quiet = |reasons: Vec<Told>, round| NotQuiet {
            within: Duration::from_secs(30),
            reasons,
            own: Vec::new(),
            pace: Pace::Stands {
                since: Duration::from_secs(30),
                seq: 7,
                round,
            },
        };
        let by_clock = || Told {
            by_clock: true,
            ..told(in_hand())
        };
        assert_eq!(not_quiet(vec![by_clock()], None).blame(), Blame::Harness);
        let round = Some(("M1".to_owned(), 4));
        assert_eq!(not_quiet(vec![by_clock()], round).blame(), Blame::System);
        let other = vec![by_clock(), told(in_hand())];
        assert_eq!(not_quiet(other, None).blame(), Blame::System);
    }

    #[test]
    fn what_the_harness_alone_holds_up_proves_nothing() {
        assert_eq!(blame(vec![held()], false), Blame::Scenario);
        assert_eq!(blame(vec![held(), in_hand()], false), Blame::System);
    }

    #[test]
    fn a_timer_that_was_never_seen_is_the_manifests_alone_if_nothing_else_goes_on() {
        let never = |ever| Reason::NotTicked {
            timer: 0,
            incarnation: Incarnation {
                role: "shop".into(),
                instance: 1,
                start: 1,
            },
            call: "from unsent".to_owned(),
            ever,
        };
        assert_eq!(blame(vec![never(false)], false), Blame::Harness);
        assert_eq!(blame(vec![never(true)], false), Blame::System);
        assert_eq!(blame(vec![never(false), in_hand()], false), Blame::System);
    }

    #[test]
    fn what_has_its_end_and_is_forgotten_is_more_than_late() {
        let not_quiet = |forgotten, pace| NotQuiet {
            within: Duration::from_secs(30),
            reasons: vec![Told {
                forgotten,
                ..told(in_hand())
            }],
            own: Vec::new(),
            pace,
        };
        let stands = || Pace::Stands {
            since: Duration::from_secs(30),
            seq: 7,
            round: None,
        };
        assert!(not_quiet(true, stands()).is_more_than_late());
        assert!(!not_quiet(false, stands()).is_more_than_late());
        assert!(!not_quiet(true, Pace::GetsOn { seq: 7 }).is_more_than_late());
    }

    #[test]
    fn no_reason_is_read_back_from_its_words() {
        let outage = Reason::Outage {
            outage: "held: by the name of it".to_owned(),
        };
        assert!(!outage.is_own_doing());
    }
}
