//! The name of a run: when it began, and something by chance.

use time::OffsetDateTime;
use uuid::Uuid;

use crate::ids::RunId;

/// A new name: `20261130-054107-1a2b3c`. Sorted by name, runs are sorted by time.
pub fn new_run_id() -> RunId {
    let now = OffsetDateTime::now_utc();
    let chance = Uuid::new_v4().as_u128() & 0x00ff_ffff;
    RunId::new(format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}-{chance:06x}",
        now.year(),
        u8::from(now.month()),
        now.day(),
        now.hour(),
        now.minute(),
        now.second(),
    ))
}
