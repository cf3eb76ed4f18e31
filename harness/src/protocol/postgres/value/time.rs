//! Dates and times, which the server counts from the start of the year 2000.

const MICROS_OF_DAY: i64 = 86_400_000_000;

/// Days from 0000-03-01 to 2000-01-01 in the Gregorian calendar.
const EPOCH: i64 = 730_425;

/// `date`: days.
pub(super) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        days => {
            let (year, rest) = calendar(i64::from(days));
            with_era(year, &rest, "")
        }
    }
}

/// `time`: microseconds of the day.
pub(super) fn time_of_day(micros: i64) -> Option<String> {
    (0..=MICROS_OF_DAY).contains(&micros).then(|| clock(micros))
}

/// `timestamp` and `timestamptz`: microseconds.
pub(super) fn timestamp(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        micros => {
            let (year, rest) = calendar(micros.div_euclid(MICROS_OF_DAY));
            let clock = clock(micros.rem_euclid(MICROS_OF_DAY));
            with_era(year, &rest, &format!(" {clock}{zone}"))
        }
    }
}

fn clock(micros: i64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if fraction == 0 {
        return clock;
    }
    format!("{clock}.{}", format!("{fraction:06}").trim_end_matches('0'))
}

/// The year before 1 is 1 BC.
fn with_era(year: i64, month_and_day: &str, clock: &str) -> String {
    if year > 0 {
        format!("{year:04}{month_and_day}{clock}")
    } else {
        format!("{:04}{month_and_day}{clock} BC", 1 - year)
    }
}

/// Year and `-MM-DD` of a day. Years begin in March here, so that the leap day is the last.
fn calendar(days: i64) -> (i64, String) {
    let days = days + EPOCH;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, format!("-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar_on_both_sides_of_the_epoch() {
        for (days, printed) in [
            (0, "2000-01-01"),
            (59, "2000-02-29"),
            (60, "2000-03-01"),
            (-1, "1999-12-31"),
            (9_465, "2025-11-30"),
            (-10_957, "1970-01-01"),
            (-730_119, "0001-01-01"),
            (-730_120, "0001-12-31 BC"),
            (2_921_939, "9999-12-31"),
            (i32::MAX, "infinity"),
        ] {
            assert_eq!(date(days), printed);
        }
    }

    #[test]
    fn fractions_lose_their_trailing_zeros() {
        assert_eq!(timestamp(1_500_000, "+00"), "2000-01-01 00:00:01.5+00");
        assert_eq!(timestamp(-1, ""), "1999-12-31 23:59:59.999999");
        assert_eq!(timestamp(i64::MIN, "+00"), "-infinity");
        assert_eq!(time_of_day(MICROS_OF_DAY).as_deref(), Some("24:00:00"));
    }
}
