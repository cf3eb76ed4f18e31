//! The settle time: what cannot be seen may still go on for so long after the last effect.

use std::time::Duration;

use tokio::time::Instant;

use super::unrest::Reason;

/// Since when nothing has had an effect.
pub(super) struct Settling {
    within: Option<Duration>,
    effect: u64,
    since: Instant,
}

impl Settling {
    /// Nothing is known of the time before.
    pub(super) fn new(within: Option<Duration>, effect: u64, now: Instant) -> Self {
        Self {
            within,
            effect,
            since: now,
        }
    }

    /// Why it is too early, at the latest effect of anybody.
    pub(super) fn remains(&mut self, effect: u64, now: Instant) -> Option<Reason> {
        let within = self.within?;
        if effect > self.effect {
            self.effect = effect;
            self.since = now;
        }
        (now - self.since < within).then_some(Reason::Settling { within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_anew_with_every_effect() {
        let within = Duration::from_secs(3);
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut settling = Settling::new(Some(within), 7, begun);
        assert_eq!(
            settling.remains(7, begun),
            Some(Reason::Settling { within })
        );
        assert!(settling.remains(8, at(2)).is_some());
        assert!(settling.remains(8, at(4)).is_some());
        assert_eq!(settling.remains(8, at(5)), None);
        assert_eq!(Settling::new(None, 0, begun).remains(9, begun), None);
    }
}
