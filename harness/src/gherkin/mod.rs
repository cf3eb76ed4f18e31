//! Feature files: read, selected, matched with the vocabulary, run.
//!
//! ```text
//! PATH, tags … ─▶ selection ─▶ plan ─▶ runner ─▶ events ─▶ reports
//!                    ▲           ▲        │
//!                 features   vocabulary   └─ one thread and one world a scenario
//! ```
//!
//! Everything that can be wrong with the selected features is found before anything is
//! started. The files are read by the parser of `cucumber`. Its runner's trait does not
//! fit: its events carry the world in an `Arc` and cannot leave a thread, while here each
//! scenario has a thread of its own that may be abandoned; and its steps are plain
//! function pointers, where ours are values that can capture.

mod arguments;
mod chunk;
mod error;
mod event;
mod exit;
mod feature;
mod heading;
mod interrupt;
pub mod libtest;
mod lint;
mod nearness;
mod outcome;
mod parameter;
mod plain;
mod plan;
mod problem;
mod project;
mod run_id;
mod runner;
mod scenario;
mod selection;
mod step;
mod table;
mod vocabulary;
mod world;

pub use arguments::Arguments;
pub(crate) use error::chain;
pub use error::{Row, StepError};
pub use event::{RunEvent, RunResult, ScenarioId};
pub use exit::Exit;
pub use feature::read;
pub use interrupt::Interrupt;
pub(crate) use nearness::stem as word_stem;
pub use outcome::{Closing, Evidence, Figure, ScenarioOutcome, StepRecord, Warning};
pub(crate) use outcome::{from_seconds, seconds};
pub use parameter::{Names, ProcessRef, Value, read_duration, read_messages};
pub use plain::{Meant, PlainSentences};
pub use plan::Plan;
pub use problem::{FeatureText, Problem, ProblemKind, Problems};
pub use project::{Limits, ProfileOptions, Project, Shared};
pub use run_id::new_run_id;
pub use runner::{Listener, RunOptions, keep_places_of_panics, rehearse};
pub use scenario::{Feature, Scenario, StepText};
pub use selection::{Order, Place, Selection, SelectionError, Shard, Tags};
pub use step::{Below, Deed, Handler, Objection, Step, StepCheck, StepDraft, StepKind};
pub use table::{DocString, Table};
pub use vocabulary::{Compiled, Complaint, Vocabulary, VocabularyError, VocabularyErrors};
pub use world::{Context, Notes, RunInfo, ScenarioInfo, World};
