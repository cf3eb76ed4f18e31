//! As much of SQL's surface as a tap must see: where a statement ends, and whether it
//! controls a transaction or a prepared statement.

/// What executing a statement does to its session, beyond its effect on data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Begin,
    Commit { chain: bool },
    Rollback { chain: bool },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    PrepareTransaction,
    Prepare { name: String },
    Deallocate(String),
    DeallocateAll,
    DiscardAll,
}

impl Kind {
    /// Whether it only marks a transaction and changes nothing by itself.
    pub(super) fn is_control(&self) -> bool {
        !matches!(
            self,
            Self::Plain
                | Self::Prepare { .. }
                | Self::Deallocate(_)
                | Self::DeallocateAll
                | Self::DiscardAll
        )
    }

    /// What `sql`, one statement, is.
    pub(super) fn of(sql: &str) -> Self {
        let mut words = Words::new(sql);
        match words.keyword().as_deref() {
            Some("BEGIN") => Self::Begin,
            Some("START") if words.keyword().as_deref() == Some("TRANSACTION") => Self::Begin,
            Some("COMMIT" | "END") => match words.ending() {
                Ending::Plain => Self::Commit { chain: false },
                Ending::Chain => Self::Commit { chain: true },
                Ending::To(_) | Ending::Prepared => Self::Plain,
            },
            Some("ROLLBACK" | "ABORT") => match words.ending() {
                Ending::Plain => Self::Rollback { chain: false },
                Ending::Chain => Self::Rollback { chain: true },
                Ending::To(name) => Self::RollbackTo(name),
                Ending::Prepared => Self::Plain,
            },
            Some("SAVEPOINT") => Self::Savepoint(words.name()),
            Some("RELEASE") => Self::Release(words.savepoint()),
            Some("PREPARE") => match words.next() {
                Some(Word::Bare(word)) if word.eq_ignore_ascii_case("TRANSACTION") => {
                    Self::PrepareTransaction
                }
                Some(word) => Self::Prepare { name: word.name() },
                None => Self::Plain,
            },
            Some("DEALLOCATE") => {
                let mut word = words.next();
                if word.is_some_and(|word| word.is("PREPARE")) {
                    word = words.next();
                }
                match word {
                    Some(word) if word.is("ALL") => Self::DeallocateAll,
                    Some(word) => Self::Deallocate(word.name()),
                    None => Self::Plain,
                }
            }
            Some("DISCARD") if words.keyword().as_deref() == Some("ALL") => Self::DiscardAll,
            _ => Self::Plain,
        }
    }
}

/// The text with every run of white space folded to one blank.
pub(super) fn fold(sql: &str) -> String {
    let mut folded = String::with_capacity(sql.len());
    for word in sql.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// The text after `AS` of a `PREPARE name (types) AS text`.
pub(super) fn prepared_text(sql: &str) -> Option<&str> {
    let mut words = Words::new(sql);
    while let Some(word) = words.next() {
        if word.is("AS") {
            return Some(sql[words.position..].trim());
        }
    }
    None
}

/// How the text of COMMIT or ROLLBACK goes on.
enum Ending {
    Plain,
    Chain,
    To(String),
    Prepared,
}

#[derive(Clone, Copy)]
enum Word<'a> {
    Bare(&'a str),
    Quoted(&'a str),
    Sign,
}

impl Word<'_> {
    fn is(self, keyword: &str) -> bool {
        matches!(self, Self::Bare(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// As the server stores a name.
    fn name(self) -> String {
        match self {
            Self::Bare(word) => word.to_lowercase(),
            Self::Quoted(word) => word.replace("\"\"", "\""),
            Self::Sign => String::new(),
        }
    }
}

/// Words of a statement without its comments.
struct Words<'a> {
    sql: &'a str,
    position: usize,
}

impl<'a> Words<'a> {
    fn new(sql: &'a str) -> Self {
        Self { sql, position: 0 }
    }

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.sql.as_bytes();
        loop {
            let byte = *bytes.get(self.position)?;
            if byte.is_ascii_whitespace() {
                self.position += 1;
            } else if let Some(end) = comment(bytes, self.position) {
                self.position = end;
            } else {
                break;
            }
        }
        let start = self.position;
        if is_word(bytes[start]) {
            self.position += bytes[start..]
                .iter()
                .take_while(|byte| is_word(**byte))
                .count();
            return Some(Word::Bare(&self.sql[start..self.position]));
        }
        if bytes[start] == b'"' {
            self.position = quoted(bytes, start, b'"', false);
            let inner = &self.sql[start + 1..self.position];
            return Some(Word::Quoted(inner.strip_suffix('"').unwrap_or(inner)));
        }
        self.position += 1;
        Some(Word::Sign)
    }

    fn keyword(&mut self) -> Option<String> {
        match self.next()? {
            Word::Bare(word) => Some(word.to_ascii_uppercase()),
            _ => None,
        }
    }

    fn name(&mut self) -> String {
        self.next().map(Word::name).unwrap_or_default()
    }

    fn savepoint(&mut self) -> String {
        match self.next() {
            Some(word) if word.is("SAVEPOINT") => self.name(),
            Some(word) => word.name(),
            None => String::new(),
        }
    }

    fn ending(&mut self) -> Ending {
        let mut word = self.keyword();
        if matches!(word.as_deref(), Some("WORK" | "TRANSACTION")) {
            word = self.keyword();
        }
        match word.as_deref() {
            Some("PREPARED") => Ending::Prepared,
            Some("TO") => Ending::To(self.savepoint()),
            Some("AND") if self.keyword().as_deref() == Some("CHAIN") => Ending::Chain,
            _ => Ending::Plain,
        }
    }
}

/// The statements of a simple query, without those that are empty.
///
/// `standard` is the session's `standard_conforming_strings`: when off, a backslash
/// escapes in every string.
pub(super) fn split(sql: &str, standard: bool) -> Vec<&str> {
    let bytes = sql.as_bytes();
    let mut statements = Vec::new();
    let mut statement = Open::default();
    let mut position = 0;
    while position < bytes.len() {
        let byte = bytes[position];
        if byte.is_ascii_whitespace() {
            position += 1;
            continue;
        }
        if let Some(end) = comment(bytes, position) {
            position = end;
            continue;
        }
        if byte == b';' && statement.may_end() {
            if !statement.empty {
                statements.push(sql[statement.start..position].trim());
            }
            position += 1;
            statement = Open {
                start: position,
                ..Open::default()
            };
            continue;
        }
        statement.empty = false;
        position = match byte {
            b'\'' => quoted(bytes, position, b'\'', !standard),
            b'"' => quoted(bytes, position, b'"', false),
            b'$' => dollar_quoted(bytes, position).unwrap_or(position + 1),
            b'(' => {
                statement.parentheses += 1;
                position + 1
            }
            b')' => {
                statement.parentheses = statement.parentheses.saturating_sub(1);
                position + 1
            }
            byte if is_word(byte) => {
                let end = position
                    + bytes[position..]
                        .iter()
                        .take_while(|byte| is_word(**byte))
                        .count();
                let word = &sql[position..end];
                if word.eq_ignore_ascii_case("E") && bytes.get(end) == Some(&b'\'') {
                    quoted(bytes, end, b'\'', true)
                } else {
                    statement.word(word);
                    end
                }
            }
            _ => position + 1,
        };
    }
    if !statement.empty {
        statements.push(sql[statement.start..].trim());
    }
    statements
}

/// The statement that is being read.
struct Open {
    start: usize,
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
            start: 0,
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

/// A byte of a keyword or an unquoted name (which may hold any non-ASCII letter). A dollar
/// inside of a name belongs to it and opens no quote.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Where the comment that begins here ends, if one does.
fn comment(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = &bytes[start..];
    if rest.starts_with(b"--") {
        let length = rest.iter().position(|byte| *byte == b'\n');
        return Some(length.map_or(bytes.len(), |length| start + length));
    }
    if !rest.starts_with(b"/*") {
        return None;
    }
    let (mut depth, mut position) = (1, start + 2);
    while depth > 0 && position < bytes.len() {
        if bytes[position..].starts_with(b"/*") {
            depth += 1;
            position += 2;
        } else if bytes[position..].starts_with(b"*/") {
            depth -= 1;
            position += 2;
        } else {
            position += 1;
        }
    }
    Some(position.min(bytes.len()))
}

/// The position after the quote that closes the one at `start`. A doubled quote is read
/// as two texts, which ends at the same place.
fn quoted(bytes: &[u8], start: usize, quote: u8, backslash: bool) -> usize {
    let mut position = start + 1;
    while position < bytes.len() {
        if backslash && bytes[position] == b'\\' {
            position += 2;
        } else if bytes[position] == quote {
            if bytes.get(position + 1) != Some(&quote) {
                return position + 1;
            }
            position += 2;
        } else {
            position += 1;
        }
    }
    bytes.len()
}

/// The position after a dollar-quoted text that begins here, if one does.
fn dollar_quoted(bytes: &[u8], start: usize) -> Option<usize> {
    if start > 0 && is_word(bytes[start - 1]) {
        return None;
    }
    let length = bytes[start + 1..]
        .iter()
        .take_while(|byte| is_word(**byte))
        .count();
    let end = start + 1 + length;
    if bytes.get(end) != Some(&b'$') || bytes[start + 1].is_ascii_digit() {
        return None;
    }
    let tag = &bytes[start..=end];
    let found = bytes[end + 1..]
        .windows(tag.len())
        .position(|window| window == tag);
    Some(found.map_or(bytes.len(), |found| end + 1 + found + tag.len()))
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
    fn the_kind_is_known_behind_comments_and_in_any_case() {
        for (sql, kind) in [
            ("/* x */ begin isolation level serializable", Kind::Begin),
            ("start transaction", Kind::Begin),
            ("COMMIT", Kind::Commit { chain: false }),
            ("end work and chain", Kind::Commit { chain: true }),
            ("commit and no chain", Kind::Commit { chain: false }),
            ("commit prepared 'x'", Kind::Plain),
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
            ("prepare transaction 'x'", Kind::PrepareTransaction),
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
                let _ = Kind::of(statement);
            }
        }

        #[test]
        fn folding_leaves_no_run_of_blanks(sql in "[a-z \t\n]{0,40}") {
            let folded = fold(&sql);
            prop_assert!(!folded.contains("  ") && folded.trim() == folded);
        }
    }
}
