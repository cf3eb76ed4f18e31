//! The command that repeats a scenario.

use std::path::PathBuf;
use std::sync::Arc;

use crate::gherkin::ScenarioInfo;

/// How to say again what was said.
#[derive(Clone, Debug)]
pub enum Repeat {
    /// `rehearse PLACE …`, with what matters of the other arguments.
    Rehearse {
        /// Arguments after the place.
        arguments: Vec<String>,
    },
    /// As an earlier run said, by the scenarios' numbers.
    Recorded(Arc<Vec<String>>),
    /// A test of a test target that speaks libtest.
    Test {
        /// The target's name, as in `cargo test --test TARGET`.
        target: String,
        /// The directory of its features, which names of tests leave out.
        features: PathBuf,
    },
}

impl Repeat {
    /// The command for one scenario.
    pub fn of(&self, scenario: &ScenarioInfo) -> String {
        match self {
            Self::Rehearse { arguments } => {
                let mut words = vec!["rehearse".to_owned(), quote(&scenario.selector())];
                words.extend(arguments.iter().map(|argument| quote(argument)));
                words.join(" ")
            }
            Self::Recorded(commands) => {
                let command = commands.get(scenario.id.0);
                command.cloned().unwrap_or_default()
            }
            Self::Test { target, features } => {
                let name = quote(&crate::gherkin::libtest::test_name(scenario, features));
                format!("cargo test --test {target} -- --exact {name}")
            }
        }
    }
}

/// A word as a shell reads it back.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("features/a.feature:3"), "features/a.feature:3");
        assert_eq!(quote("it's (so)"), r"'it'\''s (so)'");
        assert_eq!(quote(""), "''");
    }
}
