//! The nearest valid name, and lists of names for messages.

use std::fmt::Write as _;

/// The one of `known` that was probably meant by `written`.
pub(crate) fn nearest<'k>(
    written: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<String> {
    let folded = written.to_lowercase().replace(['_', ' '], "-");
    let limit = (folded.chars().count() / 4).max(1);
    known
        .into_iter()
        .map(|name| {
            let candidate = name.to_lowercase().replace(['_', ' '], "-");
            (strsim::osa_distance(&folded, &candidate), name)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}

/// `a`, `b` or `c`, with each name in code marks.
pub(super) fn any_of<S: AsRef<str>>(names: &[S]) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let joint = match index {
            0 => "",
            _ if index + 1 == names.len() => " or ",
            _ => ", ",
        };
        // Writing to a String cannot fail.
        let _ = write!(text, "{joint}`{}`", name.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_through_a_slip_of_the_pen() {
        let known = ["statement", "transaction", "action"];
        assert_eq!(nearest("statment", known).as_deref(), Some("statement"));
        assert_eq!(
            nearest("Ready_Within", ["ready_within"]).as_deref(),
            Some("ready_within")
        );
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn names_are_listed_as_people_list_them() {
        assert_eq!(any_of(&["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(any_of::<&str>(&[]), "");
    }
}
