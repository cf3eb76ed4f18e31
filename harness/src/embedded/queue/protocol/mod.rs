//! The two protocols of SQS. Both end in the same actions: the older one is
//! translated into the newer and back.

pub(crate) mod json;
pub(crate) mod query;
mod xml;
