//! Stages: which calls pass which named points, and with which messages.
//!
//! A stage is bound in the manifest to a boundary of the calls that match a pattern.
//! This file answers, for one call (and its reply), which stages it passes and which
//! ids and captured values stand in it. It knows protocols, not systems.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ids::{DependencyName, Incarnation, RoleName, StageName};
use crate::manifest::{Binding, CapturePlace, Manifest, Pattern, Place, Recognise, Stage, nearest};
use crate::place;
use crate::protocol::{postgres, sqs};
use crate::tap::{Call, Reply, Request, Side, Statement};

/// A value captured under this name is the job's id: known before any client learns it,
/// and where no client ever does.
pub const JOB: &str = "job";

/// What stands before a text that is no id by itself, but may have known ids in it.
pub(crate) const WITHIN: char = '\0';

/// A text in which known ids are sought.
pub(crate) fn text_with_ids(text: &[u8]) -> String {
    format!("{WITHIN}{}", String::from_utf8_lossy(text))
}

/// One passage of a stage, not yet attributed to messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The stage.
    pub stage: StageName,
    /// What stands in the part of the call that matched, one element for each message
    /// it may be about: a batch has several.
    pub subjects: Vec<Subject>,
}

/// What one part of a call says about whom it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Ids that may name a message: job ids, message ids, receipts.
    pub ids: Vec<String>,
    /// Ids in the rest of the transaction, which count where `ids` name no message.
    pub inherited: Vec<String>,
    /// Values picked for the stage.
    pub captured: BTreeMap<String, String>,
    /// What the dependency told of the effect.
    pub effect: Effect,
}

/// What a dependency told of the effect of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// It took place, as far as its protocol tells.
    #[default]
    Whole,
    /// So many rows were written.
    Rows(u64),
    /// A transaction with this statement is durable, and nothing tells whether it wrote, or
    /// which of its rows.
    Untold(String),
}

impl Subject {
    /// What a passage without a message keeps of what it might have been about.
    pub(crate) fn of_nobody(subjects: Vec<Self>) -> Self {
        let captured = subjects.into_iter().next().map(|subject| subject.captured);
        Self {
            captured: captured.unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// The stages that this call passes before it reaches its dependency.
pub fn passed_before(manifest: &Manifest, call: &Call, queues: QueueNames<'_>) -> Vec<Passage> {
    before(
        manifest,
        call,
        bound(manifest, call, Some(Side::Before)),
        queues,
    )
}

/// The stages that this call will pass, wherever they are bound: it has not reached its
/// dependency yet.
pub fn reached_before(manifest: &Manifest, call: &Call, queues: QueueNames<'_>) -> Vec<Passage> {
    before(manifest, call, bound(manifest, call, None), queues)
}

fn before<'m>(
    manifest: &'m Manifest,
    call: &'m Call,
    bound: impl Iterator<Item = Bound<'m>>,
    queues: QueueNames<'_>,
) -> Vec<Passage> {
    let (wire, concerns) = (call.wire(manifest, queues), call.request.concerns());
    bound
        .filter_map(|(name, stage, pattern)| {
            Some(Passage {
                stage: name.clone(),
                subjects: concerns.passes_before(wire, stage, pattern)?,
            })
        })
        .collect()
}

/// The stages that this call passes now that its effect took place.
pub fn passed_after(
    manifest: &Manifest,
    call: &Call,
    reply: &Reply,
    queues: QueueNames<'_>,
) -> Vec<Passage> {
    after(
        manifest,
        call,
        reply,
        bound(manifest, call, Some(Side::After)),
        queues,
    )
}

/// The stages that this call passed, wherever they are bound, now that its effect took
/// place.
pub fn reached_after(
    manifest: &Manifest,
    call: &Call,
    reply: &Reply,
    queues: QueueNames<'_>,
) -> Vec<Passage> {
    after(manifest, call, reply, bound(manifest, call, None), queues)
}

fn after<'m>(
    manifest: &'m Manifest,
    call: &'m Call,
    reply: &Reply,
    bound: impl Iterator<Item = Bound<'m>>,
    queues: QueueNames<'_>,
) -> Vec<Passage> {
    if !reply.took_place() {
        return Vec::new();
    }
    let (wire, concerns) = (call.wire(manifest, queues), call.request.concerns());
    bound
        .filter_map(|(name, stage, pattern)| {
            let subjects = concerns.passes_after(wire, stage, pattern, reply)?;
            let nothing_received = pattern.is_receive() && subjects.is_empty();
            (!nothing_received).then(|| Passage {
                stage: name.clone(),
                subjects,
            })
        })
        .collect()
}

/// The checkpoint stages that this role announces under this name.
pub fn announced<'m>(
    manifest: &'m Manifest,
    incarnation: &Incarnation,
    announcement: &str,
) -> Option<&'m StageName> {
    manifest
        .stages
        .iter()
        .find_map(|(name, stage)| match &stage.binding {
            Binding::Checkpoint(checkpoint)
                if stage.roles.contains(&incarnation.role) && checkpoint == announcement =>
            {
                Some(name)
            }
            _ => None,
        })
}

/// The stages of what a block of code names that a call made durable: it may have passed
/// them, which no wire tells.
pub fn hidden(manifest: &Manifest, call: &Call, reply: &Reply) -> Vec<StageName> {
    let Reply::Postgres(reply) = reply else {
        return Vec::new();
    };
    let hides = |text| {
        let durable = reply.durable.iter();
        durable
            .into_iter()
            .any(|statement| statement.sql.hides(text))
    };
    bound(manifest, call, Some(Side::After))
        .filter(|(_, _, pattern)| matches!(pattern, Pattern::Transaction(text) if hides(text)))
        .map(|(name, _, _)| name.clone())
        .collect()
}

/// Why an announcement of this role is none that [`announced`] knows.
pub fn unannounced(manifest: &Manifest, role: &RoleName, announcement: &str) -> String {
    let checkpoints = || {
        manifest
            .stages
            .iter()
            .filter_map(|(name, stage)| match &stage.binding {
                Binding::Checkpoint(checkpoint) => Some((name, stage, checkpoint.as_str())),
                Binding::Boundary { .. } => None,
            })
    };
    let told = format!("the {role} announced the stage `{announcement}`");
    let others = checkpoints().find(|(_, _, checkpoint)| *checkpoint == announcement);
    if let Some((name, stage, _)) = others {
        let roles: Vec<&str> = stage.roles.iter().map(RoleName::as_str).collect();
        return format!(
            "{told}, which only the {} may announce: add {role} to `process` of stage `{name}`",
            roles.join(" and the ")
        );
    }
    let bound = manifest
        .stages
        .get(&StageName::new(announcement))
        .map(|stage| &stage.binding);
    match bound {
        Some(Binding::Boundary { .. }) => {
            return format!(
                "{told}, which is passed by a call: announce it under another name, or bind it to `checkpoint`"
            );
        }
        Some(Binding::Checkpoint(checkpoint)) => {
            return format!("{told}, which the manifest expects as `{checkpoint}`");
        }
        None => {}
    }
    let own: Vec<&str> = checkpoints()
        .filter(|(_, stage, _)| stage.roles.contains(role))
        .map(|(_, _, checkpoint)| checkpoint)
        .collect();
    match nearest(announcement, own.iter().copied()) {
        Some(nearest) => {
            format!("{told}, which the manifest does not know: did you mean `{nearest}`?")
        }
        None if own.is_empty() => {
            format!("{told}; the manifest has no stage that it announces")
        }
        None => format!(
            "{told}, which the manifest does not know; it announces {}",
            own.join(", ")
        ),
    }
}

/// How queues of the manifest are named at their dependency.
pub type QueueNames<'a> = &'a BTreeMap<(DependencyName, String), String>;

/// All values that a statement spells out.
pub fn values_in(statement: &Statement) -> Vec<String> {
    let rows = postgres::subject::together(std::slice::from_ref(statement));
    rows.into_iter().flatten().collect()
}

/// The ids that one entry of a batch carries.
pub fn ids_of_entry(
    manifest: &Manifest,
    dependency: &DependencyName,
    entry: &Value,
) -> Vec<String> {
    sqs::subject::ids(manifest, dependency, entry)
}

/// The ids in a queue message, as it is sent or received.
pub fn ids_in_message(
    manifest: &Manifest,
    dependency: &DependencyName,
    message: &Value,
) -> Vec<String> {
    let Some(Recognise::Places(places)) = manifest.messages.recognise.get(dependency) else {
        return Vec::new();
    };
    places
        .iter()
        .flat_map(|place| place::lookup_message(place, message))
        .collect()
}

type Bound<'m> = (&'m StageName, &'m Stage, &'m Pattern);

/// The stages of the call's author on this wire, bound to one side or to any.
fn bound<'m>(
    manifest: &'m Manifest,
    call: &'m Call,
    wanted: Option<Side>,
) -> impl Iterator<Item = Bound<'m>> {
    let role = call
        .author
        .incarnation()
        .map(|incarnation| &incarnation.role);
    // What is done in another database than the declared one passes no stage.
    let declared =
        !matches!(&call.request, Request::Postgres(request) if request.elsewhere.is_some());
    manifest
        .stages
        .iter()
        .filter(move |_| declared)
        .filter_map(move |(name, stage)| match &stage.binding {
            Binding::Boundary {
                side,
                dependency,
                pattern,
            } if wanted.is_none_or(|wanted| *side == wanted)
                && *dependency == call.dependency
                && role.is_some_and(|role| stage.roles.contains(role)) =>
            {
                Some((name, stage, pattern))
            }
            _ => None,
        })
}

/// Whether something that is looked for in calls to this dependency stands in their bodies.
pub fn reads_bodies(manifest: &Manifest, dependency: &DependencyName) -> bool {
    let is_body = |place: &Place| matches!(place, Place::Body(_));
    let recognised = match manifest.messages.recognise.get(dependency) {
        Some(Recognise::Places(places)) => places.iter().any(is_body),
        _ => false,
    };
    let captured = || {
        manifest.stages.values().any(|stage| {
            let is_bound = matches!(&stage.binding,
                Binding::Boundary { dependency: of, .. } if of == dependency);
            let mut places = stage.capture.values();
            is_bound
                && places.any(|place| matches!(place, CapturePlace::Place(place) if is_body(place)))
        })
    };
    recognised || captured()
}
