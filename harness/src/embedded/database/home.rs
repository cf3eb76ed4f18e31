//! Where one server's data stands, and whether it stays there.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::statvfs::statvfs;

use super::copy;
use super::error::DatabaseError;
use super::installation::Installation;
use super::server::blocking;
use super::template::PASSWORD_FILE;
use crate::deployment::{Account, Registry};

/// What the servers and databases of a run may need together.
const ROOM: u64 = 1 << 30;
/// What stands here is in memory.
const MEMORY: &str = "/dev/shm";

/// Where data that is not kept stands unless somebody says otherwise: in memory, if there
/// is room for it. A container has 64 MiB there, unless it is started otherwise.
pub(super) fn usual_base() -> PathBuf {
    if free(Path::new(MEMORY)).is_some_and(|free| free >= ROOM) {
        PathBuf::from(MEMORY)
    } else {
        std::env::temp_dir()
    }
}

/// Everywhere that such data may stand.
pub fn usual_bases() -> [PathBuf; 2] {
    [PathBuf::from(MEMORY), std::env::temp_dir()]
}

/// How many bytes are left in the file system of a directory.
fn free(directory: &Path) -> Option<u64> {
    let told = statvfs(directory).ok()?;
    told.blocks_available().checked_mul(told.fragment_size())
}

/// Where one server's data stands.
#[derive(Clone, Debug)]
pub(super) struct Home {
    /// The data directory, symbolic links resolved.
    pub(super) data: PathBuf,
    /// What is removed with the server, if its data is not kept.
    pub(super) throwaway: Option<PathBuf>,
    /// Two servers in namespaces of their own would not notice each other: each is
    /// process 1 and finds its own number in the other's lock file.
    _lock: Option<Arc<File>>,
}

impl Home {
    /// A fresh copy of the template that goes with the run.
    pub(super) async fn throwaway(
        base: &Path,
        template: PathBuf,
        account: Option<Account>,
        registry: &Registry,
    ) -> Result<Self, DatabaseError> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let base = base
            .canonicalize()
            .map_err(DatabaseError::file("find", base))?;
        let directory = registry.make_directory(&base, &format!("database-{number}"))?;
        if account.is_some() {
            // The server's account must pass through.
            let opened = fs::set_permissions(&directory, Permissions::from_mode(0o711));
            opened.map_err(DatabaseError::file("open", &directory))?;
        }
        let data = directory.join("data");
        let target = data.clone();
        blocking(move || copy::tree(&template, &target, account)).await?;
        Ok(Self {
            data,
            throwaway: Some(directory),
            _lock: None,
        })
    }

    /// A directory that outlives the server; filled from the template if it is empty
    /// or missing.
    pub(super) async fn kept(
        data: PathBuf,
        template: PathBuf,
        installation: &Installation,
        account: Option<Account>,
    ) -> Result<Self, DatabaseError> {
        let invalid = |reason: String| DatabaseError::Data {
            path: data.clone(),
            reason,
        };
        match is_empty(&data) {
            Ok(true) => {
                let target = data.clone();
                blocking(move || {
                    // The copy makes the directory itself, with the right owner and mode.
                    match fs::remove_dir(&target) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(DatabaseError::file("replace", &target)(error));
                        }
                        _ => {}
                    }
                    copy::tree(&template, &target, account)
                })
                .await?;
            }
            Ok(false) => {}
            Err(error) => return Err(DatabaseError::file("read", &data)(error)),
        }
        let data = data
            .canonicalize()
            .map_err(DatabaseError::file("find", &data))?;
        let made_for = fs::read_to_string(data.join("PG_VERSION")).map_err(|_| {
            invalid("it holds other things; name an empty or a new directory".to_owned())
        })?;
        let version = &installation.version;
        if made_for.trim() != version.major.to_string() {
            return Err(invalid(format!(
                "it was made by Postgres {}, this is {version}",
                made_for.trim()
            )));
        }
        if !data.join(PASSWORD_FILE).exists() {
            return Err(invalid(
                "another program made it; name an empty or a new directory".to_owned(),
            ));
        }
        let lock_path = data.join("rehearsal.lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path);
        let lock = lock.map_err(DatabaseError::file("open", &lock_path))?;
        lock.try_lock()
            .map_err(|_| invalid("another server runs on it".to_owned()))?;
        Ok(Self {
            data,
            throwaway: None,
            _lock: Some(Arc::new(lock)),
        })
    }
}

fn is_empty(directory: &Path) -> io::Result<bool> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}
