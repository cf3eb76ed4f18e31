//! One installation of Postgres: its programs and their version.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use std::os::unix::process::CommandExt;

use crate::deployment::Account;

/// The oldest major version whose `CREATE DATABASE` copies files.
pub(super) const MINIMUM: u32 = 15;

/// Who named an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The caller.
    Explicit,
    /// The variable `PG_BIN`.
    PgBin,
    /// A directory in `PATH`.
    Path,
    /// A place where distributions install it.
    Distribution,
    /// Fetched earlier.
    Cache,
    /// Fetched just now.
    Fetched,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Explicit => "given",
            Self::PgBin => "from PG_BIN",
            Self::Path => "from PATH",
            Self::Distribution => "installed",
            Self::Cache => "fetched earlier",
            Self::Fetched => "just fetched",
        })
    }
}

/// A server's version: `15.18`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// 15
    pub major: u32,
    /// `15.18`, as it calls itself.
    pub text: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An installation that can be used.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The directory with `postgres` and `initdb`, symbolic links resolved.
    pub bin: PathBuf,
    /// Its version.
    pub version: Version,
    /// Who named it.
    pub origin: Origin,
}

impl Installation {
    /// The server's program.
    pub(super) fn postgres(&self) -> PathBuf {
        self.bin.join("postgres")
    }

    /// Looks whether `directory` holds a usable installation; else says why not.
    pub(super) fn at(
        directory: &Path,
        origin: Origin,
        account: Option<Account>,
    ) -> Result<Self, String> {
        // A distribution links `postgres` into PATH, but its neighbours stand where it
        // really is.
        let postgres = directory
            .join("postgres")
            .canonicalize()
            .map_err(|_| "no `postgres` in it".to_owned())?;
        let bin = postgres.parent().unwrap_or(directory).to_owned();
        if !bin.join("initdb").exists() {
            return Err(format!("no `initdb` beside {}", postgres.display()));
        }
        let mut command = Command::new(&postgres);
        command
            .arg("--version")
            .env_clear()
            .stdin(Stdio::null())
            .current_dir("/");
        if let Some(Account { user, group }) = account {
            command.uid(user.as_raw()).gid(group.as_raw());
        }
        let output = command.output().map_err(|error| match (error.kind(), account) {
            (std::io::ErrorKind::PermissionDenied, Some(account)) => format!(
                "{} cannot be reached by uid {}, which the server must run as because Postgres refuses root",
                postgres.display(),
                account.user
            ),
            _ => format!("{} cannot be executed: {error}", postgres.display()),
        })?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = parse(&said).ok_or_else(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            format!(
                "`postgres --version` said `{}`",
                format!("{said}{complaint}").trim()
            )
        })?;
        if version.major < MINIMUM {
            return Err(format!("version {version} is older than {MINIMUM}"));
        }
        Ok(Self {
            bin,
            version,
            origin,
        })
    }
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`; a beta says `19beta1`.
fn parse(said: &str) -> Option<Version> {
    let text = said
        .split_once("(PostgreSQL) ")?
        .1
        .split_ascii_whitespace()
        .next()?;
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    Some(Version {
        major: text[..digits].parse().ok()?,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_the_server_says() {
        let version = parse("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n").unwrap();
        assert_eq!((version.major, version.text.as_str()), (15, "15.18"));
        assert_eq!(parse("postgres (PostgreSQL) 19beta1").unwrap().major, 19);
        assert_eq!(parse("zsh: command not found"), None);
    }
}
