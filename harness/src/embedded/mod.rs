//! Dependencies that the harness brings along.

pub mod database;
//! Dependencies that the harness itself can provide, with nothing to install.

pub mod queue;
