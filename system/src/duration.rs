//! Durations as people write them in settings: `20ms`, `2s`, `5m`, `1h`.

use std::time::Duration;

/// Reads a whole number with its unit.
///
/// # Errors
/// Says what was expected where the number or the unit is missing.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a duration; write for example `20ms`, `2s`, `5m`"))?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("`{text}` needs a unit: `ms`, `s`, `m` or `h`")),
    };
    number
        .checked_mul(milliseconds)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{text}` is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(parse("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(parse("1h"), Ok(Duration::from_hours(1)));
    }

    #[test]
    fn bare_numbers_and_unknown_units_are_refused() {
        for text in ["", "5", "5 s", "s", "-1s", "1d", "99999999999999999999s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
