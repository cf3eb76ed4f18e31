//! The data directory that every server's is copied from: made once per version, since
//! `initdb` takes longer than all the rest of a start.

use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use super::copy::{make_private, own};
use super::error::DatabaseError;
use super::installation::Installation;
use super::settings;
use crate::deployment::{Account, Child, Logs, Registry, Start, Variables};

/// Raised whenever what a template holds changes.
const FORMAT: u32 = 1;

/// The superuser's name.
pub(super) const USER: &str = "rehearsal";
/// Its password, in the data directory, which only the server's account can enter.
pub(super) const PASSWORD_FILE: &str = "rehearsal.password";

/// The template for this installation below `base`; made if there is none.
pub(super) async fn template(
    installation: &Installation,
    base: &Path,
    account: Option<Account>,
    registry: &Registry,
) -> Result<PathBuf, DatabaseError> {
    let root = root(base, account)?;
    let template = root.join(name(installation, account));
    let lock_path = template.with_extension("lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path);
    let lock = lock.map_err(DatabaseError::file("open", &lock_path))?;
    // Released when it is dropped, or when this process dies.
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await;
    let _lock = lock
        .unwrap_or_else(|error| Err(error.into()))
        .map_err(DatabaseError::file("lock", &lock_path))?;
    if !template.exists() {
        let unfinished = template.with_extension("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(DatabaseError::file("remove", &unfinished))?;
        }
        make_private(&unfinished, account)?;
        let made = make(installation, &unfinished, account, registry).await;
        if made.is_err() {
            let _ = fs::remove_dir_all(&unfinished);
        }
        made?;
        fs::rename(&unfinished, &template).map_err(DatabaseError::file("make", &template))?;
    }
    Ok(template)
}

/// A directory of this user's own: `base` may be open to all.
fn root(base: &Path, account: Option<Account>) -> Result<PathBuf, DatabaseError> {
    let user = Uid::effective();
    let path = base.join(format!("rehearse-templates-{user}"));
    // The server's account must pass through.
    let mode = if account.is_some() { 0o711 } else { 0o700 };
    let created = fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(&path);
    created.map_err(DatabaseError::file("make", &path))?;
    let metadata = fs::symlink_metadata(&path).map_err(DatabaseError::file("read", &path))?;
    if metadata.uid() == user.as_raw() && metadata.is_dir() {
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
