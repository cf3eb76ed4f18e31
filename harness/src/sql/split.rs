//! Where statements end.

use super::lexer::{Lexer, Token};

/// The statements of a simple query, without those that are empty.
///
/// `standard` is the session's `standard_conforming_strings`: when off, a backslash
/// escapes in every string.
pub(crate) fn split(sql: &str, standard: bool) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut statement = Open::default();
    let mut start = 0;
    for (token, place) in Lexer::with(sql, !standard) {
        if token.is_sign(";") && statement.may_end() {
            if !statement.empty {
                statements.push(sql[start..place.start].trim());
            }
            statement = Open::default();
            start = place.end;
        } else {
            statement.push(token);
        }
    }
    if !statement.empty {
        statements.push(sql[start..].trim());
    }
    statements
}

/// The text after `AS` of a `PREPARE name (types) AS text`.
pub(crate) fn prepared_text(sql: &str) -> Option<&str> {
    let (_, place) = Lexer::new(sql).find(|(token, _)| token.is("as"))?;
    Some(sql[place.end..].trim())
}

/// The statement that is being read.
struct Open {
    empty: bool,
    parentheses: usize,
    /// Words seen, as far as they tell a routine with a body in SQL.
    words: usize,
    routine: bool,
    /// `BEGIN ATOMIC … END` and `CASE … END` in a routine's body.
    blocks: usize,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            empty: true,
            parentheses: 0,
            words: 0,
            routine: false,
            blocks: 0,
        }
    }
}

impl Open {
    fn may_end(&self) -> bool {
        self.parentheses == 0 && self.blocks == 0
    }

    fn push(&mut self, token: Token<'_>) {
        self.empty = false;
        match token {
            Token::Sign("(") => self.parentheses += 1,
            Token::Sign(")") => self.parentheses = self.parentheses.saturating_sub(1),
            Token::Word(word) => self.word(word),
            _ => {}
        }
    }

    fn word(&mut self, word: &str) {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        self.words += 1;
        if self.words == 1 {
            self.routine = is("CREATE");
        } else if self.words == 2 && self.routine {
            self.routine = is("FUNCTION") || is("PROCEDURE") || is("OR");
        }
        if self.routine && is("BEGIN") || self.blocks > 0 && is("CASE") {
            self.blocks += 1;
        } else if self.blocks > 0 && is("END") {
            self.blocks -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statements_end_at_semicolons_that_stand_in_no_text() {
        let sql = "select ';' , E'\\';' , $a$ ; $$ ; $a$ -- ;\n; insert into \"a;b\" values ($1) /* ; /* ; */ ; */;;";
        assert_eq!(
            split(sql, true),
            [
                "select ';' , E'\\';' , $a$ ; $$ ; $a$ -- ;",
                "insert into \"a;b\" values ($1) /* ; /* ; */ ; */"
            ]
        );
    }

    #[test]
    fn a_backslash_escapes_where_strings_are_not_standard() {
        assert_eq!(split(r"select '\';'; x", false), [r"select '\';'", "x"]);
        assert_eq!(split(r"select '\'; x", true), [r"select '\'", "x"]);
    }

    #[test]
    fn a_body_in_sql_is_one_statement() {
        let sql = "create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3";
        let statements = split(sql, true);
        assert_eq!(statements.len(), 2);
        assert_eq!(statements[1], "select 3");
        assert_eq!(split("begin; select 1; end", true).len(), 3);
        assert_eq!(
            split(
                "create rule r as on insert to t do (select 1; select 2); x",
                true
            )
            .len(),
            2
        );
    }

    #[test]
    fn empty_statements_and_comments_alone_are_none() {
        assert!(split(" ; -- nothing\n ; /* at all */ ", true).is_empty());
    }

    #[test]
    fn what_is_prepared_stands_behind_as() {
        assert_eq!(
            prepared_text("prepare q (int) as select $1"),
            Some("select $1")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_split_without_loss(sql in "[a-zE'\"$;()/*\\- \nä0-9]{0,60}", standard: bool) {
            for statement in split(&sql, standard) {
                prop_assert!(sql.contains(statement));
                let _ = crate::sql::Kind::of(statement);
            }
        }
    }
}
