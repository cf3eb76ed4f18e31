//! The state machine at work: one lock, the journal, and those who wait.
//!
//! A long poll takes messages in its own task, when that task is polled, and never
//! before it has looked whether its client is still there. So a client that goes
//! away takes nothing with it, but for the instant in which a reply is on its way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::journal::{Journal, Record};
use super::moment::{Clock, Moment};
use super::refusal::{Code, Refusal};
use super::state::{Asked, Delivery, State};

/// All queues, open for business.
#[derive(Debug)]
pub(crate) struct Broker {
    desk: Mutex<Desk>,
    clock: Clock,
    /// Wakes the timekeeper: something is due earlier than it thinks.
    hurry: Notify,
}

#[derive(Debug)]
struct Desk {
    state: State,
    journal: Option<Journal>,
    /// Of each queue with waiting receives, by number.
    bells: BTreeMap<u64, Bell>,
    /// When the timekeeper looks next.
    next_look: Option<Moment>,
}

/// Wakes the receives that wait on one queue. There as long as one of them is.
#[derive(Debug)]
struct Bell {
    queue: String,
    notify: Arc<Notify>,
    waiting: usize,
    /// How often those who wait were sent away.
    releases: u64,
}

/// A receive as the broker sees it.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) queue: String,
    pub(crate) max: usize,
    pub(crate) visibility: Option<u32>,
    /// How long to wait; absent means as the queue says.
    pub(crate) wait: Option<u32>,
    pub(crate) attempt: Option<String>,
}

/// The place of one long poll at the bell of its queue, given up however it ends.
struct Place<'b> {
    broker: &'b Broker,
    number: u64,
    notify: Arc<Notify>,
    /// How often others had been sent away before it came.
    releases: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut desk = self.broker.lock();
        if let Some(bell) = desk.bells.get_mut(&self.number) {
            bell.waiting -= 1;
            if bell.waiting == 0 {
                desk.bells.remove(&self.number);
            }
        }
    }
}

impl Broker {
    pub(crate) fn new(state: State, journal: Option<Journal>, last: Moment) -> Self {
        Self {
            desk: Mutex::new(Desk {
                state,
                journal,
                bells: BTreeMap::new(),
                next_look: None,
            }),
            clock: Clock::start(last),
            hurry: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        // The state machine does not panic half-way; a poisoned lock is still whole.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the state at the present moment.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut State, Moment) -> T) -> T {
        let mut desk = self.lock();
        let now = self.clock.now();
        let value = work(&mut desk.state, now);
        self.settle(&mut desk);
        value
    }

    /// Changes the state, and writes what changed into the journal before the
    /// caller can answer.
    pub(crate) fn change<T>(
        &self,
        work: impl FnOnce(&mut State, Moment) -> Result<(T, Option<Record>), Refusal>,
    ) -> Result<T, Refusal> {
        let mut desk = self.lock();
        let now = self.clock.now();
        let result = work(&mut desk.state, now);
        self.settle(&mut desk);
        let (value, record) = result?;
        if let Some(record) = record {
            desk.write(&record, now)?;
        }
        Ok(value)
    }

    /// Deletes a queue and wakes whoever waits on it.
    pub(crate) fn delete_queue(&self, name: &str) -> Result<(), Refusal> {
        let mut desk = self.lock();
        let now = self.clock.now();
        let number = desk.state.delete_queue(name, now)?;
        if let Some(bell) = desk.bells.get(&number) {
            bell.notify.notify_waiters();
        }
        desk.write(
            &Record::DeleteQueue {
                queue: name.to_owned(),
            },
            now,
        )
    }

    /// Lets every receive that waits on a queue go without a message now, as if its time were
    /// over. Says how many there were.
    pub(crate) fn release(&self, name: &str) -> Result<usize, Refusal> {
        let mut desk = self.lock();
        let number = desk.state.queue(name)?.number;
        let Some(bell) = desk.bells.get_mut(&number) else {
            return Ok(0);
        };
        bell.releases += 1;
        bell.notify.notify_waiters();
        Ok(bell.waiting)
    }

    /// Receives, waiting as long as wanted. `is_client_there` is asked right
    /// before anything is taken.
    pub(crate) async fn receive(
        &self,
        want: Want,
        is_client_there: impl Fn() -> bool,
    ) -> Result<Vec<Delivery>, Refusal> {
        let mut deadline = None;
        let mut place: Option<Place<'_>> = None;
        loop {
            if !is_client_there() {
                // Somebody else may want what this one was woken for.
                if let Some(place) = place {
                    place.notify.notify_one();
                }
                return Ok(Vec::new());
            }
            let (mut bell, until) = {
                let mut desk = self.lock();
                let now = self.clock.now();
                let queue = desk.state.queue(&want.queue)?;
                let number = queue.number;
                if place.as_ref().is_some_and(|place| place.number != number) {
                    // The queue it waited on is no more; another has its name.
                    return Err(Refusal::no_queue());
                }
                let seconds = want.wait.unwrap_or(queue.settings.wait);
                let until = *deadline
                    .get_or_insert_with(|| now.plus(Duration::from_secs(u64::from(seconds))));
                let deliveries = desk.take(&want, seconds > 0, now)?;
                self.settle(&mut desk);
                let is_released = place.as_ref().is_some_and(|place| desk.has_released(place));
                if !deliveries.is_empty() || now >= until || is_released {
                    return Ok(deliveries);
                }
                let notify = desk.take_place(self, number, &want.queue, &mut place);
                let mut rung = Box::pin(notify.notified_owned());
                rung.as_mut().enable();
                let due = desk.state.next_due(&want.queue);
                self.look_by(&mut desk, due);
                (rung, until)
            };
            tokio::select! {
                () = bell.as_mut() => {}
                () = tokio::time::sleep_until(self.clock.instant_of(until).into()) => {}
            }
        }
    }

    /// Rings for messages that came on show by themselves. Runs for as long as
    /// the server.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            let next = {
                let mut desk = self.lock();
                let now = self.clock.now();
                let Desk { state, bells, .. } = &mut *desk;
                for bell in bells.values() {
                    state.advance(&bell.queue, now);
                }
                let due = bells
                    .values()
                    .filter_map(|bell| state.next_due(&bell.queue));
                desk.next_look = due.min();
                self.settle(&mut desk);
                desk.next_look
            };
            match next {
                Some(moment) => {
                    let instant = self.clock.instant_of(moment);
                    tokio::select! {
                        () = tokio::time::sleep_until(instant.into()) => {}
                        () = self.hurry.notified() => {}
                    }
                }
                None => self.hurry.notified().await,
            }
        }
    }

    /// After every operation: wakes as many waiting receives as messages came on
    /// show, and the timekeeper if something is due earlier than it thinks. Looks at
    /// nothing but what the operation had to do with.
    fn settle(&self, desk: &mut Desk) {
        let touched = desk.state.take_touched();
        if desk.bells.is_empty() {
            return;
        }
        let mut due = desk.state.transfer_due();
        for queue in touched {
            if let Some(bell) = desk.bells.get(&queue.number) {
                for _ in 0..queue.fresh.min(bell.waiting) {
                    bell.notify.notify_one();
                }
                due = due.into_iter().chain(queue.due).min();
            }
        }
        self.look_by(desk, due);
    }

    fn look_by(&self, desk: &mut Desk, due: Option<Moment>) {
        if let Some(due) = due
            && desk.next_look.is_none_or(|look| due < look)
        {
            desk.next_look = Some(due);
            self.hurry.notify_one();
        }
    }
}

impl Desk {
    /// Takes what can be had at once.
    fn take(&mut self, want: &Want, patient: bool, now: Moment) -> Result<Vec<Delivery>, Refusal> {
        let asked = Asked {
            max: want.max,
            visibility: want.visibility,
            patient,
            attempt: want.attempt.as_deref(),
        };
        let received = self.state.receive(&want.queue, asked, now)?;
        if !received.deliveries.is_empty() || received.dead_lettered {
            let record = Record::Receive {
                queue: want.queue.clone(),
                max: want.max,
                visibility: want.visibility,
                attempt: want.attempt.clone(),
            };
            self.write(&record, now)?;
        }
        Ok(received.deliveries)
    }

    /// The bell of a queue, at which `place` is taken unless it is already.
    fn take_place<'b>(
        &mut self,
        broker: &'b Broker,
        number: u64,
        queue: &str,
        place: &mut Option<Place<'b>>,
    ) -> Arc<Notify> {
        let bell = self.bells.entry(number).or_insert_with(|| Bell {
            queue: queue.to_owned(),
            notify: Arc::default(),
            waiting: 0,
            releases: 0,
        });
        if place.is_none() {
            bell.waiting += 1;
            *place = Some(Place {
                broker,
                number,
                notify: Arc::clone(&bell.notify),
                releases: bell.releases,
            });
        }
        Arc::clone(&bell.notify)
    }

    /// Whether those who wait were sent away since this place was taken.
    fn has_released(&self, place: &Place<'_>) -> bool {
        let bell = self.bells.get(&place.number);
        bell.is_some_and(|bell| bell.releases > place.releases)
    }

    fn write(&mut self, record: &Record, now: Moment) -> Result<(), Refusal> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        journal
            .append(record, &self.state, now)
            .map_err(|error| {
                Refusal::new(
                    Code::InternalFailure,
                    format!("The journal cannot be written, so the call cannot be acknowledged: {error}. Give --data a directory with room and start again."),
                )
            })
    }
}
