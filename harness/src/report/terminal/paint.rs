//! Colours, or none.

use crate::gherkin::Exit;

/// Paints if colours are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    /// In the colour of what failed.
    pub(crate) fn failure(self, text: &str) -> String {
        self.with("31", text)
    }

    /// In the colour of a verdict.
    pub(super) fn verdict(self, exit: Exit, text: &str) -> String {
        let code = match exit {
            Exit::Passed => "32",
            Exit::Failed => "31",
            Exit::Unproven | Exit::Interrupted => "33",
            Exit::Broken | Exit::Invalid => "35",
        };
        self.with(code, text)
    }
}

/// The sign of a verdict.
pub(super) fn sign(exit: Exit) -> &'static str {
    match exit {
        Exit::Passed => "✓",
        Exit::Failed => "✗",
        Exit::Unproven => "?",
        Exit::Broken | Exit::Invalid => "!",
        Exit::Interrupted => "-",
    }
}
