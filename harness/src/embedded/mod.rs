//! Dependencies that the harness itself can provide, with nothing to install.

pub mod queue;
