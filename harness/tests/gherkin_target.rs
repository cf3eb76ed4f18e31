//! A test target as a team has it: each scenario is a test of its own.

#[path = "it/gherkin_toy/mod.rs"]
mod gherkin_toy;

use std::path::Path;
use std::process::ExitCode;

use rehearsal::gherkin::libtest::{self, Target};

fn main() -> ExitCode {
    let features = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/gherkin_toy/features");
    let target = Target::new("gherkin_target", features).reports(env!("CARGO_TARGET_TMPDIR"));
    libtest::main(&target, || Ok(gherkin_toy::ToyProject::default()))
}
