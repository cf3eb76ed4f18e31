//! A compose file, as far as a rehearsal needs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::Value;

use super::substitute::{Variables, substitute, variables_of};

/// A compose file, with the values of its variables in it.
#[derive(Clone, Debug)]
pub struct Compose {
    pub(super) name: String,
    /// Where its relative paths begin.
    pub(super) directory: PathBuf,
    pub(super) services: IndexMap<String, Service>,
    /// What it says that a rehearsal does not keep, in words.
    pub(super) notes: Vec<String>,
}

/// A service of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Service {
    pub(super) image: Option<String>,
    pub(super) build: Option<Build>,
    pub(super) entrypoint: Option<Vec<String>>,
    pub(super) command: Option<Vec<String>>,
    pub(super) environment: IndexMap<String, String>,
    /// Ports that it listens on, in its container.
    pub(super) ports: Vec<String>,
    /// Paths of this machine by the paths that they have in the container.
    pub(super) volumes: Vec<(String, String)>,
    pub(super) after: Vec<String>,
    /// Services that wait for its end.
    pub(super) ends: bool,
    pub(super) health: Option<String>,
    pub(super) instances: Option<u32>,
}

/// How an image is built.
#[derive(Clone, Debug, Default)]
pub(super) struct Build {
    pub(super) context: PathBuf,
    pub(super) dockerfile: Option<String>,
    pub(super) target: Option<String>,
    pub(super) arguments: IndexMap<String, String>,
}

/// A compose file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What changes nothing in a rehearsal.
const WITHOUT_EFFECT: &[&str] = &[
    "container_name",
    "hostname",
    "networks",
    "restart",
    "stop_signal",
    "stop_grace_period",
    "logging",
    "labels",
    "expose",
    "init",
    "tty",
    "stdin_open",
    "pull_policy",
    "platform",
    "cap_add",
    "cap_drop",
    "ulimits",
    "mem_limit",
    "cpus",
    "shm_size",
    "develop",
    "annotations",
];
const KEPT: &[&str] = &[
    "image",
    "build",
    "entrypoint",
    "command",
    "environment",
    "env_file",
    "ports",
    "volumes",
    "depends_on",
    "healthcheck",
    "deploy",
    "scale",
    "profiles",
];

impl Compose {
    /// Reads a file, with variables of this environment and of the `.env` beside it.
    ///
    /// # Errors
    /// When it cannot be read, or is no compose file.
    pub fn read(path: &Path, ambient: &BTreeMap<String, String>) -> Result<Self, Unreadable> {
        let refused = |reason: String| Unreadable {
            path: path.to_owned(),
            reason,
        };
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let beside = fs::read_to_string(directory.join(".env")).unwrap_or_default();
        let mut variables = variables_of(&beside);
        variables.extend(ambient.clone());
        let file: Value =
            serde_yaml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let file = merged(&filled(&file, &variables).map_err(refused)?);
        let services = file.get("services").and_then(Value::as_object);
        let services = services
            .ok_or_else(|| refused("it has no `services`: is it a compose file?".to_owned()))?;
        let absolute = fs::canonicalize(&directory).unwrap_or_else(|_| directory.clone());
        let folder = absolute
            .file_name()
            .map_or("system".into(), |name| name.to_string_lossy());
        let name = file.get("name").and_then(Value::as_str).unwrap_or(&folder);
        let mut compose = Self {
            name: name.to_owned(),
            directory,
            services: IndexMap::new(),
            notes: Vec::new(),
        };
        if file.get("include").is_some() {
            return Err(refused(
                "`include` is not followed: give what `docker compose config` prints".to_owned(),
            ));
        }
        for (name, service) in services {
            compose.add(name, service).map_err(refused)?;
        }
        Ok(compose)
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    fn add(&mut self, name: &str, service: &Value) -> Result<(), String> {
        if service.get("extends").is_some() {
            return Err(format!(
                "`extends` of `{name}` is not followed: give what `docker compose config` prints"
            ));
        }
        if service.get("profiles").is_some() {
            self.notes
                .push(format!("{name} is left out: it belongs to a profile"));
            return Ok(());
        }
        for key in service.as_object().into_iter().flat_map(|keys| keys.keys()) {
            let known = |list: &[&str]| list.contains(&key.as_str()) || key.starts_with("x-");
            if !known(KEPT) && !known(WITHOUT_EFFECT) {
                self.notes.push(format!("{name}: `{key}` is not kept"));
            }
        }
        let mut environment = IndexMap::new();
        for file in texts(service.get("env_file")) {
            let path = self.directory.join(&file);
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("`env_file` {file} of `{name}`: {error}"))?;
            environment.extend(variables_of(&text));
        }
        environment.extend(pairs(service.get("environment")));
        let deployed = service.pointer("/deploy/replicas").or(service.get("scale"));
        let after = match service.get("depends_on") {
            Some(Value::Object(services)) => services.keys().cloned().collect(),
            other => texts(other),
        };
        let read = Service {
            image: service
                .get("image")
                .and_then(Value::as_str)
                .map(str::to_owned),
            build: service.get("build").map(|build| self.build(build)),
            entrypoint: words(service.get("entrypoint"))?,
            command: words(service.get("command"))?,
            environment,
            ports: ports(service.get("ports")),
            volumes: volumes(service.get("volumes"), &self.directory),
            after,
            ends: false,
            health: health(service.get("healthcheck")),
            instances: deployed
                .and_then(Value::as_u64)
                .and_then(|count| u32::try_from(count).ok()),
        };
        self.services.insert(name.to_owned(), read);
        // It ends if somebody waits for that, or if it is not started again.
        if let Some(Value::Object(services)) = service.get("depends_on") {
            for (other, condition) in services {
                let waits = condition.get("condition").and_then(Value::as_str);
                if waits == Some("service_completed_successfully")
                    && let Some(other) = self.services.get_mut(other)
                {
                    other.ends = true;
                }
            }
        }
        if service.get("restart").and_then(Value::as_str) == Some("no")
            && ["migrat", "init", "setup", "seed", "schema"]
                .iter()
                .any(|word| name.contains(word))
            && let Some(own) = self.services.get_mut(name)
        {
            own.ends = true;
        }
        Ok(())
    }

    fn build(&self, build: &Value) -> Build {
        let text = |key: &str| build.get(key).and_then(Value::as_str).map(str::to_owned);
        let context = build
            .as_str()
            .map(str::to_owned)
            .or_else(|| text("context"));
        Build {
            context: self.directory.join(context.as_deref().unwrap_or(".")),
            dockerfile: text("dockerfile"),
            target: text("target"),
            arguments: pairs(build.get("args")),
        }
    }
}

/// A value with variables filled in everywhere.
fn filled(value: &Value, variables: &Variables) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(substitute(text, variables)?),
        Value::Array(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| filled(item, variables)).collect();
            Value::Array(items?)
        }
        Value::Object(members) => {
            let members: Result<serde_json::Map<_, _>, String> = members
                .iter()
                .map(|(key, member)| Ok((key.clone(), filled(member, variables)?)))
                .collect();
            Value::Object(members?)
        }
        other => other.clone(),
    })
}

/// A value with `<<` merged everywhere.
fn merged(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut whole = serde_json::Map::new();
            let bases = match members.get("<<") {
                Some(Value::Array(bases)) => bases.iter().rev().map(merged).collect(),
                Some(base) => vec![merged(base)],
                None => Vec::new(),
            };
            for base in bases {
                if let Value::Object(base) = base {
                    whole.extend(base);
                }
            }
            let own = members.iter().filter(|(key, _)| *key != "<<");
            whole.extend(own.map(|(key, member)| (key.clone(), merged(member))));
            Value::Object(whole)
        }
        Value::Array(items) => Value::Array(items.iter().map(merged).collect()),
        other => other.clone(),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A text, or a list of texts or of tables with a path.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| scalar(item.get("path").unwrap_or(item)))
            .collect(),
        Some(value @ Value::String(_)) => vec![scalar(value)],
        _ => Vec::new(),
    }
}

/// `NAME: value`, or a list of `NAME=value`.
fn pairs(value: Option<&Value>) -> IndexMap<String, String> {
    match value {
        Some(Value::Object(members)) => members
            .iter()
            .map(|(name, value)| (name.clone(), scalar(value)))
            .collect(),
        Some(Value::Array(items)) => items
            .iter()
            .map(scalar)
            .map(|item| match item.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (item.clone(), std::env::var(&item).unwrap_or_default()),
            })
            .collect(),
        _ => IndexMap::new(),
    }
}

/// A command: a list of words, or a line.
fn words(value: Option<&Value>) -> Result<Option<Vec<String>>, String> {
    match value {
        Some(Value::Array(items)) => Ok(Some(items.iter().map(scalar).collect())),
        Some(Value::String(line)) => crate::manifest::split_command(line)
            .map(Some)
            .map_err(|fault| format!("`{line}`: {fault}")),
        _ => Ok(None),
    }
}

/// The ports in the container.
fn ports(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array);
    let items = items.into_iter().flatten();
    items
        .map(|item| {
            let written = scalar(item.get("target").unwrap_or(item));
            let inner = written.rsplit(':').next().unwrap_or_default();
            inner.split('/').next().unwrap_or_default().to_owned()
        })
        .collect()
}

/// Directories and files of this machine, by their place in the container.
fn volumes(value: Option<&Value>, directory: &Path) -> Vec<(String, String)> {
    let items = value.and_then(Value::as_array);
    let mut volumes = Vec::new();
    for item in items.into_iter().flatten() {
        let (source, target) = if item.is_object() {
            let text = |key: &str| item.get(key).map(scalar).unwrap_or_default();
            (text("source"), text("target"))
        } else {
            let written = scalar(item);
            let mut parts = written.split(':').map(str::to_owned);
            (
                parts.next().unwrap_or_default(),
                parts.next().unwrap_or_default(),
            )
        };
        // Anything else is a volume of the engine, which begins empty.
        if source.starts_with('.') || source.starts_with('/') {
            let path = directory.join(&source);
            let path = fs::canonicalize(&path).unwrap_or(path);
            volumes.push((target, path.display().to_string()));
        }
    }
    volumes
}

/// The path that a health check asks for over HTTP.
fn health(check: Option<&Value>) -> Option<String> {
    let test = texts(check?.get("test")).join(" ");
    let at = test.find("http://")?;
    let address = test[at..].split([' ', '"', '\'']).next()?;
    let path = address.trim_start_matches("http://").find('/')?;
    Some(address.trim_start_matches("http://")[path..].to_owned())
}
