//! How much time lay between two passages of a message.

use std::time::Duration;

use crate::gherkin::{Arguments, Row, Step, StepError};
use crate::history::{Entry, Event};
use crate::ids::{MessageName, StageName};
use crate::suite::Scene;

const GROUP: &str = "order of events";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::then("{messages} passed {stage} within {duration} of {stage}")
            .known_as("soon quickly promptly seconds later deadline latency after time")
            .doc("Each time one of these messages passed the first stage, it had passed the second at most so long before. One that never passed the second leaves the scenario unproven; one that never passed the first after it fails.")
            .example("Then M1 passed committed within 2s of received")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { judge(scene, &arguments, &Rule::within).await })
            }),
        Step::then("{messages} passed {stage} not before {duration} after {stage}")
            .alias("{messages} passed {stage} no sooner than {duration} after {stage}")
            .known_as("waits waited backoff back-off delay delayed pause earliest least sooner later")
            .doc("Each time one of these messages passed the first stage after the second, at least so long lay between. One that never did leaves the scenario unproven.")
            .example("Then M1 passed received not before 1s after released")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { judge(scene, &arguments, &Rule::not_before).await })
            }),
    ]
}

/// What the time between two passages has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    limit: Duration,
    at_most: bool,
}

impl Rule {
    fn within(limit: Duration) -> Self {
        let at_most = true;
        Self { limit, at_most }
    }

    fn not_before(limit: Duration) -> Self {
        let at_most = false;
        Self { limit, at_most }
    }

    fn allows(self, gap: Duration) -> bool {
        if self.at_most {
            gap <= self.limit
        } else {
            gap >= self.limit
        }
    }

    fn words(self) -> String {
        let bound = if self.at_most { "at most" } else { "at least" };
        format!("{bound} {}", seconds(self.limit))
    }
}

async fn judge(
    scene: &mut Scene,
    arguments: &Arguments,
    rule: &(dyn Fn(Duration) -> Rule + Sync),
) -> Result<(), StepError> {
    let (messages, rule) = (arguments.messages(0), rule(arguments.duration(2)));
    let (later, earlier) = (arguments.stage(1), arguments.stage(3));
    scene.check_known(messages).await?;
    scene.snapshot().await?;
    for message in messages {
        let history = scene.running().await?.history();
        let between = history.read(|entries| Between::of(entries, message, &later, &earlier));
        between.judge(message, &later, &earlier, rule)?;
    }
    Ok(())
}

/// A later passage, and the last of the earlier stage before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    from: u64,
    to: u64,
    length: Duration,
}

/// What lay between the passages of two stages by one message.
#[derive(Debug, PartialEq, Eq)]
struct Between {
    /// Where it passed the earlier stage last.
    earlier: Option<u64>,
    gaps: Vec<Gap>,
}

impl Between {
    fn of(entries: &[Entry], message: &MessageName, later: &StageName, of: &StageName) -> Self {
        let mut last: Option<(u64, u64)> = None;
        let mut gaps = Vec::new();
        for entry in entries {
            let Event::Stage {
                stage,
                message: Some(by),
                ..
            } = &entry.event
            else {
                continue;
            };
            if by != message {
                continue;
            }
            if let (true, Some((from, at))) = (stage == later, last) {
                gaps.push(Gap {
                    from,
                    to: entry.seq,
                    length: Duration::from_micros(entry.at_us.saturating_sub(at)),
                });
            }
            if stage == of {
                last = Some((entry.seq, entry.at_us));
            }
        }
        let earlier = last.map(|(seq, _)| seq);
        Self { earlier, gaps }
    }

    fn judge(
        &self,
        message: &MessageName,
        later: &StageName,
        earlier: &StageName,
        rule: Rule,
    ) -> Result<(), StepError> {
        if self.gaps.is_empty() {
            return Err(match self.earlier {
                Some(at) if rule.at_most => StepError::failed(format!(
                    "{message} passed {earlier} (history: {at}) and never {later} after it"
                )),
                _ => StepError::unproven(format!(
                    "{message} never passed {later} after {earlier}, so nothing lay between them"
                )),
            });
        }
        let Some(gap) = self.gaps.iter().find(|gap| !rule.allows(gap.length)) else {
            return Ok(());
        };
        let (expected, seen) = (rule.words(), seconds(gap.length));
        let name = format!("from {earlier} to {later} of {message}");
        let text = format!(
            "{name}: {expected} expected, seen {seen} (history: {} to {})",
            gap.from, gap.to
        );
        Err(StepError::differs(
            text,
            vec![Row::new(name, expected, seen)],
        ))
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::Story;

    const SECOND: Duration = Duration::from_secs(1);

    /// One passage after the other, each at its second.
    fn found(passages: &[(u64, &str, &str)], rule: Rule) -> &'static str {
        let mut story = Story::new();
        for (_, stage, message) in passages {
            story = story.passed(stage, message);
        }
        let mut entries = story.entries();
        for (entry, (second, ..)) in entries.iter_mut().skip(1).zip(passages) {
            entry.at_us = second * 1_000_000;
        }
        let (message, later, earlier) = ("M1".into(), "shipped".into(), "tried".into());
        let between = Between::of(&entries, &message, &later, &earlier);
        match between.judge(&message, &later, &earlier, rule) {
            Ok(()) => "held",
            Err(StepError::Failed { .. }) => "failed",
            Err(StepError::Unproven(_)) => "unproven",
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_time_since_the_last_passage_before_it_counts() {
        let story = [
            (1, "tried", "M1"),
            (2, "tried", "M2"),
            (8, "tried", "M1"),
            (9, "shipped", "M2"),
            (10, "shipped", "M1"),
        ];
        assert_eq!(found(&story, Rule::within(2 * SECOND)), "held");
        assert_eq!(found(&story, Rule::within(SECOND)), "failed");
        assert_eq!(found(&story, Rule::not_before(2 * SECOND)), "held");
        let late = Rule::not_before(3 * SECOND);
        assert_eq!(found(&story, late), "failed");
    }

    #[test]
    fn every_passage_is_looked_at() {
        let story = [
            (1, "tried", "M1"),
            (2, "shipped", "M1"),
            (3, "tried", "M1"),
            (9, "shipped", "M1"),
        ];
        assert_eq!(found(&story, Rule::within(2 * SECOND)), "failed");
        let late = Rule::not_before(2 * SECOND);
        assert_eq!(found(&story, late), "failed");
    }

    #[test]
    fn what_never_came_fails_a_limit_and_proves_no_wait() {
        let story = [(1, "shipped", "M1"), (2, "tried", "M1")];
        assert_eq!(found(&story, Rule::within(SECOND)), "failed");
        let wait = Rule::not_before(SECOND);
        assert_eq!(found(&story, wait), "unproven");
        let other = [(1, "shipped", "M1"), (2, "tried", "M2")];
        assert_eq!(found(&other, Rule::within(SECOND)), "unproven");
    }
}
