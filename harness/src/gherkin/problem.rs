//! What is wrong with a feature file: what, where, and how to mend it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use super::parameter::NotAValue;
use super::plain::Meant;
use super::step::StepKind;

/// The text of a feature file, as the parser got it.
#[derive(Debug)]
pub struct FeatureText {
    /// The path as the user gave it.
    pub path: String,
    /// The content, without a byte order mark.
    pub text: String,
    /// Where each line begins.
    starts: Vec<usize>,
    source: NamedSource<String>,
}

impl FeatureText {
    /// Keeps a text with its path. A byte order mark is taken off; the parser would
    /// stumble over it.
    pub fn new(path: impl Into<String>, text: &str) -> Arc<Self> {
        let (path, text) = (path.into(), text.strip_prefix('\u{feff}').unwrap_or(text));
        let source = NamedSource::new(&path, text.to_owned());
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Arc::new(Self {
            path,
            text: text.to_owned(),
            starts,
            source,
        })
    }

    /// The line of a position, from 1.
    pub fn line(&self, position: usize) -> usize {
        self.starts.partition_point(|&start| start <= position)
    }

    /// The lines from this one on (from 1), without their ends.
    pub(super) fn lines_from(&self, line: usize) -> impl Iterator<Item = &str> {
        let start = self.starts.get(line.saturating_sub(1));
        let rest = start.map_or("", |&start| &self.text[start..]);
        rest.lines()
    }

    /// Where a line's text stands, white space at its edges left out.
    pub(super) fn span(&self, line: usize) -> Range<usize> {
        let Some(&start) = self.starts.get(line.saturating_sub(1)) else {
            return self.text.len()..self.text.len();
        };
        let content = self.lines_from(line).next().unwrap_or_default();
        let indent = content.len() - content.trim_start().len();
        start + indent..(start + content.trim_end().len()).max(start + indent)
    }
}

/// One problem of a feature file.
#[derive(Debug)]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// The file.
    pub text: Arc<FeatureText>,
    /// Where in the file.
    pub span: Range<usize>,
}

impl Problem {
    pub(super) fn at_line(text: &Arc<FeatureText>, line: usize, kind: ProblemKind) -> Self {
        Self {
            kind,
            text: Arc::clone(text),
            span: text.span(line),
        }
    }

    /// The place as a user types it: `features/a.feature:12`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.text.path, self.text.line(self.span.start))
    }
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ProblemKind {
    /// The parser does not understand this line.
    #[error("this line is no Gherkin here")]
    Unreadable {
        /// How to mend it, where the line tells.
        help: Option<String>,
    },
    /// The language that the file asks for is unknown.
    #[error("the language of the file is not supported")]
    Language,
    /// No `Feature:` at all.
    #[error("there is no feature in the file")]
    NoFeature,
    /// A row of another width than the table's first.
    #[error("the row has {cells} cells, the table's first row has {expected}")]
    UnevenRow {
        /// How many it has.
        cells: usize,
        /// How many the first has.
        expected: usize,
    },
    /// Examples without a row.
    #[error("the examples have a heading but no row, so nothing would run")]
    NoRows,
    /// An outline without examples.
    #[error("the outline has no examples, so nothing would run")]
    NoExamples,
    /// A placeholder that no column fills.
    #[error("the examples have no column `{name}`")]
    NoColumn {
        /// The placeholder.
        name: String,
        /// The column that reads most like it.
        nearest: Option<String>,
    },
    /// Nothing to do.
    #[error("the scenario has no steps, so it would pass without doing anything")]
    NoSteps,
    /// A step whose keyword is misspelt counts as description.
    #[error("this line would be taken as description: its keyword is not `{keyword}`")]
    Keyword {
        /// The keyword that was probably meant.
        keyword: String,
    },
    /// A heading that is misspelt counts as description.
    #[error("this line would be taken as description: it begins with no `{keyword}:`")]
    Heading {
        /// The heading that was probably meant.
        keyword: &'static str,
    },
    /// No phrase fits.
    #[error("no step of the vocabulary reads `{text}`")]
    Undefined {
        /// The step.
        text: String,
        /// Where it stands.
        kind: StepKind,
        /// The phrases that read most like it, the nearest first.
        nearest: Vec<String>,
        /// What it means, if that is known.
        meant: Option<Meant>,
    },
    /// Several phrases fit.
    #[error("several steps of the vocabulary read `{text}`")]
    Ambiguous {
        /// The step.
        text: String,
        /// The phrases.
        phrases: Vec<String>,
    },
    /// The phrase may not stand here.
    #[error("`{text}` is a {is} step; here it stands as {stands}")]
    OtherKind {
        /// The step.
        text: String,
        /// What it is.
        is: StepKind,
        /// What it stands as.
        stands: StepKind,
    },
    /// A name that is not known.
    #[error("unknown {kind} `{text}`")]
    UnknownName {
        /// What it should name.
        kind: String,
        /// The name.
        text: String,
        /// The name that reads most like it.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A value that cannot be read.
    #[error("`{text}` is no {kind}")]
    BadValue {
        /// What it should be.
        kind: String,
        /// The text.
        text: String,
        /// What it should look like.
        form: &'static str,
    },
    /// A check of the whole scenario found it.
    #[error("{message}")]
    Complaint {
        /// What is wrong.
        message: String,
        /// How to mend it.
        help: Option<String>,
    },
}

impl ProblemKind {
    pub(super) fn wrong_value(kind: String, text: String, reason: NotAValue) -> Self {
        match reason {
            NotAValue::Unknown { nearest, known } => Self::UnknownName {
                kind,
                text,
                nearest,
                known,
            },
            NotAValue::Form(form) => Self::BadValue { kind, text, form },
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { help } => help.clone().unwrap_or_else(|| {
                "a step begins with Given, When, Then, And or But; what stands before the first \
                 `Feature:` can only be tags and comments"
                    .to_owned()
            }),
            Self::Language => "write `# language: en`, or another that Gherkin has".to_owned(),
            Self::NoFeature => "begin the file with `Feature: …`".to_owned(),
            Self::UnevenRow { .. } => {
                "give each row of a table as many cells as its first".to_owned()
            }
            Self::NoRows => "add a row for each example, or take the examples away".to_owned(),
            Self::NoExamples => {
                "add `Examples:` with a heading and rows, or call it `Scenario`".to_owned()
            }
            Self::NoColumn { nearest, .. } => meant(nearest.as_deref())
                .unwrap_or_else(|| "add the column to the examples' heading".to_owned()),
            Self::NoSteps => "add steps, or take the scenario away".to_owned(),
            Self::Keyword { keyword } => format!("write `{keyword} …`"),
            Self::Heading { keyword } => format!("write `{keyword}: …`"),
            Self::Undefined { nearest, meant, .. } => {
                let told = meant.as_ref().map_or_else(String::new, Meant::told);
                let meant = match nearest.as_slice() {
                    [] => String::new(),
                    [nearest] => format!("the nearest phrase is `{nearest}`\n"),
                    [first, others @ ..] => {
                        let others = others.iter().map(|other| format!("\n  or `{other}`"));
                        let others: String = others.collect();
                        format!("the nearest phrase is `{first}`{others}\n")
                    }
                };
                format!(
                    "{told}{meant}`rehearse steps` lists all phrases, `rehearse steps WORD` searches them"
                )
            }
            Self::Ambiguous { phrases, .. } => {
                let mut lines = vec!["say it so that only one of these is meant:".to_owned()];
                lines.extend(phrases.iter().map(|phrase| format!("- `{phrase}`")));
                lines.join("\n")
            }
            Self::OtherKind { is, .. } => format!("put it where a {is} step belongs"),
            Self::UnknownName {
                kind,
                nearest,
                known,
                ..
            } => {
                let all = if known.is_empty() {
                    format!("no {kind} is known")
                } else {
                    format!("known are {}", quoted(known))
                };
                match meant(nearest.as_deref()) {
                    Some(meant) => format!("{meant} ({all})"),
                    None => all,
                }
            }
            Self::BadValue { form, .. } => format!("write {form}"),
            Self::Complaint { help, .. } => help.clone()?,
        })
    }

    fn label(&self) -> &'static str {
        match self {
            Self::Unreadable { .. }
            | Self::Keyword { .. }
            | Self::Heading { .. }
            | Self::NoFeature => "this line",
            Self::Language | Self::Complaint { .. } => "here",
            Self::UnevenRow { .. } => "this row",
            Self::NoRows => "these examples",
            Self::NoExamples | Self::NoSteps => "this scenario",
            Self::NoColumn { .. } => "this placeholder",
            Self::Undefined { .. } | Self::Ambiguous { .. } | Self::OtherKind { .. } => "this step",
            Self::UnknownName { .. } => "this name",
            Self::BadValue { .. } => "this value",
        }
    }
}

fn meant(nearest: Option<&str>) -> Option<String> {
    nearest.map(|nearest| format!("did you mean `{nearest}`?"))
}

fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    if names.len() > SHOWN {
        shown.push(format!("and {} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.kind
            .help()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = self.kind.label().to_owned();
        let label = LabeledSpan::new(Some(label), self.span.start, self.span.len());
        Some(Box::new(std::iter::once(label)))
    }
}

/// All problems of the selected features.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{}", count(.problems.len()))]
pub struct Problems {
    /// Each of them.
    #[related]
    pub problems: Vec<Problem>,
}

fn count(problems: usize) -> String {
    match problems {
        1 => "there is a problem in the features; nothing was started".to_owned(),
        more => format!("there are {more} problems in the features; nothing was started"),
    }
}
