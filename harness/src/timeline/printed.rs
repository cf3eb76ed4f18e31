//! Lines as a terminal shows them: number, time, who, which message, what.

use super::{Kind, Line, Weight};
use crate::ids::MessageName;

/// How a part of a line stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is cited: it shows why the scenario did not pass.
    Cited,
    /// A death, a fault, an outage, a doubt.
    Grave,
    /// A step of the scenario.
    Step,
    /// Where a message goes.
    Notable,
    /// A call, or a detail.
    Dim,
}

/// Who and which messages are at most so wide.
const WIDEST: usize = 18;

/// Prints lines below each other. Those that are cited begin with `▶`, deaths, faults and
/// doubts with `!`.
pub fn printed(
    lines: &[&Line],
    is_cited: impl Fn(u64) -> bool,
    paint: impl Fn(Mark, &str) -> String,
) -> Vec<String> {
    let widest = |of: &dyn Fn(&Line) -> usize| {
        let widths = lines.iter().map(|line| of(line).min(WIDEST));
        widths.max().unwrap_or_default()
    };
    let number = lines.last().map_or(1, |line| line.seq.to_string().len());
    let who = widest(&|line| line.who.chars().count());
    let messages = widest(&|line| about(line).chars().count());
    let mut printed = Vec::with_capacity(lines.len());
    for line in lines {
        let cited = is_cited(line.seq);
        let sign = match line.weight {
            _ if cited => "▶",
            Weight::Grave => "!",
            _ => " ",
        };
        let text = format!(
            "{sign} {:>number$}  {:>8}  {:<who$}  {:<messages$}  {}",
            line.seq,
            seconds(line.at_us),
            line.who,
            about(line),
            line.what
        );
        let mark = match line.weight {
            _ if cited => Mark::Cited,
            Weight::Grave => Mark::Grave,
            _ if line.kind == Kind::Step => Mark::Step,
            Weight::Notable => Mark::Notable,
            Weight::Plain | Weight::Noise => Mark::Dim,
        };
        printed.push(paint(mark, text.trim_end()));
    }
    printed
}

fn about(line: &Line) -> String {
    const MOST: usize = 3;
    let names: Vec<&str> = line.messages.iter().map(MessageName::as_str).collect();
    match names.len() {
        0..=MOST => names.join(","),
        more => format!("{},+{}", names[..MOST - 1].join(","), more - MOST + 1),
    }
}

fn seconds(at_us: u64) -> String {
    let millis = at_us / 1_000;
    format!("{}.{:03} s", millis / 1_000, millis % 1_000)
}
