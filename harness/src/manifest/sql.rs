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

/// A statement on the wire, folded, without its comments: what stands in one is not done.
pub fn fold_statement(text: &str) -> String {
    if text.contains("--") || text.contains("/*") {
        fold_sql(&without_comments(text))
    } else {
        fold_sql(text)
    }
}

/// Comments become blanks; in literals, quoted names and dollar quotes there are none.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            kept.push(' ');
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        } else if rest.starts_with("/*") {
            kept.push(' ');
            rest = &rest[comment_length(rest)..];
            continue;
        } else if first == '\'' || first == '"' {
            rest[1..].find(first).map_or(rest.len(), |end| end + 2)
        } else if let Some(tag) = dollar_tag(rest) {
            let body = &rest[tag.len()..];
            body.find(tag).map_or(rest.len(), |end| end + 2 * tag.len())
        } else {
            first.len_utf8()
        };
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    kept
}

/// They nest.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else if let Some(next) = rest.chars().next() {
            at += next.len_utf8();
        } else {
            return at;
        }
    }
}

/// `$$` or `$name$`; `$1` is a parameter.
fn dollar_tag(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let end = name.find('$')?;
    let is_name = name[..end].chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_name.then(|| &text[..end + 2])
}

/// Whether a folded statement contains a folded pattern at word boundaries, and not in a
/// literal: `from jobs` is in `select 1 from jobs where …`, not in `… from jobs_old`. An
/// empty pattern is in no statement.
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
        if !cut_before && !cut_after && !in_literal(&statement_folded[..start]) {
            return true;
        }
        from = start + first.len_utf8();
    }
    false
}

/// Whether a literal that began before is not over. A doubled quote ends one and begins
/// the next.
fn in_literal(before: &str) -> bool {
    before.bytes().filter(|byte| *byte == b'\'').count() % 2 == 1
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
    fn what_stands_in_a_literal_is_not_done() {
        assert!(!matches("select 'insert into jobs'", "insert into jobs"));
        assert!(!matches(
            "select 'it''s', 'insert into jobs'",
            "insert into jobs"
        ));
        assert!(matches(
            "select 'it''s'; insert into jobs values ('a')",
            "insert into jobs"
        ));
        assert!(matches("update jobs set state = 'done'", "= 'done'"));
    }

    #[test]
    fn what_stands_in_a_comment_is_not_done() {
        let folded = |text| fold_statement(text);
        assert_eq!(
            folded("SELECT 1 /* insert /* into */ jobs */ , 2"),
            "select 1 , 2"
        );
        assert_eq!(folded("select 1 -- insert\n from a"), "select 1 from a");
        assert_eq!(folded("select '--' || \"/*\""), "select '--' || \"/*\"");
        assert_eq!(
            folded("select $x$ -- no $$ $x$, $1 -- yes"),
            "select $x$ -- no $$ $x$, $1"
        );
        assert_eq!(folded("select 1 /* for ever"), "select 1");
        assert_eq!(folded("select 'open -- end"), "select 'open -- end");
    }

    #[test]
    fn nothing_matches_an_empty_pattern() {
        assert!(!matches("select 1", "  "));
    }

    proptest! {
        #[test]
        fn any_text_is_folded_without_panic(text in "[-/*'\"$a-c \n]{0,40}|\\PC*") {
            let _ = fold_statement(&text);
        }

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
