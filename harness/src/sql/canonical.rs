//! One form for what PostgreSQL takes for the same: how a text of the manifest is found in
//! a statement on the wire.
//!
//! A text becomes its tokens between separators, so that what is found ends where tokens
//! end. Words and unquoted names are in lower case, a quoted name that needs no quotes has
//! none, the schema `public` is left out. Comments are gone, and a literal is one token: what stands
//! in it is not done, and what a statement only defines or explains is left out.
//!
//! In a session that has set its `search_path`, tables without a schema are those of the first
//! schema in it. Which schema such a name in the manifest means is not told there.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::done::{Definition, Main};
use super::lexer::{Lexer, Token};

const SEPARATOR: char = '\u{1}';

/// A text in this form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Canonical {
    text: String,
    /// Where the statement stands to which the command tag belongs: behind its `WITH` list.
    main: usize,
    /// A table has no schema.
    unqualified: bool,
}

/// What names mean in a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meanings<'a> {
    /// Tables of the session alone.
    pub(crate) temporary: Option<&'a BTreeSet<String>>,
    /// The schema of tables that have none.
    pub(crate) schema: Option<&'a str>,
}

/// Where a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the statement to which the command tag belongs.
    Main,
    /// In its `WITH` list only: the tag says nothing of it.
    Aside,
    /// By the name of a table without a schema, in a session that looks for it first in a schema
    /// of its own choice.
    Unqualified,
}

impl Canonical {
    pub(super) fn of(sql: &str, meanings: Meanings<'_>) -> Self {
        let mut writer = Writer::new(sql.len(), meanings);
        let mut lexer = Lexer::new(sql).map(|(token, _)| token);
        let mut definition = Definition::default();
        let mut main = Main::default();
        while let Some(token) = lexer.next() {
            if definition.ends_with(token, &mut lexer) {
                break;
            }
            writer.qualify(token);
            if main.begins_with(token) {
                writer.main = writer.text.len();
            }
            writer.push(token);
        }
        writer.finish()
    }

    /// Whether a table that it names has no schema.
    pub(super) fn is_unqualified(&self) -> bool {
        self.unqualified
    }

    /// Where `wanted` is found, if anywhere. An empty text is found nowhere.
    pub(super) fn find(&self, wanted: &Self) -> Option<Found> {
        if wanted.text.is_empty() {
            return None;
        }
        // The separator before belongs to both parts.
        if self.text[self.main..].contains(&wanted.text) {
            return Some(Found::Main);
        }
        self.text.contains(&wanted.text).then_some(Found::Aside)
    }
}

struct Writer<'a> {
    /// Begins and ends with a separator once it is not empty.
    text: String,
    main: usize,
    meanings: Meanings<'a>,
    /// Where the name of a table begins that may have no schema.
    table: Option<usize>,
    unqualified: bool,
    /// The last token was a name, or a dot after one.
    last: Last,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Name,
    /// A keyword after which the name of a table stands.
    Table,
    Dot,
    Other,
}

impl<'a> Writer<'a> {
    fn new(length: usize, meanings: Meanings<'a>) -> Self {
        Self {
            text: String::with_capacity(length + length / 2),
            main: 0,
            meanings,
            table: None,
            unqualified: false,
            last: Last::Other,
        }
    }

    fn put(&mut self, parts: &[&str]) {
        if self.text.is_empty() {
            self.text.push(SEPARATOR);
        }
        for part in parts {
            if part.contains(SEPARATOR) {
                self.text.push_str(&part.replace(SEPARATOR, "\u{2}"));
            } else {
                self.text.push_str(part);
            }
        }
        self.text.push(SEPARATOR);
    }

    fn push(&mut self, token: Token<'_>) {
        self.last = match token {
            Token::Word(_) | Token::Quoted(_) => self.push_name(token),
            Token::Text { .. } => {
                let content = token.content().unwrap_or_default();
                self.put(&["'", &content.to_lowercase()]);
                Last::Other
            }
            Token::Number(number) => {
                self.put(&[&number.to_ascii_lowercase()]);
                Last::Other
            }
            Token::Parameter(number) => {
                self.put(&["$", number]);
                Last::Other
            }
            Token::Sign(sign) => {
                let dot = sign == "." && self.last == Last::Name;
                if dot && self.drop_public() {
                    return;
                }
                self.put(&[sign]);
                if dot { Last::Dot } else { Last::Other }
            }
        };
    }

    fn push_name(&mut self, token: Token<'_>) -> Last {
        let name = token.name().unwrap_or(Cow::Borrowed(""));
        let quoted = matches!(token, Token::Quoted(_)) && !is_plain(&name);
        if !quoted && name == "only" && self.last == Last::Table {
            return Last::Table;
        }
        let temporary = self.meanings.temporary;
        if self.last == Last::Table && temporary.is_some_and(|names| names.contains(&*name)) {
            self.put(&["pg_temp.", &name]);
            return Last::Name;
        }
        let begins = self.text.len();
        self.put(&[if quoted { "\"" } else { "" }, &name]);
        let keyword = matches!(token, Token::Word(_)) && precedes_a_table(&name);
        if self.last == Last::Table && !keyword {
            self.table = Some(begins);
        }
        if keyword && self.last != Last::Dot {
            Last::Table
        } else {
            Last::Name
        }
    }

    /// Gives the table before this token the schema that it is looked for in, if it has none.
    fn qualify(&mut self, next: Token<'_>) {
        let Some(begins) = self.table.take() else {
            return;
        };
        if next.is_sign(".") {
            return;
        }
        self.unqualified = true;
        if let Some(schema) = self.meanings.schema {
            let quote = if is_plain(schema) { "" } else { "\"" };
            let qualified = format!("{quote}{schema}{SEPARATOR}.{SEPARATOR}");
            self.text.insert_str(begins, &qualified);
        }
    }

    /// Takes back a schema `public`, with the database's name before it.
    fn drop_public(&mut self) -> bool {
        const PUBLIC: &str = "\u{1}public\u{1}";
        if !self.text.ends_with(PUBLIC) {
            return false;
        }
        self.text.truncate(self.text.len() - PUBLIC.len() + 1);
        if self.text.ends_with("\u{1}.\u{1}") {
            let database = self.text[..self.text.len() - 3].rfind(SEPARATOR);
            self.text.truncate(database.map_or(0, |at| at + 1));
        }
        if self.text.len() == 1 {
            self.text.clear();
        }
        // What follows is named in full: it is no temporary table.
        self.last = Last::Dot;
        true
    }

    fn finish(mut self) -> Canonical {
        self.qualify(Token::Sign(";"));
        while self.text.ends_with("\u{1};\u{1}") {
            self.text.truncate(self.text.len() - 2);
        }
        if self.text.len() == 1 {
            self.text.clear();
        }
        Canonical {
            main: self.main.saturating_sub(1).min(self.text.len()),
            text: self.text,
            unqualified: self.unqualified,
        }
    }
}

/// Whether a name means the same without quotes, as far as its letters go.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || !byte.is_ascii();
    name.bytes().next().is_some_and(is_letter)
        && name
            .bytes()
            .all(|byte| is_letter(byte) || byte.is_ascii_digit() || byte == b'$')
}

fn precedes_a_table(keyword: &str) -> bool {
    matches!(
        keyword,
        "into"
            | "update"
            | "from"
            | "join"
            | "copy"
            | "only"
            | "using"
            | "table"
            | "truncate"
            | "exists"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(sql: &str) -> Canonical {
        Canonical::of(sql, Meanings::default())
    }

    fn found(statement: &str, wanted: &str) -> Option<Found> {
        canonical(statement).find(&canonical(wanted))
    }

    fn finds(statement: &str, wanted: &str) -> bool {
        found(statement, wanted).is_some()
    }

    #[test]
    fn case_and_white_space_do_not_matter() {
        assert!(finds(
            "INSERT\n\tINTO  Jobs(id) values ($1)",
            "insert into jobs"
        ));
        assert!(finds("UPDATE a SET State='Done'", "set state = 'done'"));
        assert!(finds(
            "insert into /* x */ jobs values (1)",
            "insert into jobs;"
        ));
    }

    #[test]
    fn a_text_is_found_where_tokens_begin_and_end() {
        assert!(!finds(
            "insert into jobs_archive values (1)",
            "insert into jobs"
        ));
        assert!(!finds("reinsert into jobs", "insert into jobs"));
        assert!(!finds("select id from t where a = $12", "a = $1"));
        assert!(finds("select jobs_a, jobs from x", "jobs"));
        assert!(!finds("select 1", "  "));
    }

    #[test]
    fn names_are_compared_as_the_server_resolves_them() {
        let wanted = "insert into invoices";
        for same in [
            r#"INSERT INTO "invoices" VALUES (1)"#,
            "insert into public.invoices values (1)",
            r#"insert into PUBLIC."invoices" values (1)"#,
            r#"insert into books . "public".invoices values (1)"#,
        ] {
            assert!(finds(same, wanted), "{same}");
            assert!(finds(
                "insert into invoices values (1)",
                &same[..same.find(" VALUES").or(same.find(" values")).unwrap()]
            ));
        }
        for other in [
            r#"insert into "Invoices" values (1)"#,
            "insert into archive.invoices values (1)",
            r#"insert into "public.invoices" values (1)"#,
        ] {
            assert!(!finds(other, wanted), "{other}");
        }
        assert!(finds(
            r#"update only public."Orders" set a = 1"#,
            r#"UPDATE "Orders" SET A"#
        ));
    }

    #[test]
    fn what_stands_in_a_literal_or_a_comment_is_not_done() {
        let wanted = "insert into jobs";
        for nothing in [
            "select 'insert into jobs'",
            "select 'it''s', E'\\' insert into jobs'",
            "select 1 -- insert into jobs",
            "select /* /* */ insert into jobs */ 1",
            "do $$ begin insert into jobs values (1); end $$",
            "create or replace function f() returns void language sql as 'insert into jobs'",
            "create function f() returns void begin atomic insert into jobs values (1); end",
            "create function f() returns int return (select 1 from insert into jobs)",
            "create rule r as on insert to a do also insert into jobs values (1)",
            "prepare q (int) as insert into jobs values ($1)",
            "explain insert into jobs values (1)",
            "explain (verbose, analyze off) insert into jobs values (1)",
        ] {
            assert!(!finds(nothing, wanted), "{nothing}");
        }
        for done in [
            "select 'it''s'; insert into jobs values ('a')",
            "explain analyze insert into jobs values (1)",
            "explain (costs off, analyze) insert into jobs values (1)",
            "create temp table x as with y as (insert into jobs values (1)) select 1",
        ] {
            assert!(finds(done, wanted), "{done}");
        }
        assert!(!finds(
            "create or replace temp view v as select 1 from jobs",
            "from jobs"
        ));
        assert!(finds(
            "create materialized view v as select 1 from jobs",
            "from jobs"
        ));
    }

    #[test]
    fn what_stands_in_a_with_list_is_found_aside() {
        let with = "with made as (insert into a values (1) returning 1) insert into b select 1";
        assert_eq!(found(with, "insert into a"), Some(Found::Aside));
        assert_eq!(found(with, "insert into b"), Some(Found::Main));
        assert_eq!(
            found("insert into a values (1)", "insert into a"),
            Some(Found::Main)
        );
    }

    #[test]
    fn a_table_of_the_session_alone_is_another_one() {
        let temporary = BTreeSet::from(["invoices".to_owned()]);
        let finds = |sql| {
            let meanings = Meanings {
                temporary: Some(&temporary),
                schema: None,
            };
            let statement = Canonical::of(sql, meanings);
            statement.find(&canonical("insert into invoices")).is_some()
        };
        assert!(!finds("insert into invoices values (1)"));
        assert!(!finds("insert into pg_temp.invoices values (1)"));
        assert!(finds("insert into public.invoices values (1)"));
    }

    #[test]
    fn a_schema_is_given_to_the_tables_that_have_none() {
        let meanings = Meanings {
            schema: Some("shop"),
            ..Meanings::default()
        };
        let finds = |sql, wanted| {
            Canonical::of(sql, meanings)
                .find(&canonical(wanted))
                .is_some()
        };
        let insert = "insert into packed (id) select id from incoming";
        assert!(finds(insert, "insert into shop.packed"));
        assert!(finds(insert, "from shop.incoming"));
        assert!(finds(
            "insert into \"Packed\" values (1)",
            "insert into shop.\"Packed\""
        ));
        assert!(finds(
            "update only packed set a = 1",
            "update shop.packed set a"
        ));
        assert!(!finds(
            "insert into other.packed values (1)",
            "insert into shop.packed"
        ));
        assert!(finds(
            "insert into other.packed values (1)",
            "insert into other.packed"
        ));
        assert!(!finds(
            "insert into public.packed values (1)",
            "insert into shop.packed"
        ));
        for (text, unqualified) in [
            ("insert into packed", true),
            ("insert into shop.packed", false),
            ("set state = 'done'", false),
        ] {
            assert_eq!(canonical(text).unqualified, unqualified, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[-/*'\"$a-c.; \n]{0,40}|\\PC*") {
            let _ = canonical(&text).find(&canonical(&text));
        }

        #[test]
        fn a_text_between_words_is_always_found(
            before in "(select|from|a1|, )( [a-z]{1,4}){0,3}", wanted in "[a-z]{1,6}( (=|,|[a-z0-9]{1,4}|'[^'\\\\]{0,4}'|\"[a-zA-Z]{1,4}\")){0,4}", after in "( [a-z]{1,5}){0,3}",
        ) {
            let statement = format!("{before} {wanted} {after}");
            prop_assert!(finds(&statement, &wanted));
        }
    }
}
