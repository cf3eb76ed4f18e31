//! Reading `defects`: what a team builds into its own system on purpose, to see whether its
//! suite notices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::command::read_commands;
use super::container::read_plain_environment;
use super::context::Context;
use super::error::{Invalid, ManifestError};
use super::keys;
use super::node::{Node, Value};
use super::placeholders::Placeholders;
use super::problem::Problem;
use super::source::Source;
use super::table::{Table, list, named, scalar, text};
use super::{Command, Manifest};

/// Stands in an environment for the defect's own name.
const NAME: &str = "${defect}";

/// Defects of one's own, as the manifest describes them.
#[derive(Clone, Debug, Default)]
pub struct Defects {
    /// What builds the system with all of them in it, instead of `build`.
    pub build: Option<Vec<Command>>,
    /// What every process of a system with a defect gets. `${defect}` is its name.
    pub environment: BTreeMap<String, String>,
    /// A file with further ones, relative to the manifest.
    pub file: Option<PathBuf>,
    /// By name.
    pub named: IndexMap<String, OwnDefect>,
}

/// One defect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnDefect {
    /// What is wrong with the system then, in a sentence.
    pub what: Option<String>,
    /// The rules that it breaks, as the team numbers or calls them.
    pub rules: Vec<String>,
    /// What every process gets; none: as it stands for all.
    pub environment: Option<BTreeMap<String, String>>,
    /// Command lines that build the system with this defect alone.
    pub build: Option<Vec<String>>,
    /// Whether `prepare` runs with it too: what it changes is in the database from the start.
    pub prepares: bool,
    /// The scenarios that are meant to see it: `features/brake.feature`, a line of one, or
    /// `brake: a part of a name`.
    pub scenarios: Vec<String>,
}

impl Defects {
    /// The variables that switch a defect on.
    pub fn variables(&self, name: &str, defect: &OwnDefect) -> BTreeMap<String, String> {
        let variables = defect.environment.as_ref().unwrap_or(&self.environment);
        variables
            .iter()
            .map(|(variable, value)| (variable.clone(), value.replace(NAME, name)))
            .collect()
    }
}

impl Manifest {
    /// All defects, those of the file too.
    ///
    /// # Errors
    /// The file cannot be read, or holds mistakes.
    pub fn all_defects(&self) -> Result<IndexMap<String, OwnDefect>, ManifestError> {
        let mut all = self.defects.named.clone();
        if let Some(file) = &self.defects.file {
            all.extend(read_file(&self.root.join(file))?);
        }
        Ok(all)
    }
}

fn read_file(path: &Path) -> Result<IndexMap<String, OwnDefect>, ManifestError> {
    let content = std::fs::read_to_string(path).map_err(|source| ManifestError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let source = Source::new(&content);
    let invalid = |problems: Vec<Problem>| {
        let name = path.display().to_string();
        ManifestError::Invalid(Box::new(Invalid::new(name, source.masked(), problems)))
    };
    let node = Node::parse(&source, &content).map_err(|(span, defect)| {
        let spot = source.spot(span);
        invalid(vec![Problem {
            spot,
            defect,
            earlier: None,
        }])
    })?;
    let mut cx = Context::new(&source, PathBuf::from("."), &node);
    match read_named(&mut cx, &node) {
        Some(named) if cx.problems.is_empty() => Ok(named),
        _ => Err(invalid(cx.problems)),
    }
}

pub(super) fn read_defects<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Defects> {
    let table = Table::read(cx, node, keys::DEFECTS, "`defects`")?;
    let build = match table.get("build") {
        None => Some(None),
        Some(node) => {
            let what = table.what("build");
            read_commands(cx, node, &what, &Placeholders::of_build()).map(Some)
        }
    };
    let environment = match table.get("environment") {
        None => Some(BTreeMap::new()),
        Some(node) => read_plain_environment(cx, node, &table.what("environment")),
    };
    let file = table.text(cx, "file");
    let named = match table.get("named") {
        None => Some(IndexMap::new()),
        Some(node) => read_named(cx, node),
    };
    Some(Defects {
        build: build?,
        environment: environment?,
        file: file?.map(|(file, _)| PathBuf::from(file)),
        named: named?,
    })
}

fn read_named<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<IndexMap<String, OwnDefect>> {
    let defects: Vec<_> = named(cx, node, "the defects")?
        .into_iter()
        .map(|(name, _, node)| Some((name.to_owned(), read_defect(cx, name, node)?)))
        .collect();
    defects.into_iter().collect()
}

fn read_defect<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<OwnDefect> {
    let table = Table::read(cx, node, keys::DEFECT, format!("defect `{name}`"))?;
    let what = table.text(cx, "what");
    let environment = match table.get("environment") {
        None => Some(None),
        Some(node) => read_plain_environment(cx, node, &table.what("environment")).map(Some),
    };
    let rules = read_list(cx, &table, "rules");
    let build = match table.get("build") {
        None => Some(None),
        Some(_) => read_list(cx, &table, "build").map(Some),
    };
    let prepares = table.flag(cx, "prepares", false);
    let scenarios = read_list(cx, &table, "scenarios");
    Some(OwnDefect {
        what: what?.map(|(what, _)| what.to_owned()),
        rules: rules?,
        environment: environment?,
        build: build?,
        prepares: prepares?,
        scenarios: scenarios?,
    })
}

/// A list of texts or numbers; one alone needs no list.
fn read_list<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
) -> Option<Vec<String>> {
    let Some(node) = table.get(key) else {
        return Some(Vec::new());
    };
    let what = table.what(key);
    if matches!(node.value, Value::Text(_)) {
        return Some(vec![text(cx, node, &what)?.to_owned()]);
    }
    let items: Vec<_> = list(cx, node, &what)?
        .iter()
        .map(|item| scalar(cx, item, &what).map(str::to_owned))
        .collect();
    items.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_defects_is_read_and_its_mistakes_have_places() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("defects.yaml");
        let good = "no-brake:\n  rules: [29, brake]\n  what: It never stops.\n  scenarios: [\"brake: full\"]\n\
                    other: { environment: { X: 1 }, scenarios: features/a.feature }\n";
        std::fs::write(&path, good).unwrap();
        let defects = read_file(&path).unwrap();
        assert_eq!(defects["no-brake"].rules, ["29", "brake"]);
        assert_eq!(defects["other"].scenarios, ["features/a.feature"]);
        let all = Defects {
            environment: BTreeMap::from([("DEFECT".to_owned(), "${defect}".to_owned())]),
            ..Defects::default()
        };
        let chosen = all.variables("no-brake", &defects["no-brake"]);
        assert_eq!(chosen["DEFECT"], "no-brake");
        assert_eq!(all.variables("other", &defects["other"])["X"], "1");
        std::fs::write(&path, "no-brake: { rule: 29 }\n").unwrap();
        let error = format!("{:?}", miette::Report::new(read_file(&path).unwrap_err()));
        assert!(
            error.contains("rule") && error.contains("defects.yaml:1"),
            "{error}"
        );
        assert!(read_file(Path::new("/nowhere.yaml")).is_err());
    }
}
