//! On which of the matching passages a fault acts.

use std::collections::BTreeSet;
use std::fmt;

/// On which of the matching passages a fault acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// On each.
    Every,
    /// On the first so many.
    First(u32),
    /// On this one alone, from 1.
    Nth(u32),
    /// On these, from 1.
    Among(BTreeSet<u32>),
}

impl Times {
    /// Whether it acts on the passage with this number, from 1.
    pub fn includes(&self, number: u32) -> bool {
        match self {
            Self::Every => true,
            Self::First(count) => number <= *count,
            Self::Nth(wanted) => number == *wanted,
            Self::Among(numbers) => numbers.contains(&number),
        }
    }

    /// How many times it must have landed for a scenario to be proven.
    pub fn expected(&self) -> u32 {
        match self {
            Self::Every | Self::Nth(_) => 1,
            Self::First(count) => *count,
            Self::Among(numbers) => u32::try_from(numbers.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether it can act again after so many matching passages.
    pub fn is_over(&self, passages: u32) -> bool {
        match self {
            Self::Every => false,
            Self::First(count) | Self::Nth(count) => passages >= *count,
            Self::Among(numbers) => numbers.last().is_none_or(|last| passages >= *last),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => write!(f, "every time"),
            Self::First(1) => write!(f, "the first time"),
            Self::First(count) => write!(f, "the first {count} times"),
            Self::Nth(number) => write!(f, "on passage {number}"),
            Self::Among(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                write!(f, "on passages {}", numbers.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_say_which_passages_they_include() {
        let included = |times: Times| -> Vec<u32> {
            (1..=5).filter(|number| times.includes(*number)).collect()
        };
        assert_eq!(included(Times::Every), [1, 2, 3, 4, 5]);
        assert_eq!(included(Times::First(2)), [1, 2]);
        assert_eq!(included(Times::Nth(3)), [3]);
        assert_eq!(included(Times::Among([2, 5].into())), [2, 5]);
        assert!(Times::First(2).is_over(2) && !Times::First(2).is_over(1));
        assert!(Times::Among([2, 5].into()).is_over(5) && !Times::Among([2, 5].into()).is_over(4));
    }
}
