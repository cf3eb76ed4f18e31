//! What a queue's clock alone brings about: a message that its receiver did not get done
//! becomes visible when its time is over, and nobody can tell before what comes then.

use std::time::Duration;

use super::Rehearsal;
use super::deliveries::Delivery;
use super::unrest::Reason;
use crate::history::{Entry, Event};

impl Rehearsal {
    /// In how long what keeps it from being quiet is over by its queue's clock, and no longer
    /// than that queue hides messages for; none where it is somebody's turn. `hidden` is what
    /// the board knows of it.
    pub(super) fn by_clock(
        &self,
        entries: &[Entry],
        reason: &Reason,
        hidden: &[Delivery],
    ) -> Option<Duration> {
        match reason {
            Reason::InHand { owner, receipt, .. } => {
                let taken = delivered(entries, receipt)?;
                let asked = entries[taken..].iter().any(|entry| {
                    matches!(&entry.event, Event::Receiving { incarnation, .. }
                        if incarnation == owner)
                });
                let delivery = hidden.first().filter(|_| asked)?;
                self.remains(entries, delivery)
            }
            Reason::Queue {
                visible: 0,
                in_flight,
                delayed,
                ..
            } => {
                let known = i64::try_from(hidden.len()).is_ok_and(|known| known >= *in_flight);
                let remain = hidden.iter().map(|one| self.remains(entries, one));
                let remain: Vec<Duration> = remain.collect::<Option<_>>()?;
                let latest = remain.into_iter().max().unwrap_or_default();
                (known && in_flight + delayed > 0).then_some(latest)
            }
            _ => None,
        }
    }

    /// How long a delivery still hides its copy; none if that is over, or is more than its
    /// queue, or the manifest, allows.
    fn remains(&self, entries: &[Entry], delivery: &Delivery) -> Option<Duration> {
        let Delivery {
            dependency,
            queue,
            receipt,
            ..
        } = delivery;
        let allowed = self.dependencies.hides(&self.manifest, dependency, queue)?;
        let (since, hides) = hidden(entries, receipt, allowed)?;
        let now = entries.last()?.at_us;
        let over = since + hides.checked_mul(1_000_000)?;
        let remains = over.checked_sub(now).filter(|_| hides <= allowed)?;
        Some(Duration::from_micros(remains))
    }
}

fn delivered(entries: &[Entry], receipt: &str) -> Option<usize> {
    entries.iter().rposition(
        |entry| matches!(&entry.event, Event::Delivered { receipt: of, .. } if of == receipt),
    )
}

/// Since when a delivery hides its copy, and for how many seconds: as its receiver said last,
/// else for so long as its queue does.
fn hidden(entries: &[Entry], receipt: &str, usual: u64) -> Option<(u64, u64)> {
    let taken = delivered(entries, receipt)?;
    let changed = entries[taken..]
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::VisibilityChanged {
                receipt: of,
                seconds,
                ..
            } if of == receipt => Some((entry.at_us, u64::try_from(*seconds).ok()?)),
            _ => None,
        });
    let Event::Delivered { call, .. } = &entries[taken].event else {
        return None;
    };
    let asked = entries[..taken]
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::Receiving {
                call: of, hides, ..
            } if of == call => *hides,
            _ => None,
        });
    changed.or_else(|| Some((entries[taken].at_us, asked.unwrap_or(usual))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::Story;

    #[test]
    fn a_delivery_hides_for_as_long_as_was_said_last() {
        let story = Story::new().delivered("M1", "copy");
        let call = story.last_call();
        let receipt = format!("copy-{}", call.0);
        let hides = |story: &Story| hidden(&story.entries(), &receipt, 30).map(|(_, hides)| hides);
        assert_eq!(hides(&story), Some(30));
        let story = story.then(Event::VisibilityChanged {
            call,
            receipt: receipt.clone(),
            message: None,
            seconds: 5,
        });
        assert_eq!(hides(&story), Some(5));
        assert_eq!(hidden(&story.entries(), "none", 30), None);
    }
}
