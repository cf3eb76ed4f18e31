//! What every reader of a section needs: the names the manifest defines, the place to
//! report mistakes at, and the file's directory.

use std::collections::BTreeSet;
use std::path::PathBuf;

use indexmap::IndexMap;

use super::keys::{self, Keys};
use super::node::{Node, Value};
use super::problem::{Defect, Noun, Problem, ProtocolName};
use super::source::{Source, Span};
use super::suggestion::nearest;
use super::template::TemplateFault;
use super::{Query, Template, placeholders::Placeholders};

/// See the module.
pub(super) struct Context<'n> {
    pub(super) source: &'n Source<'n>,
    pub(super) root: PathBuf,
    pub(super) names: Names<'n>,
    pub(super) problems: Vec<Problem>,
    /// The queries read so far.
    pub(super) queries: Vec<Query>,
    /// The placeholders read so far.
    pub(super) used: BTreeSet<String>,
    /// Tables that are queues, and that the harness cannot put anything on.
    pub(super) without_put: BTreeSet<String>,
    /// Whether something builds programs, so that they may be missing now.
    pub(super) builds: bool,
}

/// The names that a manifest defines, gathered before anything is checked, so that the
/// order of sections does not matter and one mistake does not cause others.
#[derive(Default)]
pub(super) struct Names<'n> {
    pub(super) dependencies: IndexMap<&'n str, DependencyNames<'n>>,
    pub(super) processes: IndexMap<&'n str, ProcessNames>,
    pub(super) settings: Vec<&'n str>,
    /// Each stage with the names it captures.
    pub(super) stages: IndexMap<&'n str, Vec<&'n str>>,
    pub(super) operator: Vec<&'n str>,
    pub(super) observations: Vec<&'n str>,
    /// Each total, and whether it has a witness.
    pub(super) totals: IndexMap<&'n str, bool>,
    /// Stages that are passed before their calls.
    pub(super) passed_before: Vec<&'n str>,
    /// Each end with its stage, if that is readable.
    pub(super) ends: IndexMap<&'n str, Option<&'n str>>,
}

/// What others may refer to in a dependency.
#[derive(Clone, Default)]
pub(super) struct DependencyNames<'n> {
    /// None when it is missing or unknown, which is reported elsewhere.
    pub(super) protocol: Option<ProtocolName>,
    pub(super) queues: Vec<&'n str>,
    /// The routes as written.
    pub(super) routes: Vec<&'n str>,
    pub(super) writes: bool,
}

/// What others may refer to in a process.
#[derive(Clone, Copy, Default)]
pub(super) struct ProcessNames {
    pub(super) listens: bool,
}

impl<'n> Context<'n> {
    pub(super) fn new(source: &'n Source<'n>, root: PathBuf, file: &'n Node) -> Self {
        let builds = match child(file, keys::ROOT, "build").map(|build| &build.value) {
            Some(Value::List(commands)) => !commands.is_empty(),
            Some(_) => true,
            None => false,
        };
        Self {
            source,
            root,
            names: Names::gather(file),
            problems: Vec::new(),
            queries: Vec::new(),
            used: BTreeSet::new(),
            without_put: BTreeSet::new(),
            builds,
        }
    }

    pub(super) fn report(&mut self, span: Span, defect: Defect) {
        let spot = self.source.spot(span);
        self.problems.push(Problem {
            spot,
            defect,
            earlier: None,
        });
    }

    pub(super) fn report_clash(&mut self, span: Span, earlier: Span, defect: Defect) {
        let spot = self.source.spot(span);
        let earlier = Some(self.source.spot(earlier));
        self.problems.push(Problem {
            spot,
            defect,
            earlier,
        });
    }

    /// Reports a name that nothing carries.
    fn report_unknown_name(&mut self, span: Span, noun: Noun, name: &str, known: &[&str]) {
        self.report(
            span,
            Defect::UnknownName {
                noun,
                name: name.to_owned(),
                nearest: nearest(name, known.iter().copied()),
                known: known.iter().map(|&name| name.to_owned()).collect(),
            },
        );
    }

    /// The dependency of that name, or a report.
    pub(super) fn dependency(&mut self, span: Span, name: &str) -> Option<DependencyNames<'n>> {
        let found = self.names.dependencies.get(name).cloned();
        if found.is_none() {
            let known: Vec<_> = self.names.dependencies.keys().copied().collect();
            self.report_unknown_name(span, Noun::Dependency, name, &known);
        }
        found
    }

    /// The dependency of that name if it speaks that protocol, or a report.
    pub(super) fn dependency_speaking(
        &mut self,
        span: Span,
        name: &str,
        needed: ProtocolName,
        what: &str,
    ) -> Option<()> {
        match self.dependency(span, name)?.protocol {
            Some(protocol) if protocol != needed => {
                let (what, dependency) = (what.to_owned(), name.to_owned());
                self.report(
                    span,
                    Defect::WrongProtocol {
                        what,
                        needed,
                        dependency,
                        protocol,
                    },
                );
                None
            }
            _ => Some(()),
        }
    }

    /// The process of that name, or a report.
    pub(super) fn process(&mut self, span: Span, name: &str) -> Option<ProcessNames> {
        let found = self.names.processes.get(name).copied();
        if found.is_none() {
            let known: Vec<_> = self.names.processes.keys().copied().collect();
            self.report_unknown_name(span, Noun::Process, name, &known);
        }
        found
    }

    /// The process of that name if it listens, or a report.
    pub(super) fn listening(&mut self, span: Span, name: &str, what: &str) -> Option<()> {
        if self.process(span, name)?.listens {
            return Some(());
        }
        let (what, process) = (what.to_owned(), name.to_owned());
        self.report(span, Defect::NotListening { what, process });
        None
    }

    /// What the stage of that name captures, or a report.
    pub(super) fn stage(&mut self, span: Span, name: &str) -> Option<Vec<&'n str>> {
        let found = self.names.stages.get(name).cloned();
        if found.is_none() {
            let known: Vec<_> = self.names.stages.keys().copied().collect();
            self.report_unknown_name(span, Noun::Stage, name, &known);
        }
        found
    }

    /// Reports the name unless one of `known` is it.
    pub(super) fn one_of(
        &mut self,
        span: Span,
        noun: Noun,
        name: &str,
        known: &[&str],
    ) -> Option<()> {
        if known.contains(&name) {
            return Some(());
        }
        self.report_unknown_name(span, noun, name, known);
        None
    }

    /// A template whose placeholders all have a value, or reports.
    pub(super) fn template(
        &mut self,
        span: Span,
        text: &str,
        placeholders: &Placeholders,
    ) -> Option<Template> {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(fault) => {
                let span = match fault {
                    TemplateFault::Unclosed | TemplateFault::Empty => {
                        self.source.narrow(span, "${")
                    }
                    TemplateFault::LoneDollar => span,
                };
                self.report(
                    span,
                    Defect::Template {
                        written: text.to_owned(),
                        fault,
                    },
                );
                return None;
            }
        };
        let before = self.problems.len();
        super::tls::check_text(self, span, text, &template);
        for name in template.placeholders() {
            self.used.insert(name.to_owned());
            if !placeholders.accepts(name) {
                let span = self.source.narrow(span, name);
                self.report(span, placeholders.refusal(name));
            }
        }
        (self.problems.len() == before).then_some(template)
    }
}

impl<'n> Names<'n> {
    fn gather(file: &'n Node) -> Self {
        let dependencies = entries(child(file, keys::ROOT, "dependencies"))
            .map(|(name, node)| (name, DependencyNames::gather(node)))
            .collect();
        let processes = entries(child(file, keys::ROOT, "processes"))
            .map(|(name, node)| {
                // A value that is no flag is reported elsewhere, and probably meant as `true`.
                let listens = child(node, keys::PROCESS, "listens")
                    .is_some_and(|listens| !matches!(listens.value, Value::Flag(false, _)));
                (name, ProcessNames { listens })
            })
            .collect();
        let stages = entries(child(file, keys::ROOT, "stages"))
            .map(|(name, node)| {
                (
                    name,
                    entries(child(node, keys::STAGE, "capture"))
                        .map(|(name, _)| name)
                        .collect(),
                )
            })
            .collect();
        let passed_before = entries(child(file, keys::ROOT, "stages"))
            .filter(|(_, node)| child(node, keys::STAGE, "before").is_some())
            .map(|(name, _)| name)
            .collect();
        let totals = entries(child(file, keys::ROOT, "totals"))
            .map(|(name, node)| (name, child(node, keys::TOTAL, "witness").is_some()))
            .collect();
        let ends = entries(child(file, keys::ROOT, "terminal"))
            .map(|(name, node)| {
                let stage = match child(node, keys::TERMINAL, "stage").map(|stage| &stage.value) {
                    Some(Value::Text(stage)) => Some(stage.as_str()),
                    _ => None,
                };
                (name, stage)
            })
            .collect();
        let of = |key| {
            entries(child(file, keys::ROOT, key))
                .map(|(name, _)| name)
                .collect()
        };
        Self {
            dependencies,
            processes,
            stages,
            settings: of("settings"),
            operator: of("operator"),
            observations: of("observations"),
            totals,
            passed_before,
            ends,
        }
    }
}

impl<'n> DependencyNames<'n> {
    fn gather(node: &'n Node) -> Self {
        let protocol =
            match child(node, keys::DEPENDENCY, "protocol").map(|protocol| &protocol.value) {
                Some(Value::Text(text)) => match text.as_str() {
                    "postgres" => Some(ProtocolName::Postgres),
                    "sqs" => Some(ProtocolName::Sqs),
                    "http" => Some(ProtocolName::Http),
                    "redis" => Some(ProtocolName::Redis),
                    _ => None,
                },
                _ => None,
            };
        let mut names = Self {
            protocol,
            ..Self::default()
        };
        names.queues = entries(child(node, keys::DEPENDENCY, "queues"))
            .map(|(name, _)| name)
            .collect();
        if let Some(Value::List(routes)) =
            child(node, keys::DEPENDENCY, "routes").map(|routes| &routes.value)
        {
            for route in routes {
                let flag = |key| match child(route, keys::ROUTE, key).map(|node| &node.value) {
                    Some(Value::Flag(flag, _)) => Some(*flag),
                    _ => None,
                };
                let mut reads = true;
                if let Some(Value::Text(on)) = child(route, keys::ROUTE, "on").map(|on| &on.value) {
                    names.routes.push(on);
                    reads = ["GET ", "HEAD ", "OPTIONS "]
                        .iter()
                        .any(|method| on.trim_start().starts_with(method));
                }
                let by_method = !reads && flag("store") != Some(true);
                names.writes |= flag("write").unwrap_or(by_method);
            }
        }
        names
    }
}

/// The value under a key, if the node is a table that has it; where it has not, the value
/// under the key that was probably meant, as [`Table::read`](super::table::Table::read)
/// takes it.
fn child<'n>(node: &'n Node, keys: Keys, wanted: &str) -> Option<&'n Node> {
    let Value::Table(entries) = &node.value else {
        return None;
    };
    let under = |is_it: &dyn Fn(&str) -> bool| {
        entries.iter().find_map(|(key, value)| match &key.value {
            Value::Text(key) if is_it(key) => Some(value),
            _ => None,
        })
    };
    under(&|key| key == wanted).or_else(|| under(&|key| keys.meant(key) == Some(wanted)))
}

/// The entries of a table whose keys are names. What is not is reported elsewhere.
fn entries(node: Option<&Node>) -> impl Iterator<Item = (&str, &Node)> {
    let entries = match node.map(|node| &node.value) {
        Some(Value::Table(entries)) => entries.as_slice(),
        _ => &[],
    };
    entries.iter().filter_map(|(key, value)| match &key.value {
        Value::Text(key) | Value::Number(key) | Value::Flag(_, key) => Some((key.as_str(), value)),
        _ => None,
    })
}
