//! Which scenarios run: places, tags, names, a share of them, and in which order.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use cucumber::gherkin::tagexpr::TagOperation;
use cucumber::tag::Ext as _;
use miette::Diagnostic;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use regex::Regex;

use super::feature::read;
use super::problem::{FeatureText, Problem, Problems};
use super::scenario::{Feature, Scenario};

/// What a user asks to run. Each part narrows the others.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Where to look; nothing means nowhere.
    pub places: Vec<Place>,
    /// Tags that must hold.
    pub tags: Vec<Tags>,
    /// Names must match one of these.
    pub names: Vec<Regex>,
    /// A share of the scenarios.
    pub shard: Option<Shard>,
    /// In which order they start.
    pub order: Order,
}

/// Where to look for scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A feature file, or a directory with all below it.
    Path(PathBuf),
    /// What a line of a file means: a scenario, a row, a rule, a feature.
    Line(PathBuf, usize),
    /// A file with a place on each line, as a run leaves it behind.
    List(PathBuf),
}

impl FromStr for Place {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(list) = text.strip_prefix('@') {
            return Ok(Self::List(list.into()));
        }
        let tidy = |path: &str| PathBuf::from(path.strip_prefix("./").unwrap_or(path));
        // A column may follow, as in places that are printed with errors.
        let numbered = |text: &str| {
            text.rsplit_once(':')
                .is_some_and(|(_, number)| number.parse::<usize>().is_ok())
        };
        let text = match text.rsplit_once(':') {
            Some((place, _)) if numbered(text) && numbered(place) => place,
            _ => text,
        };
        match text.rsplit_once(':') {
            Some((path, line)) if !path.is_empty() => match line.parse() {
                Ok(line) if line > 0 => Ok(Self::Line(tidy(path), line)),
                _ => Err(SelectionError::Line {
                    text: text.to_owned(),
                }),
            },
            _ => Ok(Self::Path(tidy(text))),
        }
    }
}

/// A tag expression: `@slow and not @docker`.
#[derive(Clone, Debug)]
pub struct Tags(TagOperation);

impl FromStr for Tags {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| SelectionError::Tags {
            text: text.to_owned(),
        })
    }
}

/// The `number`-th of `of` shares: `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((number, of)) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err(SelectionError::Shard {
                text: text.to_owned(),
            }),
        }
    }
}

/// In which order scenarios start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As written, files by name.
    #[default]
    Defined,
    /// Shuffled by this seed.
    Random(u64),
}

impl FromStr for Order {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "defined" => Ok(Self::Defined),
            Some(("random", seed)) => {
                seed.parse()
                    .map(Self::Random)
                    .map_err(|_| SelectionError::Order {
                        text: text.to_owned(),
                    })
            }
            _ => Err(SelectionError::Order {
                text: text.to_owned(),
            }),
        }
    }
}

/// Why nothing can be selected.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum SelectionError {
    /// There is no such file or directory.
    #[error("`{}` does not exist", .path.display())]
    #[diagnostic(help("name a feature file, a directory with features, `FILE:LINE`, or `@LIST`"))]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read `{}`", .path.display())]
    #[diagnostic(help("a feature is a text file in UTF-8 that this user may read"))]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no feature file.
    #[error("`{}` is no feature file", .path.display())]
    #[diagnostic(help("feature files end in `.feature`; a list of places is written `@{}`", .path.display()))]
    NotAFeature {
        /// The path.
        path: PathBuf,
    },
    /// What follows the colon is no line.
    #[error("`{text}` names no line")]
    #[diagnostic(help("write `FILE:LINE`, with a line from 1"))]
    Line {
        /// As given.
        text: String,
    },
    /// Nothing stands on that line.
    #[error("no scenario stands on line {line} of `{}`", .path.display())]
    #[diagnostic(help("{}", nearby(.lines)))]
    NoScenario {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// Where its scenarios are.
        lines: Vec<usize>,
    },
    /// No tag expression.
    #[error("`{text}` is no tag expression")]
    #[diagnostic(help("write `@slow`, `not @slow`, `@a and @b`, `(@a or @b) and not @c`"))]
    Tags {
        /// As given.
        text: String,
    },
    /// No share.
    #[error("`{text}` is no share")]
    #[diagnostic(help("write `1/3`, `2/3`, `3/3`"))]
    Shard {
        /// As given.
        text: String,
    },
    /// No order.
    #[error("`{text}` is no order")]
    #[diagnostic(help("write `defined` or `random:SEED` with a number"))]
    Order {
        /// As given.
        text: String,
    },
    /// Everything was filtered away.
    #[error("nothing is selected: {}", reason(*.scenarios, *.features))]
    #[diagnostic(help("`rehearse --list` shows what a selection means"))]
    Nothing {
        /// In how many files.
        features: usize,
        /// How many scenarios there were before tags, names and shares.
        scenarios: usize,
    },
    /// A list of what is to run again holds nothing.
    #[error("nothing is to run again: `{}` lists nothing", .path.display())]
    NothingAgain {
        /// The list.
        path: PathBuf,
    },
    /// The features are faulty.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Problems(#[from] Problems),
}

fn nearby(lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().take(20).map(ToString::to_string).collect();
    match lines.as_slice() {
        [] => "the file has no scenario".to_owned(),
        lines => format!("its scenarios are on the lines {}", lines.join(", ")),
    }
}

fn reason(scenarios: usize, features: usize) -> String {
    match (features, scenarios) {
        (0, _) => "there is no feature file in the places given".to_owned(),
        (_, 0) => "the places given hold no scenario".to_owned(),
        (_, scenarios) => format!("none of {scenarios} scenarios has these tags, names and share"),
    }
}

impl Selection {
    /// Reads the features and picks the scenarios. Paths are relative to the current
    /// directory.
    ///
    /// # Errors
    /// Whatever is wrong with the selection or any feature file in it, and if nothing
    /// is selected.
    pub fn pick(&self) -> Result<Vec<Arc<Scenario>>, SelectionError> {
        let mut places = Vec::new();
        for place in &self.places {
            match place {
                Place::List(path) => places.extend(read_list(path)?),
                other => places.push(other.clone()),
            }
        }
        if let ([], [Place::List(path), ..]) = (places.as_slice(), self.places.as_slice()) {
            return Err(SelectionError::NothingAgain { path: path.clone() });
        }
        let mut library = Library::default();
        let mut picked: Vec<Arc<Scenario>> = Vec::new();
        let mut known: HashSet<*const Scenario> = HashSet::new();
        for place in &places {
            let (path, line) = match place {
                Place::Line(path, line) => (path, Some(*line)),
                Place::Path(path) | Place::List(path) => (path, None),
            };
            for file in feature_files(path)? {
                let Some(feature) = library.feature(&file)? else {
                    continue;
                };
                let found = match line {
                    None => feature.scenarios.clone(),
                    Some(line) => {
                        on_line(&feature, line).ok_or_else(|| SelectionError::NoScenario {
                            path: path.clone(),
                            line,
                            lines: feature
                                .scenarios
                                .iter()
                                .map(|scenario| scenario.line)
                                .collect(),
                        })?
                    }
                };
                for scenario in found {
                    if known.insert(Arc::as_ptr(&scenario)) {
                        picked.push(scenario);
                    }
                }
            }
        }
        if !library.problems.is_empty() {
            return Err(Problems {
                problems: library.problems,
            }
            .into());
        }
        let (features, scenarios) = (library.features.len(), picked.len());
        picked.retain(|scenario| self.keeps(scenario));
        if let Some(Shard { number, of }) = self.shard {
            let mut position = 0;
            picked.retain(|_| {
                position += 1;
                (position - 1) % of == number - 1
            });
        }
        if let Order::Random(seed) = self.order {
            picked.shuffle(&mut StdRng::seed_from_u64(seed));
        }
        if picked.is_empty() {
            return Err(SelectionError::Nothing {
                features,
                scenarios,
            });
        }
        Ok(picked)
    }

    /// Whether scenarios are left out of the places.
    pub fn narrows(&self) -> bool {
        !self.tags.is_empty() || !self.names.is_empty() || self.shard.is_some()
    }

    fn keeps(&self, scenario: &Scenario) -> bool {
        self.tags.iter().all(|Tags(tags)| tags.eval(&scenario.tags))
            && (self.names.is_empty()
                || self.names.iter().any(|name| name.is_match(&scenario.name)))
    }
}

/// The features read so far, each once.
#[derive(Default)]
struct Library {
    features: Vec<(PathBuf, Option<Feature>)>,
    problems: Vec<Problem>,
}

impl Library {
    fn feature(&mut self, path: &Path) -> Result<Option<Feature>, SelectionError> {
        if let Some((_, feature)) = self.features.iter().find(|(known, _)| known == path) {
            return Ok(feature.clone());
        }
        let unreadable = |source| SelectionError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let text = crate::text::read(path).map_err(unreadable)?;
        let feature = match read(&FeatureText::new(path.display().to_string(), &text)) {
            Ok(feature) => Some(feature),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        };
        self.features.push((path.to_owned(), feature.clone()));
        Ok(feature)
    }
}

fn read_list(path: &Path) -> Result<Vec<Place>, SelectionError> {
    let text = fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => SelectionError::Missing {
            path: path.to_owned(),
        },
        _ => SelectionError::Unreadable {
            path: path.to_owned(),
            source,
        },
    })?;
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::parse).collect()
}

fn feature_files(path: &Path) -> Result<Vec<PathBuf>, SelectionError> {
    let unreadable = |source| SelectionError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let kind = fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => SelectionError::Missing {
            path: path.to_owned(),
        },
        _ => unreadable(source),
    })?;
    let is_feature = |path: &Path| {
        path.extension()
            .is_some_and(|extension| extension == "feature")
    };
    if !kind.is_dir() {
        return if is_feature(path) {
            Ok(vec![path.to_owned()])
        } else {
            Err(SelectionError::NotAFeature {
                path: path.to_owned(),
            })
        };
    }
    let mut entries = fs::read_dir(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.path();
        if path.is_dir() || is_feature(&path) {
            files.extend(feature_files(&path)?);
        }
    }
    Ok(files)
}

/// What a line means: a row of the examples, all rows of the examples whose heading it
/// is, a scenario with all its rows, a rule, or the feature.
fn on_line(feature: &Feature, line: usize) -> Option<Vec<Arc<Scenario>>> {
    let some = |fits: &dyn Fn(&Scenario) -> bool| {
        let found: Vec<_> = feature
            .scenarios
            .iter()
            .filter(|scenario| fits(scenario))
            .cloned()
            .collect();
        (!found.is_empty()).then_some(found)
    };
    let first = feature
        .scenarios
        .iter()
        .map(|scenario| scenario.extent.scenario.start)
        .min()?;
    some(&|scenario| scenario.line == line)
        .or_else(|| {
            some(&|scenario| {
                scenario
                    .extent
                    .examples
                    .as_ref()
                    .is_some_and(|lines| lines.contains(&line))
            })
        })
        .or_else(|| some(&|scenario| scenario.extent.scenario.contains(&line)))
        .or_else(|| {
            some(&|scenario| {
                scenario
                    .extent
                    .rule
                    .as_ref()
                    .is_some_and(|lines| lines.contains(&line))
            })
        })
        .or_else(|| (line < first).then(|| feature.scenarios.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURE: &str = "Feature: F\n\n  @fast\n  Scenario: one\n    Given it\n\n  Scenario Outline: two\n    Given it\n    Examples:\n      | n |\n      | 1 |\n      | 2 |\n\n  @slow\n  Rule: R\n    Scenario: three\n      Given it\n";

    fn selected(arrange: impl Fn(&mut Selection, &str)) -> Result<Vec<String>, SelectionError> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.feature");
        fs::write(&file, FEATURE).unwrap();
        let mut selection = Selection {
            places: vec![Place::Path(directory.path().to_owned())],
            ..Selection::default()
        };
        arrange(&mut selection, file.to_str().unwrap());
        let picked = selection.pick()?;
        Ok(picked
            .iter()
            .map(|scenario| scenario.name.clone())
            .collect())
    }

    fn line(line: usize) -> Vec<String> {
        selected(|selection, file| {
            selection.places = vec![format!("{file}:{line}").parse().unwrap()];
        })
        .unwrap()
    }

    #[test]
    fn a_line_selects_the_nearest_thing_it_stands_in() {
        assert_eq!(line(1).len(), 4);
        assert_eq!(line(3), ["one"]);
        assert_eq!(line(5), ["one"]);
        assert_eq!(line(8), ["two (n: 1)", "two (n: 2)"]);
        assert_eq!(line(10), ["two (n: 1)", "two (n: 2)"]);
        assert_eq!(line(12), ["two (n: 2)"]);
        assert_eq!(line(15), ["three"]);
        let missing = selected(|selection, file| {
            selection.places = vec![format!("{file}:99").parse().unwrap()];
        });
        assert!(matches!(missing, Err(SelectionError::NoScenario { .. })));
    }

    #[test]
    fn tags_names_and_shares_narrow_each_other() {
        let tags = |text: &str| selected(|selection, _| selection.tags.push(text.parse().unwrap()));
        assert_eq!(tags("@slow").unwrap(), ["three"]);
        assert_eq!(tags("not @slow and not @fast").unwrap().len(), 2);
        assert!(matches!(
            tags("@no"),
            Err(SelectionError::Nothing { scenarios: 4, .. })
        ));
        let named = selected(|selection, _| selection.names.push(Regex::new("^t").unwrap()));
        assert_eq!(named.unwrap().len(), 3);
        let shard = |text: &str| {
            selected(|selection, _| selection.shard = Some(text.parse().unwrap())).unwrap()
        };
        assert_eq!(
            (shard("1/3").len(), shard("2/3").len(), shard("3/3").len()),
            (2, 1, 1)
        );
        let shuffled = selected(|selection, _| selection.order = Order::Random(7)).unwrap();
        assert_eq!(shuffled.len(), 4);
    }

    #[test]
    fn a_scenario_named_twice_runs_once() {
        let twice = selected(|selection, file| {
            selection.places.push(format!("{file}:4").parse().unwrap());
        });
        assert_eq!(twice.unwrap().len(), 4);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!("a.feature:0".parse::<Place>().is_err());
        let line = Place::Line("a.feature".into(), 3);
        assert_eq!("./a.feature:3:14".parse::<Place>().unwrap(), line);
        assert!("a.feature:x".parse::<Place>().is_err());
        assert!("@a @b".parse::<Tags>().is_err());
        assert!("0/3".parse::<Shard>().is_err());
        assert!("4/3".parse::<Shard>().is_err());
        assert!("random".parse::<Order>().is_err());
        let missing = selected(|selection, _| selection.places.push("none".parse().unwrap()));
        assert!(matches!(missing, Err(SelectionError::Missing { .. })));
    }
}
