//! Exploring: every point at which a process can die or a call can fail is found in a
//! rehearsal without faults, and tried in a rehearsal of its own. No stage and no scenario
//! is needed; what is right is what happens without faults.
//!
//! ```text
//! two rehearsals without faults ─▶ points, merged ─▶ one rehearsal for each point × effect
//!            │                                                     │
//!            └───────── what is durable at the end ── compared ────┘─▶ marks ─▶ answer
//!                                                                        └─▶ counterexamples
//! ```

mod accepted;
mod answer;
mod baseline;
mod counterexample;
mod course;
mod difference;
mod durability;
mod effect;
mod mark;
mod pairs;
mod point;
mod results;
mod trial;

pub use accepted::Accepted;
pub use answer::Answer;
pub(crate) use counterexample::NOTHING;
pub use counterexample::{Expected, Proof, Proven, proofs, write as write_counterexamples};
pub use course::{Course, ExploreError, Progress, Request, explore};
pub use difference::Difference;
pub use durability::Durability;
pub use effect::Strike;
pub use mark::Mark;
pub use point::{Boundary, Class, Plan, Point};
pub use results::{Outcome, Results, ResultsError, merge, read_outcomes, read_plan};
pub(crate) use trial::{Order, rehearse};
