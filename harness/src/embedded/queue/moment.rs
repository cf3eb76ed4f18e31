//! Time as the queue sees it: one line that never runs backwards, so that a
//! time-out is monotonic and a time stamp still looks like the wall's.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point in time, in microseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Moment(u64);

impl Moment {
    /// The moment this many whole seconds after 1970.
    #[cfg(test)]
    pub(crate) fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000)
    }

    /// Milliseconds since 1970, as SQS prints time stamps of messages.
    pub(crate) fn millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds since 1970, as SQS prints time stamps of queues.
    pub(crate) fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    /// This much later.
    pub(crate) fn plus(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// The time since an earlier moment; zero when it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// Reads the present moment: the wall's time at the start, then monotonic.
#[derive(Debug)]
pub(crate) struct Clock {
    origin: Instant,
    base: Moment,
}

impl Clock {
    /// Starts at the wall's time, but never before `earliest` (the last moment
    /// of a journal, whose time-outs must not run backwards).
    pub(crate) fn start(earliest: Moment) -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            origin: Instant::now(),
            base: Moment::default().plus(wall).max(earliest),
        }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Moment {
        self.base.plus(self.origin.elapsed())
    }

    /// When a moment comes, on the process's monotonic clock.
    pub(crate) fn instant_of(&self, moment: Moment) -> Instant {
        self.origin + moment.since(self.base)
    }
}
