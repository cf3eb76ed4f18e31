//! The environment a process gets: nothing of the harness's own but an allow-list,
//! what the manifest says, and the run's id.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::ids::RunId;

/// Carries the run's id into every process, and down to what those start in turn.
pub const RUN_ID_VARIABLE: &str = "REHEARSE_RUN_ID";

/// What a program needs to run at all on somebody's machine. Proxy variables and
/// credentials are left out on purpose: a process must reach nothing but its taps.
const ALLOWED: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TERM",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
];

/// Variables, by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// Whether a variable of the harness's environment is passed on.
pub fn is_allowed(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| ALLOWED.contains(&name) || name.starts_with("LC_"))
}

/// What a process is started with: the allowed part of `ambient`, then `given`, then
/// the run's id.
pub(super) fn compose(
    ambient: impl IntoIterator<Item = (OsString, OsString)>,
    given: &Variables,
    run: &RunId,
) -> Variables {
    let mut variables: Variables = ambient
        .into_iter()
        .filter(|(name, _)| is_allowed(name))
        .collect();
    variables.extend(given.clone());
    variables.insert(RUN_ID_VARIABLE.into(), run.as_str().into());
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn proxies_and_credentials_stay_behind() {
        let ambient = variables(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("HTTP_PROXY", "http://proxy"),
            ("https_proxy", "http://proxy"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("REHEARSE_RUN_ID", "another"),
        ]);
        let given = variables(&[("PATH", "/opt/bin"), ("LISTEN", "127.0.0.1:1")]);
        let composed = compose(ambient, &given, &RunId::new("r1"));
        let expected = variables(&[
            ("PATH", "/opt/bin"),
            ("LC_ALL", "C"),
            ("LISTEN", "127.0.0.1:1"),
            ("REHEARSE_RUN_ID", "r1"),
        ]);
        assert_eq!(composed, expected);
    }
}
