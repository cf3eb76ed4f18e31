//! Doubts about the harness's own sight: what was seen and cannot be named, and what the
//! manifest says and was never seen although something shows that it happened.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::totals::last_counted;
use super::{Evidence, Finding, Ledger};
use crate::history::{Attribution, Event};
use crate::ids::{Author, CallId, DependencyName, MessageName, RoleName, StageName};
use crate::manifest::{Binding, Pattern};
use crate::protocol::redis::KeyPattern;
use crate::shape::{Shape, instead};

/// Doubts that a history shows as a whole, beside those that were noted as it was made.
pub(super) fn doubts(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Finding> {
    let stages = Stages::of(evidence);
    let mut doubts = ends_of_nobody(evidence, ledger, &stages);
    doubts.extend(unseen_totals(evidence, &stages));
    doubts.extend(nameless_ends(evidence, ledger, &stages));
    doubts.extend(strange_jobs(evidence, ledger));
    doubts.extend(nameless_writes(ledger));
    doubts.extend(strange_passages(evidence, ledger));
    doubts
}

/// How often stages were passed.
struct Stages<'e> {
    passed: BTreeSet<&'e StageName>,
    of_nobody: BTreeMap<&'e StageName, Vec<u64>>,
    /// Calls at which some stage was passed.
    calls: BTreeSet<CallId>,
}

impl<'e> Stages<'e> {
    fn of(evidence: Evidence<'e>) -> Self {
        let mut stages = Self {
            passed: BTreeSet::new(),
            of_nobody: BTreeMap::new(),
            calls: BTreeSet::new(),
        };
        for entry in evidence.entries {
            if let Event::Stage {
                stage,
                message,
                call,
                ..
            } = &entry.event
            {
                stages.passed.insert(stage);
                stages.calls.insert(*call);
                if message.is_none() {
                    stages.of_nobody.entry(stage).or_default().push(entry.seq);
                }
            }
        }
        stages
    }
}

fn unsettled(ledger: &Ledger) -> Vec<&MessageName> {
    let accounts = ledger.accounts.iter();
    accounts
        .filter(|(_, account)| account.is_unsettled())
        .map(|(message, _)| message)
        .collect()
}

/// Ends that were passed by nobody known, while messages have none.
fn ends_of_nobody(evidence: Evidence<'_>, ledger: &Ledger, stages: &Stages<'_>) -> Vec<Finding> {
    let unsettled = unsettled(ledger);
    if unsettled.is_empty() {
        return Vec::new();
    }
    let terminal = evidence.manifest.terminal.values();
    let ends: BTreeSet<&StageName> = terminal.map(|end| &end.stage).collect();
    ends.into_iter()
        .filter_map(|stage| {
            let places = stages.of_nobody.get(stage)?;
            let text = format!(
                "`{stage}` ends a message and was passed {} times by nobody known (history: {}), while {} have no end: {}",
                places.len(),
                listed(places),
                named(&unsettled),
                evidence.manifest.how_to_recognise_at(stage),
            );
            Some(Finding::shown(text, places.clone()))
        })
        .collect()
}

/// Totals that the system says it reached, and whose stages were never seen at all.
fn unseen_totals(evidence: Evidence<'_>, stages: &Stages<'_>) -> Vec<Finding> {
    let figures = last_counted(evidence);
    evidence
        .manifest
        .totals
        .iter()
        .filter_map(|(name, total)| {
            let witness = total.witness.as_ref()?;
            let sum = |source: &str| -> Option<i64> {
                let figures = figures.get(name.as_str())?.get(source)?;
                Some(figures.values().map(|(value, _)| value).sum())
            };
            let claimed = sum("claim")?;
            let claims = |name: &str| -> Vec<u64> {
                let claims = figures.get(name).and_then(|sources| sources.get("claim"));
                claims.into_iter().flatten().map(|(_, (_, seq))| *seq).collect()
            };
            let seen = witness.add.iter().any(|stage| stages.passed.contains(stage));
            if claimed <= 0 || sum("witness").is_some_and(|seen| seen > 0) || seen || witness.add.is_empty() {
                return None;
            }
            let bound: Vec<String> = witness.add.iter().map(|stage| bound(evidence, stage)).collect();
            let text = format!(
                "the system says `{name}` is {claimed}, and nothing that counts for it was ever seen: {}; is that call written right?",
                bound.join(", ")
            );
            Some(Finding::shown(text, claims(name)))
        })
        .collect()
}

/// A stage with the call that it is bound to, and the calls that were seen there instead.
fn bound(evidence: Evidence<'_>, name: &StageName) -> String {
    let Some(stage) = evidence.manifest.stages.get(name) else {
        return format!("`{name}`");
    };
    let made = evidence
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Called { author, shape, .. } => {
                let by = author.incarnation()?;
                let shape: &Shape = shape.as_ref()?;
                stage.roles.contains(&by.role).then_some(shape)
            }
            _ => None,
        });
    let Binding::Boundary { pattern, .. } = &stage.binding else {
        return format!("`{name}`");
    };
    let described = pattern.describe();
    match instead(stage, made) {
        Some(seen) => format!("`{name}` ({described}; {seen})"),
        None => format!("`{name}` ({described})"),
    }
}

/// Ends that were never passed by anybody, while somebody who could have passed them
/// wrote for a message without an end, in a call of the same kind that no stage names.
fn nameless_ends(evidence: Evidence<'_>, ledger: &Ledger, stages: &Stages<'_>) -> Vec<Finding> {
    let unsettled: BTreeSet<&MessageName> = unsettled(ledger).into_iter().collect();
    let mut terminal = evidence.manifest.terminal.values();
    if unsettled.is_empty() || terminal.any(|end| stages.passed.contains(&end.stage)) {
        return Vec::new();
    }
    let mut asked: BTreeMap<CallId, (u64, &MessageName)> = BTreeMap::new();
    let mut found: BTreeMap<&StageName, Vec<u64>> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Called { call, messages, .. } => {
                let of = messages.iter().find(|message| unsettled.contains(message));
                if let Some(message) = of {
                    asked.insert(*call, (entry.seq, message));
                }
            }
            Event::Replied {
                call, wrote: true, ..
            } if asked.contains_key(call) && !stages.calls.contains(call) => {
                let (seq, _) = asked[call];
                let index = evidence.entries.partition_point(|one| one.seq < seq);
                let Event::Called {
                    author,
                    dependency,
                    actions,
                    ..
                } = &evidence.entries[index].event
                else {
                    continue;
                };
                for stage in could_have_passed(evidence, author, dependency, actions) {
                    found.entry(stage).or_default().push(seq);
                }
            }
            _ => {}
        }
    }
    found
        .into_iter()
        .map(|(stage, places)| {
            let text = format!(
                "no message ever passed {}, which ends one, and something was written for messages without an end that no stage names (history: {}): is that call written right?",
                bound(evidence, stage),
                listed(&places)
            );
            Finding::shown(text, places)
        })
        .collect()
}

/// Ends of messages that a call of this author would be, were its text another.
fn could_have_passed<'e>(
    evidence: Evidence<'e>,
    author: &Author,
    dependency: &DependencyName,
    actions: &[String],
) -> Vec<&'e StageName> {
    let Some(by) = author.incarnation() else {
        return Vec::new();
    };
    let terminal = evidence.manifest.terminal.values();
    terminal
        .map(|end| &end.stage)
        .filter(|name| {
            evidence.manifest.stages.get(*name).is_some_and(|stage| {
                stage.roles.contains(&by.role)
                    && match &stage.binding {
                        Binding::Boundary {
                            dependency: of,
                            pattern,
                            ..
                        } => of == dependency && is_alike(pattern, actions),
                        Binding::Checkpoint(_) => false,
                    }
            })
        })
        .collect()
}

/// Words that are so much alike may be one word, misspelt.
const MISSPELT: f64 = 0.85;

/// Whether calls that do this are what a pattern may have meant: the same method or action,
/// or a statement that begins with the same words, but for their spelling.
fn is_alike(pattern: &Pattern, actions: &[String]) -> bool {
    let wanted = match pattern {
        Pattern::Statement(text) | Pattern::Transaction(text) => text.to_lowercase(),
        Pattern::Action { action, .. } => return actions.contains(action),
        Pattern::Request { method, .. } => return actions.contains(method),
        // Nobody has to spell it.
        Pattern::Row { .. } => return false,
        Pattern::Command { command, key } => {
            return actions.iter().any(|action| {
                let (name, done) = action.split_once(' ').unwrap_or((action, ""));
                // The key itself was seen, and nothing was done to it.
                let near = |key: &KeyPattern| {
                    key.matches(done).is_none()
                        && strsim::jaro_winkler(&key.to_string(), done) >= MISSPELT
                };
                name == command && key.as_ref().is_some_and(near)
            });
        }
    };
    let is_meant = |action: &String| {
        // Spelt as in the manifest, it was seen, and wrote nothing that lasts.
        if action.starts_with(&wanted) {
            return false;
        }
        let mut words = wanted.split_whitespace().zip(action.split_whitespace());
        words.all(|(wanted, done)| strsim::jaro_winkler(wanted, done) >= MISSPELT)
    };
    actions.iter().any(is_meant)
}

/// Job ids that clients were told and that no call of the system ever named, while it sent,
/// received or ended what belongs to nobody: they are not the ids that it works with.
fn strange_jobs(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Finding> {
    let mut strange: BTreeMap<&MessageName, &String> = ledger
        .accounts
        .iter()
        .filter_map(|(message, account)| Some((message, account.job.as_ref()?)))
        .collect();
    let mut of_nobody = Vec::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Called {
                author,
                messages,
                attribution: Attribution::Id,
                ..
            } if author.incarnation().is_some() => {
                for message in messages {
                    strange.remove(message);
                }
            }
            Event::Stage {
                message: Some(message),
                ..
            }
            | Event::Alias { message, .. } => {
                strange.remove(message);
            }
            Event::Sent { message: None, .. } | Event::Delivered { message: None, .. } => {
                of_nobody.push(entry.seq);
            }
            _ => {}
        }
    }
    // Copies that became known later are somebody's.
    let known: BTreeSet<u64> = ledger
        .accounts
        .values()
        .flat_map(|account| account.sent.values().chain(&account.delivered))
        .copied()
        .collect();
    of_nobody.retain(|seq| !known.contains(seq));
    let told = ledger
        .accounts
        .values()
        .filter(|account| account.job.is_some());
    if strange.is_empty() || strange.len() < told.count() || of_nobody.is_empty() {
        return Vec::new();
    }
    let told: Vec<String> = strange
        .iter()
        .take(3)
        .map(|(message, job)| format!("{message} is {job:?}"))
        .collect();
    let text = format!(
        "clients were told job ids that the system never used again ({}), and it sent or received what belongs to nobody (history: {}): is `messages.submit.job` the id's place?",
        told.join(", "),
        listed(&of_nobody)
    );
    vec![Finding::shown(text, of_nobody)]
}

/// Outside writes for nobody: where no job can be told nobody can be held to *once*.
fn nameless_writes(ledger: &Ledger) -> Option<Finding> {
    let writes = ledger.strange_writes.iter();
    let places: Vec<u64> = writes
        .filter(|(_, job)| job.is_none())
        .map(|(at, _)| *at)
        .collect();
    (!places.is_empty()).then(|| {
        let text = format!(
            "{} outside writes were performed and nobody can tell for which job (history: {}): say `job` or `group` at their route, count them by a stage with `fleet: true`, or say `write: false`",
            places.len(),
            listed(&places)
        );
        Finding::shown(text, places)
    })
}

/// Passages with messages that were never received.
struct Strange<'e> {
    dependency: &'e DependencyName,
    places: Vec<u64>,
    messages: BTreeSet<&'e MessageName>,
}

impl<'e> Strange<'e> {
    fn at(dependency: &'e DependencyName) -> Self {
        Self {
            dependency,
            places: Vec::new(),
            messages: BTreeSet::new(),
        }
    }
}

/// Passages with messages that the role never received, while it received others, at a
/// database of which nothing says where ids stand: a value that is a known id may be something
/// else there.
fn strange_passages(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Finding> {
    let manifest = evidence.manifest;
    let inferred = |stage: &StageName| match manifest.stages.get(stage).map(|it| &it.binding) {
        Some(Binding::Boundary {
            dependency,
            pattern: Pattern::Statement(_) | Pattern::Transaction(_),
            ..
        }) => (!manifest.messages.recognise.contains_key(dependency)).then_some(dependency),
        _ => None,
    };
    let delivered: HashMap<u64, &MessageName> = ledger
        .accounts
        .iter()
        .flat_map(|(message, account)| account.delivered.iter().map(move |at| (*at, message)))
        .collect();
    let mut received: BTreeMap<&RoleName, BTreeSet<&MessageName>> = BTreeMap::new();
    let mut made: BTreeSet<&MessageName> = BTreeSet::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Delivered { author, .. } => {
                if let (Some(by), Some(message)) = (author.incarnation(), delivered.get(&entry.seq))
                {
                    received.entry(&by.role).or_default().insert(message);
                }
            }
            Event::Made { message, .. } => {
                made.insert(message);
            }
            _ => {}
        }
    }
    let mut found: BTreeMap<(&StageName, &RoleName), Strange> = BTreeMap::new();
    for entry in evidence.entries {
        let Event::Stage {
            stage,
            incarnation,
            message: Some(message),
            ..
        } = &entry.event
        else {
            continue;
        };
        let of_role = received.get(&incarnation.role);
        let strange = of_role.is_some_and(|of| !of.contains(message)) && !made.contains(message);
        if let (true, Some(dependency)) = (strange, inferred(stage)) {
            let strange = found.entry((stage, &incarnation.role));
            let strange = strange.or_insert_with(|| Strange::at(dependency));
            strange.places.push(entry.seq);
            strange.messages.insert(message);
        }
    }
    let told = found.into_iter().map(|((stage, role), strange)| {
        let Strange {
            dependency,
            places,
            messages,
        } = strange;
        let messages: Vec<&MessageName> = messages.into_iter().collect();
        let text = format!(
            "the {role} passed `{stage}` with {}, which it never received, and received others (history: {}): nothing says where ids stand in `{dependency}`, and every known one counted; say it under `recognise`",
            named(&messages),
            listed(&places)
        );
        Finding::shown(text, places)
    });
    told.collect()
}

fn named(messages: &[&MessageName]) -> String {
    const MOST: usize = 5;
    let first: Vec<&str> = messages.iter().take(MOST).map(|one| one.as_str()).collect();
    let more = messages.len().saturating_sub(MOST);
    match more {
        0 => first.join(", "),
        _ => format!("{} and {more} more", first.join(", ")),
    }
}

fn listed(places: &[u64]) -> String {
    const MOST: usize = 5;
    let first: Vec<String> = places.iter().take(MOST).map(u64::to_string).collect();
    if places.len() > MOST {
        format!("{}, …", first.join(", "))
    } else {
        first.join(", ")
    }
}

#[cfg(test)]
mod tests;
