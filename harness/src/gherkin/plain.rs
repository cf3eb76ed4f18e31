//! Sentences that are no phrase, and what they mean.

use super::step::StepKind;

/// What a plain sentence means, said as the vocabulary says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meant {
    /// The step to write, and the rows of its table; none where nothing need be written.
    pub say: Vec<String>,
    /// What is to be known about it.
    pub remark: Option<String>,
}

/// Whoever knows what people mean by sentences that are no phrase.
pub trait PlainSentences: Send + Sync {
    /// The sentence as phrases write it: `3 times` for *three times*, `10s` for *10 seconds*.
    fn normal(&self, sentence: &str) -> String;

    /// What a sentence in that form means, if that is known.
    fn meant(&self, kind: StepKind, sentence: &str) -> Option<Meant>;
}

impl Meant {
    /// A step without more.
    pub(super) fn step(step: String) -> Self {
        Self {
            say: vec![step],
            remark: None,
        }
    }

    /// Whether something in it has to be chosen yet.
    pub(super) fn is_open(&self) -> bool {
        self.say.iter().any(|line| line.contains('{'))
    }

    /// As lines of a hint.
    pub(super) fn told(&self) -> String {
        let mut told = String::new();
        match self.say.as_slice() {
            [] => {}
            [step] => told = format!("say `{step}`\n"),
            [step, rows @ ..] => {
                let cells: Vec<String> = rows
                    .iter()
                    .map(|row| row.trim_matches(['|', ' ']).replace(" | ", " "))
                    .map(|row| format!("`{row}`"))
                    .collect();
                let cells = cells.join(" and ");
                let rows = rows.join("\n    ");
                told = format!("say `{step}`, with {cells} in its table:\n  {step}\n    {rows}\n");
            }
        }
        if let Some(remark) = &self.remark {
            told.push_str(remark);
            told.push('\n');
        }
        told
    }
}
