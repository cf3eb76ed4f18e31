//! The arguments that `cargo test` and `cargo nextest` pass to a test target.

use std::num::NonZeroUsize;

/// What a test target is asked for.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own in libtest"
)]
pub(super) struct Arguments {
    pub(super) list: bool,
    pub(super) terse: bool,
    pub(super) threads: Option<NonZeroUsize>,
    exact: bool,
    ignored: bool,
    include_ignored: bool,
    filters: Vec<String>,
    skips: Vec<String>,
}

/// An argument that no test target takes.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("unknown option `{0}`")]
    Unknown(String),
    #[error("`{0}` needs a value")]
    NoValue(String),
    #[error("`--test-threads {0}` is no number of threads")]
    Threads(String),
    #[error("`--format {0}` is not supported; there are pretty and terse")]
    Format(String),
}

impl Arguments {
    pub(super) fn parse(words: impl Iterator<Item = String>) -> Result<Self, ArgumentError> {
        let mut arguments = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                arguments.filters.push(word);
                continue;
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let mut value = || {
                let given = value.clone().or_else(|| words.next());
                given.ok_or_else(|| ArgumentError::NoValue(option.clone()))
            };
            match option.as_str() {
                "--list" => arguments.list = true,
                "--exact" => arguments.exact = true,
                "--ignored" => arguments.ignored = true,
                "--include-ignored" => arguments.include_ignored = true,
                "--quiet" | "-q" => arguments.terse = true,
                "--format" => match value()?.as_str() {
                    "terse" => arguments.terse = true,
                    "pretty" => arguments.terse = false,
                    other => return Err(ArgumentError::Format(other.to_owned())),
                },
                "--skip" => arguments.skips.push(value()?),
                "--test-threads" => {
                    let value = value()?;
                    let threads = value.parse().map_err(|_| ArgumentError::Threads(value))?;
                    arguments.threads = Some(threads);
                }
                // Nothing is captured here, no benchmark is here, and there is no colour.
                "--color" | "-Z" | "--logfile" | "--shuffle-seed" => drop(value()?),
                "--nocapture" | "--no-capture" | "--show-output" | "--test" | "--bench"
                | "--report-time" | "--shuffle" => {}
                _ => return Err(ArgumentError::Unknown(option)),
            }
        }
        Ok(arguments)
    }

    /// Whether a test takes part at all. An ignored one does, so that it is listed.
    pub(super) fn choose(&self, name: &str, is_ignored: bool) -> bool {
        let fits = |filter: &String| {
            if self.exact {
                name == filter
            } else {
                name.contains(filter.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(fits))
            && !self.skips.iter().any(fits)
            && (!self.ignored || is_ignored)
    }

    pub(super) fn runs_ignored(&self) -> bool {
        self.ignored || self.include_ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Arguments {
        Arguments::parse(words.split(' ').map(str::to_owned)).unwrap()
    }

    #[test]
    fn filters_skips_and_exact_names_choose_as_in_libtest() {
        let some = parse("poison --skip slow");
        assert!(some.choose("a::poison", false));
        assert!(!some.choose("a::poison slow", false));
        assert!(!some.choose("a::harmless", false));
        let exact = parse("--exact a::poison --nocapture --test-threads=2");
        assert!(exact.choose("a::poison", true));
        assert!(!exact.choose("a::poisonous", true));
        assert_eq!(exact.threads, NonZeroUsize::new(2));
        let ignored = parse("--list --format terse --ignored");
        assert!(ignored.list && ignored.terse);
        assert!(ignored.choose("a::poison", true) && !ignored.choose("a::poison", false));
        assert!(Arguments::parse(["--nope".to_owned()].into_iter()).is_err());
    }
}
