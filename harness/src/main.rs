//! The command `rehearse`.

use std::io::Write as _;
use std::process::ExitCode;

use rehearsal::cli::{self, Surroundings};
use rehearsal::gherkin::Exit;
use rehearsal::suite::{Rehearsals, watch_if_asked};

fn main() -> ExitCode {
    if let Some(exit) = watch_if_asked() {
        return exit;
    }
    let rehearsals = match Rehearsals::of_process() {
        Ok(rehearsals) => rehearsals,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "cannot find the harness's own program: {error}"
            );
            return Exit::Broken.into();
        }
    };
    match Surroundings::of_process() {
        Ok(mut surroundings) => {
            cli::main(&rehearsals, std::env::args_os(), &mut surroundings).into()
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "cannot listen to signals: {error}");
            Exit::Broken.into()
        }
    }
}
