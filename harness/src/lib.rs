//! rehearsal drives a real deployment of a queue-worker system to its failure points
//! and proves what was lost, repeated, blocked or wrongly given up.

pub mod gherkin;
pub mod ids;
pub mod manifest;
pub mod tap;
