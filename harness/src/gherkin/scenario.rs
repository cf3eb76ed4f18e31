//! One scenario as it runs: background first, placeholders filled in. A row of the
//! examples is a scenario of its own.

use std::ops::Range;
use std::sync::Arc;

use super::problem::FeatureText;
use super::step::StepKind;
use super::table::{DocString, Table};

/// What a feature file says.
#[derive(Clone, Debug)]
pub struct Feature {
    /// The file.
    pub text: Arc<FeatureText>,
    /// Its name.
    pub name: String,
    /// Its scenarios, in order.
    pub scenarios: Vec<Arc<Scenario>>,
}

/// A scenario, or one row of an outline's examples.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file.
    pub text: Arc<FeatureText>,
    /// The feature's name.
    pub feature: String,
    /// The rule it stands under.
    pub rule: Option<String>,
    /// Its name; a row's values follow unless the name already has them.
    pub name: String,
    /// The line that selects it and nothing else.
    pub line: usize,
    /// Its tags and those of what it stands in, without `@`, each once.
    pub tags: Vec<String>,
    /// Its steps, background first.
    pub steps: Vec<StepText>,
    /// Which lines of the file mean it.
    pub(super) extent: Extent,
}

/// The lines that mean a scenario, from the nearest to the widest.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    /// The examples that its row stands in.
    pub(super) examples: Option<Range<usize>>,
    /// The scenario or outline, tags included.
    pub(super) scenario: Range<usize>,
    /// The rule.
    pub(super) rule: Option<Range<usize>>,
}

impl Scenario {
    /// The same under another name, with these steps left out and these set up first.
    #[must_use]
    pub fn altered(
        &self,
        called: &str,
        keeps: impl Fn(usize, &StepText) -> bool,
        given: &[String],
    ) -> Self {
        let set_up = given.iter().map(|text| StepText {
            keyword: "Given".to_owned(),
            kind: StepKind::Given,
            text: text.clone(),
            table: None,
            doc_string: None,
            line: self.line,
            span: 0..0,
            phrase: 0,
            verbatim: false,
        });
        let steps = self.steps.iter().enumerate();
        let kept = steps.filter(|(place, step)| keeps(*place, step));
        Self {
            name: format!("{called}: {}", self.name),
            steps: set_up.chain(kept.map(|(_, step)| step.clone())).collect(),
            ..self.clone()
        }
    }

    /// What selects it on the command line: `features/a.feature:12`.
    pub fn selector(&self) -> String {
        format!("{}:{}", self.text.path, self.line)
    }
}

/// One step as it stands in the feature, placeholders filled in.
#[derive(Clone, Debug)]
pub struct StepText {
    /// The keyword as written: `And`.
    pub keyword: String,
    /// What kind that makes it.
    pub kind: StepKind,
    /// The phrase.
    pub text: String,
    /// Its table.
    pub table: Option<Table>,
    /// Its doc string.
    pub doc_string: Option<DocString>,
    /// Where it stands.
    pub line: usize,
    /// Where exactly.
    pub(super) span: Range<usize>,
    /// Where its text begins, keyword left out.
    pub(super) phrase: usize,
    /// Whether the text is as written, with no placeholder filled in.
    pub(super) verbatim: bool,
}
