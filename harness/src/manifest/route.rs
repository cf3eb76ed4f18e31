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

/// What a path pattern found in a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathMatch {
    /// The segment at `{message}`.
    pub message: Option<String>,
    /// The segment at `{job}`.
    pub job: Option<String>,
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

/// Compares a path as sent (without its query) with a pattern, segment by segment.
pub fn match_path(pattern: &str, path: &str) -> Option<PathMatch> {
    let mut found = PathMatch::default();
    let mut segments = path.split('/');
    for wanted in pattern.split('/') {
        let segment = segments.next()?;
        match wanted {
            "*" if !segment.is_empty() => {}
            "{message}" if !segment.is_empty() => found.message = Some(segment.to_owned()),
            "{job}" if !segment.is_empty() => found.job = Some(segment.to_owned()),
            "*" | "{message}" | "{job}" => return None,
            plain if plain == segment => {}
            _ => return None,
        }
    }
    segments.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_the_segments_it_names() {
        let found = match_path("/items/{message}/of/*", "/items/M3/of/x").unwrap();
        assert_eq!(found.message.as_deref(), Some("M3"));
        assert_eq!(
            match_path("/jobs/{job}", "/jobs/7").unwrap().job.as_deref(),
            Some("7")
        );
        assert_eq!(match_path("/jobs", "/jobs"), Some(PathMatch::default()));
    }

    #[test]
    fn a_path_with_more_or_fewer_segments_does_not_match() {
        assert_eq!(match_path("/items/{message}", "/items"), None);
        assert_eq!(match_path("/items/{message}", "/items/"), None);
        assert_eq!(match_path("/items/{message}", "/items/a/b"), None);
        assert_eq!(match_path("/items/*", "/items/"), None);
    }

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
