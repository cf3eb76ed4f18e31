//! Dependencies that the harness itself can provide, with nothing to install.

pub mod database;
pub mod queue;
