//! The data directory that every server's is copied from: made once per version, since
//! `initdb` takes longer than all the rest of a start.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use super::copy::{make_private, own};
use super::error::DatabaseError;
use super::installation::Installation;
use super::server::blocking;
use super::settings;
use crate::deployment::{Account, Child, Logs, Registry, Start, Variables};

/// Raised whenever what a template holds changes.
const FORMAT: u32 = 1;

/// What the file is called that is locked for a template, and a copy that is being made.
const LOCK: &str = "lock";
const UNFINISHED: &str = "unfinished";

/// The superuser's name.
pub(super) const USER: &str = "rehearsal";
/// Its password, in the data directory, which only the server's account can enter.
pub(super) const PASSWORD_FILE: &str = "rehearsal.password";

/// A template that nobody removes meanwhile.
pub(super) struct Template {
    /// Its data directory.
    pub(super) path: PathBuf,
    /// Released when it is dropped, or when this process dies.
    _lock: File,
}

/// The template for this installation below `base`; made if there is none.
pub(super) async fn template(
    installation: &Installation,
    base: &Path,
    account: Option<Account>,
    registry: &Registry,
) -> Result<Template, DatabaseError> {
    loop {
        let root = root(base, account)?;
        let path = root.join(name(installation, account));
        // Readers share the lock; a maker and a remover have it for themselves. Others may
        // come first whenever it is taken anew.
        if let Some(lock) = locked(&path, File::lock_shared).await?
            && path.exists()
        {
            return Ok(Template { path, _lock: lock });
        }
        let Some(_lock) = locked(&path, File::lock).await? else {
            continue;
        };
        if path.exists() {
            continue;
        }
        let unfinished = path.with_extension(UNFINISHED);
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(DatabaseError::file("remove", &unfinished))?;
        }
        make_private(&unfinished, account)?;
        let made = make(installation, &unfinished, account, registry).await;
        if made.is_err() {
            let _ = fs::remove_dir_all(&unfinished);
        }
        made?;
        fs::rename(&unfinished, &path).map_err(DatabaseError::file("make", &path))?;
    }
}

/// Takes the lock of a template; none if somebody removed it while it was waited for.
async fn locked(
    template: &Path,
    take: fn(&File) -> io::Result<()>,
) -> Result<Option<File>, DatabaseError> {
    let path = template.with_extension(LOCK);
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = match opened {
        Ok(file) => file,
        // Together with its directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DatabaseError::file("open", &path)(error)),
    };
    let file = blocking(move || take(&file).map(|()| file))
        .await
        .map_err(DatabaseError::file("lock", &path))?;
    Ok(is_still(&file, &path).then_some(file))
}

/// Whether this file still stands there.
fn is_still(file: &File, path: &Path) -> bool {
    let number = |metadata: io::Result<fs::Metadata>| metadata.map(|it| it.ino()).ok();
    let own = number(file.metadata());
    own.is_some() && own == number(fs::symlink_metadata(path))
}

/// Removes this user's templates below `base` that nobody makes or copies right now, and
/// tells which. Blocks.
///
/// # Errors
/// When one cannot be removed.
pub fn remove_templates(base: &Path) -> Result<Vec<PathBuf>, DatabaseError> {
    let root = root_path(base);
    let owned = fs::symlink_metadata(&root).is_ok_and(|metadata| is_own(&metadata));
    if !owned {
        return Ok(Vec::new());
    }
    let all: Vec<PathBuf> = fs::read_dir(&root)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(DatabaseError::file("read", &root))?;
    let mut removed = Vec::new();
    for lock in &all {
        if lock.extension().is_none_or(|extension| extension != LOCK) {
            continue;
        }
        let Ok(file) = File::open(lock) else {
            continue;
        };
        if file.try_lock().is_err() || !is_still(&file, lock) {
            continue;
        }
        // What a maker that was killed had begun has the same stem. The lock goes last.
        let of_template = all
            .iter()
            .filter(|path| path.file_stem() == lock.file_stem());
        for path in of_template.filter(|path| *path != lock) {
            let gone = if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
            gone.map_err(DatabaseError::file("remove", path))?;
            removed.push(path.clone());
        }
        fs::remove_file(lock).map_err(DatabaseError::file("remove", lock))?;
    }
    // Refused while something is left in it.
    let _ = fs::remove_dir(&root);
    Ok(removed)
}

fn root_path(base: &Path) -> PathBuf {
    base.join(format!("rehearse-templates-{}", Uid::effective()))
}

fn is_own(metadata: &fs::Metadata) -> bool {
    metadata.uid() == Uid::effective().as_raw() && metadata.is_dir()
}

/// A directory of this user's own: `base` may be open to all.
fn root(base: &Path, account: Option<Account>) -> Result<PathBuf, DatabaseError> {
    let path = root_path(base);
    // The server's account must pass through.
    let mode = if account.is_some() { 0o711 } else { 0o700 };
    let created = fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(&path);
    created.map_err(DatabaseError::file("make", &path))?;
    let metadata = fs::symlink_metadata(&path).map_err(DatabaseError::file("read", &path))?;
    if is_own(&metadata) {
        return Ok(path);
    }
    let reason = "it belongs to another user".to_owned();
    Err(DatabaseError::Data { path, reason })
}

fn name(installation: &Installation, account: Option<Account>) -> String {
    let mut hasher = DefaultHasher::new();
    // Two builds of one version need not be able to read each other's files.
    (
        FORMAT,
        &installation.bin,
        account.map(|account| account.user.as_raw()),
    )
        .hash(&mut hasher);
    settings::file(&installation.version).hash(&mut hasher);
    // No dot: the names of lock and unfinished copy replace what follows one.
    format!(
        "postgres-{}-{:016x}",
        installation.version.text.replace('.', "-"),
        hasher.finish()
    )
}

async fn make(
    installation: &Installation,
    data: &Path,
    account: Option<Account>,
    registry: &Registry,
) -> Result<(), DatabaseError> {
    let write = |path: &Path, content: &str| {
        fs::write(path, content).map_err(DatabaseError::file("write", path))?;
        own(path, account)
    };
    // Beside the data directory, which must be empty; in a directory that only the
    // account can enter.
    let outside = data.with_extension("password");
    let _ = fs::remove_dir_all(&outside);
    make_private(&outside, account)?;
    let password_file = outside.join(PASSWORD_FILE);
    write(&password_file, &uuid::Uuid::new_v4().simple().to_string())?;
    let log = data.with_extension("log");
    let _ = fs::remove_file(&log);

    // Names beyond ASCII need a ctype; not every system has this one.
    let mut initialised = initdb(
        installation,
        data,
        &password_file,
        "C.UTF-8",
        &log,
        account,
        registry,
    )
    .await;
    if initialised.is_err() {
        initialised = initdb(
            installation,
            data,
            &password_file,
            "C",
            &log,
            account,
            registry,
        )
        .await;
    }
    initialised?;
    write(
        &data.join("postgresql.conf"),
        &settings::file(&installation.version),
    )?;
    write(&data.join("pg_hba.conf"), settings::HBA)?;
    let kept = data.join(PASSWORD_FILE);
    fs::rename(&password_file, &kept).map_err(DatabaseError::file("write", &kept))?;
    let _ = fs::remove_dir_all(&outside);
    let _ = fs::remove_file(&log);
    Ok(())
}

async fn initdb(
    installation: &Installation,
    data: &Path,
    password_file: &Path,
    ctype: &str,
    log: &Path,
    account: Option<Account>,
    registry: &Registry,
) -> Result<(), DatabaseError> {
    let arguments = [
        "--no-sync".into(),
        "--wal-segsize=1".into(),
        "--encoding=UTF8".into(),
        "--locale=C".into(),
        format!("--lc-ctype={ctype}"),
        "--auth=scram-sha-256".into(),
        format!("--username={USER}"),
        format!("--pwfile={}", password_file.display()),
        format!("--pgdata={}", data.display()),
    ];
    let start = Start {
        name: "initdb".to_owned(),
        program: installation.bin.join("initdb"),
        arguments: arguments.into_iter().map(Into::into).collect(),
        environment: Variables::new(),
        directory: "/".into(),
        logs: Logs::together(log),
        account,
        memory: None,
        namespace: false,
    };
    let child = Child::start(start, registry).await?;
    let outcome = child.exited().await;
    if outcome.is_success() {
        return Ok(());
    }
    Err(DatabaseError::Initdb {
        outcome,
        output: child.logs().last_lines(10),
    })
}
