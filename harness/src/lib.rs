//! rehearsal drives a real deployment of a queue-worker system to its failure points
//! and proves what was lost, repeated, blocked or wrongly given up.

// The command line is a part of the library and calls it by its name.
extern crate self as rehearsal;

pub mod cli;
pub mod gherkin;
pub mod ids;
pub mod manifest;
pub mod report;
pub mod tap;
