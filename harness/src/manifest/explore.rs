//! Reading `explore`.

use super::Explore;
use super::context::Context;
use super::keys;
use super::node::Node;
use super::problem::{Defect, Noun};
use super::suggestion::nearest;
use super::table::{Table, list, text};

pub(super) fn read_explore<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Explore> {
    let table = Table::read(cx, node, keys::EXPLORE, "`explore`")?;
    let allowed = read_texts(cx, &table, "allowed", |cx, node, end| {
        if cx.names.ends.contains_key(end) {
            return Some(());
        }
        let known: Vec<&str> = cx.names.ends.keys().copied().collect();
        cx.report(
            node.span,
            Defect::UnknownName {
                noun: Noun::End,
                name: end.to_owned(),
                nearest: nearest(end, known.iter().copied()),
                known: known.iter().map(|&name| name.to_owned()).collect(),
            },
        );
        None
    });
    // Tables are known only once a database is prepared: exploring says which are not there.
    let ignore = read_texts(cx, &table, "ignore", |_, _, _| Some(()));
    Some(Explore {
        allowed: allowed?,
        ignore: ignore?,
    })
}

fn read_texts<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
    check: impl Fn(&mut Context<'n>, &'n Node, &str) -> Option<()>,
) -> Option<Vec<String>> {
    let Some(node) = table.get(key) else {
        return Some(Vec::new());
    };
    let what = table.what(key);
    let texts: Vec<_> = list(cx, node, &what)?
        .iter()
        .map(|item| {
            let written = text(cx, item, &what)?;
            check(cx, item, written)?;
            Some(written.to_owned())
        })
        .collect();
    texts.into_iter().collect()
}
