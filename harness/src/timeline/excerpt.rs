//! The lines of a history that show why a scenario did not pass.

use std::collections::BTreeSet;

use super::{Kind, Line, Weight};
use crate::ids::MessageName;

/// Lines that belong together.
pub struct Excerpt<'l> {
    /// In their order.
    pub lines: Vec<&'l Line>,
    /// Those of them that show it; the others lead there.
    pub cited: BTreeSet<u64>,
}

/// The lines at these entries, and of what happened before to the same messages as much
/// as there is room for. Where no entry shows it, what disturbed the scenario last.
pub fn excerpt<'l>(lines: &'l [Line], cited: &[u64], room: usize) -> Excerpt<'l> {
    let at = |seq: u64| {
        let index = lines.partition_point(|line| line.seq < seq);
        lines.get(index).filter(|line| line.seq == seq)
    };
    let shown: BTreeSet<u64> = cited.iter().copied().collect();
    let shown: Vec<&Line> = shown.into_iter().filter_map(at).collect();
    // The first and the last of many tell as much.
    let shown: Vec<&Line> = if shown.len() > room {
        let (head, tail) = (room / 2, room - room / 2);
        let rest = shown.len() - tail;
        [&shown[..head], &shown[rest..]].concat()
    } else {
        shown
    };
    let cited: BTreeSet<u64> = shown.iter().map(|line| line.seq).collect();
    let messages: BTreeSet<&MessageName> = shown.iter().flat_map(|line| &line.messages).collect();
    let until = cited.last().copied().unwrap_or(u64::MAX);
    let leads = |line: &&Line| {
        line.seq < until
            // The verdict on a death tells them, with more of the output.
            && line.kind != Kind::LastWords
            && !cited.contains(&line.seq)
            && match line.weight {
                Weight::Grave => {
                    line.messages.is_empty() || messages.is_empty() || is_about(line, &messages)
                }
                Weight::Notable => {
                    line.kind != Kind::Step && (messages.is_empty() || is_about(line, &messages))
                }
                _ => false,
            }
    };
    let more = room.saturating_sub(shown.len());
    let leading = lines.iter().rev().filter(leads).take(more);
    let mut lines: Vec<&Line> = shown.iter().copied().chain(leading).collect();
    lines.sort_by_key(|line| line.seq);
    Excerpt { lines, cited }
}

fn is_about(line: &Line, messages: &BTreeSet<&MessageName>) -> bool {
    line.messages
        .iter()
        .any(|message| messages.contains(message))
}
