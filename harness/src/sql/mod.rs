//! SQL as far as it must be read: where tokens and statements end, what a statement does to
//! its session, which rows it names, and how a text of the manifest is found in it.

mod canonical;
mod done;
mod kind;
mod lexer;
mod rows;
mod split;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use canonical::Canonical;
pub use canonical::Found;
pub(crate) use canonical::Meanings;
pub(crate) use kind::{CopyFormat, Kind, of_search_path};
pub(crate) use lexer::{Lexer, Token};
pub use rows::Cell;
use rows::Rows;
pub(crate) use split::{prepared_text, split};

/// The text of a statement, or of a part of one, shared by all its executions: what is read
/// in it is read once.
#[derive(Clone, Debug)]
pub struct Sql(Arc<Texts>);

#[derive(Debug)]
struct Texts {
    /// Every run of white space folded to one blank.
    text: String,
    /// As written, where that differs: a line's end ends a comment.
    written: Option<String>,
    canonical: Canonical,
    /// With the schema that its session looks for tables in, if it has chosen one.
    qualified: Option<Canonical>,
    rows: OnceLock<Rows>,
    shape: OnceLock<String>,
}

impl Sql {
    fn new(text: String, meanings: Meanings<'_>) -> Self {
        let unqualified = Meanings {
            schema: None,
            ..meanings
        };
        let canonical = Canonical::of(&text, unqualified);
        let qualified = meanings.schema.map(|_| Canonical::of(&text, meanings));
        let folded = fold(&text);
        Self(Arc::new(Texts {
            written: (folded != text).then_some(text),
            text: folded,
            canonical,
            qualified,
            rows: OnceLock::new(),
            shape: OnceLock::new(),
        }))
    }

    /// As written.
    pub(crate) fn written(&self) -> &str {
        self.0.written.as_ref().unwrap_or(&self.0.text)
    }

    /// The statement in a session in which names mean this.
    #[must_use]
    pub(crate) fn in_session(&self, meanings: Meanings<'_>) -> Self {
        Self::new(self.written().to_owned(), meanings)
    }

    /// Where a part is found in it, if anywhere: names as PostgreSQL resolves them, and
    /// not in what is only said, defined or explained.
    pub fn find(&self, part: &Self) -> Option<Found> {
        let wanted = &part.0.canonical;
        let Some(qualified) = &self.0.qualified else {
            return self.0.canonical.find(wanted);
        };
        qualified.find(wanted).or_else(|| {
            let found = self.0.canonical.find(wanted)?;
            Some(match found {
                Found::Main if wanted.is_unqualified() => Found::Unqualified,
                found => found,
            })
        })
    }

    /// Whether a block of code that it executes contains a part.
    pub fn hides(&self, part: &Self) -> bool {
        let mut words = self.0.text.split(' ');
        let block = words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("do"));
        block
            && self
                .literals()
                .iter()
                .any(|code| Self::from(code.as_str()).find(part).is_some())
    }

    /// The rows of its `VALUES`; none when it has no such list.
    pub fn values(&self) -> &[Vec<Cell>] {
        &self.rows().values
    }

    /// Its literals, in order.
    pub fn literals(&self) -> &[String] {
        &self.rows().literals
    }

    /// Whether rows are made of the elements of a list.
    pub fn takes_lists_apart(&self) -> bool {
        self.rows().takes_lists_apart
    }

    /// Its shape, which is made of what is written the first time that it is asked for.
    pub(crate) fn shape(&self, make: fn(&str) -> String) -> &str {
        self.0.shape.get_or_init(|| make(self.written()))
    }

    fn rows(&self) -> &Rows {
        self.0.rows.get_or_init(|| Rows::of(self.written()))
    }
}

impl Deref for Sql {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl PartialEq for Sql {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
            && self.0.canonical == other.0.canonical
            && self.0.qualified == other.0.qualified
    }
}

impl Eq for Sql {}

impl From<String> for Sql {
    fn from(text: String) -> Self {
        Self::new(text, Meanings::default())
    }
}

impl From<&str> for Sql {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// The text with every run of white space folded to one blank.
fn fold(sql: &str) -> String {
    let mut folded = String::with_capacity(sql.len());
    for word in sql.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}
