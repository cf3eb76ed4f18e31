//! The results of shards, put together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::results::{FILE, Results};

/// Results that do not belong together, or are none.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// They are of several systems.
    #[error("results of `{0}` and of `{1}` are no shares of one proof")]
    Systems(String, String),
    /// A share is not there, or there are others.
    #[error("not each share is there once: of {of} there are {there}")]
    Shares {
        /// How many there are to be.
        of: u32,
        /// Which there are.
        there: String,
    },
    /// A variant stands in two of them.
    #[error("`{0}` stands in two of the results")]
    Twice(String),
}

/// Puts the results of shards together; each is a run's directory or its `prove.json`. The
/// time is that of the longest share.
///
/// # Errors
/// When they are not the shares of one proof.
pub fn merge(paths: &[PathBuf]) -> Result<Results, MergeError> {
    let mut all = paths.iter().map(|path| read(path));
    let mut merged = all.next().unwrap_or_else(|| {
        Err(MergeError::Shares {
            of: 1,
            there: "none".to_owned(),
        })
    })?;
    let mut shares = vec![merged.shard];
    for results in all {
        let results = results?;
        if results.system != merged.system {
            return Err(MergeError::Systems(merged.system, results.system));
        }
        shares.push(results.shard);
        merged.green = merged.green.max(results.green);
        merged.scenarios = merged.scenarios.max(results.scenarios);
        merged.took = merged.took.max(results.took);
        merged.variants.extend(results.variants);
        if merged.unused.is_empty() {
            merged.unused = results.unused;
        }
    }
    complete(&shares)?;
    let mut known = BTreeSet::new();
    for variant in &merged.variants {
        let key = format!("{}: {}", variant.kind, variant.name);
        if !known.insert(key.clone()) {
            return Err(MergeError::Twice(key));
        }
    }
    merged.variants.sort_by(|a, b| {
        let key = |one: &super::VariantResult| (one.kind, one.name.clone());
        key(a).cmp(&key(b))
    });
    merged.shard = None;
    Ok(merged)
}

fn read(path: &Path) -> Result<Results, MergeError> {
    let path = if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    };
    let unreadable = |reason: String| MergeError::Unreadable {
        path: path.clone(),
        reason,
    };
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))
}

/// Whether each share is there once.
fn complete(shares: &[Option<(u32, u32)>]) -> Result<(), MergeError> {
    let of = shares
        .iter()
        .flatten()
        .map(|(_, of)| *of)
        .max()
        .unwrap_or(1);
    let mut there: Vec<(u32, u32)> = shares.iter().map(|one| one.unwrap_or((1, 1))).collect();
    there.sort_unstable();
    if there == (1..=of).map(|number| (number, of)).collect::<Vec<_>>() {
        return Ok(());
    }
    let there: Vec<String> = there
        .iter()
        .map(|(number, of)| format!("{number}/{of}"))
        .collect();
    Err(MergeError::Shares {
        of,
        there: there.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Kind, Mark, VariantResult};
    use super::*;

    fn results(shard: (u32, u32), variants: &[&str]) -> Results {
        Results {
            system: "shop".to_owned(),
            green: 3,
            scenarios: 4,
            shard: Some(shard),
            variants: variants
                .iter()
                .map(|name| VariantResult {
                    kind: Kind::Defect,
                    name: (*name).to_owned(),
                    what: String::new(),
                    mark: Mark::Seen,
                    why: None,
                    tried: Vec::new(),
                })
                .collect(),
            unused: Vec::new(),
            took: Duration::from_secs(u64::from(shard.0)),
        }
    }

    fn merged(all: &[Results]) -> Result<Results, MergeError> {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = all
            .iter()
            .enumerate()
            .map(|(number, one)| {
                let run = directory.path().join(number.to_string());
                one.write(&run).unwrap();
                run
            })
            .collect();
        merge(&paths)
    }

    #[test]
    fn shares_are_put_together_in_order() {
        let whole = merged(&[results((2, 2), &["b"]), results((1, 2), &["c", "a"])]).unwrap();
        let names: Vec<&str> = whole.variants.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!((whole.took, whole.shard), (Duration::from_secs(2), None));
    }

    #[test]
    fn a_share_that_is_missing_or_there_twice_is_told() {
        let told = |all: &[Results]| merged(all).unwrap_err().to_string();
        let told_of = told(&[results((1, 3), &["a"]), results((3, 3), &["b"])]);
        assert!(told_of.contains("of 3 there are 1/3, 3/3"), "{told_of}");
        let twice = told(&[results((1, 2), &["a"]), results((2, 2), &["a"])]);
        assert!(twice.contains("`defect: a` stands in two"), "{twice}");
        let mut other = results((2, 2), &["b"]);
        other.system = "desk".to_owned();
        assert!(told(&[results((1, 2), &["a"]), other]).contains("no shares of one proof"));
    }
}
