//! When an outage begins or ends: by what happens, seldom by the clock.

use std::fmt;
use std::time::Duration;

use crate::ids::{MessageName, StageName};

/// A moment of a rehearsal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A total, or one label of it, has reached this figure.
    Total {
        /// Which.
        total: String,
        /// Which label of it.
        label: Option<String>,
        /// The figure.
        value: i64,
    },
    /// A stage was passed so many times.
    Passed {
        /// Which.
        stage: StageName,
        /// With this message, or with any.
        message: Option<MessageName>,
        /// How many times.
        times: u32,
    },
    /// So many calls were treated.
    Calls(u32),
    /// So much time has gone by since the one before it.
    Time(Duration),
}

/// The names that a moment may use.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Stages.
    pub stages: Vec<StageName>,
    /// Totals that are witnessed stage by stage.
    pub totals: Vec<String>,
}

/// A text is no moment.
#[derive(Debug, thiserror::Error)]
pub enum MomentFault {
    /// It has none of the forms.
    #[error(
        "`{0}` is no moment; write `20 completed`, `processing of M3`, `paused, 2 times`, `5 calls` or `2s`"
    )]
    Form(String),
    /// A name in it is unknown.
    #[error(
        "`{name}` is neither a stage nor a total; the stages are {stages}, the totals {totals}; a time is written `2s`, a count `5 calls`"
    )]
    Unknown {
        /// Which.
        name: String,
        /// What there is.
        stages: String,
        /// What there is.
        totals: String,
    },
}

impl Moment {
    /// Reads `20 completed`, `processing of M3`, `paused, 2 times`, `5 calls`, `2s`.
    ///
    /// # Errors
    /// When it has none of these forms, or names something unknown.
    pub fn parse(text: &str, names: &Names) -> Result<Self, MomentFault> {
        let text = text.trim();
        if let Some((figure, rest)) = text.split_once(' ')
            && let Ok(value) = figure.parse::<u32>()
        {
            if matches!(rest, "call" | "calls") {
                if value == 0 {
                    return Err(MomentFault::Form(text.to_owned()));
                }
                return Ok(Self::Calls(value));
            }
            let (total, label) = match rest
                .strip_suffix(')')
                .and_then(|rest| rest.split_once(" ("))
            {
                Some((total, label)) => (total, Some(label.to_owned())),
                None => (rest, None),
            };
            if names.totals.iter().any(|known| known == total) {
                let (total, value) = (total.to_owned(), i64::from(value));
                return Ok(Self::Total {
                    total,
                    label,
                    value,
                });
            }
            return match duration(text) {
                Some(time) => Ok(Self::Time(time)),
                None => Err(unknown(total, names)),
            };
        }
        if let Some(time) = duration(text) {
            return Ok(Self::Time(time));
        }
        let (rest, times) = match text.rsplit_once(", ") {
            Some((rest, times)) => {
                let count = times
                    .strip_suffix(" times")
                    .or_else(|| times.strip_suffix(" time"))
                    .and_then(|count| count.parse().ok())
                    .filter(|count| *count > 0);
                let Some(count) = count else {
                    return Err(MomentFault::Form(text.to_owned()));
                };
                (rest, count)
            }
            None => (text, 1),
        };
        let (stage, message) = match rest.rsplit_once(" of ") {
            Some((stage, message)) => (stage, Some(MessageName::new(message))),
            None => (rest, None),
        };
        if !names.stages.iter().any(|known| known.as_str() == stage) {
            return Err(unknown(stage, names));
        }
        Ok(Self::Passed {
            stage: stage.into(),
            message,
            times,
        })
    }

    /// Whether it asks for passages, whosever they are.
    pub fn is_anybodys(&self) -> bool {
        matches!(self, Self::Passed { message: None, .. })
    }

    /// Whether a passage of a stage brings it nearer.
    pub fn counts(&self, passed: &StageName, with: Option<&MessageName>) -> bool {
        match self {
            Self::Passed { stage, message, .. } => {
                stage == passed && (message.is_none() || message.as_ref() == with)
            }
            _ => false,
        }
    }
}

fn unknown(name: &str, names: &Names) -> MomentFault {
    let stages: Vec<&str> = names.stages.iter().map(StageName::as_str).collect();
    MomentFault::Unknown {
        name: name.to_owned(),
        stages: stages.join(", "),
        totals: names.totals.join(", "),
    }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (figure, unit) = text.split_at(digits);
    let figure: f64 = figure.parse().ok()?;
    let seconds = match unit.trim() {
        "ms" => figure / 1000.0,
        "s" => figure,
        "m" => figure * 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total {
                total,
                label,
                value,
            } => {
                write!(f, "{value} {total}")?;
                label
                    .as_ref()
                    .map_or(Ok(()), |label| write!(f, " ({label})"))
            }
            Self::Passed {
                stage,
                message,
                times,
            } => {
                stage.fmt(f)?;
                if let Some(message) = message {
                    write!(f, " of {message}")?;
                }
                if *times > 1 {
                    write!(f, ", {times} times")?;
                }
                Ok(())
            }
            Self::Calls(1) => f.write_str("1 call"),
            Self::Calls(count) => write!(f, "{count} calls"),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            stages: vec!["processing".into(), "paused".into()],
            totals: vec!["completed".to_owned(), "quarantined".to_owned()],
        }
    }

    #[test]
    fn moments_read_back_what_they_print() {
        for text in [
            "20 completed",
            "1 quarantined (attempt limit)",
            "processing of M3",
            "processing",
            "paused, 2 times",
            "processing of M3, 4 times",
            "5 calls",
            "1 call",
            "2s",
            "150ms",
        ] {
            let moment = Moment::parse(text, &names()).unwrap();
            assert_eq!(moment.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_moment_is_named() {
        for text in [
            "",
            "soon",
            "20 pies",
            "processing, often",
            "paused, 0 times",
            "5 s s",
        ] {
            assert!(Moment::parse(text, &names()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_passage_counts_for_its_stage_and_message() {
        let any = Moment::parse("processing", &names()).unwrap();
        let third = Moment::parse("processing of M3", &names()).unwrap();
        let (stage, message) = (StageName::new("processing"), MessageName::new("M3"));
        assert!(any.counts(&stage, None) && any.counts(&stage, Some(&message)));
        assert!(third.counts(&stage, Some(&message)));
        assert!(!third.counts(&stage, None) && !third.counts(&"paused".into(), Some(&message)));
    }
}
