//! From a suite to what became of each variant.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::control::controls;
use super::found::{Found, Seen};
use super::meant::meant;
use super::results::{Tried, VariantResult};
use super::setting::settings;
use super::variant::{Kind, Mark, Variant};
use crate::gherkin::{
    self, Compiled, Exit, Interrupt, Plan, Project as _, RunEvent, RunInfo, RunOptions, Scenario,
    ScenarioOutcome, Shard, new_run_id,
};
use crate::manifest::{Command, Manifest, ManifestError, OwnDefect, Template};
use crate::suite::{Scene, Suite};

/// So many scenarios that no variant names are tried with each at a time.
const AT_A_TIME: usize = 12;

/// Which kinds of variants are tried.
pub type Only = Vec<Kind>;

/// What is asked for.
pub struct Request {
    /// Which kinds.
    pub kinds: Only,
    /// Only variants whose name has this in it; all if there is none.
    pub names: Vec<String>,
    /// How many scenarios run side by side.
    pub jobs: NonZeroUsize,
    /// The share of variants that is tried here.
    pub shard: Option<Shard>,
    /// Whether scenarios that no variant names are tried where nothing was seen.
    pub others: bool,
}

/// Nothing can be proven.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The defects cannot be read.
    #[error(transparent)]
    Defects(Box<ManifestError>),
    /// A defect means no scenario.
    #[error("defect `{defect}` means `{written}`, and no scenario is that")]
    MeansNothing {
        /// Which.
        defect: String,
        /// As written.
        written: String,
    },
    /// A defect changes nothing.
    #[error("defect `{defect}` changes nothing: it has neither an environment nor a build")]
    ChangesNothing {
        /// Which.
        defect: String,
    },
    /// There is nothing to try.
    #[error("nothing is to be proven: no variant was found")]
    Nothing,
    /// The vocabulary, or the scenarios as they are, make no sense.
    #[error("{0}")]
    Invalid(String),
    /// The system could not be built or started.
    #[error("{reason}")]
    Broken {
        /// Why.
        reason: String,
    },
    /// Ctrl-C before anything was found.
    #[error("interrupted")]
    Interrupted,
}

/// What happens meanwhile.
pub enum Progress<'a> {
    /// The suite as it is runs.
    Suite {
        /// How many scenarios.
        scenarios: usize,
    },
    /// A scenario is not green as it is, and so tells nothing.
    NotGreen {
        /// Which.
        scenario: &'a Scenario,
        /// What it came to.
        verdict: Exit,
    },
    /// Variants are about to be tried.
    Trying {
        /// How many tries.
        tries: usize,
        /// Of how many variants.
        variants: usize,
    },
    /// One was tried.
    Tried {
        /// Which.
        variant: &'a Variant,
        /// With which scenario.
        scenario: &'a Scenario,
        /// What it came to.
        mark: Mark,
        /// How many are done, of how many.
        done: (usize, usize),
    },
}

/// What was found.
pub struct Course {
    /// The scenarios that are green as they are, and all there are.
    pub green: (usize, usize),
    /// What became of each variant.
    pub results: Vec<VariantResult>,
    /// How long it took.
    pub took: Duration,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

/// Hears of each scenario that ended.
type Ended<'e> = dyn FnMut(&mut dyn FnMut(Progress<'_>), usize, &ScenarioOutcome) + 'e;

/// A scenario with a variant.
struct Try {
    variant: usize,
    scenario: usize,
    altered: Arc<Scenario>,
}

/// Tries variants of a suite.
///
/// # Errors
/// When they make no sense, or the system cannot be built.
pub fn prove(
    suite: &Suite,
    scenarios: &[Arc<Scenario>],
    info: &RunInfo,
    request: &Request,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Course, ProveError> {
    let begun = Instant::now();
    let vocabulary = suite.vocabulary().compile();
    let vocabulary = vocabulary.map_err(|errors| ProveError::Invalid(errors.to_string()))?;
    let mut variants = found(suite.manifest(), scenarios, &vocabulary, request)?;
    if let Some(shard) = &request.shard {
        let mine = |(place, _): &(usize, Variant)| place % shard.of == shard.number - 1;
        let numbered = variants.into_iter().enumerate();
        variants = numbered.filter(mine).map(|(_, variant)| variant).collect();
    }
    if variants.is_empty() {
        return Err(ProveError::Nothing);
    }
    let mut stage = Stage {
        suite,
        vocabulary,
        scenarios,
        info,
        jobs: request.jobs,
        interrupt,
        tell,
        runs: 0,
    };
    let wanted = stage.wanted(&variants, request);
    let green = stage.green(&wanted)?;
    let results = stage.all(variants, &green, request)?;
    Ok(Course {
        green: (green.len(), wanted.len()),
        results,
        took: begun.elapsed(),
        interrupted: interrupt.is_raised(),
    })
}

/// All variants that are asked for.
fn found(
    manifest: &Manifest,
    scenarios: &[Arc<Scenario>],
    vocabulary: &Compiled<Scene>,
    request: &Request,
) -> Result<Vec<Variant>, ProveError> {
    let wants = |kind| request.kinds.contains(&kind);
    let mut variants = Vec::new();
    if wants(Kind::Control) || wants(Kind::Line) {
        let controls = controls(scenarios, vocabulary).into_iter();
        variants.extend(controls.filter(|variant| wants(variant.kind)));
    }
    if wants(Kind::Defect) {
        let defects = manifest
            .all_defects()
            .map_err(|error| ProveError::Defects(Box::new(error)))?;
        for (name, defect) in &defects {
            variants.push(own(manifest, scenarios, name, defect)?);
        }
    }
    if wants(Kind::Setting) {
        variants.extend(settings(manifest, scenarios));
    }
    let named = |variant: &Variant| {
        let mut names = request.names.iter();
        request.names.is_empty() || names.any(|name| variant.name.contains(name.as_str()))
    };
    variants.retain(named);
    Ok(variants)
}

/// A defect of the team's own.
fn own(
    manifest: &Manifest,
    scenarios: &[Arc<Scenario>],
    name: &str,
    defect: &OwnDefect,
) -> Result<Variant, ProveError> {
    let variables = manifest.defects.variables(name, defect);
    if variables.is_empty() && defect.build.is_none() {
        let defect = name.to_owned();
        return Err(ProveError::ChangesNothing { defect });
    }
    let mut places = Vec::new();
    for written in &defect.scenarios {
        let these = meant(written, scenarios);
        if these.is_empty() {
            return Err(ProveError::MeansNothing {
                defect: name.to_owned(),
                written: written.clone(),
            });
        }
        places.extend(
            these
                .into_iter()
                .filter(|place| !places.contains(place))
                .collect::<Vec<_>>(),
        );
    }
    let given = variables.iter().map(|(variable, value)| {
        format!("the variable {variable} of every process is \"{value}\"")
    });
    Ok(Variant {
        kind: Kind::Defect,
        name: name.to_owned(),
        what: defect.what.clone().unwrap_or_default(),
        given: given.collect(),
        left_out: Vec::new(),
        others: (0..scenarios.len())
            .filter(|place| !places.contains(place))
            .collect(),
        meant: places,
        build: defect.build.clone(),
    })
}

/// What tries need.
struct Stage<'a> {
    suite: &'a Suite,
    vocabulary: Compiled<Scene>,
    scenarios: &'a [Arc<Scenario>],
    info: &'a RunInfo,
    jobs: NonZeroUsize,
    interrupt: &'a Interrupt,
    tell: &'a mut (dyn FnMut(Progress<'_>) + 'a),
    runs: usize,
}

impl Stage<'_> {
    /// The scenarios whose own colour must be known: controls and settings compare with
    /// it, and so does whatever is tried with scenarios that nobody named.
    fn wanted(&self, variants: &[Variant], request: &Request) -> Vec<usize> {
        let mut wanted: Vec<usize> = Vec::new();
        for variant in variants {
            wanted.extend(&variant.meant);
            if request.others || variant.meant.is_empty() {
                wanted.extend(&variant.others);
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// Runs scenarios as they are; gives back those that are green, the quickest first.
    fn green(&mut self, wanted: &[usize]) -> Result<Vec<usize>, ProveError> {
        let scenarios = wanted.len();
        (self.tell)(Progress::Suite { scenarios });
        let plain: Vec<Arc<Scenario>> = wanted
            .iter()
            .map(|place| Arc::clone(&self.scenarios[*place]))
            .collect();
        let outcomes = self.run("suite", &plain, None, &mut |_, _, _| {})?;
        let mut green: Vec<(Duration, usize)> = Vec::new();
        for (place, outcome) in wanted.iter().zip(outcomes) {
            match outcome.verdict {
                Exit::Passed => green.push((outcome.took, *place)),
                verdict => (self.tell)(Progress::NotGreen {
                    scenario: &self.scenarios[*place],
                    verdict,
                }),
            }
        }
        if self.interrupt.is_raised() {
            return Err(ProveError::Interrupted);
        }
        green.sort_unstable();
        Ok(green.into_iter().map(|(_, place)| place).collect())
    }

    /// Tries all variants: first with what is meant for them, then, as far as nothing was
    /// seen, with the others, some at a time.
    fn all(
        &mut self,
        variants: Vec<Variant>,
        green: &[usize],
        request: &Request,
    ) -> Result<Vec<VariantResult>, ProveError> {
        let mut results: Vec<VariantResult> = variants.iter().map(VariantResult::untried).collect();
        let mut waiting: Vec<Vec<usize>> = variants
            .iter()
            .map(|variant| {
                let others = request.others || variant.meant.is_empty();
                let of_others = green.iter().filter(|_| others);
                let of_others = of_others.filter(|place| variant.others.contains(place));
                of_others.rev().copied().collect()
            })
            .collect();
        let mut next: Vec<Vec<usize>> = variants
            .iter()
            .map(|variant| {
                let meant = variant.meant.iter();
                meant
                    .filter(|place| green.contains(place))
                    .copied()
                    .collect()
            })
            .collect();
        loop {
            for (variant, next) in next.iter_mut().enumerate() {
                if next.is_empty() && !results[variant].is_settled() {
                    let waiting = &mut waiting[variant];
                    let rest = waiting.len().saturating_sub(AT_A_TIME);
                    *next = waiting.split_off(rest);
                }
            }
            let tries = self.tries(&variants, &mut next);
            if tries.is_empty() || self.interrupt.is_raised() {
                break;
            }
            self.try_all(&variants, tries, &mut results)?;
        }
        for result in &mut results {
            result.conclude();
        }
        Ok(results)
    }

    fn tries(&self, variants: &[Variant], next: &mut [Vec<usize>]) -> Vec<Try> {
        let mut tries = Vec::new();
        for (variant, places) in next.iter_mut().enumerate() {
            for scenario in std::mem::take(places) {
                let changed = &variants[variant];
                let left_out = &changed.left_out;
                let called = format!("{}{variant}", changed.kind);
                let altered = self.scenarios[scenario].altered(
                    &called,
                    |place, _| !left_out.contains(&place),
                    &changed.given,
                );
                tries.push(Try {
                    variant,
                    scenario,
                    altered: Arc::new(altered),
                });
            }
        }
        tries
    }

    /// Runs tries: those that are built in the same way together.
    fn try_all(
        &mut self,
        variants: &[Variant],
        tries: Vec<Try>,
        results: &mut [VariantResult],
    ) -> Result<(), ProveError> {
        let tried: BTreeSet<usize> = tries.iter().map(|one| one.variant).collect();
        (self.tell)(Progress::Trying {
            tries: tries.len(),
            variants: tried.len(),
        });
        let of = tries.len();
        let mut done = 0;
        let mut groups: BTreeMap<Option<Vec<String>>, Vec<Try>> = BTreeMap::new();
        for one in tries {
            let variant = &variants[one.variant];
            let build = match variant.kind {
                Kind::Defect => Some(variant.build.clone().unwrap_or_default()),
                _ => None,
            };
            groups.entry(build).or_default().push(one);
        }
        for (build, tries) in groups {
            let (valid, invalid): (Vec<Try>, Vec<Try>) = tries
                .into_iter()
                .partition(|one| self.is_valid(&one.altered));
            for one in invalid {
                done += 1;
                results[one.variant].untold("with this change the scenario makes no sense");
            }
            let altered: Vec<Arc<Scenario>> =
                valid.iter().map(|one| Arc::clone(&one.altered)).collect();
            let scenarios = self.scenarios;
            self.runs += 1;
            let name = format!("tries-{}", self.runs);
            let outcomes = self.run(&name, &altered, build, &mut |tell, place, outcome| {
                let one = &valid[place];
                let variant = &variants[one.variant];
                done += 1;
                tell(Progress::Tried {
                    variant,
                    scenario: &scenarios[one.scenario],
                    mark: mark(variant.kind, &Found::of(outcome)),
                    done: (done, of),
                });
            })?;
            for (one, outcome) in valid.iter().zip(outcomes) {
                let found = Found::of(&outcome);
                let mark = mark(variants[one.variant].kind, &found);
                let scenario = &scenarios[one.scenario];
                results[one.variant].tried.push(Tried {
                    scenario: scenario.selector(),
                    name: scenario.name.clone(),
                    mark,
                    verdict: found.verdict.to_string(),
                    seen: found.seen,
                    told: found.told,
                    took: outcome.took,
                });
            }
        }
        Ok(())
    }

    fn is_valid(&self, scenario: &Arc<Scenario>) -> bool {
        let alone = std::slice::from_ref(scenario);
        Plan::new(alone, &self.vocabulary, self.info.seed).is_ok()
    }

    /// Runs scenarios on a venue of their own.
    fn run(
        &mut self,
        name: &str,
        scenarios: &[Arc<Scenario>],
        build: Option<Vec<String>>,
        ended: &mut Ended<'_>,
    ) -> Result<Vec<Arc<ScenarioOutcome>>, ProveError> {
        if scenarios.is_empty() {
            return Ok(Vec::new());
        }
        let mut manifest = (**self.suite.manifest()).clone();
        if let Some(lines) = build {
            manifest.build = match (lines.as_slice(), manifest.defects.build.take()) {
                ([], Some(build)) => build,
                ([], None) => manifest.build,
                (lines, _) => lines.iter().map(|line| shell(line)).collect(),
            };
        }
        let suite = Arc::new(self.suite.with(manifest));
        let plan = Plan::new(scenarios, &self.vocabulary, self.info.seed)
            .map_err(|problems| ProveError::Invalid(problems.to_string()))?;
        let directory: PathBuf = self.info.directory.join(name);
        let broken = |error: std::io::Error| ProveError::Broken {
            reason: format!("cannot make {}: {error}", directory.display()),
        };
        fs::create_dir_all(&directory).map_err(broken)?;
        let info = Arc::new(RunInfo {
            id: new_run_id(),
            directory,
            ..self.info.clone()
        });
        let options = RunOptions {
            jobs: self.jobs,
            limits: suite.limits(),
        };
        let tell = &mut *self.tell;
        let mut listener = |event: &RunEvent| {
            if let RunEvent::ScenarioEnded { scenario, outcome } = event {
                ended(tell, scenario.0, outcome);
            }
        };
        let result =
            gherkin::rehearse(&suite, &plan, &info, options, self.interrupt, &mut listener);
        let broken = result.evidence.iter();
        let mut broken = broken.filter(|one| one.verdict != Exit::Passed);
        if let Some(evidence) = broken.next() {
            return Err(ProveError::Broken {
                reason: evidence.message.clone(),
            });
        }
        let outcomes = result.scenarios.into_iter();
        Ok(outcomes.map(|(_, outcome)| outcome).collect())
    }
}

fn mark(kind: Kind, found: &Found) -> Mark {
    if kind.is_control() {
        found.mark_of_control()
    } else {
        found.mark()
    }
}

/// A command line of a defect, run by a shell.
fn shell(line: &str) -> Command {
    let words = ["sh", "-c", line].map(Template::literal);
    Command {
        words: words.to_vec(),
        environment: BTreeMap::new(),
    }
}

impl VariantResult {
    fn untried(variant: &Variant) -> Self {
        Self {
            kind: variant.kind,
            name: variant.name.clone(),
            what: variant.what.clone(),
            mark: Mark::Untold,
            why: None,
            tried: Vec::new(),
        }
    }

    /// Whether nothing more has to be tried.
    fn is_settled(&self) -> bool {
        let told = |one: &Tried| matches!(one.mark, Mark::SeenByRule | Mark::Seen);
        self.kind.is_control() && !self.tried.is_empty()
            || self.why.is_some()
            || self.tried.iter().any(told)
    }

    fn untold(&mut self, why: &str) {
        self.why = Some(why.to_owned());
    }

    /// The best that any try came to.
    fn conclude(&mut self) {
        let marks = self.tried.iter().map(|one| one.mark);
        self.mark = marks.min().unwrap_or(Mark::Untold);
        if self.mark == Mark::Untold && self.why.is_none() {
            let told = self.tried.iter().find_map(|one| one.told.clone());
            self.why = told.or_else(|| {
                let none = "no scenario that is green as it is was tried with it";
                self.tried.is_empty().then(|| none.to_owned())
            });
        }
    }

    /// The try that saw it, or decided.
    pub fn best(&self) -> Option<&Tried> {
        self.tried.iter().find(|one| one.mark == self.mark)
    }
}

impl Tried {
    /// What was found, in a line.
    pub fn words(&self) -> String {
        match (&self.seen, &self.told) {
            (Some(Seen::Rule { told, .. } | Seen::Suite { told } | Seen::Late { told }), _)
            | (None, Some(told)) => told.clone(),
            (None, None) => String::new(),
        }
    }
}
