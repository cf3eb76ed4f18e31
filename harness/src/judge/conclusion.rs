//! What the scenario's own steps came to, for whoever has the history alone.

use super::{Evidence, Judgement, Verdict, Violation, judge};
use crate::history::Event;

/// The name under which what the steps found stands among broken rules.
const NAME: &str = "the scenario's own steps";

/// Judges a whole history together with what its scenario concluded. As ever, a broken
/// rule outweighs an error, and an error what is unproven.
pub fn judge_concluded(evidence: Evidence<'_>) -> Judgement {
    let mut judgement = judge(evidence);
    let concluded = evidence
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::Concluded { verdict, reasons } => Some((entry.seq, verdict, reasons)),
            _ => None,
        });
    let Some((seq, verdict, reasons)) = concluded else {
        return judgement;
    };
    let told = if reasons.is_empty() {
        "they did not say why".to_owned()
    } else {
        reasons.join("; ")
    };
    let found = format!("{NAME}: {told}");
    match verdict.as_str() {
        "passed" => {}
        "failed" => judgement.violations.push(Violation {
            invariant: NAME,
            text: told,
            evidence: vec![seq],
        }),
        "unproven" | "interrupted" => judgement.unproven.push(found),
        _ => judgement.errors.push(found),
    }
    judgement.verdict = Verdict::of(
        &judgement.violations,
        &judgement.errors,
        &judgement.unproven,
    );
    judgement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    fn judged(story: &Story, verdict: &str) -> Judgement {
        let story = story.clone().then(Event::Concluded {
            verdict: verdict.to_owned(),
            reasons: vec!["why".to_owned()],
        });
        judge_concluded(Evidence {
            manifest: &MANIFEST,
            entries: &story.entries(),
        })
    }

    #[test]
    fn a_history_without_blemish_is_no_better_than_its_run() {
        let story = Story::new().shipped("M1").quiet();
        for (word, verdict) in [
            ("passed", Verdict::Passed),
            ("failed", Verdict::Failed),
            ("error", Verdict::Error),
            ("invalid", Verdict::Error),
            ("something new", Verdict::Error),
            ("unproven", Verdict::Unproven),
            ("interrupted", Verdict::Unproven),
        ] {
            assert_eq!(judged(&story, word).verdict, verdict, "{word}");
        }
        let told = judged(&story, "error").errors;
        assert_eq!(told, ["the scenario's own steps: why"]);
    }

    #[test]
    fn a_broken_rule_outweighs_what_the_run_came_to() {
        let story = Story::new().shipped("M1").passed("shipped", "M1").quiet();
        for word in ["passed", "error", "unproven"] {
            assert_eq!(judged(&story, word).verdict, Verdict::Failed, "{word}");
        }
    }
}
