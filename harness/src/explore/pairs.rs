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
