//! From a suite to what became of each variant.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::control::controls;
use super::defect::own;
use super::found::Found;
use super::results::{Tried, VariantResult};
use super::setting::settings;
use super::stage::Stage;
use super::variant::{Kind, Made, Mark, Variant};
use super::wire;
use crate::gherkin::{
    Compiled, Exit, Interrupt, Project as _, RunInfo, Scenario, ScenarioOutcome, Shard,
};
use crate::manifest::{Manifest, ManifestError};
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
    let mut stage = Stage {
        suite,
        vocabulary,
        scenarios: scenarios.to_vec(),
        info,
        jobs: request.jobs,
        interrupt,
        tell,
        runs: 0,
        green: (0, 0),
    };
    if request.kinds.contains(&Kind::Wire) {
        let (scenario, of_wires) = stage.wires(request)?;
        variants.extend(of_wires);
        stage.scenarios.push(scenario);
    }
    if let Some(shard) = &request.shard {
        let mine = |(place, _): &(usize, Variant)| place % shard.of == shard.number - 1;
        let numbered = variants.into_iter().enumerate();
        variants = numbered.filter(mine).map(|(_, variant)| variant).collect();
    }
    if variants.is_empty() {
        return Err(ProveError::Nothing);
    }
    let wanted: BTreeSet<usize> = variants
        .iter()
        .flat_map(|one| &one.meant)
        .copied()
        .collect();
    let wanted: Vec<usize> = wanted.into_iter().collect();
    let green = stage.green(&wanted)?;
    let results = stage.all(&variants, &green, request)?;
    Ok(Course {
        green: (stage.green.0, stage.green.1),
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
    variants.retain(|variant| request.names(variant));
    Ok(variants)
}

impl Request {
    /// Whether a variant is asked for by its name.
    pub(super) fn names(&self, variant: &Variant) -> bool {
        let mut names = self.names.iter();
        self.names.is_empty() || names.any(|name| variant.name.contains(name.as_str()))
    }
}

impl Stage<'_> {
    /// Tries all variants: first with what is meant for them, then, as far as nothing was
    /// seen, with the others, some at a time.
    fn all(
        &mut self,
        variants: &[Variant],
        green: &[usize],
        request: &Request,
    ) -> Result<Vec<VariantResult>, ProveError> {
        let mut results: Vec<VariantResult> = variants.iter().map(VariantResult::untried).collect();
        let is_green = |place: &&usize| green.contains(place);
        let meant = |variant: &Variant| variant.meant.iter().filter(is_green).copied().collect();
        let mut next: Vec<Vec<usize>> = variants.iter().map(meant).collect();
        let mut waiting: Option<Vec<Vec<usize>>> = None;
        loop {
            let tries = self.tries(variants, &mut next);
            if !tries.is_empty() {
                self.try_all(variants, tries, &mut results)?;
            }
            let open: Vec<usize> = (0..variants.len())
                .filter(|place| !results[*place].is_settled())
                .filter(|place| request.others || variants[*place].meant.is_empty())
                .filter(|place| !variants[*place].others.is_empty())
                .collect();
            if open.is_empty() || self.interrupt.is_raised() {
                break;
            }
            let waiting = match &mut waiting {
                Some(waiting) => waiting,
                None => waiting.insert(self.others(variants, &open, green)?),
            };
            for place in &open {
                let rest = waiting[*place].len().saturating_sub(AT_A_TIME);
                next[*place] = waiting[*place].split_off(rest);
            }
            if next.iter().all(Vec::is_empty) {
                break;
            }
        }
        for result in &mut results {
            result.conclude();
        }
        Ok(results)
    }

    /// The green scenarios that nobody named for these variants, the quickest last.
    fn others(
        &mut self,
        variants: &[Variant],
        open: &[usize],
        known: &[usize],
    ) -> Result<Vec<Vec<usize>>, ProveError> {
        let wanted: BTreeSet<usize> = open
            .iter()
            .flat_map(|place| &variants[*place].others)
            .filter(|place| !known.contains(place))
            .copied()
            .collect();
        let wanted: Vec<usize> = wanted.into_iter().collect();
        let mut green = self.green(&wanted)?;
        green.extend(known);
        let others = |variant: &Variant| {
            let of_it = green.iter().rev();
            let of_it = of_it.filter(|place| variant.others.contains(place));
            of_it.copied().collect()
        };
        Ok(variants.iter().map(others).collect())
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
        let concerned: BTreeSet<usize> = tries.iter().map(|one| one.variant).collect();
        (self.tell)(Progress::Trying {
            tries: tries.len(),
            variants: concerned.len(),
        });
        let of = tries.len();
        let mut done = 0;
        let mut groups: BTreeMap<Option<Made>, Vec<Try>> = BTreeMap::new();
        for one in tries {
            let made = variants[one.variant].made.clone();
            groups.entry(made).or_default().push(one);
        }
        for (made, tries) in groups {
            let (valid, invalid): (Vec<Try>, Vec<Try>) = tries
                .into_iter()
                .partition(|one| self.is_valid(&one.altered));
            for one in invalid {
                done += 1;
                results[one.variant].untold("with this change the scenario makes no sense");
            }
            let altered: Vec<Arc<Scenario>> =
                valid.iter().map(|one| Arc::clone(&one.altered)).collect();
            let scenarios = self.scenarios.clone();
            self.runs += 1;
            let name = format!("tries-{}", self.runs);
            let outcomes = self.run(&name, &altered, made, &mut |tell, place, outcome| {
                let one = &valid[place];
                let variant = &variants[one.variant];
                done += 1;
                tell(Progress::Tried {
                    variant,
                    scenario: &scenarios[one.scenario],
                    mark: judged(variant.kind, outcome).1,
                    done: (done, of),
                });
            })?;
            for (one, outcome) in valid.iter().zip(outcomes) {
                let (found, mark) = judged(variants[one.variant].kind, &outcome);
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
}

/// What a try came to. Of a call that never misbehaved nothing is told, whatever was red.
fn judged(kind: Kind, outcome: &ScenarioOutcome) -> (Found, Mark) {
    let mut found = Found::of(outcome);
    if kind == Kind::Wire && !wire::took_place(outcome.history.as_deref()) {
        found.seen = None;
        found.told = Some("no such call misbehaved here".to_owned());
        return (found, Mark::Untold);
    }
    let mark = if kind.is_control() {
        found.mark_of_control()
    } else {
        found.mark()
    };
    (found, mark)
}
