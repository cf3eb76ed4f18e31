//! Learning a system by watching it: it runs without faults, and what passes on its wires
//! tells which calls it makes for a message, where ids stand in them, and so what its
//! manifest does not say yet.
//!
//! ```text
//! manifest, made to run ─▶ two rehearsals, two messages each ─▶ what was seen
//!        ▲                                                          │
//!        └──── what is missing is put in, until nothing is ◀────────┘
//! ```
//!
//! Places come first: without them nobody can say whose a call is. Names of stages and
//! ends follow, and are rehearsed once before they are kept.

mod course;
mod jobs;
mod names;
mod places;
mod routes;
mod seen;
mod sites;
mod stages;
mod timers;
mod writing;

pub use course::{Recording, Step, Watch, watch};
pub use seen::Seen;
pub use sites::table;
