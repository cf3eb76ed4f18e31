//! Paths without the ids in them.

use crate::place;

/// What stands for an id.
pub(super) const ID: &str = "{}";

/// A path with `{}` in place of each id: where a route of the manifest takes it, the
/// segments that the route names; else every segment that looks like an id.
pub(super) fn without_ids<'a>(path: &str, routes: impl IntoIterator<Item = &'a str>) -> String {
    let route = routes
        .into_iter()
        .find(|route| route.contains('{') && place::match_path(route, path).is_some());
    let segments: Vec<&str> = match route {
        Some(route) => path
            .split('/')
            .zip(route.split('/'))
            .map(|(segment, named)| {
                if named.starts_with('{') {
                    ID
                } else {
                    without_id(segment)
                }
            })
            .collect(),
        None => path.split('/').map(without_id).collect(),
    };
    segments.join("/")
}

fn without_id(segment: &str) -> &str {
    if is_id(segment) { ID } else { segment }
}

/// Whatever holds a digit, unless it is the version of an interface (`v2`).
pub(super) fn is_id(segment: &str) -> bool {
    let is_version = segment.strip_prefix(['v', 'V']).is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || c == '.')
    });
    let is_braced = segment.starts_with('{') && segment.ends_with('}') && segment.len() >= 2;
    segment == "*" || is_braced || (!is_version && segment.chars().any(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(path: &str) -> String {
        without_ids(path, [])
    }

    #[test]
    fn ids_are_taken_out_and_versions_stay() {
        assert_eq!(bare("/v1/parcels/42/labels"), "/v1/parcels/{}/labels");
        assert_eq!(bare("/files/M3"), "/files/{}");
        assert_eq!(
            bare("/jobs/0190b2c4-7d1e-7c3f-8a52-1b2c3d4e5f60"),
            "/jobs/{}"
        );
        assert_eq!(bare("/parcels"), "/parcels");
        assert_eq!(bare("/files/{job}/*"), "/files/{}/{}");
    }

    #[test]
    fn a_route_says_which_segments_are_ids() {
        let routes = ["/other/{message}", "/files/{message}/raw"];
        assert_eq!(without_ids("/files/north/raw", routes), "/files/{}/raw");
        assert_eq!(
            without_ids("/files/north/bare", routes),
            "/files/north/bare"
        );
    }
}
