//! Reading tables that serve as queues, and the profiles that describe those of a library.

use std::collections::BTreeMap;
use std::fs;

use indexmap::IndexMap;
use serde::Deserialize;

use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::problem::{Defect, Noun};
use super::table::{Table, named_things, text};
use crate::protocol::table::TableQueue;

/// What is known of libraries, by the name of the file.
const BUILT_IN: [&str; 4] = [
    include_str!("queue_profiles/graphile_worker.yaml"),
    include_str!("queue_profiles/pgmq.yaml"),
    include_str!("queue_profiles/pgqueuer.yaml"),
    include_str!("queue_profiles/procrastinate.yaml"),
];

/// What a profile says of a queue; the manifest's own words go before it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    table: Option<String>,
    id: Option<String>,
    #[serde(rename = "where")]
    only: Option<String>,
    waiting: Option<String>,
    in_hand: Option<String>,
    due: Option<String>,
    claim: Option<String>,
    calls: Option<Words>,
    put: Option<String>,
    expire: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

type Profiles = BTreeMap<String, Profile>;

pub(super) fn read_queues<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
) -> Option<IndexMap<String, TableQueue>> {
    let entries = named_things(cx, node, title, Noun::Queue, &[])?;
    let names: Vec<_> = entries.iter().map(|&(name, _)| name).collect();
    let queues: Vec<_> = entries
        .iter()
        .map(|&(name, node)| Some((name.to_owned(), read_queue(cx, name, node, &names)?)))
        .collect();
    queues.into_iter().collect()
}

fn read_queue<'n>(
    cx: &mut Context<'n>,
    name: &str,
    node: &'n Node,
    names: &[&str],
) -> Option<TableQueue> {
    let table = Table::read(cx, node, keys::TABLE_QUEUE, format!("queue `{name}`"))?;
    let profile = match table.text(cx, "uses")? {
        None => Profile::default(),
        Some((uses, span)) => match profile(cx, uses) {
            Ok(profile) => profile,
            Err(why) => {
                let uses = uses.to_owned();
                cx.report(span, Defect::QueueProfile { uses, why });
                return None;
            }
        },
    };
    let own = |cx: &mut Context<'n>, key: &'static str| -> Option<Option<String>> {
        Some(table.text(cx, key)?.map(|(text, _)| text.to_owned()))
    };
    let needed = |cx: &mut Context<'n>, key: &'static str, of_profile: Option<String>| match (
        own(cx, key)?,
        of_profile,
    ) {
        (Some(own), _) => Some(own),
        (None, Some(of_profile)) => Some(of_profile),
        (None, None) => table.need_text(cx, key).map(|(text, _)| text.to_owned()),
    };
    let calls = match table.get("calls") {
        Some(node) => Some(read_words(cx, node, &table.what("calls"))?),
        None => profile.calls.map(|words| match words {
            Words::One(word) => vec![word],
            Words::Several(words) => words,
        }),
    };
    let dead_letter = match table.text(cx, "dead_letter")? {
        None => None,
        Some((queue, span)) => {
            cx.one_of(span, Noun::Queue, queue, names)?;
            if queue == name {
                let queue = queue.to_owned();
                cx.report(span, Defect::OwnDeadLetter { queue });
                return None;
            }
            Some(queue.to_owned())
        }
    };
    let put = own(cx, "put")?.or(profile.put);
    if put.is_none() {
        cx.without_put.insert(name.to_owned());
    }
    Some(TableQueue {
        table: needed(cx, "table", profile.table)?,
        waiting: needed(cx, "waiting", profile.waiting)?,
        id: own(cx, "id")?.or(profile.id).unwrap_or("id".to_owned()),
        only: own(cx, "where")?.or(profile.only),
        in_hand: own(cx, "in_hand")?.or(profile.in_hand),
        due: own(cx, "due")?.or(profile.due),
        claim: own(cx, "claim")?.or(profile.claim),
        calls: calls.unwrap_or_default(),
        put,
        expire: own(cx, "expire")?.or(profile.expire),
        dead_letter,
    })
}

/// One text, or a list of them.
fn read_words<'n>(cx: &mut Context<'n>, node: &'n Node, what: &str) -> Option<Vec<String>> {
    let nodes = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let words: Vec<_> = nodes
        .iter()
        .map(|node| text(cx, node, what).map(str::to_owned))
        .collect();
    words.into_iter().collect()
}

/// A profile by its name: one that is built in, or `FILE#NAME`, relative to the manifest.
fn profile(cx: &Context<'_>, uses: &str) -> Result<Profile, String> {
    if let Some((file, name)) = uses.split_once('#') {
        let path = cx.root.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let profiles: Profiles = serde_yaml::from_str(&text)
            .map_err(|error| format!("{} describes no queues: {error}", path.display()))?;
        return named(&profiles, name);
    }
    named(&built_in(), uses)
}

fn named(profiles: &Profiles, name: &str) -> Result<Profile, String> {
    profiles.get(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
        format!("there is no such profile; there are {}", known.join(", "))
    })
}

fn built_in() -> Profiles {
    let read = |text: &&str| -> Profiles {
        serde_yaml::from_str(text).expect("the profiles that are built in are tested")
    };
    BUILT_IN.iter().flat_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_that_is_built_in_describes_a_queue() {
        let profiles = built_in();
        assert!(profiles.contains_key("procrastinate"));
        for (name, profile) in profiles {
            assert!(profile.waiting.is_some(), "{name}");
            assert!(profile.table.is_some() || name == "pgmq", "{name}");
        }
    }
}
