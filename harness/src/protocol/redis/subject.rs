//! Whom calls concern: which stages they pass, with which ids.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::call::{RedisReply, RedisRequest};
use super::command::Command;
use super::elements::Part;
use super::key::KeyPattern;
use super::value::Value;
use super::view::Item;
use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Manifest, Pattern, Place, Protocol, Recognise, Stage};
use crate::place;
use crate::protocol::concern::{Concerns, Wire};
use crate::stage::{Subject, WITHIN, text_with_ids};
use crate::tap::Reply;

impl Concerns for RedisRequest {
    fn ids(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<String> {
        ids(manifest, dependency, self)
    }

    fn together(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Vec<String>> {
        let subjects = subjects(manifest, dependency, self, None).into_iter();
        let named = subjects.map(|subject| subject.ids.into_iter());
        named
            .map(|ids| ids.filter(|id| !id.starts_with(WITHIN)).collect())
            .collect()
    }

    fn concerned(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Subject> {
        subjects(manifest, dependency, self, None)
    }

    fn concerned_after(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        let Reply::Redis(reply) = reply else {
            return Some(self.concerned(manifest, dependency));
        };
        self.effective(reply).next()?;
        Some(subjects(manifest, dependency, self, Some(reply)))
    }

    fn durable_ids(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        reply: &Reply,
    ) -> Vec<String> {
        match reply {
            Reply::Redis(reply) => effective_ids(manifest, dependency, self, reply),
            _ => self.ids(manifest, dependency),
        }
    }

    fn matches(&self, wire: Wire<'_>, pattern: &Pattern) -> bool {
        match pattern {
            // The first receive of a consumer.
            Pattern::Action { queue, .. } => {
                let mut meant = wire.queues.iter().filter(|((dependency, name), _)| {
                    let wanted = queue.as_ref().is_none_or(|queue| queue == name);
                    dependency == wire.dependency && wanted
                });
                meant.any(|(_, name)| asks_of(name, self))
            }
            Pattern::Command { command, key } => {
                let mut commands = self.commands.iter();
                commands.any(|one| is(one, command, key.as_ref()))
            }
            _ => false,
        }
    }

    fn passes_before(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
    ) -> Option<Vec<Subject>> {
        match pattern {
            Pattern::Command { command, key } if !(stage.is_nobodys() && pattern.is_receive()) => {
                passed(wire, stage, (command, key.as_ref()), self, None)
            }
            _ => self
                .matches(wire, pattern)
                .then(|| vec![Subject::default()]),
        }
    }

    fn passes_after(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        let (Pattern::Command { command, key }, Reply::Redis(reply)) = (pattern, reply) else {
            let matches = self.matches(wire, pattern);
            return matches.then(|| self.subjects(wire, stage));
        };
        let passed = passed(wire, stage, (command, key.as_ref()), self, Some(reply));
        if stage.is_nobodys() && pattern.is_receive() {
            return passed.map(|subjects| vec![Subject::of_nobody(subjects)]);
        }
        passed
    }
}

/// Which commands a pattern means.
pub(crate) fn is(command: &Command, name: &str, key: Option<&KeyPattern>) -> bool {
    command.name == name
        && key.is_none_or(|pattern| {
            let mut keys = command.keys().into_iter();
            keys.any(|key| pattern.matches(&String::from_utf8_lossy(key)).is_some())
        })
}

/// The ids of everything that a request names.
pub(crate) fn ids(
    manifest: &Manifest,
    dependency: &DependencyName,
    request: &RedisRequest,
) -> Vec<String> {
    let parts = request.commands.iter().flat_map(Command::parts);
    parts
        .flat_map(|part| part_ids(manifest, dependency, &part))
        .collect()
}

/// The ids of what took effect.
pub(crate) fn effective_ids(
    manifest: &Manifest,
    dependency: &DependencyName,
    request: &RedisRequest,
    reply: &RedisReply,
) -> Vec<String> {
    let parts = request
        .effective(reply)
        .flat_map(|(command, answer)| answered(command, answer));
    parts
        .flat_map(|part| part_ids(manifest, dependency, &part))
        .collect()
}

/// What a command was about, now that it was answered.
fn answered(command: &Command, answer: &Value) -> Vec<Part> {
    if !command.is_receive() {
        return command.parts();
    }
    let received = command.received(answer).into_iter();
    received.map(Part::from).collect()
}

/// One subject for each message that a request may be about.
pub(crate) fn subjects(
    manifest: &Manifest,
    dependency: &DependencyName,
    request: &RedisRequest,
    reply: Option<&RedisReply>,
) -> Vec<Subject> {
    let parts: Vec<Part> = match reply {
        None => request.commands.iter().flat_map(Command::parts).collect(),
        Some(reply) => request
            .effective(reply)
            .flat_map(|(command, answer)| answered(command, answer))
            .collect(),
    };
    parts
        .iter()
        .map(|part| Subject {
            ids: part_ids(manifest, dependency, part),
            ..Subject::default()
        })
        .collect()
}

/// The subjects of the commands that a stage is bound to, if there are any, and if one took
/// effect where an answer is there.
fn passed(
    wire: Wire<'_>,
    stage: &Stage,
    (name, key): (&str, Option<&KeyPattern>),
    request: &RedisRequest,
    reply: Option<&RedisReply>,
) -> Option<Vec<Subject>> {
    let parts: Vec<Vec<Part>> = match reply {
        None => {
            let matching = request.commands.iter().filter(|it| is(it, name, key));
            matching.map(Command::parts).collect()
        }
        Some(reply) => {
            let matching = request.effective(reply).filter(|(it, _)| is(it, name, key));
            matching
                .map(|(command, answer)| answered(command, answer))
                .collect()
        }
    };
    if parts.is_empty() {
        return None;
    }
    let (manifest, dependency) = (wire.manifest, wire.dependency);
    // A transaction is about the messages of all its commands where the matching name none.
    let inherited = if request.transaction {
        ids(manifest, dependency, request)
    } else {
        Vec::new()
    };
    let subject = |part: &Part| Subject {
        ids: part_ids(manifest, dependency, part),
        inherited: inherited.clone(),
        captured: captured(stage, part),
        ..Subject::default()
    };
    let mut subjects: Vec<Subject> = parts.iter().flatten().map(subject).collect();
    // Of a key pattern that names the id only the keys that match are meant.
    if let Some(pattern) = key.filter(|pattern| pattern.has_id()) {
        for (subject, part) in subjects.iter_mut().zip(parts.iter().flatten()) {
            subject.ids.extend(
                part.keys
                    .iter()
                    .filter_map(|key| pattern.matches(&String::from_utf8_lossy(key)).flatten()),
            );
        }
    }
    if subjects.is_empty() && reply.is_none() {
        subjects.push(Subject::default());
    }
    Some(subjects)
}

fn captured(stage: &Stage, part: &Part) -> BTreeMap<String, String> {
    let captures = stage.capture.iter();
    captures
        .filter_map(|(name, place)| match place {
            CapturePlace::Place(place) => {
                let found = at_place(part, place).into_iter().next()?;
                Some((name.clone(), found))
            }
            CapturePlace::Bind(_) => None,
        })
        .collect()
}

/// The ids that stand in one part of a command.
pub(crate) fn part_ids(
    manifest: &Manifest,
    dependency: &DependencyName,
    part: &Part,
) -> Vec<String> {
    let mut ids: Vec<String> = match manifest.messages.recognise.get(dependency) {
        Some(Recognise::AnyValue) => {
            let fields = part.fields.iter().flat_map(|(name, value)| [name, value]);
            let all = part.keys.iter().chain(&part.texts).chain(fields);
            all.map(|text| text_with_ids(text)).collect()
        }
        Some(Recognise::Places(places)) => places
            .iter()
            .flat_map(|place| at_place(part, place))
            .collect(),
        Some(Recognise::Binds(_) | Recognise::AnyBind) | None => Vec::new(),
    };
    if let (Some(entry), Some(key)) = (&part.entry, part.keys.first()) {
        ids.push(entry_id(key, entry));
    }
    ids
}

/// The ids in an element of a queue.
pub(crate) fn ids_in_item(
    manifest: &Manifest,
    dependency: &DependencyName,
    item: &Item,
) -> Vec<String> {
    let part = Part {
        texts: if item.entry.is_none() {
            vec![item.text.clone()]
        } else {
            Vec::new()
        },
        fields: item.fields.clone(),
        ..Part::default()
    };
    part_ids(manifest, dependency, &part)
}

/// An element as a message: its content, and its fields as attributes.
pub(crate) fn as_message(item: &Item) -> serde_json::Value {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let attributes: serde_json::Map<String, serde_json::Value> = item
        .fields
        .iter()
        .map(|(name, value)| {
            (
                text(name),
                serde_json::json!({ "StringValue": text(value) }),
            )
        })
        .collect();
    serde_json::json!({ "Body": text(&item.text), "MessageAttributes": attributes })
}

/// The queues that a request asks for elements, as they are called at their dependency, and
/// for how many at most.
pub(crate) fn asks(
    manifest: &Manifest,
    dependency: &DependencyName,
    request: &RedisRequest,
) -> Vec<(String, u32)> {
    let known = manifest.dependencies.get(dependency);
    let Some(Protocol::Redis { queues }) = known.map(|known| &known.protocol) else {
        return Vec::new();
    };
    let commands = request.commands.iter();
    commands
        .flat_map(|command| {
            let asked = queues.values();
            asked.filter_map(|queue| Some((queue.name(), queue.is_asked_by(command)?)))
        })
        .collect()
}

/// Whether a request asks the queue of this name at its dependency for elements.
pub(crate) fn asks_of(name: &str, request: &RedisRequest) -> bool {
    request.commands.iter().any(|command| {
        let keys = command.keys().into_iter();
        let mut keys = keys.map(|key| String::from_utf8_lossy(key));
        let takes = command.is_receive() || command.name.starts_with("ZRANGE");
        let scripts = ["EVAL", "EVALSHA", "FCALL"].contains(&command.name.as_str());
        (takes || scripts)
            && keys.any(|key| {
                let group = name
                    .strip_prefix(&*key)
                    .and_then(|rest| rest.strip_prefix('/'));
                key == name || group.is_some_and(|group| command.option(group).is_some())
            })
    })
}

/// What an entry of a stream is called: its own id is one of its stream alone.
pub(crate) fn entry_id(key: &[u8], entry: &[u8]) -> String {
    let (key, entry) = (String::from_utf8_lossy(key), String::from_utf8_lossy(entry));
    format!("{key}/{entry}")
}

fn at_place(part: &Part, wanted: &Place) -> Vec<String> {
    let read = |content: &Bytes| place::lookup_content(wanted, content);
    match wanted {
        Place::Body(_) => part.texts.iter().flat_map(read).collect(),
        Place::Attribute(name, _) => {
            let named = part
                .fields
                .iter()
                .filter(|(field, _)| field == name.as_bytes());
            named.flat_map(|(_, value)| read(value)).collect()
        }
        Place::Key(pattern) => {
            let keys = part.keys.iter().map(|key| String::from_utf8_lossy(key));
            keys.filter_map(|key| pattern.matches(&key).flatten())
                .collect()
        }
        Place::Header(..) | Place::Path(_) => Vec::new(),
    }
}
