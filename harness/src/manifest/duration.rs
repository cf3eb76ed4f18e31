//! Durations as a manifest writes them: a whole number with its unit.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationFault {
    /// `30`
    #[error("has no unit")]
    NoUnit,
    /// `30 parsecs`
    #[error("has a unit that is not known here")]
    UnknownUnit,
    /// `soon`
    #[error("does not begin with a whole number")]
    NoNumber,
    /// `0s`
    #[error("is no time at all")]
    Zero,
    /// More than fits.
    #[error("is too long")]
    TooLong,
}

/// Reads `150ms`, `2s`, `15m`, `1h`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, DurationFault> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(DurationFault::NoNumber);
    }
    let milliseconds: u64 = match unit.trim_start() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" => return Err(DurationFault::NoUnit),
        _ => return Err(DurationFault::UnknownUnit),
    };
    let number: u64 = number.parse().map_err(|_| DurationFault::TooLong)?;
    // A year is longer than any rehearsal and far from where clocks overflow.
    let total = number
        .checked_mul(milliseconds)
        .filter(|total| *total <= 365 * 24 * 3_600_000)
        .ok_or(DurationFault::TooLong)?;
    if total == 0 {
        Err(DurationFault::Zero)
    } else {
        Ok(Duration::from_millis(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse_duration("150ms"), Ok(Duration::from_millis(150)));
        assert_eq!(parse_duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("15 m"), Ok(Duration::from_mins(15)));
        assert_eq!(parse_duration("1h"), Ok(Duration::from_hours(1)));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for (text, fault) in [
            ("30", DurationFault::NoUnit),
            ("1.5s", DurationFault::UnknownUnit),
            ("2 parsecs", DurationFault::UnknownUnit),
            ("soon", DurationFault::NoNumber),
            ("-2s", DurationFault::NoNumber),
            ("0s", DurationFault::Zero),
            ("99999999999999999999s", DurationFault::TooLong),
            ("99999999h", DurationFault::TooLong),
        ] {
            assert_eq!(parse_duration(text), Err(fault), "{text}");
        }
    }
}
