//! What executing a statement does to its session, as far as its text tells.

use std::iter::Peekable;

use super::lexer::{Lexer, Token};
use super::rows::{Cell, cells};

/// What executing a statement does to its session, and which rows it takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Begin,
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// By the identifier of the transaction.
    PrepareTransaction(String),
    CommitPrepared(String),
    RollbackPrepared(String),
    Prepare {
        name: String,
    },
    Execute {
        name: String,
        arguments: Vec<Cell>,
    },
    Deallocate(String),
    DeallocateAll,
    DiscardAll,
    DiscardTemporary,
    /// Where tables without a schema are looked for: the first schema of the session's own
    /// choice, if it is none that every session has.
    SearchPath {
        schema: Option<String>,
        until_commit: bool,
    },
    /// As it was when the session began.
    ResetSearchPath,
    CreateTemporary {
        name: String,
        until_commit: bool,
    },
    Insert(Table),
    /// Also where a `WITH` list deletes.
    Delete(Vec<Table>),
    Truncate(Vec<Table>),
    Drop(Vec<Table>),
    CopyIn(CopyFormat),
}

/// A table by its name, with its schema unless that is `public`.
pub(crate) type Table = String;

/// How the rows of a COPY are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyFormat {
    Text {
        delimiter: char,
    },
    Csv {
        delimiter: char,
        quote: char,
        escape: char,
        header: bool,
    },
    Binary,
}

impl Kind {
    /// Whether it only marks a transaction and changes nothing by itself.
    pub(crate) fn is_control(&self) -> bool {
        matches!(
            self,
            Self::Begin
                | Self::Commit { .. }
                | Self::Rollback { .. }
                | Self::Savepoint(_)
                | Self::Release(_)
                | Self::RollbackTo(_)
                | Self::PrepareTransaction(_)
        )
    }

    /// What `sql`, one statement, is.
    pub(crate) fn of(sql: &str) -> Self {
        let mut words = Words(Lexer::new(sql).map(as_token as fn(_) -> _).peekable());
        match words.keyword().as_deref() {
            Some("BEGIN") => Self::Begin,
            Some("START") if words.skip("transaction") => Self::Begin,
            Some("COMMIT" | "END") => words.commit(),
            Some("ROLLBACK" | "ABORT") => words.rollback(),
            Some("SAVEPOINT") => Self::Savepoint(words.name()),
            Some("RELEASE") => Self::Release(words.savepoint()),
            Some("PREPARE") if words.skip("transaction") => {
                Self::PrepareTransaction(words.content())
            }
            Some("PREPARE") => Self::Prepare { name: words.name() },
            Some("EXECUTE") => Self::Execute {
                name: words.name(),
                arguments: words.arguments(),
            },
            Some("DEALLOCATE") => {
                words.skip("prepare");
                if words.skip("all") {
                    Self::DeallocateAll
                } else {
                    Self::Deallocate(words.name())
                }
            }
            Some("DISCARD") if words.skip("all") => Self::DiscardAll,
            Some("DISCARD") if words.skip("temp") || words.skip("temporary") => {
                Self::DiscardTemporary
            }
            Some("SET") => words.set(),
            Some("RESET") if words.skip("search_path") || words.skip("all") => {
                Self::ResetSearchPath
            }
            Some("SELECT") => words.set_config(),
            Some("CREATE") => words.create(),
            Some("INSERT") if words.skip("into") => Self::Insert(words.table()),
            Some("DELETE") if words.skip("from") => {
                words.skip("only");
                Self::Delete(vec![words.table()])
            }
            Some("WITH") => words.with(),
            Some("TRUNCATE") => {
                words.skip("table");
                Self::Truncate(words.tables())
            }
            Some("DROP") if words.skip("table") => {
                if words.skip("if") {
                    words.skip("exists");
                }
                Self::Drop(words.tables())
            }
            Some("COPY") => words.copy(),
            _ => Self::Plain,
        }
    }
}

/// The first schema of a session's own choice in a search path as its setting is written.
pub(crate) fn of_search_path(path: &str) -> Option<String> {
    let names = Lexer::new(path).filter_map(|(token, _)| Some(token.name()?.into_owned()));
    first_schema(names)
}

/// `public` first is what every session has. Whether there is a schema with the user's name
/// is not told.
fn first_schema(path: impl IntoIterator<Item = String>) -> Option<String> {
    let mut schemas = path
        .into_iter()
        .filter(|name| !name.is_empty() && name != "$user" && !name.starts_with("pg_"));
    schemas.next().filter(|name| name != "public")
}

fn as_token((token, _): (Token<'_>, std::ops::Range<usize>)) -> Token<'_> {
    token
}

type Tokens<'a> = std::iter::Map<Lexer<'a>, fn((Token<'a>, std::ops::Range<usize>)) -> Token<'a>>;

/// The rest of a statement.
struct Words<'a>(Peekable<Tokens<'a>>);

impl Words<'_> {
    fn keyword(&mut self) -> Option<String> {
        match self.0.next()? {
            Token::Word(word) => Some(word.to_ascii_uppercase()),
            _ => None,
        }
    }

    /// Steps over this keyword, if it comes next.
    fn skip(&mut self, keyword: &str) -> bool {
        self.0.next_if(|token| token.is(keyword)).is_some()
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.0.next_if(|token| token.is_sign(sign)).is_some()
    }

    fn name(&mut self) -> String {
        self.0
            .next()
            .and_then(Token::name)
            .unwrap_or_default()
            .into_owned()
    }

    fn content(&mut self) -> String {
        self.0
            .next()
            .and_then(Token::content)
            .unwrap_or_default()
            .into_owned()
    }

    fn savepoint(&mut self) -> String {
        self.skip("savepoint");
        self.name()
    }

    /// A name in any schema; `public` is not said.
    fn table(&mut self) -> Table {
        let mut parts = vec![self.name()];
        while self.sign(".") {
            parts.push(self.name());
        }
        match parts.as_slice() {
            [.., schema, name] if schema != "public" => format!("{schema}.{name}"),
            [.., name] => name.clone(),
            [] => String::new(),
        }
    }

    fn tables(&mut self) -> Vec<Table> {
        let mut tables = Vec::new();
        loop {
            self.skip("only");
            tables.push(self.table());
            self.sign("*");
            if !self.sign(",") {
                return tables;
            }
        }
    }

    fn chain(&mut self) -> bool {
        self.skip("and") && self.skip("chain")
    }

    fn commit(&mut self) -> Kind {
        let _ = self.skip("work") || self.skip("transaction");
        if self.skip("prepared") {
            Kind::CommitPrepared(self.content())
        } else {
            Kind::Commit {
                chain: self.chain(),
            }
        }
    }

    fn rollback(&mut self) -> Kind {
        let _ = self.skip("work") || self.skip("transaction");
        if self.skip("prepared") {
            Kind::RollbackPrepared(self.content())
        } else if self.skip("to") {
            Kind::RollbackTo(self.savepoint())
        } else {
            Kind::Rollback {
                chain: self.chain(),
            }
        }
    }

    /// The arguments of EXECUTE.
    fn arguments(&mut self) -> Vec<Cell> {
        if self.sign("(") {
            cells(&mut self.0)
        } else {
            Vec::new()
        }
    }

    /// SET of the search path.
    fn set(&mut self) -> Kind {
        let until_commit = self.skip("local");
        self.skip("session");
        if self.skip("schema") {
            let schema = first_schema([self.content()]);
            return Kind::SearchPath {
                schema,
                until_commit,
            };
        }
        if !(self.skip("search_path") && (self.sign("=") || self.skip("to"))) {
            return Kind::Plain;
        }
        if self.skip("default") {
            return Kind::ResetSearchPath;
        }
        let names = self.0.by_ref().filter_map(|token| {
            let name = token.content().or_else(|| token.name())?;
            Some(name.into_owned())
        });
        let schema = first_schema(names);
        Kind::SearchPath {
            schema,
            until_commit,
        }
    }

    /// A search path that a function sets, where it is written out.
    fn set_config(&mut self) -> Kind {
        if self.skip("pg_catalog") {
            self.sign(".");
        }
        if !(self.skip("set_config") && self.sign("(") && self.content() == "search_path") {
            return Kind::Plain;
        }
        self.sign(",");
        let Some(path) = self.0.next().and_then(Token::content) else {
            return Kind::Plain;
        };
        self.sign(",");
        Kind::SearchPath {
            schema: of_search_path(&path),
            until_commit: self.skip("true"),
        }
    }

    /// CREATE: of a temporary table, which only this session sees.
    fn create(&mut self) -> Kind {
        let _ = self.skip("local") || self.skip("global");
        let temporary = self.skip("temp") || self.skip("temporary");
        let _ = self.skip("unlogged");
        if !self.skip("table") {
            return Kind::Plain;
        }
        if self.skip("if") {
            self.skip("not");
            self.skip("exists");
        }
        let table = self.table();
        let named = table.strip_prefix("pg_temp.");
        if !temporary && named.is_none() {
            return Kind::Plain;
        }
        let name = named.unwrap_or(&table).to_owned();
        let rest: Vec<_> = self.0.by_ref().collect();
        let until_commit = rest
            .windows(3)
            .any(|words| words[0].is("on") && words[1].is("commit") && words[2].is("drop"));
        Kind::CreateTemporary { name, until_commit }
    }

    /// A `WITH` list: what it deletes, or what the statement behind it inserts.
    fn with(&mut self) -> Kind {
        let (mut deleted, mut inserted, mut depth) = (Vec::new(), None, 0_usize);
        while let Some(token) = self.0.next() {
            match token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") => depth = depth.saturating_sub(1),
                token if token.is("delete") && self.skip("from") => {
                    self.skip("only");
                    deleted.push(self.table());
                }
                token if token.is("insert") && depth == 0 && self.skip("into") => {
                    inserted = Some(self.table());
                }
                _ => {}
            }
        }
        match inserted {
            Some(table) => Kind::Insert(table),
            None if deleted.is_empty() => Kind::Plain,
            None => Kind::Delete(deleted),
        }
    }

    /// COPY FROM STDIN with its format; any other COPY is plain.
    fn copy(&mut self) -> Kind {
        let binary = self.skip("binary");
        if self.sign("(") {
            return Kind::Plain;
        }
        self.table();
        if self.sign("(") {
            let _ = self.0.by_ref().find(|token| token.is_sign(")"));
        }
        if !(self.skip("from") && self.skip("stdin")) {
            return Kind::Plain;
        }
        let options: Vec<_> = self.0.by_ref().collect();
        let has = |word: &str| options.iter().any(|token| token.is(word));
        let value = |word: &str| {
            let at = options.iter().position(|token| token.is(word))?;
            let after = options[at + 1..].iter().find(|token| !token.is("as"))?;
            after.content()?.chars().next()
        };
        if binary || has("binary") {
            return Kind::CopyIn(CopyFormat::Binary);
        }
        Kind::CopyIn(if has("csv") {
            let quote = value("quote").unwrap_or('"');
            let header = options.iter().position(|token| token.is("header"));
            let off = header
                .and_then(|at| options.get(at + 1))
                .is_some_and(|token| {
                    token.is("false") || token.is("off") || *token == Token::Number("0")
                });
            CopyFormat::Csv {
                delimiter: value("delimiter").unwrap_or(','),
                quote,
                escape: value("escape").unwrap_or(quote),
                header: header.is_some() && !off,
            }
        } else {
            CopyFormat::Text {
                delimiter: value("delimiter").unwrap_or('\t'),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_known_behind_comments_and_in_any_case() {
        for (sql, kind) in [
            ("/* x */ begin isolation level serializable", Kind::Begin),
            ("start transaction", Kind::Begin),
            ("COMMIT", Kind::Commit { chain: false }),
            ("end work and chain", Kind::Commit { chain: true }),
            ("commit and no chain", Kind::Commit { chain: false }),
            (
                "commit prepared 'it''s'",
                Kind::CommitPrepared("it's".into()),
            ),
            ("rollback prepared 'x'", Kind::RollbackPrepared("x".into())),
            ("abort", Kind::Rollback { chain: false }),
            (
                "rollback transaction to savepoint \"A\"\"b\"",
                Kind::RollbackTo("A\"b".into()),
            ),
            ("rollback to S1", Kind::RollbackTo("s1".into())),
            (
                "savepoint _sqlx_savepoint_1",
                Kind::Savepoint("_sqlx_savepoint_1".into()),
            ),
            ("release savepoint s", Kind::Release("s".into())),
            (
                "prepare transaction 'x'",
                Kind::PrepareTransaction("x".into()),
            ),
            (
                "prepare q (int) as select $1",
                Kind::Prepare { name: "q".into() },
            ),
            ("deallocate prepare q", Kind::Deallocate("q".into())),
            ("deallocate all", Kind::DeallocateAll),
            ("discard all", Kind::DiscardAll),
            ("beginning", Kind::Plain),
            ("", Kind::Plain),
        ] {
            assert_eq!(Kind::of(sql), kind, "{sql}");
        }
    }

    #[test]
    fn execute_says_its_arguments() {
        let arguments = vec![Cell::Literal("7".into()), Cell::Parameter(2), Cell::Other];
        let name = "Q".to_owned();
        let sql = "execute \"Q\" (7, $2::text, now())";
        assert_eq!(Kind::of(sql), Kind::Execute { name, arguments });
        let (name, arguments) = ("q".to_owned(), Vec::new());
        assert_eq!(Kind::of("EXECUTE q"), Kind::Execute { name, arguments });
    }

    #[test]
    fn tables_that_come_and_go_are_named_as_the_server_resolves_them() {
        let temporary = |name: &str, until_commit| Kind::CreateTemporary {
            name: name.into(),
            until_commit,
        };
        for (sql, kind) in [
            (
                "create temp table if not exists Invoices (a int)",
                temporary("invoices", false),
            ),
            (
                "create temporary table x (a int) on commit drop",
                temporary("x", true),
            ),
            ("create table pg_temp.x (a int)", temporary("x", false)),
            ("create table x (a int)", Kind::Plain),
            ("create temp view x as select 1", Kind::Plain),
            (
                "insert into public.\"invoices\" values (1)",
                Kind::Insert("invoices".into()),
            ),
            (
                "delete from only a.b where c = 1",
                Kind::Delete(vec!["a.b".into()]),
            ),
            (
                "truncate table a, only b cascade",
                Kind::Truncate(vec!["a".into(), "b".into()]),
            ),
            ("drop table if exists a", Kind::Drop(vec!["a".into()])),
            (
                "with x as (delete from a returning b) insert into c select b from x",
                Kind::Insert("c".into()),
            ),
            (
                "with x as (delete from a returning b) select b from x",
                Kind::Delete(vec!["a".into()]),
            ),
        ] {
            assert_eq!(Kind::of(sql), kind, "{sql}");
        }
    }

    #[test]
    fn copy_says_how_its_rows_are_written() {
        let csv = |delimiter, header| CopyFormat::Csv {
            delimiter,
            quote: '"',
            escape: '"',
            header,
        };
        for (sql, format) in [
            ("copy t from stdin", CopyFormat::Text { delimiter: '\t' }),
            (
                "COPY public.t (a, b) FROM STDIN WITH (FORMAT csv, HEADER true)",
                csv(',', true),
            ),
            (
                "copy t from stdin (format csv, header off, delimiter ';')",
                csv(';', false),
            ),
            (
                "copy t from stdin with csv header delimiter as '|'",
                csv('|', true),
            ),
            ("copy t from stdin with (format binary)", CopyFormat::Binary),
            ("copy binary t from stdin", CopyFormat::Binary),
        ] {
            assert_eq!(Kind::of(sql), Kind::CopyIn(format), "{sql}");
        }
        for sql in [
            "copy t to stdout",
            "copy (select 1) to stdout",
            "copy t from '/x'",
        ] {
            assert_eq!(Kind::of(sql), Kind::Plain, "{sql}");
        }
    }
}
