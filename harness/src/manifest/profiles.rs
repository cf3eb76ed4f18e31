//! Reading `profiles`: options of a run under one name.

use super::Profile;
use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::problem::Noun;
use super::table::{Table, choice, list, named_things, number, scalar, wrong_type};
use crate::deployment::DriverKind;

/// Options that say yes or no.
const FLAGS: [&str; 3] = ["real_time", "verbose", "quiet"];
/// Options that count from 1.
const COUNTS: [&str; 3] = ["jobs", "fail_fast", "repeat"];
/// Options that may be given several times.
const LISTS: [&str; 3] = ["tags", "name", "report"];
/// More of anything than this is a slip of the pen.
const MOST: u64 = 100_000;

pub(super) fn read_profiles<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Vec<Profile>> {
    let entries = named_things(cx, node, "`profiles`", Noun::Profile, &[])?;
    let profiles: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| {
            let table = Table::read(cx, node, keys::PROFILE, format!("profile `{name}`"))?;
            let options: Vec<_> = keys::PROFILE
                .keys
                .iter()
                .filter_map(|&key| Some((key, table.get(key)?)))
                .map(|(key, node)| Some((key.to_owned(), read_option(cx, &table, key, node)?)))
                .collect();
            let options: Option<Vec<_>> = options.into_iter().collect();
            Some(Profile {
                name: name.to_owned(),
                options: options?,
            })
        })
        .collect();
    profiles.into_iter().collect()
}

fn read_option<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
    node: &'n Node,
) -> Option<Vec<String>> {
    let what = table.what(key);
    if FLAGS.contains(&key) {
        return match node.value {
            Value::Flag(flag, _) => Some(vec![flag.to_string()]),
            _ => wrong_type(cx, node, what, "true or false"),
        };
    }
    if COUNTS.contains(&key) {
        return Some(vec![number(cx, node, what, (1, MOST))?.to_string()]);
    }
    if LISTS.contains(&key) && matches!(node.value, Value::List(_)) {
        let items = list(cx, node, &what)?.iter();
        let values: Vec<_> = items.map(|item| scalar(cx, item, &what)).collect();
        let values: Option<Vec<_>> = values.into_iter().collect();
        return Some(values?.into_iter().map(str::to_owned).collect());
    }
    let written = scalar(cx, node, &what)?;
    let known: &'static [&'static str] = match key {
        "driver" => DriverKind::ALL,
        "color" => &["auto", "always", "never"],
        _ => return Some(vec![written.to_owned()]),
    };
    choice(cx, node.span, what, written, known).map(|choice| vec![choice.to_owned()])
}
