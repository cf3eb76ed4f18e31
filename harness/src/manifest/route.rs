//! Requests as a manifest writes them: `GET /items/{message}`.

/// Why a text is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteFault {
    /// One word, or more than two.
    #[error("is not a method and a path")]
    Shape,
    /// `get`, `FETCH/1`
    #[error("has `{0}` where the method stands")]
    Method(String),
    /// Something other than GET where things are only read.
    #[error("has `{0}` where only `GET` can stand")]
    NotGet(String),
    /// The path does not begin with a slash.
    #[error("has a path that does not begin with `/`")]
    NoSlash,
    /// A query or fragment.
    #[error("has a query or fragment, and only the path is compared")]
    Query,
    /// `{thing}`
    #[error("has the segment `{0}`, which is not known")]
    Segment(String),
}

/// Splits `METHOD /path`. The path is not looked into.
pub(super) fn split_request(text: &str) -> Result<(&str, &str), RouteFault> {
    let (method, path) = text
        .trim()
        .split_once(char::is_whitespace)
        .ok_or(RouteFault::Shape)?;
    let path = path.trim_start();
    let is_method = |c: char| c.is_ascii_uppercase() || c == '-';
    if method != "*" && !method.chars().all(is_method) {
        return Err(RouteFault::Method(method.to_owned()));
    }
    if !path.starts_with('/') {
        return Err(RouteFault::NoSlash);
    }
    Ok((method, path))
}

/// Checks the path of a pattern: plain segments, `{message}`, `{job}` and `*`.
pub(super) fn check_path_pattern(path: &str) -> Result<(), RouteFault> {
    if path.contains(char::is_whitespace) {
        return Err(RouteFault::Shape);
    }
    if path.contains(['?', '#']) {
        return Err(RouteFault::Query);
    }
    for segment in path.split('/') {
        let known = matches!(segment, "{message}" | "{job}" | "*");
        if !known && segment.contains(['{', '}', '*']) {
            return Err(RouteFault::Segment(segment.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faulty_requests_say_what_is_wrong() {
        let check = |text| {
            let (_, path) = split_request(text)?;
            check_path_pattern(path)
        };
        assert_eq!(check("GET"), Err(RouteFault::Shape));
        assert_eq!(check("GET /a b"), Err(RouteFault::Shape));
        assert_eq!(check("get /a"), Err(RouteFault::Method("get".to_owned())));
        assert_eq!(check("GET a"), Err(RouteFault::NoSlash));
        assert_eq!(check("GET /a?b=1"), Err(RouteFault::Query));
        assert_eq!(
            check("GET /a/{id}"),
            Err(RouteFault::Segment("{id}".to_owned()))
        );
        assert_eq!(
            check("GET /a/x*"),
            Err(RouteFault::Segment("x*".to_owned()))
        );
        assert_eq!(check("* /a/*/{job}"), Ok(()));
    }
}
