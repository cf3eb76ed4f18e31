//! What is known of one protocol, each in a folder of its own.

pub mod http;
pub mod postgres;
pub mod redis;
pub mod sqs;
