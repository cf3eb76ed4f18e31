//! Variables that a program reads from its environment, by its source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// How much of a source is read, and of how many files.
const MOST_BYTES: u64 = 1 << 20;
const MOST_FILES: usize = 200;

/// A name in quotes that a function of some language reads, or a member of `process.env`.
static READS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?:environ(?:\.get)?\s*[\[(]|[gG]etenv\s*\(|env::var(?:_os)?\s*\(|ENV(?:\.fetch)?\s*[\[(]|"#,
        r#"process\.env\s*\[|Deno\.env\.get\s*\(|System\.getenv\s*\()\s*["']([A-Za-z_][A-Za-z0-9_]*)["']"#,
        r"|process\.env\.([A-Za-z_][A-Za-z0-9_]*)"
    ))
    .expect("a pattern without arguments")
});
static SHELL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{?([A-Z][A-Z0-9_]{2,})").expect("a pattern"));
static ASSIGNS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?:^|[;\s])([A-Z][A-Z0-9_]*)=|\bread\b[^\n;|]*?\b([A-Z][A-Z0-9_]*)")
        .expect("a pattern")
});

/// Variables of the shell itself.
const OF_THE_SHELL: &[&str] = &[
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "USER",
    "IFS",
    "RANDOM",
    "SECONDS",
    "BASHPID",
    "PPID",
    "HOSTNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LINENO",
    "TMPDIR",
    "PIPESTATUS",
    "REPLY",
    "UID",
    "EUID",
    "BASH_SOURCE",
    "OPTARG",
    "OPTIND",
];

/// The variables that the program of a command reads: of the files that it names, and of
/// those beside them in the same language.
pub(super) fn variables(root: &Path, words: &[String]) -> BTreeSet<String> {
    let mut named: Vec<PathBuf> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let path = root.join(word);
        let module = index > 0 && words[index - 1] == "-m";
        if module {
            let folder = root.join(word.replace('.', "/"));
            named.extend([folder.join("__main__.py"), folder.with_extension("py")]);
        } else if index < 3 && path.is_file() {
            named.push(path);
        }
    }
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    for file in named.into_iter().filter(|file| file.is_file()) {
        let ending = file.extension().map(ToOwned::to_owned);
        let is_shell = ending
            .as_deref()
            .is_none_or(|end| end == "sh" || end == "bash");
        if let (false, Some(folder)) = (is_shell, file.parent()) {
            let beside = fs::read_dir(folder).into_iter().flatten().flatten();
            let alike = beside
                .map(|entry| entry.path())
                .filter(|path| path.extension().map(ToOwned::to_owned) == ending);
            files.extend(alike.take(MOST_FILES));
        }
        files.insert(file);
    }
    let own = files.iter().filter_map(|file| text(file));
    own.flat_map(|(file, text)| read_in(file, &text)).collect()
}

fn text(file: &Path) -> Option<(&Path, String)> {
    let size = fs::metadata(file).ok()?.len();
    let text = (size <= MOST_BYTES).then(|| fs::read_to_string(file).ok())??;
    Some((file, text))
}

fn read_in(file: &Path, text: &str) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let is_shell = file
        .extension()
        .is_some_and(|end| end == "sh" || end == "bash")
        || (first.starts_with("#!") && first.ends_with("sh"));
    let names = |pattern: &Regex| -> BTreeSet<String> {
        let found = pattern.captures_iter(text);
        found
            .filter_map(|captures| {
                let name = captures.get(1).or_else(|| captures.get(2))?;
                Some(name.as_str().to_owned())
            })
            .collect()
    };
    if !is_shell {
        return names(&READS).into_iter().collect();
    }
    let assigned = names(&ASSIGNS);
    names(&SHELL)
        .into_iter()
        .filter(|name| !assigned.contains(name) && !OF_THE_SHELL.contains(&name.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_in_each_language() {
        for (file, text, names) in [
            (
                "a.py",
                "os.environ['A']; os.getenv(\"B\"); environ.get('C', 1)",
                vec!["A", "B", "C"],
            ),
            ("a.js", "process.env.A + process.env['B']", vec!["A", "B"]),
            ("a.rs", "std::env::var(\"A\")", vec!["A"]),
            ("a.rb", "ENV['A'] ENV.fetch('B')", vec!["A", "B"]),
            ("a.go", "os.Getenv(\"A\")", vec!["A"]),
            (
                "a.sh",
                "BODY=$(curl $QUEUE_URL)\necho $BODY ${DATABASE_URL} $PATH",
                vec!["DATABASE_URL", "QUEUE_URL"],
            ),
        ] {
            let found = read_in(Path::new(file), text);
            assert_eq!(found, names, "{file}");
        }
    }
}
