//! What a figure may be expected to be: a number or a range.

use std::fmt;
use std::str::FromStr;

use crate::gherkin::{Row, StepError};

/// An expected figure: `4`, `10 to 20`, `at most 20`, `at least 10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::suite) struct Figure {
    least: i64,
    most: i64,
}

impl Figure {
    /// Reads what a phrase says; its form was checked.
    pub(super) fn read_checked(text: &str) -> Result<Self, StepError> {
        text.parse().map_err(|_| {
            StepError::invalid(format!("`{text}` is no figure"))
                .with_help("write `4`, `2 to 4`, `at most 4` or `at least 2`")
        })
    }

    /// This number and no other.
    pub(super) const fn exactly(figure: i64) -> Self {
        let (least, most) = (figure, figure);
        Self { least, most }
    }

    /// Whether a figure in it may be this one.
    pub(in crate::suite) fn includes(self, seen: i64) -> bool {
        (self.least..=self.most).contains(&seen)
    }

    /// Whether it is this very number.
    pub(super) fn includes_only(self, seen: i64) -> bool {
        self.least == seen && self.most == seen
    }

    /// Whether what was seen is as expected.
    pub(super) fn judge(self, name: String, seen: i64) -> Result<(), StepError> {
        if self.includes(seen) {
            return Ok(());
        }
        let message = format!("{name}: expected {self}, seen {seen}");
        Err(StepError::differs(
            message,
            vec![Row::new(name, self, seen)],
        ))
    }

    /// Compares; a figure in its range reads as the range itself.
    pub(super) fn row(self, name: &str, seen: i64) -> Row {
        if (self.least..=self.most).contains(&seen) && self.least != self.most {
            return Row::new(format!("{name} (seen: {seen})"), self, self);
        }
        Row::new(name, self, seen)
    }
}

/// Neither a number of things nor a range of such numbers.
#[derive(Debug, thiserror::Error)]
#[error("neither a whole number nor a range")]
pub(in crate::suite) struct NoFigure;

impl FromStr for Figure {
    type Err = NoFigure;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let figure = Self::read(text).map_err(|_| NoFigure)?;
        if figure.least < 0 || figure.most < figure.least {
            return Err(NoFigure);
        }
        Ok(figure)
    }
}

impl Figure {
    fn read(text: &str) -> Result<Self, std::num::ParseIntError> {
        if let Some(most) = text.strip_prefix("at most ") {
            let most = most.parse()?;
            return Ok(Self { least: 0, most });
        }
        if let Some(least) = text.strip_prefix("at least ") {
            let least = least.parse()?;
            let most = i64::MAX;
            return Ok(Self { least, most });
        }
        if let Some((least, most)) = text.split_once(" to ") {
            let (least, most) = (least.parse()?, most.parse()?);
            return Ok(Self { least, most });
        }
        Ok(Self::exactly(text.parse()?))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "{least}"),
            (0, most) => write!(f, "at most {most}"),
            (least, i64::MAX) => write!(f, "at least {least}"),
            (least, most) => write!(f, "{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_numbers_or_ranges() {
        let agrees = |text: &str, seen| text.parse::<Figure>().unwrap().row("x", seen).agrees();
        assert!(agrees("4", 4) && !agrees("4", 5));
        assert!(agrees("10 to 20", 20) && !agrees("10 to 20", 21) && !agrees("10 to 20", 9));
        assert!(agrees("at most 20", 0) && !agrees("at most 20", 21));
        assert!(agrees("at least 10", 10) && !agrees("at least 10", 9));
        for none in ["ten", "5 to 1", "-1", "at most -1", "-2 to 3"] {
            assert!(none.parse::<Figure>().is_err(), "{none}");
        }
    }
}
