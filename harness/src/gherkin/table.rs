//! What may hang below a step: a table or a doc string.

/// A data table of a step, all rows as wide as the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The rows, cells trimmed. Whether the first is a heading is the step's matter.
    pub rows: Vec<Vec<String>>,
    /// The line of the feature file that each row stands on.
    pub lines: Vec<usize>,
}

impl Table {
    /// The rows of a table of two columns, as pairs.
    pub fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        self.rows
            .iter()
            .map(|row| match row.as_slice() {
                [name, value] => Some((name.as_str(), value.as_str())),
                _ => None,
            })
            .collect()
    }

    /// The first row, and each further row keyed by it.
    pub fn records(&self) -> impl Iterator<Item = Vec<(&str, &str)>> {
        let heading = self.rows.first().map_or(&[][..], Vec::as_slice);
        self.rows.iter().skip(1).map(move |row| {
            heading
                .iter()
                .zip(row)
                .map(|(name, cell)| (name.as_str(), cell.as_str()))
                .collect()
        })
    }
}

/// A text below a step, between lines of `"""` or ```` ``` ````.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocString {
    /// What follows the opening marks: `json`.
    pub media_type: Option<String>,
    /// The lines between the marks, without the marks' own indentation and without a
    /// line break at either edge.
    pub content: String,
}

impl DocString {
    /// Reads the doc string that begins at or after `start` in the feature's text. The
    /// parser's own value still holds the media type and the edge line breaks, and
    /// loses indentation that belongs to the content.
    pub(super) fn read(text: &str, start: usize) -> Option<Self> {
        let rest = &text[start..];
        // Looking for each of the marks in the whole rest would read a large file again and
        // again.
        let mut offset = 0;
        let (opening, marks) = rest.split_inclusive('\n').find_map(|line| {
            let before = offset;
            offset += line.len();
            let found = ["\"\"\"", "```"]
                .into_iter()
                .filter_map(|marks| Some((before + line.find(marks)?, marks)));
            found.min_by_key(|(position, _)| *position)
        })?;
        let line_start = rest[..opening]
            .rfind('\n')
            .map_or(0, |position| position + 1);
        let indent = opening - line_start;
        let body = &rest[opening + marks.len()..];
        let end = body.find(marks)?;
        let mut lines = body[..end]
            .split('\n')
            .map(|line| line.trim_end_matches('\r'));
        let media_type = lines.next().map(str::trim).filter(|kind| !kind.is_empty());
        let mut content: Vec<&str> = lines.map(|line| dedent(line, indent)).collect();
        if content.last().is_some_and(|line| line.trim().is_empty()) {
            content.pop();
        }
        Some(Self {
            media_type: media_type.map(str::to_owned),
            content: content.join("\n"),
        })
    }
}

fn dedent(line: &str, indent: usize) -> &str {
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[blank.min(indent)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doc_string_loses_the_marks_indentation_and_nothing_else() {
        let text = "  Given it\n    \"\"\"json\n    {\n      \"a\": 1\n    }\n\n    \"\"\"\n";
        let doc_string = DocString::read(text, 10).unwrap();
        assert_eq!(doc_string.media_type.as_deref(), Some("json"));
        assert_eq!(doc_string.content, "{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn a_table_gives_records_by_its_heading() {
        let rows = [["name", "kind"], ["M1", "harmless"]];
        let rows = rows
            .iter()
            .map(|row| row.map(str::to_owned).to_vec())
            .collect();
        let table = Table {
            rows,
            lines: vec![3, 4],
        };
        let records: Vec<_> = table.records().collect();
        assert_eq!(records, [vec![("name", "M1"), ("kind", "harmless")]]);
    }
}
