//! rehearsal drives a real deployment of a queue-worker system to its failure points
//! and proves what was lost, repeated, blocked or wrongly given up.

pub mod accepted;
pub mod checkpoint;
pub mod cli;
pub mod deployment;
pub mod embedded;
pub mod explore;
pub mod fault;
pub mod gherkin;
pub mod history;
pub mod ids;
pub mod init;
pub mod judge;
pub mod manifest;
pub mod outage;
pub mod place;
pub mod protocol;
pub mod prove;
pub mod record;
pub mod rehearsal;
pub mod report;
pub mod shape;
pub mod sql;
pub mod stage;
pub mod stub;
pub mod suite;
pub mod tap;
mod text;
pub mod timeline;
