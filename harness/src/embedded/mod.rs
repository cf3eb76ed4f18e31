//! Dependencies that the harness brings along.

pub mod database;
