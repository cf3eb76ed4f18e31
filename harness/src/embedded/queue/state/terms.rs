//! What a server was started with and a replay must repeat.

use serde::{Deserialize, Serialize};

/// The fixed conditions of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) account: String,
    pub(crate) region: String,
    pub(crate) stale_handle_deletes: bool,
    pub(crate) recreate_at_once: bool,
    pub(crate) in_flight_limit: usize,
    pub(crate) log_bound: usize,
}

impl Terms {
    /// The ARN of a queue.
    pub(crate) fn arn(&self, name: &str) -> String {
        format!("arn:aws:sqs:{}:{}:{name}", self.region, self.account)
    }

    /// The name in an ARN of this account and region.
    pub(crate) fn name_in<'a>(&self, arn: &'a str) -> Option<&'a str> {
        arn.strip_prefix("arn:aws:sqs:")?
            .strip_prefix(self.region.as_str())?
            .strip_prefix(':')?
            .strip_prefix(self.account.as_str())?
            .strip_prefix(':')
            .filter(|name| !name.is_empty())
    }
}
