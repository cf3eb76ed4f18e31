//! What a scenario does to single processes and messages, and what it waits for before
//! it goes on.

use nix::sys::signal::Signal;

use super::{ProcessError, Rehearsal, RehearsalError};
use crate::deployment::Logs;
use crate::history::Event;
use crate::ids::{Incarnation, MessageName, RoleName, StageName};

/// What became of the end of one copy's visibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEnd {
    /// It is visible.
    Ended,
    /// Nobody has it in hand.
    NotInHand,
    /// There is no such copy; there are so many.
    NoCopy(usize),
}

/// So many lines of output tell why a process refused.
const LAST_WORDS: usize = 10;

impl Rehearsal {
    /// Resolves once some process of a role is held at a stage.
    pub async fn somebody_held(&self, role: &RoleName) {
        self.board.somebody_held(role).await;
    }

    /// Lets every held process of a role go on.
    pub fn let_go(&self, role: &RoleName) {
        self.board.let_go(role);
    }

    /// Ends the visibility of what receivers of a message have in hand. False: nobody had
    /// anything.
    pub async fn end_visibility(&self, message: &MessageName) -> bool {
        let deliveries = self.board.in_flight(message);
        let any = !deliveries.is_empty();
        self.board.expire_now(deliveries).await;
        any
    }

    /// The same for one copy of a message, counted from 1 in the order in which queues took
    /// them.
    pub async fn end_visibility_of_copy(&self, message: &MessageName, copy: usize) -> CopyEnd {
        let copies = self.copies_in_order(message);
        let Some(wanted) = copy.checked_sub(1).and_then(|place| copies.get(place)) else {
            return CopyEnd::NoCopy(copies.len());
        };
        let mut deliveries = self.board.in_flight(message);
        deliveries.retain(|delivery| delivery.message_id == *wanted);
        if deliveries.is_empty() {
            return CopyEnd::NotInHand;
        }
        self.board.expire_now(deliveries).await;
        CopyEnd::Ended
    }

    /// The copies of a message in the order in which queues took them.
    fn copies_in_order(&self, message: &MessageName) -> Vec<String> {
        let mut copies: Vec<String> = self.board.history().read(|entries| {
            let sent = entries.iter().filter_map(|entry| match &entry.event {
                Event::Sent { message_id, .. } => Some(message_id.clone()),
                _ => None,
            });
            sent.collect()
        });
        copies.retain(|copy| self.board.means(copy, message));
        copies
    }

    /// Stops the running incarnations of a role, or one instance of it, for good.
    ///
    /// # Errors
    /// When none of them runs, or the signal had no effect.
    pub async fn leave_standing(
        &self,
        role: &RoleName,
        instance: Option<u32>,
    ) -> Result<(), RehearsalError> {
        for incarnation in self.running_of(role, instance)? {
            self.processes.leave_standing(incarnation).await?;
        }
        Ok(())
    }

    /// The running incarnations of a role, or of one instance of it: at least one.
    fn running_of(
        &self,
        role: &RoleName,
        instance: Option<u32>,
    ) -> Result<Vec<Incarnation>, ProcessError> {
        let incarnations = self.processes.running(role, instance);
        if incarnations.is_empty() {
            let process = role.to_string();
            return Err(ProcessError::NotRunning { process });
        }
        Ok(incarnations)
    }

    /// The incarnation that has a message in hand.
    pub fn holder_of(&self, message: &MessageName) -> Option<Incarnation> {
        let deliveries = self.board.in_flight(message);
        deliveries.last().map(|delivery| delivery.owner.clone())
    }

    /// Sends a signal to the running incarnations of a role, or to one instance of it.
    ///
    /// # Errors
    /// When none of them runs, or the signal had no effect.
    pub async fn signal(
        &self,
        role: &RoleName,
        instance: Option<u32>,
        signal: Signal,
    ) -> Result<(), RehearsalError> {
        for incarnation in self.running_of(role, instance)? {
            self.signal_one(incarnation, signal).await?;
        }
        Ok(())
    }

    /// Sends a signal to one incarnation.
    ///
    /// # Errors
    /// When it does not run, or the signal had no effect.
    pub async fn signal_one(
        &self,
        incarnation: Incarnation,
        signal: Signal,
    ) -> Result<(), RehearsalError> {
        self.processes
            .send(incarnation, signal)
            .await
            .map_err(RehearsalError::Process)
    }

    /// Resolves once a message has passed a stage so many times, and the faults that it
    /// triggered there have taken effect.
    pub async fn passed(&self, message: &MessageName, wanted: &StageName, times: usize) {
        self.board
            .until(|| {
                let passed = self.passages(message, wanted) >= times;
                (passed && !self.board.has_faults_at_work()).then_some(())
            })
            .await;
    }

    /// What the preflight found.
    pub fn warnings(&self) -> Vec<String> {
        self.board.history().read(|entries| {
            let warnings = entries.iter().filter_map(|entry| match &entry.event {
                Event::Warned { warning } => Some(warning.clone()),
                _ => None,
            });
            warnings.collect()
        })
    }

    /// Resolves once receivers of a message asked for more time so often.
    pub async fn extended(&self, wanted: &MessageName, times: usize) {
        self.board
            .until(|| (self.extensions(wanted) >= times).then_some(()))
            .await;
    }

    /// How often receivers of a message asked for more time.
    pub fn extensions(&self, wanted: &MessageName) -> usize {
        let history = self.board.history();
        history.tally(|tally| tally.extensions(wanted))
    }

    /// What was captured at the last passage of a stage by a message.
    pub fn captured(&self, wanted: &MessageName, at: &StageName, name: &str) -> Option<String> {
        let history = self.board.history();
        let last = history.tally(|tally| tally.last_passage(wanted, at));
        history.read(|entries| {
            let place = entries.partition_point(|entry| entry.seq < last);
            match &entries.get(place)?.event {
                Event::Stage { captured, .. } if last > 0 => captured.get(name).cloned(),
                _ => None,
            }
        })
    }

    /// What the processes of a role said last, with where it stands, after a line break;
    /// nothing where they said nothing.
    pub fn last_words(&self, role: &RoleName) -> String {
        let last = self.board.history().read(|entries| {
            entries.iter().rev().find_map(|entry| match &entry.event {
                Event::Started { incarnation, .. } if incarnation.role == *role => {
                    Some(incarnation.clone())
                }
                _ => None,
            })
        });
        let Some(incarnation) = last else {
            return String::new();
        };
        let log = self
            .directory
            .join("processes")
            .join(format!("{incarnation}.log"));
        let lines = Logs::together(log.clone()).last_lines(LAST_WORDS);
        if lines.is_empty() {
            return String::new();
        }
        let (lines, log) = (lines.join("\n  "), log.display());
        format!("\nthe end of the output of {incarnation} ({log}):\n  {lines}")
    }

    /// Whether some incarnation of a role printed a line with this text.
    pub fn has_logged(&self, role: &RoleName, text: &str) -> bool {
        let started: Vec<Incarnation> = self.board.history().read(|entries| {
            let started = entries.iter().filter_map(|entry| match &entry.event {
                Event::Started { incarnation, .. } if incarnation.role == *role => {
                    Some(incarnation.clone())
                }
                _ => None,
            });
            started.collect()
        });
        let logs = self.directory.join("processes");
        started.iter().any(|incarnation| {
            let printed = std::fs::read(logs.join(format!("{incarnation}.log")));
            printed.is_ok_and(|printed| String::from_utf8_lossy(&printed).contains(text))
        })
    }

    /// How many times a message has passed a stage.
    pub fn passages(&self, message: &MessageName, wanted: &StageName) -> usize {
        let history = self.board.history();
        history.tally(|tally| tally.passages(message, wanted))
    }
}
