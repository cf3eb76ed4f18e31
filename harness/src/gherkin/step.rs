//! A step of the vocabulary: a phrase, what it means, and what it does.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use futures::future::LocalBoxFuture;

use super::arguments::Arguments;
use super::error::StepError;
use super::table::{DocString, Table};

/// Where in a scenario a phrase may stand. `And` and `But` take the kind of the step
/// before them.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// What holds beforehand.
    Given,
    /// What happens.
    When,
    /// What must be seen.
    Then,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Given => "Given",
            Self::When => "When",
            Self::Then => "Then",
        })
    }
}

/// What runs when a step matches.
pub type Handler<W> = Arc<
    dyn for<'a> Fn(
            &'a mut W,
            Arguments,
            Option<Table>,
            Option<DocString>,
        ) -> LocalBoxFuture<'a, Result<(), StepError>>
        + Send
        + Sync,
>;

/// What speaks against a step, found before anything is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The row of its table that is meant, from 0; none: the step itself.
    pub row: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
}

impl Objection {
    /// The same, about a row of the step's table.
    #[must_use]
    pub fn at(mut self, row: usize) -> Self {
        self.row = Some(row);
        self
    }
}

impl From<StepError> for Objection {
    fn from(error: StepError) -> Self {
        let (message, help) = match error {
            StepError::Invalid { message, help } => (message, help),
            other => (other.to_string(), None),
        };
        Self {
            row: None,
            message,
            help,
        }
    }
}

impl From<Objection> for StepError {
    fn from(objection: Objection) -> Self {
        Self::Invalid {
            message: objection.message,
            help: objection.help,
        }
    }
}

/// What may stand below a step. Whatever else stands there would be ignored, so it is
/// refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// Nothing.
    Nothing,
    /// A table.
    Table,
    /// A text: a doc string.
    Text,
}

impl Below {
    /// What speaks against what stands there.
    pub(super) fn objection(self, table: bool, text: bool) -> Option<Objection> {
        let (stray, takes) = match self {
            Self::Table if text => ("a text", "a table"),
            Self::Text if table => ("a table", "a text"),
            Self::Nothing if table => ("a table", "nothing"),
            Self::Nothing if text => ("a text", "nothing"),
            _ => return None,
        };
        Some(Objection {
            row: None,
            message: format!("{stray} stands below this step, which takes {takes} there"),
            help: Some("it would be ignored: remove it, or use another phrase".to_owned()),
        })
    }
}

/// What a step does to the deployment, for whoever leaves it out to see whether it decides
/// anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deed {
    /// It asks, waits, submits or sets something up.
    #[default]
    Plain,
    /// It does something to the system: a fault.
    Fault,
    /// It belongs to a fault of the same process or dependency, and means nothing without.
    OfFault,
}

/// What looks at a step's values and table before anything is started.
pub type StepCheck = Arc<dyn Fn(&Arguments, Option<&Table>) -> Vec<Objection> + Send + Sync>;

/// One phrase of the vocabulary.
///
/// ```
/// # use rehearsal::gherkin::Step;
/// # struct Deployment { limit: u64 }
/// let step: Step<Deployment> = Step::given("the limit is {int}")
///     .doc("Sets how many failures a job may have.")
///     .example("Given the limit is 3")
///     .group("settings")
///     .run(|world: &mut Deployment, arguments, _table, _doc_string| {
///         Box::pin(async move {
///             world.limit = arguments.count(0)?;
///             Ok(())
///         })
///     });
/// assert_eq!(step.expression, "the limit is {int}");
/// ```
pub struct Step<W> {
    /// Where the phrase may stand.
    pub kind: StepKind,
    /// Further places where it may stand.
    pub also: Vec<StepKind>,
    /// The phrase as a cucumber expression.
    pub expression: String,
    /// Older phrases for the same thing. They stay valid; phrases are an API.
    pub aliases: Vec<String>,
    /// Other words that people use for it: a search and a hint find it by them.
    pub synonyms: Vec<String>,
    /// One line that says what it means.
    pub doc: String,
    /// A line of a feature that uses it, keyword included.
    pub example: String,
    /// The heading it is listed under.
    pub group: String,
    /// Where it is defined.
    pub location: &'static Location<'static>,
    /// What may stand below it.
    pub takes: Below,
    /// What can be said against it before anything is started.
    pub check: Option<StepCheck>,
    /// Whether it is a fault.
    pub deed: Deed,
    /// What it does.
    pub run: Handler<W>,
}

impl<W> Step<W> {
    /// Begins a phrase for what holds beforehand.
    #[track_caller]
    pub fn given(expression: impl Into<String>) -> StepDraft<W> {
        StepDraft::new(StepKind::Given, expression.into(), Location::caller())
    }

    /// Begins a phrase for what happens.
    #[track_caller]
    pub fn when(expression: impl Into<String>) -> StepDraft<W> {
        StepDraft::new(StepKind::When, expression.into(), Location::caller())
    }

    /// Begins a phrase for what must be seen.
    #[track_caller]
    pub fn then(expression: impl Into<String>) -> StepDraft<W> {
        StepDraft::new(StepKind::Then, expression.into(), Location::caller())
    }

    /// Whether the phrase may stand there.
    pub fn may_be(&self, kind: StepKind) -> bool {
        self.kind == kind || self.also.contains(&kind)
    }
}

impl<W> Clone for Step<W> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            also: self.also.clone(),
            expression: self.expression.clone(),
            aliases: self.aliases.clone(),
            synonyms: self.synonyms.clone(),
            doc: self.doc.clone(),
            example: self.example.clone(),
            group: self.group.clone(),
            location: self.location,
            takes: self.takes,
            check: self.check.clone(),
            deed: self.deed,
            run: Arc::clone(&self.run),
        }
    }
}

impl<W> fmt::Debug for Step<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.expression, self.location)
    }
}

/// A step that does not say yet what it does.
#[must_use = "a draft becomes a step with `run`"]
pub struct StepDraft<W> {
    world: PhantomData<fn(&mut W)>,
    kind: StepKind,
    also: Vec<StepKind>,
    expression: String,
    aliases: Vec<String>,
    synonyms: Vec<String>,
    doc: String,
    example: String,
    group: String,
    location: &'static Location<'static>,
    takes: Below,
    check: Option<StepCheck>,
    deed: Deed,
}

impl<W> StepDraft<W> {
    fn new(kind: StepKind, expression: String, location: &'static Location<'static>) -> Self {
        Self {
            world: PhantomData,
            kind,
            also: Vec::new(),
            expression,
            aliases: Vec::new(),
            synonyms: Vec::new(),
            doc: String::new(),
            example: String::new(),
            group: String::new(),
            location,
            takes: Below::Nothing,
            check: None,
            deed: Deed::Plain,
        }
    }

    /// Lets the phrase stand in another place too.
    pub fn also(mut self, kind: StepKind) -> Self {
        self.also.push(kind);
        self
    }

    /// Keeps an older phrase valid, or accepts another one that can only mean this.
    pub fn alias(mut self, expression: impl Into<String>) -> Self {
        self.aliases.push(expression.into());
        self
    }

    /// Names other words that people use for it, with blanks between them.
    pub fn known_as(mut self, words: &str) -> Self {
        let words = words.split_whitespace().map(str::to_owned);
        self.synonyms.extend(words);
        self
    }

    /// Says in one line what it means.
    pub fn doc(mut self, doc: impl Into<String>) -> Self {
        self.doc = doc.into();
        self
    }

    /// Shows a line of a feature that uses it, keyword included.
    pub fn example(mut self, example: impl Into<String>) -> Self {
        self.example = example.into();
        self
    }

    /// Names the heading it is listed under.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = group.into();
        self
    }

    /// Lets a table stand below it.
    pub fn table(mut self) -> Self {
        self.takes = Below::Table;
        self
    }

    /// Lets a text (a doc string) stand below it.
    pub fn text(mut self) -> Self {
        self.takes = Below::Text;
        self
    }

    /// Says what can be said against it before anything is started.
    pub fn checked(
        mut self,
        check: impl Fn(&Arguments, Option<&Table>) -> Vec<Objection> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// Says that it does something to the system.
    pub fn a_fault(mut self) -> Self {
        self.deed = Deed::Fault;
        self
    }

    /// Says that it means nothing without a fault of the same process or dependency.
    pub fn of_a_fault(mut self) -> Self {
        self.deed = Deed::OfFault;
        self
    }

    /// Says what it does.
    pub fn run<F>(self, run: F) -> Step<W>
    where
        F: for<'a> Fn(
                &'a mut W,
                Arguments,
                Option<Table>,
                Option<DocString>,
            ) -> LocalBoxFuture<'a, Result<(), StepError>>
            + Send
            + Sync
            + 'static,
    {
        Step {
            kind: self.kind,
            also: self.also,
            expression: self.expression,
            aliases: self.aliases,
            synonyms: self.synonyms,
            doc: self.doc,
            example: self.example,
            group: self.group,
            location: self.location,
            takes: self.takes,
            check: self.check,
            deed: self.deed,
            run: Arc::new(run),
        }
    }
}
