//! Defects that are built in on purpose, to see whether the features notice them. Each has a
//! name, a sentence and the scenarios meant for it in `defects.yaml`, and one seam in the
//! code. They exist with the cargo feature `defects` alone, where `DEFECT` chooses one;
//! without it every seam is `false` for the compiler.

/// Whether this defect was chosen.
macro_rules! defect {
    ($name:literal) => {
        cfg!(feature = "defects") && crate::defects::is_chosen($name)
    };
}

/// A statement, or what one of these defects makes of it.
macro_rules! altered {
    ($sql:expr, $($name:literal: $from:literal => $to:literal,)+) => {{
        let mut sql: &'static str = $sql;
        $(
            if defect!($name) {
                sql = crate::defects::replaced(sql, $from, $to);
            }
        )+
        sql
    }};
}

#[cfg(feature = "defects")]
mod chosen {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<String> = LazyLock::new(|| std::env::var("DEFECT").unwrap_or_default());

    pub(crate) fn is_chosen(name: &str) -> bool {
        *CHOSEN == name
    }

    pub(crate) fn replaced(sql: &str, from: &str, to: &str) -> &'static str {
        assert!(sql.contains(from), "`{from}` does not stand in {sql}");
        Box::leak(sql.replace(from, to).into_boxed_str())
    }

    pub(crate) fn announce() {
        tracing::warn!("built with defects; chosen: `{}`", *CHOSEN);
    }
}

#[cfg(not(feature = "defects"))]
mod chosen {
    pub(crate) const fn is_chosen(_: &str) -> bool {
        false
    }

    pub(crate) const fn replaced(sql: &'static str, _: &str, _: &str) -> &'static str {
        sql
    }

    pub(crate) const fn announce() {}
}

pub(crate) use chosen::{announce, is_chosen, replaced};

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    const LIST: &str = include_str!("../defects.yaml");

    fn named() -> Vec<&'static str> {
        let own = |line: &&str| !line.starts_with([' ', '#']);
        let names = LIST.lines().filter(own);
        names.filter_map(|name| name.strip_suffix(':')).collect()
    }

    fn seams(directory: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                seams(&path, found);
                continue;
            }
            // This file tells what a seam looks like, and has none.
            if path.ends_with(file!().rsplit('/').next().unwrap()) {
                continue;
            }
            let code = std::fs::read_to_string(&path).unwrap();
            for after in code.split("defect!(").skip(1) {
                let quoted = after.trim_start().strip_prefix('"');
                let name = quoted.and_then(|name| name.split('"').next());
                found.extend(name.map(str::to_owned));
            }
            for line in code.lines().map(str::trim_start) {
                let parts = line
                    .strip_prefix('"')
                    .and_then(|line| line.split_once("\": \""));
                let altered = parts.filter(|(_, rest)| rest.contains("\" => \""));
                found.extend(altered.map(|(name, _)| name.to_owned()));
            }
        }
    }

    #[test]
    fn every_defect_of_the_list_has_a_seam_and_every_seam_stands_in_the_list() {
        let mut found = BTreeSet::new();
        seams(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut found,
        );
        let listed: BTreeSet<String> = named().into_iter().map(str::to_owned).collect();
        assert_eq!(listed.len(), named().len(), "a name stands there twice");
        let unlisted: Vec<_> = found.difference(&listed).collect();
        let seamless: Vec<_> = listed.difference(&found).collect();
        assert!(
            unlisted.is_empty() && seamless.is_empty(),
            "{unlisted:?} {seamless:?}"
        );
    }

    #[test]
    fn there_are_enough_of_them_and_two_for_every_rule() {
        assert!(named().len() >= 120, "{}", named().len());
        let mut rules = BTreeMap::<u32, usize>::new();
        for line in LIST.lines() {
            let Some(numbers) = line.strip_prefix("  rules: [") else {
                continue;
            };
            for number in numbers.trim_end_matches(']').split(',') {
                *rules.entry(number.trim().parse().unwrap()).or_default() += 1;
            }
        }
        let scarce: Vec<u32> = (1..=33)
            .filter(|rule| rules.get(rule).copied().unwrap_or(0) < 2)
            .collect();
        assert!(scarce.is_empty(), "{scarce:?}");
    }
}
