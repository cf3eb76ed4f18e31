//! Reading `findings`: what a system may do and be right all the same.

use super::Findings;
use super::context::Context;
use super::keys;
use super::node::Node;
use super::table::{Table, choice, text};

/// What a finding makes of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// It is not looked for.
    Off,
    /// It is told, and the scenario passes.
    #[default]
    Warn,
    /// The scenario fails.
    Fail,
}

impl Level {
    const ALL: &'static [&'static str] = &["off", "warn", "fail"];
}

pub(super) fn read_findings<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Findings> {
    let table = Table::read(cx, node, keys::FINDINGS, "`findings`")?;
    let mut level = |key: &'static str| {
        let Some(node) = table.get(key) else {
            return Some(Level::default());
        };
        let what = table.what(key);
        let written = text(cx, node, &what)?;
        Some(match choice(cx, node.span, what, written, Level::ALL)? {
            "off" => Level::Off,
            "fail" => Level::Fail,
            _ => Level::Warn,
        })
    };
    let two_owners = level("two_owners");
    let redelivery = level("redelivery");
    let finished_dead_letter = level("finished_dead_letter");
    Some(Findings {
        two_owners: two_owners?,
        redelivery: redelivery?,
        finished_dead_letter: finished_dead_letter?,
    })
}
