//! Whom the server runs as. Postgres refuses root.

use nix::unistd::{Uid, User};

use super::error::DatabaseError;
use crate::deployment::Account;

/// Accounts that exist on most systems. It must have an entry: `initdb` asks for its
/// name.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// The account to drop to; none unless we are root.
pub(super) fn for_server() -> Result<Option<Account>, DatabaseError> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let users = CANDIDATES
        .iter()
        .filter_map(|name| User::from_name(name).ok().flatten());
    let mut accounts = users.filter(|user| !user.uid.is_root());
    let user = accounts.next().ok_or(DatabaseError::NoAccount)?;
    Ok(Some(Account {
        user: user.uid,
        group: user.gid,
    }))
}
