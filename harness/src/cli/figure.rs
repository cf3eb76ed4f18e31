//! Figures on the command line and in the environment.

use std::num::NonZeroUsize;

/// A count, from 1.
pub(super) fn from_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .map_err(|_| "write a whole number from 1".to_owned())
}

/// A whole number.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "write a whole number from 0".to_owned())
}
