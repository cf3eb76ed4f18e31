//! Which placeholders have a value where.

use super::context::Names;
use super::problem::{Defect, ProtocolName};
use super::suggestion::nearest;

/// The first parts of placeholders, which no dependency may be named.
pub(super) const RESERVED: &[&str] = &[
    "root",
    "port",
    "listen",
    "setting",
    "message",
    "argument",
    "checkpoint",
    "process",
];

/// The placeholders that have a value in one place of the manifest.
#[derive(Default)]
pub(super) struct Placeholders {
    known: Vec<String>,
    /// Beginnings under which anything goes, because what defines them is in doubt.
    open: Vec<String>,
    /// What has no value because this process does not listen.
    deaf: Vec<(String, String)>,
}

impl Placeholders {
    /// In `build`.
    pub(super) fn of_build() -> Self {
        Self::default().and(&["root"])
    }

    /// In `prepare`: the databases, before any rehearsal.
    pub(super) fn of_prepare(names: &Names<'_>) -> Self {
        Self::default()
            .and(&["root"])
            .dependencies(names, |protocol| {
                protocol.is_none_or(|protocol| protocol == ProtocolName::Postgres)
            })
    }

    /// In a process.
    pub(super) fn of_process(names: &Names<'_>, process: &str) -> Self {
        let listens = names
            .processes
            .get(process)
            .is_some_and(|process| process.listens);
        let own: &[&str] = &["port", "listen"];
        let mut placeholders = Self::default()
            .and(&["root", "checkpoint.url"])
            .and(if listens { own } else { &[] })
            .settings(names)
            .dependencies(names, |_| true)
            .processes(names);
        if !listens {
            let deaf = own
                .iter()
                .map(|&name| (name.to_owned(), process.to_owned()));
            placeholders.deaf.extend(deaf);
        }
        placeholders
    }

    /// Where nothing but settings is known.
    pub(super) fn of_settings(names: &Names<'_>) -> Self {
        Self::default().settings(names)
    }

    /// In the request that submits a message, which has no job yet.
    pub(super) fn of_submit(names: &Names<'_>) -> Self {
        Self::default()
            .and(&["message.name", "message.key", "message.kind"])
            .settings(names)
    }

    /// In a command that tells what waits.
    pub(super) fn of_backlog(names: &Names<'_>) -> Self {
        Self::default()
            .and(&["root"])
            .settings(names)
            .processes(names)
    }

    /// In an operator command.
    pub(super) fn of_operator(names: &Names<'_>) -> Self {
        Self::default()
            .and(&[
                "root",
                "argument",
                "message.job",
                "message.name",
                "message.key",
            ])
            .settings(names)
            .dependencies(names, |_| true)
            .processes(names)
    }

    /// In a request about one message.
    pub(super) fn of_observation() -> Self {
        Self::default().and(&["message.job", "message.name", "message.key", "message.kind"])
    }

    fn and(mut self, known: &[&str]) -> Self {
        self.known.extend(known.iter().map(|&name| name.to_owned()));
        self
    }

    fn settings(mut self, names: &Names<'_>) -> Self {
        self.known
            .extend(names.settings.iter().map(|name| format!("setting.{name}")));
        self
    }

    fn dependencies(
        mut self,
        names: &Names<'_>,
        included: impl Fn(Option<ProtocolName>) -> bool,
    ) -> Self {
        for (name, dependency) in &names.dependencies {
            if !included(dependency.protocol) {
                continue;
            }
            if dependency.protocol.is_none() {
                self.open.push(format!("{name}."));
            }
            let parts: &[&str] = match dependency.protocol {
                Some(ProtocolName::Postgres) => {
                    &["url", "host", "port", "user", "password", "name"]
                }
                _ => &["url", "host", "port"],
            };
            let own = parts.iter().map(|part| format!("{name}.{part}"));
            self.known.extend(own);
            if dependency.protocol == Some(ProtocolName::Sqs) {
                for queue in &dependency.queues {
                    self.known.push(format!("{name}.{queue}.url"));
                    self.known.push(format!("{name}.{queue}.name"));
                }
            }
        }
        self
    }

    /// Where other processes are reached.
    fn processes(mut self, names: &Names<'_>) -> Self {
        for (name, process) in &names.processes {
            let parts = ["address", "host", "port"].map(|part| format!("process.{name}.{part}"));
            if process.listens {
                self.known.extend(parts);
            } else {
                let deaf = parts.map(|part| (part, (*name).to_owned()));
                self.deaf.extend(deaf);
            }
        }
        self
    }

    pub(super) fn accepts(&self, name: &str) -> bool {
        self.known.iter().any(|known| known == name)
            || self.open.iter().any(|open| name.starts_with(open))
    }

    /// Why a name is not accepted.
    pub(super) fn refusal(&self, name: &str) -> Defect {
        match self.deaf.iter().find(|(deaf, _)| deaf == name) {
            Some((_, process)) => Defect::PortWithoutListening {
                name: name.to_owned(),
                process: process.clone(),
            },
            None => Defect::UnknownPlaceholder {
                name: name.to_owned(),
                nearest: nearest(name, self.known.iter().map(String::as_str)),
                known: self.known.clone(),
            },
        }
    }
}
