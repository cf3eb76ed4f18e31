//! Ids that mean nothing yet: a system can be quicker than its answer to the client.
//!
//! The client learns a job's id with the answer to its submission. By then the job may have
//! been sent, received and begun, and nothing waits for the client. What says such an id is
//! recorded at once, without its message, and named as soon as the id is known. A fault
//! that must strike before that goes by what the id can only mean: by its company, or
//! because one message alone is not told yet. Where it turns out to mean another, or nobody
//! is told at all, that is a doubt.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::super::aliases;
use super::super::company::Company;
use super::Board;
use super::state::{DeliveredMessage, State};
use crate::history::Event;
use crate::ids::{CallId, FaultId, Incarnation, MessageName, StageName};
use crate::stage::{Subject, WITHIN};
use crate::tap::Call;

/// What passed and may be named later.
#[derive(Debug, Default)]
pub(super) struct UnclearOnes {
    next: u64,
    pub(super) all: BTreeMap<u64, Unclear>,
    by_id: HashMap<String, Vec<u64>>,
    /// By texts in which an id may stand.
    by_text: BTreeMap<String, Vec<u64>>,
    /// Whose id became known just now.
    pub(super) due: Vec<u64>,
    /// What those came to that are clear.
    pub(super) cleared: BTreeMap<u64, BTreeSet<MessageName>>,
    pub(super) company: Company,
}

/// Something whose message may be told later.
#[derive(Debug)]
pub(super) struct Unclear {
    /// Entries that wait for a message, the first of them for any.
    pub(super) entries: VecDeque<u64>,
    pub(super) ids: Vec<String>,
    /// Ids that count where none of its own mean anything.
    pub(super) instead: Vec<String>,
    /// Whom its first entry names by what was in hand, or by other ids.
    pub(super) guessed: Option<MessageName>,
    /// Whom its own ids named so far.
    pub(super) named: BTreeSet<MessageName>,
    pub(super) about: About,
    pub(super) struck: Vec<Strike>,
    pub(super) waiting: Vec<Waiting>,
}

#[derive(Clone, Debug)]
pub(super) enum About {
    Passage {
        stage: StageName,
        incarnation: Incarnation,
        /// Whether nothing tells that it wrote a row of its own.
        untold: bool,
        job: Option<String>,
        /// Whose passage outages were told it is.
        told: Option<MessageName>,
    },
    Copy {
        message_id: String,
        receipt: Option<String>,
        body: Option<DeliveredMessage>,
    },
    Entry,
}

/// A fault that acted on whom a passage could only be of.
#[derive(Clone, Debug)]
pub(super) struct Strike {
    pub(super) fault: String,
    pub(super) at: String,
    pub(super) taken_for: MessageName,
    /// Whether that was no more than the only one it could be.
    pub(super) presumed: bool,
}

/// A fault that could not act, because nobody knew whose passage it was.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) fault: FaultId,
    pub(super) at: String,
    pub(super) doubt: String,
}

/// Whom a passage is of, as far as can be told now.
#[derive(Debug)]
pub(super) struct Whom {
    pub(super) messages: BTreeSet<MessageName>,
    /// Whom it can only be of, where nothing names anybody.
    pub(super) presumed: Option<MessageName>,
    /// What may still name somebody.
    pub(super) open: Option<Open>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) ids: Vec<String>,
    pub(super) instead: Vec<String>,
    /// Whether `messages` are no more than a guess.
    pub(super) guessed: bool,
    /// How many more it may be of.
    pub(super) more: usize,
}

impl Whom {
    pub(super) fn nobody() -> Self {
        Self {
            messages: BTreeSet::new(),
            presumed: None,
            open: None,
        }
    }
}

impl Open {
    pub(super) fn is_guessed(&self) -> bool {
        self.guessed
    }
}

impl UnclearOnes {
    pub(super) fn is_known(&mut self, id: &str) {
        self.due.extend(self.by_id.remove(id).unwrap_or_default());
        let due = &mut self.due;
        self.by_text.retain(|text, waiting| {
            let told = aliases::holds(text, id);
            if told {
                due.append(waiting);
            }
            !told
        });
    }

    /// Something waits for this id to be known.
    pub(super) fn await_id(&mut self, id: &str, number: u64) {
        let waiting = if id.starts_with(WITHIN) {
            self.by_text.entry(id.to_owned()).or_default()
        } else {
            self.by_id.entry(id.to_owned()).or_default()
        };
        if waiting.last() != Some(&number) {
            waiting.push(number);
        }
    }

    fn add(&mut self, unclear: Unclear) -> u64 {
        self.next += 1;
        for id in unclear.ids.iter().chain(&unclear.instead) {
            self.await_id(id, self.next);
        }
        self.all.insert(self.next, unclear);
        self.next
    }

    /// The ids that a copy was sent or received with.
    pub(super) fn ids_of_copy(&self, wanted: &str) -> Vec<String> {
        let of = |unclear: &&Unclear| matches!(&unclear.about, About::Copy { message_id, .. } if message_id == wanted);
        let all = self.all.values().filter(of);
        all.flat_map(|unclear| unclear.ids.iter().cloned())
            .collect()
    }
}

impl State {
    /// Learns that an id means a message; false if it means one already.
    pub(super) fn learn(&mut self, id: &str, message: &MessageName) -> bool {
        let learnt = self.aliases.learn(id, message);
        if learnt {
            self.unclear.is_known(id);
        }
        learnt
    }
}

impl Board {
    /// Keeps what is open of a passage of these messages; gives its number.
    pub(super) fn keep_open(
        &self,
        open: Open,
        whom: &BTreeSet<MessageName>,
        entries: impl IntoIterator<Item = u64>,
        about: About,
    ) -> u64 {
        let Open {
            ids,
            instead,
            guessed,
            ..
        } = open;
        let mut state = self.state();
        let state = &mut *state;
        // What became known since is due at once.
        let known = !state
            .aliases
            .messages(ids.iter().chain(&instead))
            .is_empty();
        let number = state.unclear.add(Unclear {
            entries: entries.into_iter().collect(),
            ids,
            instead,
            guessed: whom.first().filter(|_| guessed).cloned(),
            // Another id of theirs that is told later tells of no other passage.
            named: if guessed {
                BTreeSet::new()
            } else {
                whom.clone()
            },
            about,
            struck: Vec::new(),
            waiting: Vec::new(),
        });
        if known {
            state.unclear.due.push(number);
            self.clear(state);
        }
        number
    }

    /// An entry of something that a queue or a service tells, without its message.
    pub(super) fn keep_unnamed(state: &mut State, entry: u64, ids: &[String], about: About) {
        state.unclear.add(Unclear {
            entries: VecDeque::from([entry]),
            ids: ids.to_vec(),
            instead: Vec::new(),
            guessed: None,
            named: BTreeSet::new(),
            about,
            struck: Vec::new(),
            waiting: Vec::new(),
        });
    }

    /// Entries for more messages that a passage may turn out to be of.
    pub(super) fn reserve(
        &self,
        call: &Call,
        stage: &StageName,
        incarnation: &Incarnation,
        subject: &Subject,
        open: &Open,
    ) -> Vec<u64> {
        let unclear = |_| {
            self.0.history.append(Event::Unclear {
                stage: stage.clone(),
                incarnation: incarnation.clone(),
                call: call.id,
                captured: subject.captured.clone(),
            })
        };
        (0..open.more).map(unclear).collect()
    }

    /// Whom an open passage has turned out to be of.
    pub(super) fn cleared(&self, number: u64) -> Option<MessageName> {
        let state = self.state();
        let named = state.unclear.cleared.get(&number)?;
        named.first().cloned()
    }

    /// Faults acted on whom an open passage could only be of.
    pub(super) fn note_strikes(&self, number: u64, strikes: Vec<Strike>) {
        let mut state = self.state();
        let named = state.unclear.cleared.get(&number).cloned();
        match (named, state.unclear.all.get_mut(&number)) {
            (Some(named), _) => {
                let mistaken = strikes.iter().filter_map(|strike| strike.mistaken(&named));
                for reason in mistaken {
                    self.0.history.append(Event::Doubt { reason });
                }
            }
            (None, Some(open)) => open.struck.extend(strikes),
            (None, None) => {}
        }
    }

    /// Faults wait for an open passage to be told.
    pub(super) fn note_waiting(&self, number: u64, waiting: Vec<Waiting>) {
        let mut state = self.state();
        let named = state.unclear.cleared.get(&number).cloned();
        match (state.unclear.all.get_mut(&number), named) {
            (Some(open), None) => open.waiting.extend(waiting),
            (_, named) => self.missed_for(&mut state, &named.unwrap_or_default(), waiting),
        }
    }

    /// Doubts what was decided, or could not be, about messages that nobody was told of to
    /// this day.
    pub(in crate::rehearsal) fn doubt_unclear(&self) {
        let doubts: Vec<String> = {
            let state = self.state();
            let all = state.unclear.all.values();
            all.flat_map(|unclear| {
                let struck = unclear.struck.iter().filter_map(Strike::unproven);
                let waiting = unclear.waiting.iter().map(|waiting| waiting.doubt.clone());
                struck.chain(waiting).collect::<Vec<_>>()
            })
            .collect()
        };
        for doubt in doubts {
            self.doubt_once(&doubt);
        }
    }
}

impl Strike {
    /// What is said where somebody else was struck.
    pub(super) fn mistaken(&self, named: &BTreeSet<MessageName>) -> Option<String> {
        if named.is_empty() || named.contains(&self.taken_for) {
            return None;
        }
        let named: Vec<&str> = named.iter().map(MessageName::as_str).collect();
        Some(format!(
            "`{}` struck at {}, which was taken for {} and was {}: its id was told only later",
            self.fault,
            self.at,
            self.taken_for,
            named.join(" and "),
        ))
    }

    /// What is said where nobody was ever told whom it struck.
    fn unproven(&self) -> Option<String> {
        self.presumed.then(|| {
            format!(
                "`{}` struck at {}, which was taken for {}, and no id in it was ever told to be one of it",
                self.fault, self.at, self.taken_for,
            )
        })
    }
}

/// Where a passage stands, in words.
pub(super) fn at(place: impl std::fmt::Display, call: CallId) -> String {
    format!("{place} ({call})")
}
