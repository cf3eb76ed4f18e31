//! What the scenario's own steps came to, for whoever has the history alone.

use super::totals::last_counted;
use super::{Evidence, Finding, Judgement, Verdict, Violation, count, judge};
use crate::history::Event;

/// The name under which what the steps found stands among broken rules.
const NAME: &str = "the scenario's own steps";

/// Judges a whole history together with what its scenario concluded. As ever, a broken
/// rule outweighs an error, and an error what is unproven.
pub fn judge_concluded(evidence: Evidence<'_>) -> Judgement {
    let mut judgement = judge(evidence);
    judgement.errors.extend(miscounted(evidence));
    let concluded = evidence
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::Concluded { verdict, reasons } => Some((entry.seq, verdict, reasons)),
            _ => None,
        });
    if let Some((seq, verdict, reasons)) = concluded {
        conclude(&mut judgement, seq, verdict, reasons);
    }
    judgement.verdict = Verdict::of(&judgement);
    judgement
}

/// Adds what the steps came to.
fn conclude(judgement: &mut Judgement, seq: u64, verdict: &str, reasons: &[String]) {
    let told = if reasons.is_empty() {
        "they did not say why".to_owned()
    } else {
        reasons.join("; ")
    };
    let found = Finding::shown(format!("{NAME}: {told}"), vec![seq]);
    match verdict {
        "passed" => {}
        // What the steps missed may be what the harness did not see.
        "failed" if !judgement.doubts.is_empty() => judgement.errors.push(found),
        "failed" => judgement.violations.push(Violation {
            invariant: NAME,
            text: told,
            evidence: vec![seq],
        }),
        "unproven" | "interrupted" => judgement.unproven.push(found),
        _ => judgement.errors.push(found),
    }
}

/// Figures of the last snapshot that are not what the entries before them come to, by this
/// manifest.
fn miscounted(evidence: Evidence<'_>) -> Vec<Finding> {
    let mut errors = Vec::new();
    let witnessed = last_counted(evidence)
        .into_iter()
        .filter_map(|(total, mut sources)| Some((total, sources.remove("witness")?)))
        .flat_map(|(total, labels)| labels.into_iter().map(move |label| (total, label)));
    for (total, (label, (value, seq))) in witnessed {
        let total_of_manifest = evidence.manifest.totals.get(total);
        let Some(witness) = total_of_manifest.and_then(|total| total.witness.as_ref()) else {
            continue;
        };
        let before = evidence.entries.partition_point(|entry| entry.seq < seq);
        let earlier = Evidence {
            entries: &evidence.entries[..before],
            ..evidence
        };
        let counted = count(earlier, witness)
            .get(label)
            .copied()
            .unwrap_or_default();
        if counted != value {
            let text = format!(
                "entry {seq} counts {value} for `{total}`, and the entries before it come to {counted}: the history was altered, or the manifest is another one"
            );
            errors.push(Finding::shown(text, vec![seq]));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    #[test]
    fn a_figure_that_its_own_entries_do_not_come_to_was_altered() {
        let counted = |value| {
            let event = Event::Counted {
                total: "shipments".to_owned(),
                label: None,
                source: "witness".to_owned(),
                value,
            };
            judged(&Story::new().shipped("M1").quiet().then(event), "passed")
        };
        assert_eq!(counted(1).verdict, Verdict::Passed);
        assert_eq!(counted(99).verdict, Verdict::Error);
        assert!(counted(99).errors[0].text.contains("come to 1"));
    }

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
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].text, "the scenario's own steps: why");
    }

    #[test]
    fn a_broken_rule_outweighs_what_the_run_came_to() {
        let story = Story::new().shipped("M1").passed("shipped", "M1").quiet();
        for word in ["passed", "error", "unproven"] {
            assert_eq!(judged(&story, word).verdict, Verdict::Failed, "{word}");
        }
    }
}
