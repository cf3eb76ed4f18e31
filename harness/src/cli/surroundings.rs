//! What a command sees of the world around it. Only the binary looks at the real one.

use std::env;
use std::io::{self, IsTerminal as _, Write};

use miette::Report;

use crate::gherkin::Interrupt;
use crate::report::Ci;
use crate::report::diagnostic::diagnostic;

/// How wide the terminal is now, if results go to one.
pub(super) fn columns() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

/// Where a command writes to, and how it may.
pub struct Surroundings {
    /// For results.
    pub out: Box<dyn Write + Send>,
    /// For errors.
    pub err: Box<dyn Write + Send>,
    /// Whether a person watches the results.
    pub out_is_terminal: bool,
    /// Whether what happens now is shown, and taken away again.
    pub live: bool,
    /// Whether a person watches the errors.
    pub err_is_terminal: bool,
    /// Whether colours are wanted; if not said, terminals get them.
    pub colour: Option<bool>,
    /// How wide the terminal is.
    pub width: Option<usize>,
    /// Ctrl-C and SIGTERM.
    pub interrupt: Interrupt,
    /// What a CI system asks for.
    pub ci: Ci,
}

impl Surroundings {
    /// Those of this process: its standard streams, `NO_COLOR`, `CLICOLOR`,
    /// `CLICOLOR_FORCE`, and its signals.
    ///
    /// # Errors
    /// If signals cannot be listened to.
    pub fn of_process() -> io::Result<Self> {
        let interrupt = Interrupt::new();
        interrupt.listen()?;
        let is_set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let colour = if is_set("NO_COLOR").is_some() {
            Some(false)
        } else if is_set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            Some(true)
        } else if is_set("CLICOLOR").is_some_and(|value| value == "0") {
            Some(false)
        } else {
            None
        };
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        // Where a service builds, nobody watches, whatever its terminal says.
        let ci = is_set("CI").is_some_and(|value| value != "false" && value != "0");
        let out_is_terminal = io::stdout().is_terminal() && !dumb;
        Ok(Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            out_is_terminal,
            live: out_is_terminal && !ci,
            err_is_terminal: io::stderr().is_terminal() && !dumb,
            colour,
            width: columns().filter(|_| out_is_terminal),
            interrupt,
            ci: Ci::of_process(),
        })
    }

    pub(super) fn colours_out(&self) -> bool {
        self.colour.unwrap_or(self.out_is_terminal)
    }

    pub(super) fn colours_err(&self) -> bool {
        self.colour.unwrap_or(self.err_is_terminal)
    }

    /// Writes results. If nobody reads them, nobody misses them.
    pub(super) fn say(&mut self, text: &str) {
        let _ = self
            .out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush());
    }

    pub(super) fn say_err(&mut self, text: &str) {
        let _ = self
            .err
            .write_all(text.as_bytes())
            .and_then(|()| self.err.flush());
    }

    /// Shows an error with its places.
    pub(super) fn report(&mut self, report: &Report) {
        let text = diagnostic(report, self.colours_err(), self.width);
        self.say_err(&text);
    }
}
