//! The reference of the manifest as the program carries it: the page `docs/manifest.md`,
//! and its tables, from which the schema takes its words.

/// The page.
pub const REFERENCE: &str = include_str!("../../reference/manifest.md");

/// What the reference says of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<'r> {
    pub(super) key: &'r str,
    pub(super) meaning: String,
    pub(super) default: String,
}

impl Entry<'_> {
    /// Whether it must be there in every such table.
    pub(super) fn is_required(&self) -> bool {
        self.default == "required"
    }
}

/// The section of a table: its heading ends in the table's name.
fn section(table: &str) -> Option<&'static str> {
    let ending = format!(": `{table}`");
    let mut sections = REFERENCE.split("\n## ").skip(1);
    sections.find(|section| {
        let heading = section.lines().next().unwrap_or_default();
        heading.ends_with(&ending)
    })
}

/// What a table is, as its heading says.
pub(super) fn title(table: &str) -> Option<&'static str> {
    let heading = section(table)?.lines().next()?;
    heading.rsplit_once(": `").map(|(title, _)| title)
}

/// What the reference says of each key of a table.
pub(super) fn entries(table: &str) -> Vec<Entry<'static>> {
    let lines = section(table).into_iter().flat_map(str::lines);
    let rows = lines.filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| {
        let cells = cells(row);
        let key = row.strip_prefix("| `")?.split_once('`')?.0;
        Some(Entry {
            key,
            meaning: cells.get(1)?.clone(),
            default: cells.get(2)?.clone(),
        })
    })
    .collect()
}

/// The cells of a row; a bar behind a backslash is one.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut signs = row.trim().trim_matches('|').chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if signs.peek() == Some(&'|') => {
                signs.next();
                cells.last_mut().expect("there is one").push('|');
            }
            '|' => cells.push(String::new()),
            sign => cells.last_mut().expect("there is one").push(sign),
        }
    }
    cells
        .into_iter()
        .map(|cell| cell.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_its_key_its_meaning_and_its_default() {
        let of_body = entries("place")
            .into_iter()
            .find(|entry| entry.key == "body")
            .unwrap();
        assert_eq!(of_body.meaning, "A JSON path in the body, and decoders.");
        assert!(!of_body.is_required());
        let version = &entries("manifest")[0];
        assert!(version.key == "version" && version.is_required());
        assert_eq!(
            title("stage"),
            Some("A named point in the handling of a message")
        );
    }
}
