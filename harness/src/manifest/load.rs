//! From a file to a checked [`Manifest`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;

use super::attempts::read_attempts;
use super::background::{Doings, read_background};
use super::command::read_commands;
use super::consumption::read_consumption;
use super::context::Context;
use super::defects::{Defects, read_defects};
use super::dependencies::read_dependencies;
use super::error::{Invalid, ManifestError};
use super::explore::read_explore;
use super::findings::read_findings;
use super::keys;
use super::messages::read_messages;
use super::node::{Node, Value};
use super::operator::{read_observations, read_operator};
use super::placeholders::Placeholders;
use super::problem::{Defect, Noun, Problem};
use super::processes::read_processes;
use super::profiles::read_profiles;
use super::remarks::remarks;
use super::source::Source;
use super::stages::read_stages;
use super::table::{Table, choice, named_things, scalar, text, wrong_type};
use super::totals::{read_order, read_resting, read_stage_name, read_terminal, read_totals};
use super::{Explore, Findings, Limits, Manifest, Provide, Setting};
use crate::deployment::DriverKind;

/// The version of the manifest that is read here.
const VERSION: &str = "1";

impl Manifest {
    /// Reads and checks a manifest. Nothing is started or changed.
    ///
    /// # Errors
    /// The file cannot be read, or holds mistakes: all of them are reported together.
    pub fn load(path: &Path) -> Result<Self, ManifestError> {
        let text = crate::text::read(path).map_err(|source| ManifestError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Checks the text of a manifest that stands, or would stand, at `path`.
    ///
    /// # Errors
    /// The text holds mistakes: all of them are reported together.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ManifestError> {
        let source = Source::new(text);
        let invalid = |problems: Vec<Problem>| {
            let name = path.display().to_string();
            ManifestError::Invalid(Box::new(Invalid::new(name, source.masked(), problems)))
        };
        let file = match Node::parse(&source, text) {
            Ok(file) => file,
            Err((span, defect)) => {
                let spot = source.spot(span);
                return Err(invalid(vec![Problem {
                    spot,
                    defect,
                    earlier: None,
                }]));
            }
        };
        let root = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut cx = Context::new(&source, root, &file);
        match read_manifest(&mut cx, &file, path) {
            Some(manifest) if cx.problems.is_empty() => Ok(manifest),
            _ => Err(invalid(cx.problems)),
        }
    }

    /// The values in the manifest that no report may show: passwords in addresses.
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = Vec::new();
        for dependency in self.dependencies.values() {
            let Provide::External { url } = &dependency.provide else {
                continue;
            };
            let Ok(url) = reqwest::Url::parse(url) else {
                continue;
            };
            secrets.extend(url.password().map(str::to_owned));
            secrets.extend(url.password().map(unescape));
            for (name, value) in url.query_pairs() {
                if name.eq_ignore_ascii_case("password") {
                    secrets.push(value.into_owned());
                }
            }
        }
        secrets.retain(|secret| !secret.is_empty());
        secrets.sort_unstable();
        secrets.dedup();
        secrets
    }
}

/// A part of a URL without its percent signs.
fn unescape(escaped: &str) -> String {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read_manifest<'n>(cx: &mut Context<'n>, file: &'n Node, path: &Path) -> Option<Manifest> {
    let version = version_of(file);
    if let Some((node, written)) = version
        && written != VERSION
    {
        // Another version may have other keys: complaining of them would mislead.
        cx.report(node.span, Defect::Version(written.to_owned()));
        return None;
    }
    let table = Table::read(cx, file, keys::ROOT, "the manifest")?;
    if let Some(node) = table.need(cx, "version")
        && !matches!(&node.value, Value::Number(written) | Value::Text(written) if written == VERSION)
    {
        wrong_type::<()>(cx, node, table.what("version"), "the number 1");
    }
    let name = table.need_text(cx, "name").map(|(name, _)| name.to_owned());
    let build = optional(cx, &table, "build", Vec::new, |cx, node| {
        read_commands(cx, node, "`build`", &Placeholders::of_build())
    });
    let prepare = optional(cx, &table, "prepare", Vec::new, |cx, node| {
        let placeholders = Placeholders::of_prepare(&cx.names);
        read_commands(cx, node, "`prepare`", &placeholders)
    });
    let dependencies = table
        .need(cx, "dependencies")
        .and_then(|node| read_dependencies(cx, node));
    let processes = table
        .need(cx, "processes")
        .and_then(|node| read_processes(cx, node));
    let settings = optional(cx, &table, "settings", IndexMap::new, read_settings);
    let messages = table
        .need(cx, "messages")
        .and_then(|node| read_messages(cx, node));
    let stages = optional(cx, &table, "stages", IndexMap::new, read_stages);
    let totals = optional(cx, &table, "totals", IndexMap::new, read_totals);
    let terminal = optional(cx, &table, "terminal", IndexMap::new, read_terminal);
    let replay = optional(
        cx,
        &table,
        "replay",
        || None,
        |cx, node| read_stage_name(cx, node, "`replay`").map(Some),
    );
    let order = optional(cx, &table, "order", Vec::new, read_order);
    let resting = optional(cx, &table, "resting", Vec::new, read_resting);
    let attempts = optional(
        cx,
        &table,
        "attempts",
        || None,
        |cx, node| read_attempts(cx, node).map(Some),
    );
    let operator = optional(cx, &table, "operator", IndexMap::new, read_operator);
    let observations = optional(cx, &table, "observations", IndexMap::new, read_observations);
    let background = optional(cx, &table, "background", Doings::default, read_background);
    let consumption = optional(
        cx,
        &table,
        "consumption",
        || None,
        |cx, node| read_consumption(cx, node).map(Some),
    );
    let findings = optional(cx, &table, "findings", Findings::default, read_findings);
    let explore = optional(cx, &table, "explore", Explore::default, read_explore);
    let defects = optional(cx, &table, "defects", Defects::default, read_defects);
    let limits = optional(cx, &table, "limits", Limits::default, read_limits);
    let driver = optional(cx, &table, "driver", DriverKind::default, |cx, node| {
        let what = table.what("driver");
        let written = text(cx, node, &what)?;
        choice(cx, node.span, what, written, DriverKind::ALL)?
            .parse()
            .ok()
    });
    let background = background?;
    let profiles = optional(cx, &table, "profiles", Vec::new, read_profiles);
    let (dependencies, processes) = (dependencies?, processes?);
    let name_of_file = path.display().to_string();
    let (remarks, unused_settings) = remarks(cx, &table, &dependencies, &processes, &name_of_file);
    Some(Manifest {
        path: path.to_owned(),
        root: cx.root.clone(),
        name: name?,
        build: build?,
        prepare: prepare?,
        dependencies,
        processes,
        settings: settings?,
        messages: messages?,
        stages: stages?,
        totals: totals?,
        terminal: terminal?,
        replay: replay?,
        order: order?,
        resting: resting?,
        attempts: attempts?,
        operator: operator?,
        observations: observations?,
        background: background.timers,
        settle: background.settle,
        consumption: consumption?,
        findings: findings?,
        explore: explore?,
        defects: defects?,
        limits: limits?,
        driver: driver?,
        profiles: profiles?,
        unused_settings,
        remarks,
        queries: std::mem::take(&mut cx.queries),
        text: cx.source.masked(),
    })
}

/// The value under `version`, if the file has one.
fn version_of(file: &Node) -> Option<(&Node, &str)> {
    let Value::Table(entries) = &file.value else {
        return None;
    };
    entries
        .iter()
        .find_map(|(key, value)| match (&key.value, &value.value) {
            (Value::Text(key), Value::Number(version) | Value::Text(version))
                if key == "version" =>
            {
                Some((value, version.as_str()))
            }
            _ => None,
        })
}

/// A section that may be missing.
fn optional<'n, T>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
    default: impl FnOnce() -> T,
    read: impl FnOnce(&mut Context<'n>, &'n Node) -> Option<T>,
) -> Option<T> {
    match table.get(key) {
        None => Some(default()),
        Some(node) => read(cx, node),
    }
}

fn read_settings<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<IndexMap<String, Setting>> {
    let entries = named_things(cx, node, "`settings`", Noun::Setting, &[])?;
    let settings: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| {
            let table = Table::read(cx, node, keys::SETTING, format!("setting `{name}`"))?;
            let what = table.what("default");
            let default = table
                .need(cx, "default")
                .and_then(|node| scalar(cx, node, &what));
            let doc = table.text(cx, "doc");
            let (default, doc) = (default?.to_owned(), doc?.map(|(doc, _)| doc.to_owned()));
            Some((name.to_owned(), Setting { default, doc }))
        })
        .collect();
    settings.into_iter().collect()
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(30),
            scenario: Duration::from_mins(1),
            quiet: Duration::from_secs(20),
            linger: Duration::from_secs(4),
            hidden: None,
            build: Duration::from_mins(15),
        }
    }
}

fn read_limits<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Limits> {
    let table = Table::read(cx, node, keys::LIMITS, "`limits`")?;
    let default = Limits::default();
    let step = table.duration(cx, "step", default.step);
    let scenario = table.duration(cx, "scenario", default.scenario);
    let quiet = table.duration(cx, "quiet", default.quiet);
    // None at all is a way to say that nobody is to look.
    let linger = match table.get("linger").map(|node| &node.value) {
        Some(Value::Text(written)) if written.trim() == "0s" => Some(Duration::ZERO),
        _ => table.duration(cx, "linger", default.linger),
    };
    let hidden = match table.get("hidden") {
        Some(_) => table.duration(cx, "hidden", Duration::ZERO).map(Some),
        None => Some(None),
    };
    let build = table.duration(cx, "build", default.build);
    Some(Limits {
        step: step?,
        scenario: scenario?,
        quiet: quiet?,
        linger: linger?,
        hidden: hidden?,
        build: build?,
    })
}
