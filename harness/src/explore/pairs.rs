//! Pairs of faults: one, and another behind it, or in the repetition that follows it.

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

use super::point::Point;

/// All pairs of these points.
///
/// Behind the first fault its process begins anew: what comes earlier in its handling, and
/// the place itself, is passed a second time. Of two processes each passes its own once.
pub(super) fn of(points: &[Point]) -> Vec<Point> {
    let mut pairs = Vec::new();
    for (first, one) in points.iter().enumerate() {
        for (second, other) in points.iter().enumerate() {
            let same_process = one.class.boundary.process == other.class.boundary.process;
            let named = other.class.boundary.message.is_some();
            let earlier = second <= first;
            // In a repetition what names nobody cannot be told from the first time.
            if earlier && !(same_process && named) {
                continue;
            }
            let mut then = other.clone();
            if earlier {
                then.class.boundary.nth += 1;
            }
            pairs.push(Point {
                then: Some(Box::new(then)),
                ..one.clone()
            });
        }
    }
    pairs
}

/// Some of them, chosen by a seed, in the order in which they were chosen.
pub(super) fn some(mut pairs: Vec<Point>, most: usize, seed: u64) -> Vec<Point> {
    if pairs.len() > most {
        pairs.shuffle(&mut StdRng::seed_from_u64(seed));
        pairs.truncate(most);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::{Boundary, Class, Strike};
    use crate::tap::Side;

    fn point(process: &str, call: &str, of: Option<&str>) -> Point {
        Point {
            class: Class {
                boundary: Boundary {
                    process: process.into(),
                    side: Side::After,
                    call: call.to_owned(),
                    nth: 1,
                    message: of.map(Into::into),
                },
                merged: Vec::new(),
            },
            strike: Strike::Kill,
            every: false,
            then: None,
        }
    }

    /// Each as `first, second`, the second with its time where that is not the first.
    fn told(points: &[Point]) -> Vec<String> {
        let pairs = of(points).into_iter().map(|pair| {
            let then = pair.then.expect("a second fault").class.boundary;
            let time = if then.nth > 1 { " again" } else { "" };
            format!("{}, {}{time}", pair.class.boundary.call, then.call)
        });
        pairs.collect()
    }

    #[test]
    fn behind_a_fault_its_process_passes_all_again_and_others_go_on() {
        let points = [
            point("worker", "insert into a", Some("M1")),
            point("worker", "insert into b", Some("M1")),
            point("sender", "SendMessage", Some("M1")),
        ];
        assert_eq!(
            told(&points),
            [
                "insert into a, insert into a again",
                "insert into a, insert into b",
                "insert into a, SendMessage",
                "insert into b, insert into a again",
                "insert into b, insert into b again",
                "insert into b, SendMessage",
                "SendMessage, SendMessage again",
            ]
        );
    }

    #[test]
    fn what_names_nobody_is_no_repetition() {
        let points = [
            point("worker", "ReceiveMessage", None),
            point("worker", "insert into a", Some("M1")),
        ];
        assert_eq!(
            told(&points),
            [
                "ReceiveMessage, insert into a",
                "insert into a, insert into a again",
            ]
        );
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed() {
        let names: Vec<String> = (0..9)
            .map(|number| format!("insert into t{number}"))
            .collect();
        let points: Vec<Point> = names
            .iter()
            .map(|name| point("worker", name, Some("M1")))
            .collect();
        let all = of(&points);
        assert_eq!(all.len(), 81);
        assert_eq!(some(all.clone(), 100, 1), all);
        let sample = some(all.clone(), 10, 1);
        assert_eq!(sample.len(), 10);
        assert_eq!(some(all.clone(), 10, 1), sample);
        assert_ne!(some(all, 10, 2), sample);
    }
}
