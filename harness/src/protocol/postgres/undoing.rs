//! What a transaction takes away again before it commits: it made no such thing durable.

use std::collections::BTreeSet;

use super::names::Executed;
use crate::sql::Kind;
use crate::tap::Bind;

/// Lowers the counts of rows that later statements of the same transaction took away, and
/// forgets them where the wire does not tell which.
pub(super) fn apply(executed: &mut [Executed]) {
    for later in 1..executed.len() {
        let (before, rest) = executed.split_at_mut(later);
        let taking = &rest[0];
        for earlier in before {
            let Kind::Insert(table) = &earlier.kind else {
                continue;
            };
            match &taking.kind {
                Kind::Truncate(tables) | Kind::Drop(tables) if tables.contains(table) => {
                    earlier.statement.wrote = Some(0);
                }
                Kind::Delete(tables)
                    if tables.contains(table) && taking.statement.wrote != Some(0) =>
                {
                    take_away(earlier, taking);
                }
                _ => {}
            }
        }
    }
}

/// A delete that names the row by what was inserted took it away; another one may have.
fn take_away(inserted: &mut Executed, taking: &Executed) {
    let wrote = inserted.statement.wrote;
    if wrote.is_none_or(|rows| rows == 0) {
        return;
    }
    let (into, of) = (values(&inserted.statement), values(&taking.statement));
    let known: BTreeSet<_> = into.iter().collect();
    let same = into.first() == of.first() && of.iter().all(|value| known.contains(value));
    let all = same && !of.is_empty() && taking.statement.wrote >= wrote;
    inserted.statement.wrote = all.then_some(0);
}

/// Its bind values and literals in order.
fn values(statement: &crate::tap::Statement) -> Vec<&str> {
    let binds = statement.binds.iter().filter_map(|bind| match bind {
        Bind::Text(text) => Some(text.as_str()),
        Bind::Null | Bind::Opaque { .. } => None,
    });
    binds
        .chain(statement.sql.literals().iter().map(String::as_str))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::Statement;

    /// What each of these has written in the end; each wrote `1`.
    fn written(statements: &[(&str, &[&str], u64)]) -> Vec<Option<u64>> {
        let mut executed: Vec<_> = statements
            .iter()
            .map(|(sql, binds, wrote)| {
                let binds = binds.iter().map(|bind| Bind::Text((*bind).to_owned()));
                Executed::new(
                    Statement {
                        wrote: Some(*wrote),
                        ..Statement::new(*sql, binds.collect())
                    },
                    Kind::of(sql),
                )
            })
            .collect();
        apply(&mut executed);
        executed.iter().map(|it| it.statement.wrote).collect()
    }

    const INSERT: (&str, &[&str], u64) = ("insert into a values ($1, $2)", &["7", "x"], 1);

    #[test]
    fn a_row_that_is_deleted_again_was_not_written() {
        let delete = ("delete from public.a where id = $1", &["7"][..], 1);
        assert_eq!(written(&[INSERT, delete])[0], Some(0));
        assert_eq!(written(&[delete, INSERT])[1], Some(1));
        let truncate = ("truncate b, a", &[][..], 0);
        assert_eq!(written(&[INSERT, truncate])[0], Some(0));
        let literal = ("delete from a where id = 7", &[][..], 1);
        assert_eq!(written(&[INSERT, literal])[0], Some(0));
    }

    #[test]
    fn a_delete_of_something_else_leaves_it_or_leaves_it_open() {
        let nothing = ("delete from a where id = $1", &["7"][..], 0);
        assert_eq!(written(&[INSERT, nothing])[0], Some(1));
        let elsewhere = ("delete from b where id = $1", &["7"][..], 1);
        assert_eq!(written(&[INSERT, elsewhere])[0], Some(1));
        let others = ("delete from a where age > $1", &["3"][..], 2);
        assert_eq!(written(&[INSERT, others])[0], None);
    }
}
