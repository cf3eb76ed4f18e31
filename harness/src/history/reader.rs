//! Reads a history back, as it was written and whole.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::blob::hex;
use super::kinds::Told;
use super::{Entry, Event, SCHEMA, naming};

/// A file is no history that can be judged.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableHistory {
    /// The file cannot be read.
    #[error(
        "cannot read {path}: {source}; give the `history.jsonl` of a scenario, it stands in the run's reports"
    )]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no entry.
    #[error(
        "{path}:{line} is no entry of a history: {source}; a file whose last line is cut off belongs to a run that was ended in the middle"
    )]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// The first entry does not say what the file is.
    #[error("{path} does not begin as a history does; its first line must be a `began` entry")]
    Beginning {
        /// Which file.
        path: PathBuf,
    },
    /// It was written in a format that is not known here.
    #[error(
        "{path} has schema {found}, and this version of rehearse judges schemas 1 to {SCHEMA}; use the version that wrote it, or a later one"
    )]
    Schema {
        /// Which file.
        path: PathBuf,
        /// Its schema.
        found: u32,
    },
    /// A call is of a kind that nothing before it tells of.
    #[error(
        "{path}:{line} is a call of a kind that no entry before it tells of; entries were taken out, so nothing follows from it"
    )]
    Kind {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// The last line's digest is not that of the lines before.
    #[error(
        "{path}:{line} ends a history whose lines were other ones; entries were taken out or changed, so nothing follows from it"
    )]
    Digest {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// An entry is missing, or stands in the wrong place.
    #[error(
        "{path}:{line} has the number {found} where {line} belongs; entries were taken out or put in, so nothing follows from it"
    )]
    Order {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1, and so the number that it must have.
        line: usize,
        /// Its number.
        found: u64,
    },
}

/// Reads a whole history. Nothing is left out and nothing is guessed: judges count what
/// is *not* there too.
///
/// # Errors
/// When the file is not a whole history in a known format.
pub fn read(path: &Path) -> Result<Vec<Entry>, UnreadableHistory> {
    match read_as_far(path)? {
        (entries, None) => Ok(entries),
        (_, Some(break_off)) => Err(break_off),
    }
}

/// Reads a history as far as it can be read, and says why not farther. For people: nothing
/// follows from what is not there.
///
/// # Errors
/// When nothing of it can be read.
pub fn read_as_far(
    path: &Path,
) -> Result<(Vec<Entry>, Option<UnreadableHistory>), UnreadableHistory> {
    let text = text_of(path).map_err(|source| UnreadableHistory::File {
        path: path.to_owned(),
        source,
    })?;
    let mut entries: Vec<Entry> = Vec::new();
    let ended = append(path, &text, &mut entries).err();
    match ended {
        Some(error) if entries.is_empty() => Err(error),
        ended => Ok((entries, ended)),
    }
}

/// The text of a history, which may have been compressed since its name was told.
fn text_of(path: &Path) -> std::io::Result<String> {
    let compressed = path.with_added_extension("gz");
    let path = if !path.exists() && compressed.is_file() {
        &compressed
    } else {
        path
    };
    if path.extension().is_none_or(|extension| extension != "gz") {
        return fs::read_to_string(path);
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

fn append(path: &Path, text: &str, entries: &mut Vec<Entry>) -> Result<(), UnreadableHistory> {
    let mut told = Told::default();
    let mut digest = Sha256::new();
    for (line, content) in (1..).zip(text.lines()) {
        let mut entry: Entry =
            serde_json::from_str(content).map_err(|source| match schema_of(content) {
                Some(found) if line == 1 && found != SCHEMA => UnreadableHistory::Schema {
                    path: path.to_owned(),
                    found,
                },
                _ => UnreadableHistory::Line {
                    path: path.to_owned(),
                    line,
                    source,
                },
            })?;
        if entry.seq != line as u64 {
            return Err(UnreadableHistory::Order {
                path: path.to_owned(),
                line,
                found: entry.seq,
            });
        }
        if line == 1 {
            begins(path, &entry)?;
        }
        if !told.restore(&mut entry.event) {
            return Err(UnreadableHistory::Kind {
                path: path.to_owned(),
                line,
            });
        }
        if let Event::Ended { digest: Some(own) } = &entry.event
            && *own != hex(&digest.clone().finalize())
        {
            let path = path.to_owned();
            return Err(UnreadableHistory::Digest { path, line });
        }
        digest.update(content);
        digest.update(b"\n");
        naming::heed(entries, &entry);
        entries.push(entry);
    }
    if entries.is_empty() {
        return Err(UnreadableHistory::Beginning {
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn begins(path: &Path, entry: &Entry) -> Result<(), UnreadableHistory> {
    match &entry.event {
        Event::Began { schema, .. } if (1..=SCHEMA).contains(schema) => Ok(()),
        Event::Began { schema, .. } => Err(UnreadableHistory::Schema {
            path: path.to_owned(),
            found: *schema,
        }),
        _ => Err(UnreadableHistory::Beginning {
            path: path.to_owned(),
        }),
    }
}

/// A first line of another version may hold what this one cannot read.
fn schema_of(line: &str) -> Option<u32> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    u32::try_from(value.get("schema")?.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: &str = r#"{"seq":1,"at_us":1,"event":"began","schema":1,"run":"r","scenario":"s","place":"p","seed":1,"versions":{}}"#;
    const QUIET: &str = r#"{"seq":2,"at_us":2,"event":"quiet"}"#;

    fn read_text(text: &str) -> Result<Vec<Entry>, UnreadableHistory> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.jsonl");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn a_whole_history_is_read() {
        assert_eq!(read_text(&format!("{BEGAN}\n{QUIET}\n")).unwrap().len(), 2);
    }

    #[test]
    fn a_gap_in_the_numbers_is_refused() {
        let gap = QUIET.replace("\"seq\":2", "\"seq\":3");
        let read = read_text(&format!("{BEGAN}\n{gap}\n"));
        assert!(matches!(
            read,
            Err(UnreadableHistory::Order {
                line: 2,
                found: 3,
                ..
            })
        ));
    }

    #[test]
    fn a_history_from_which_entries_were_taken_out_is_refused_though_it_was_numbered_anew() {
        let directory = tempfile::tempdir().unwrap();
        let history = crate::history::History::begin(directory.path(), Vec::new()).unwrap();
        history.append(serde_json::from_str::<Entry>(BEGAN).unwrap().event);
        history.append(Event::Quiet);
        history.append(Event::Lingers);
        history.end();
        let text = fs::read_to_string(history.path()).unwrap();
        assert_eq!(read_text(&text).unwrap().len(), 4);
        let lines: Vec<&str> = text.lines().collect();
        let renumbered = [
            lines[0].to_owned(),
            lines[2].replace("\"seq\":3", "\"seq\":2"),
            lines[3].replace("\"seq\":4", "\"seq\":3"),
        ];
        let read = read_text(&format!("{}\n", renumbered.join("\n")));
        let refused = matches!(read, Err(UnreadableHistory::Digest { line: 3, .. }));
        assert!(refused, "{read:?}");
    }

    #[test]
    fn a_line_that_is_cut_off_is_refused() {
        let read = read_text(&format!("{BEGAN}\n{}", &QUIET[..20]));
        assert!(matches!(read, Err(UnreadableHistory::Line { line: 2, .. })));
    }

    #[test]
    fn another_schema_is_refused_by_its_number() {
        for began in [
            BEGAN.replace("\"schema\":1", "\"schema\":9"),
            r#"{"schema":9,"new":"format"}"#.to_owned(),
        ] {
            let read = read_text(&began);
            assert!(matches!(
                read,
                Err(UnreadableHistory::Schema { found: 9, .. })
            ));
        }
    }

    #[test]
    fn what_does_not_begin_is_no_history() {
        let first = QUIET.replace("\"seq\":2", "\"seq\":1");
        for text in ["", &first] {
            assert!(matches!(
                read_text(text),
                Err(UnreadableHistory::Beginning { .. })
            ));
        }
    }
}
