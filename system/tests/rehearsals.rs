//! Every scenario under `features/` as a test of its own: `cargo test --test rehearsals`.

use std::path::Path;
use std::process::ExitCode;

use rehearsal::gherkin::libtest::Target;
use rehearsal::suite;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = Target::new("rehearsals", root.join("features")).reports(root.join("reports"));
    suite::test(&target, &root.join("rehearsal.yaml"))
}
