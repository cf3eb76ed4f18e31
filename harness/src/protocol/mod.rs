//! What is known of one protocol, each in a folder of its own.

pub mod redis;
