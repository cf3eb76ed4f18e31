//! What is said of reports that could not be written.

use super::ReportError;

/// Reports that could not be written, those for the same reason together.
pub fn unwritten(errors: &[ReportError]) -> Vec<String> {
    let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
    for error in errors {
        let (path, reason) = match error {
            ReportError::File { path, source } => (path.display().to_string(), cause(source)),
            other => {
                by_reason.push((other.to_string(), Vec::new()));
                continue;
            }
        };
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, paths)) => paths.push(path),
            None => by_reason.push((reason, vec![path])),
        }
    }
    let told = by_reason
        .into_iter()
        .map(|(reason, paths)| match paths.as_slice() {
            [] => reason,
            [path] => format!("cannot write the report `{path}`: {reason}"),
            [path, more @ ..] => format!(
                "cannot write the report `{path}`, nor {} more: {reason}",
                more.len()
            ),
        });
    told.collect()
}

/// What went wrong, without the name of the draft that was to become the report.
fn cause(error: &std::io::Error) -> String {
    match error.raw_os_error().or_else(|| inner_code(error)) {
        Some(code) => std::io::Error::from_raw_os_error(code).to_string(),
        None => error.to_string(),
    }
}

fn inner_code(error: &std::io::Error) -> Option<i32> {
    let mut inner = error
        .get_ref()
        .map(|inner| inner as &(dyn std::error::Error + 'static));
    while let Some(one) = inner {
        if let Some(code) = one
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::raw_os_error)
        {
            return Some(code);
        }
        inner = one.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::file;

    #[test]
    fn reports_that_fail_for_one_reason_are_told_once_without_the_name_of_a_draft() {
        let directory = tempfile::tempdir().unwrap();
        let beneath_a_file = directory.path().join("file");
        std::fs::write(&beneath_a_file, "").unwrap();
        let failed = ["a", "b", "c"].map(|name| {
            let path = beneath_a_file.join(name);
            file::write(&path, "").unwrap_err()
        });
        let told = unwritten(&failed);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("file/a`, nor 2 more: "), "{told:?}");
        assert!(!told[0].contains(".report-"), "{told:?}");
    }
}
