//! Copies a data directory.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::Path;

use super::error::DatabaseError;
use crate::deployment::Account;

/// Makes an empty directory that only its owner can enter.
pub(super) fn make_private(path: &Path, owner: Option<Account>) -> Result<(), DatabaseError> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(DatabaseError::file("make", path))?;
    own(path, owner)
}

/// Copies all that is in `from` to `to`, which does not exist yet.
pub(super) fn tree(from: &Path, to: &Path, owner: Option<Account>) -> Result<(), DatabaseError> {
    make_private(to, owner)?;
    let read = || DatabaseError::file("read", from);
    for entry in fs::read_dir(from).map_err(read())? {
        let entry = entry.map_err(read())?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(read())?.is_dir() {
            tree(&source, &target, owner)?;
        } else {
            fs::copy(&source, &target).map_err(DatabaseError::file("write", &target))?;
            own(&target, owner)?;
        }
    }
    Ok(())
}

/// Gives a file to the server's account.
pub(super) fn own(path: &Path, owner: Option<Account>) -> Result<(), DatabaseError> {
    let Some(Account { user, group }) = owner else {
        return Ok(());
    };
    chown(path, Some(user.as_raw()), Some(group.as_raw()))
        .map_err(DatabaseError::file("give away", path))
}
