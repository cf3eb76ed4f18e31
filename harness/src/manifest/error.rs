//! Everything that is wrong with one manifest, ready to be shown.

use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};

use super::problem::Problem;
use super::source::Spot;

/// A manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read the manifest `{}`: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds mistakes: all of them.
    #[error(transparent)]
    Invalid(Box<Invalid>),
}

impl ManifestError {
    /// The mistakes in the file, in the order of their places.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Unreadable { .. } => &[],
            Self::Invalid(invalid) => &invalid.problems,
        }
    }

    /// All of it as plain text. Each mistake is one line: file, line and column, what is
    /// wrong, how to mend it.
    pub fn plain(&self) -> String {
        let mut text = self.to_string();
        if let Self::Invalid(invalid) = self {
            for problem in &invalid.problems {
                let Spot { line, column, .. } = problem.spot;
                let (name, mending) = (&invalid.name, problem.defect.mending());
                // Writing to a String cannot fail.
                let _ = write!(text, "\n{name}:{line}:{column}: {problem}; {mending}");
            }
        }
        text
    }
}

impl Diagnostic for ManifestError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            Self::Unreadable { source, .. } => Some(Box::new(match source.kind() {
                io::ErrorKind::NotFound => {
                    "go to the directory that has it, or give its path; docs/manifest.md shows \
                     what belongs in it"
                }
                io::ErrorKind::InvalidData => "save it as UTF-8",
                io::ErrorKind::PermissionDenied => "make it readable for this user",
                _ => "give the path of a readable file",
            })),
            Self::Invalid(invalid) => invalid.help(),
        }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Unreadable { .. } => None,
            Self::Invalid(invalid) => invalid.source_code(),
        }
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self {
            Self::Unreadable { .. } => None,
            Self::Invalid(invalid) => invalid.related(),
        }
    }
}

/// The mistakes in a manifest, with its text.
#[derive(Debug)]
pub struct Invalid {
    /// The mistakes, in the order of their places. Never empty.
    pub problems: Vec<Problem>,
    name: String,
    text: NamedSource<String>,
}

impl Invalid {
    /// `text` must be safe to show.
    pub(super) fn new(name: String, text: String, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.spot);
        let text = NamedSource::new(&name, text).with_language("yaml");
        Self {
            problems,
            name,
            text,
        }
    }
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.problems.len() {
            1 => write!(f, "`{name}` has a mistake"),
            count => write!(f, "`{name}` has {count} mistakes"),
        }
    }
}

impl Diagnostic for Invalid {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems
                .iter()
                .map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.defect.fmt(f)
    }
}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.defect.mending()))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = |spot: Spot, text: &str| {
            let span = SourceSpan::new(spot.span.offset.into(), spot.span.length);
            LabeledSpan::new_primary_with_span(Some(text.to_owned()), span)
        };
        let earlier = self.earlier.map(|spot| {
            let span = SourceSpan::new(spot.span.offset.into(), spot.span.length);
            LabeledSpan::new_with_span(Some("first".to_owned()), span)
        });
        Some(Box::new(
            std::iter::once(label(self.spot, "here")).chain(earlier),
        ))
    }
}
