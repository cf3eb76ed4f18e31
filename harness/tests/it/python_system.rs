//! A system in another language, with other words, routes and ids, passes through its
//! manifest alone; and a rule broken in it is seen.
//!
//! It needs Python with `venv` and its packages. Where they cannot be had the tests say
//! `SKIPPED` and leave a file that says why; with `REHEARSAL_REQUIRE_PYTHON=1` they fail.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// The desk, its feature included, in a directory of its own.
struct Desk {
    root: TempDir,
    path: OsString,
}

impl Desk {
    /// Nothing where Python or its packages cannot be had.
    fn new() -> Option<Self> {
        let path = match with_packages() {
            Ok(path) => {
                let _ = fs::remove_file(marker());
                path
            }
            Err(reason) => {
                skip(&reason);
                return None;
            }
        };
        let root = TempDir::new().unwrap();
        copy(&source(), root.path());
        Some(Self { root, path })
    }

    /// Replaces text in one of its files; it must be there.
    fn break_rule(&self, file: &str, changes: &[(&str, &str)]) {
        let file = self.root.path().join(file);
        let mut text = fs::read_to_string(&file).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from} is not in {}", file.display());
            text = text.replace(from, to);
        }
        fs::write(file, text).unwrap();
    }

    fn rehearse(&self, selection: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(selection)
            .current_dir(self.root.path())
            .env("PATH", &self.path)
            .output()
            .unwrap()
    }
}

#[test]
fn a_system_in_python_passes_through_its_manifest_alone() {
    let Some(desk) = Desk::new() else { return };
    let done = desk.rehearse(&["--verbose"]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(0), "{seen}");
    for (begun, patience) in [(7, 3), (9, 5), (5, 1)] {
        let totals = format!(
            "dead letters 0 · invoices 4 · left in queue 0 · outside requests 4 · \
             set aside (too many tries) 1 · tries begun {begun} · \
             tries held against an order {patience}"
        );
        assert!(seen.contains(&totals), "no `{totals}` in\n{seen}");
    }
    assert!(seen.contains("3 passed, 0 failed"), "{seen}");
}

#[test]
fn a_packer_that_counts_after_its_work_is_seen() {
    let Some(desk) = Desk::new() else { return };
    let begin = "                self.begin(this, number)\n";
    let pack = "                self.pack(this, number, article, copy[\"MessageId\"])\n";
    let after = format!("{pack}{begin}");
    desk.break_rule("desk/packer.py", &[(begin, ""), (pack, &after)]);
    let done = desk.rehearse(&["--name", "patience: 1"]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(1), "{seen}");
    assert!(seen.contains("the totals differ"), "{seen}");
    assert!(seen.contains("0 passed, 1 failed"), "{seen}");
}

/// The rule says so by itself, whatever the feature compares.
#[test]
fn a_record_at_the_limit_that_is_cut_or_too_early_is_seen() {
    let changes = [
        (
            "reached, article, note.encode()",
            "reached, article[:-1], note.encode()",
            "the content that was kept is another",
        ),
        (
            "if failed >= LIMIT else",
            "if failed >= LIMIT - 1 else",
            "2 counted",
        ),
    ];
    for (from, to, told) in changes {
        let Some(desk) = Desk::new() else { return };
        desk.break_rule("desk/packer.py", &[(from, to)]);
        let done = desk.rehearse(&["--name", "patience: 3"]);
        let seen = said(&done);
        assert_eq!(done.status.code(), Some(1), "{seen}");
        assert!(
            seen.contains("a record at the attempt limit is true"),
            "{seen}"
        );
        assert!(seen.contains(told), "{seen}");
    }
}

#[test]
fn a_misspelt_announcement_is_told_with_its_process_and_the_nearest_stage() {
    let Some(desk) = Desk::new() else { return };
    let changes = [("announce(\"pricing\"", "announce(\"prising\"")];
    desk.break_rule("desk/packer.py", &changes);
    let done = desk.rehearse(&["--name", "patience: 1"]);
    let seen = said(&done);
    assert_ne!(done.status.code(), Some(0), "{seen}");
    let told = "the packer announced the stage `prising`, which the manifest does not know: did \
                you mean `pricing`?";
    assert!(seen.contains(told), "{seen}");
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_system")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            if entry.file_name() != "__pycache__" {
                copy(&entry.path(), &target);
            }
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A `PATH` on which `python3` has the packages: installed once, then kept below `target/`.
fn with_packages() -> Result<OsString, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("order-desk");
    let bin = home.join("bin");
    let requirements = source().join("requirements.txt");
    let wanted = fs::read_to_string(&requirements).unwrap();
    let installed = home.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) && works(&bin) {
        return Ok(first_on_path(&bin));
    }
    attempt(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&home),
    )?;
    attempt(
        Command::new(bin.join("python3"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .arg("--requirement")
            .arg(&requirements),
    )?;
    fs::write(installed, wanted).unwrap();
    Ok(first_on_path(&bin))
}

fn works(bin: &Path) -> bool {
    attempt(Command::new(bin.join("python3")).args(["-c", "import boto3, psycopg"])).is_ok()
}

fn attempt(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{command:?} failed: {}", said(&output).trim())),
        Err(error) => Err(format!("{command:?} cannot be run: {error}")),
    }
}

fn first_on_path(bin: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = std::iter::once(bin.to_owned()).chain(env::split_paths(&path));
    env::join_paths(places).unwrap()
}

fn skip(reason: &str) {
    assert!(
        env::var_os("REHEARSAL_REQUIRE_PYTHON").is_none_or(|wanted| wanted != "1"),
        "{reason}"
    );
    // Past the capture of the test runner, which would hide it.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: the order desk in Python: {reason}"
    );
    let _ = fs::write(marker(), reason);
}

fn marker() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("order-desk.skipped")
}
