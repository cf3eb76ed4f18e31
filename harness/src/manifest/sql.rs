//! How a statement of the manifest is found in a statement on the wire: any case,
//! white space folded, at word boundaries.

/// Lower case, every run of white space one blank, none at the ends. Both sides of
/// [`sql_contains`] go through it once.
pub fn fold_sql(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        if word.is_ascii() {
            let start = folded.len();
            folded.push_str(word);
            folded[start..].make_ascii_lowercase();
        } else {
            folded.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    folded
}

/// Whether a folded statement contains a folded pattern at word boundaries: `from jobs`
/// is in `select 1 from jobs where …`, not in `… from jobs_old`. An empty pattern is in
/// no statement.
pub fn sql_contains(statement_folded: &str, pattern: &str) -> bool {
    let (Some(first), Some(last)) = (pattern.chars().next(), pattern.chars().next_back()) else {
        return false;
    };
    let mut from = 0;
    while let Some(found) = statement_folded[from..].find(pattern) {
        let start = from + found;
        let end = start + pattern.len();
        let cut_before = is_word(first)
            && statement_folded[..start]
                .chars()
                .next_back()
                .is_some_and(is_word);
        let cut_after =
            is_word(last) && statement_folded[end..].chars().next().is_some_and(is_word);
        if !cut_before && !cut_after {
            return true;
        }
        from = start + first.len_utf8();
    }
    false
}

/// What PostgreSQL takes as part of an unquoted name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(statement: &str, pattern: &str) -> bool {
        sql_contains(&fold_sql(statement), &fold_sql(pattern))
    }

    #[test]
    fn case_and_white_space_do_not_matter() {
        assert!(matches(
            "INSERT\n\tINTO  Jobs(id) values ($1)",
            "insert into jobs"
        ));
        assert!(matches("UPDATE a SET State = 'Done'", "set state = 'done'"));
    }

    #[test]
    fn a_match_ends_where_words_end() {
        assert!(!matches(
            "insert into jobs_archive values (1)",
            "insert into jobs"
        ));
        assert!(!matches("reinsert into jobs", "insert into jobs"));
        assert!(matches("select 1 from jobs", "from jobs"));
        assert!(matches("select 1 from jobs;", "from jobs"));
        assert!(!matches("select id from t where a = $12", "a = $1"));
    }

    #[test]
    fn a_later_match_counts_when_an_earlier_one_is_cut() {
        assert!(matches("select jobs_a, jobs from x", "jobs"));
    }

    #[test]
    fn nothing_matches_an_empty_pattern() {
        assert!(!matches("select 1", "  "));
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in "\\PC*") {
            let once = fold_sql(&text);
            prop_assert_eq!(fold_sql(&once), once);
        }

        #[test]
        fn a_pattern_between_blanks_is_always_found(
            before in "[a-z ]{0,20}", pattern in "\\PC{1,12}", after in "[a-z ]{0,20}",
        ) {
            let pattern = fold_sql(&pattern);
            prop_assume!(!pattern.is_empty());
            let statement = fold_sql(&format!("{before} {pattern} {after}"));
            prop_assert!(sql_contains(&statement, &pattern));
        }
    }
}
