//! What a manifest calls the things that people call *the queue* or *processed*.

use std::sync::Arc;

use crate::gherkin::word_stem;
use crate::manifest::{Dependency, Manifest, Protocol, built_in_totals};

/// What an end is called that is a success.
const DONE: [&str; 12] = [
    "completed",
    "processed",
    "done",
    "finished",
    "succeeded",
    "successful",
    "handled",
    "complete",
    "executed",
    "performed",
    "fulfilled",
    "success",
];

pub(super) struct Nouns {
    manifest: Arc<Manifest>,
}

impl Nouns {
    pub(super) fn of(manifest: &Arc<Manifest>) -> Self {
        Self {
            manifest: Arc::clone(manifest),
        }
    }

    /// A dependency: by its name, by one of its queues, or by what it is.
    pub(super) fn dependency(&self, said: &str) -> Option<String> {
        let dependencies = &self.manifest.dependencies;
        let exact = dependencies.keys().find(|name| is(name.as_str(), said));
        if let Some(name) = exact {
            return Some(name.to_string());
        }
        let words: Vec<String> = said.to_lowercase().split(' ').map(str::to_owned).collect();
        let queue = said.to_lowercase();
        let queue = queue.strip_suffix(" queue").unwrap_or(&queue);
        let owner = dependencies
            .iter()
            .find(|(_, it)| it.protocol.queues().into_iter().any(|name| is(name, queue)));
        if let Some((name, _)) = owner {
            return Some(name.to_string());
        }
        let meant: fn(&Dependency) -> bool = match words.last()?.as_str() {
            "queue" | "broker" | "sqs" | "queues" => |it| !it.protocol.queues().is_empty(),
            "redis" | "cache" => |it| matches!(it.protocol, Protocol::Redis { .. }),
            "database" | "db" | "postgres" | "postgresql" => {
                |it| matches!(it.protocol, Protocol::Postgres { .. })
            }
            "outside" | "partner" | "service" | "party" | "endpoint" | "webhook" | "upstream" => {
                |it| matches!(it.protocol, Protocol::Http { .. })
            }
            "network" | "dependency" | "dependencies" => |_| true,
            _ => return None,
        };
        let mut fitting = dependencies.iter().filter(|(_, it)| meant(it));
        Some(match (fitting.next(), fitting.next()) {
            (Some((name, _)), None) => name.to_string(),
            _ => "{dependency}".to_owned(),
        })
    }

    /// A process: by its name, one of its instances, or as the one that consumes.
    pub(super) fn process(&self, said: &str) -> Option<String> {
        let processes = &self.manifest.processes;
        let role = said
            .rsplit_once('-')
            .filter(|(_, number)| number.parse::<u32>().is_ok());
        let named = |said: &str| {
            processes
                .keys()
                .find(|name| is(name.as_str(), said) || is(&format!("{name}s"), said))
        };
        if let Some(name) = named(said) {
            return Some(name.to_string());
        }
        if let Some((role, number)) = role
            && let Some(role) = named(role)
        {
            return Some(format!("{role}-{number}"));
        }
        let plain = said.to_lowercase();
        let generic = [
            "worker",
            "consumer",
            "process",
            "processor",
            "listener",
            "handler",
        ];
        let plain = plain.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit());
        if !generic
            .iter()
            .any(|one| is(one, plain) || is(&format!("{one}s"), plain))
        {
            return None;
        }
        let mut consumers = processes.iter().filter(|(_, it)| !it.consumes.is_empty());
        Some(match (consumers.next(), consumers.next()) {
            (Some((name, _)), None) => name.to_string(),
            _ => "{process}".to_owned(),
        })
    }

    /// A stage: the one that has the word in it, best in the form that fits its side.
    pub(super) fn stage(&self, said: &str, side: &str) -> String {
        let said = said.to_lowercase().replace(' ', "-");
        let stages: Vec<&str> = self
            .manifest
            .stages
            .keys()
            .map(crate::ids::StageName::as_str)
            .collect();
        let exact = stages
            .iter()
            .find(|name| is(&name.replace(' ', "-"), &said));
        let before = !side.contains("after") && !side.contains("once") && !side.contains("until");
        let alike: Vec<&&str> = stages
            .iter()
            .filter(|name| stem(&name.replace(' ', "-")) == stem(&said))
            .collect();
        let fitting = alike.iter().find(|name| name.ends_with("ing") == before);
        // Being in the midst of it is no word for having done it.
        let midst = side.contains("before") || side.contains("after");
        match (fitting, exact) {
            (Some(name), _) if midst => (**name).to_string(),
            (_, Some(name)) => (*name).to_string(),
            (Some(name), None) => (**name).to_string(),
            (None, None) if !before && self.is_end(&said) => self.stage_of_end(&said),
            (None, None) if !before || !midst => alike
                .first()
                .map_or_else(open_stage, |name| (**name).to_string()),
            (None, None) => open_stage(),
        }
    }

    /// Whether it says that a message came to an end.
    fn is_end(&self, said: &str) -> bool {
        let mut ends = self
            .manifest
            .terminal
            .keys()
            .map(String::as_str)
            .chain(DONE);
        ends.any(|end| is(end, said))
    }

    pub(super) fn end(&self, said: &str) -> String {
        let ends: Vec<&str> = self.manifest.terminal.keys().map(String::as_str).collect();
        if let Some(name) = ends
            .iter()
            .find(|name| is(name, said) || stem(name) == stem(said))
        {
            return (*name).to_string();
        }
        let success = || {
            ends.iter()
                .find(|name| DONE.iter().any(|done| is(name, done)))
        };
        let means_success = said.is_empty() || DONE.iter().any(|done| stem(done) == stem(said));
        match (means_success, success(), ends.as_slice()) {
            (true, Some(name), _) => (*name).to_string(),
            // Where there is one alone, it is meant by what means success, and by nothing else.
            (true, None, [only]) => (*only).to_owned(),
            _ => "{end}".to_owned(),
        }
    }

    /// The stage that witnesses an end.
    pub(super) fn stage_of_end(&self, said: &str) -> String {
        let end = self.end(said);
        let terminal = self.manifest.terminal.get(&end);
        terminal.map_or_else(open_stage, |end| end.stage.to_string())
    }

    /// A total that has the word in it.
    pub(super) fn total(&self, said: &str) -> String {
        let built_in = built_in_totals::ALL.iter().map(ToString::to_string);
        let mut totals = self.manifest.totals.keys().cloned().chain(built_in);
        let end = self.end(said);
        let found =
            totals.find(|name| is(name, said) || stem(name) == stem(said) || is(name, &end));
        found.unwrap_or_else(|| "{total}".to_owned())
    }

    pub(super) fn attempts(&self) -> String {
        let started = self
            .manifest
            .attempts
            .as_ref()
            .and_then(|it| it.started.clone());
        started.unwrap_or_else(|| "{total}".to_owned())
    }

    /// A name of another kind that has the word in it.
    pub(super) fn named(&self, kind: &str, said: &str) -> Option<String> {
        let alike = |name: &&String| {
            is(name, said)
                || stem(name) == stem(said)
                || said.len() > 4 && stem(said).starts_with(&stem(name))
        };
        match kind {
            "kind" => self.manifest.messages.kinds.keys().find(alike).cloned(),
            _ => self.manifest.operator.keys().find(alike).cloned(),
        }
    }

    /// An error that its protocol has.
    pub(super) fn error(&self, said: &str) -> Option<String> {
        let name = self.dependency(said)?;
        let dependency = self
            .manifest
            .dependencies
            .iter()
            .find(|(it, _)| it.as_str() == name);
        Some(match dependency.map(|(_, it)| &it.protocol) {
            Some(Protocol::Postgres { .. }) => "\"53300\"".to_owned(),
            Some(Protocol::Sqs { .. }) => "\"InternalFailure\"".to_owned(),
            Some(Protocol::Redis { .. }) => "\"LOADING\"".to_owned(),
            Some(Protocol::Http { .. }) | None => "503".to_owned(),
        })
    }

    /// How a process tells its queue that a message is done.
    pub(super) fn delete(&self, said: &str) -> Option<String> {
        let name = self.process(said)?;
        let processes = &self.manifest.processes;
        let process = processes.iter().find(|(it, _)| it.as_str() == name);
        let queue = process.and_then(|(_, it)| it.consumes.first());
        let protocol =
            queue.map(|(dependency, _)| &self.manifest.dependencies[dependency].protocol);
        Some(match protocol {
            Some(Protocol::Redis { .. }) => "\"XACK\"".to_owned(),
            _ => "\"DeleteMessage\"".to_owned(),
        })
    }

    /// What has to be chosen in these lines, and from what.
    pub(super) fn left_open(&self, lines: &[String]) -> Vec<String> {
        const SHOWN: usize = 12;
        let manifest = &*self.manifest;
        let text = lines.join("\n");
        let names = |kind: &str| -> Vec<String> {
            match kind {
                "dependency" => manifest
                    .dependencies
                    .keys()
                    .map(ToString::to_string)
                    .collect(),
                "process" => manifest.processes.keys().map(ToString::to_string).collect(),
                "stage" => manifest.stages.keys().map(ToString::to_string).collect(),
                "end" => manifest.terminal.keys().cloned().collect(),
                "kind" => manifest.messages.kinds.keys().cloned().collect(),
                _ => manifest.totals.keys().cloned().collect(),
            }
        };
        let kinds = ["dependency", "process", "stage", "end", "kind", "total"];
        let open = kinds
            .into_iter()
            .filter(|kind| text.contains(&format!("{{{kind}}}")));
        open.map(|kind| {
            let names = names(kind);
            let shown: Vec<String> = names
                .iter()
                .take(SHOWN)
                .map(|it| format!("`{it}`"))
                .collect();
            match (shown.len(), names.len()) {
                (0, _) => format!("the manifest names no {kind}"),
                (shown_count, all) if shown_count < all => {
                    format!(
                        "`{{{kind}}}` is one of {} and {} more",
                        shown.join(", "),
                        all - SHOWN
                    )
                }
                _ => format!("`{{{kind}}}` is one of {}", shown.join(", ")),
            }
        })
        .collect()
    }
}

fn open_stage() -> String {
    "{stage}".to_owned()
}

fn is(name: &str, said: &str) -> bool {
    name.eq_ignore_ascii_case(said)
}

/// `commit`, `committing` and `committed` are one.
fn stem(word: &str) -> String {
    let stem = word_stem(word);
    let mut letters = stem.chars().rev();
    match (letters.next(), letters.next()) {
        (Some(last), Some(one)) if last == one => stem[..stem.len() - last.len_utf8()].to_owned(),
        _ => stem,
    }
}
