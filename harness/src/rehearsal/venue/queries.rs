//! The manifest's queries, prepared once against the prepared databases: what is wrong with
//! one is told with its place in the file, before any scenario.

use std::collections::BTreeMap;

use sqlx::postgres::{PgConnection, PgDatabaseError, PgErrorPosition, PgTypeInfo};
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Executor as _, SqlSafeStr as _, Statement as _,
    TypeInfo as _,
};

use super::VenueError;
use super::origin::{Origin, connected};
use crate::ids::DependencyName;
use crate::manifest::{Manifest, Query, Refusal};
use crate::rehearsal::dependencies::as_json;

/// SQLSTATE of a table, a schema and a function that is not there.
const ABSENT: [&str; 3] = ["42P01", "3F000", "42883"];
/// Types of which a figure can be read.
const NUMBERS: [&str; 6] = ["INT2", "INT4", "INT8", "NUMERIC", "FLOAT4", "FLOAT8"];

/// The queries that a database refuses, by their position among the manifest's.
pub(super) async fn refused(
    manifest: &Manifest,
    databases: &BTreeMap<DependencyName, Origin>,
) -> Result<Vec<(usize, Refusal)>, VenueError> {
    let mut refused = Vec::new();
    for (name, origin) in databases {
        let own = manifest.queries().iter().enumerate();
        let own: Vec<_> = own.filter(|(_, query)| query.dependency == *name).collect();
        if own.is_empty() {
            continue;
        }
        let failed = |cause| VenueError::Sql {
            dependency: name.clone(),
            address: origin.address,
            what: "look at the queries of the manifest".to_owned(),
            cause,
        };
        let options = origin.options(&origin.template);
        let mut connection = connected(&options).await.map_err(failed)?;
        for (position, query) in own {
            let refusal = refusal(&mut connection, query).await.map_err(failed)?;
            refused.extend(refusal.map(|refusal| (position, refusal)));
        }
        connection.close().await.map_err(failed)?;
    }
    refused.sort_by_key(|(position, _)| *position);
    Ok(refused)
}

/// What the server says against a query, as the harness asks it.
async fn refusal(
    connection: &mut PgConnection,
    query: &Query,
) -> Result<Option<Refusal>, sqlx::Error> {
    let given = vec![PgTypeInfo::with_name("text"); query.given];
    let (before, wrapped) = as_json(&query.sql);
    for (sql, skipped) in [(query.sql.clone(), 0), (wrapped, before.chars().count())] {
        let prepared = (&mut *connection).prepare_with(AssertSqlSafe(sql).into_sql_str(), &given);
        match prepared.await {
            Ok(statement) if skipped == 0 => {
                let columns = statement.columns().iter();
                let types: Vec<&str> = columns.map(|column| column.type_info().name()).collect();
                if let Some(fault) = misshapen(query, &types) {
                    return Ok(Some(fault));
                }
            }
            Ok(_) => {}
            Err(sqlx::Error::Database(error)) => {
                let position = error
                    .try_downcast_ref::<PgDatabaseError>()
                    .and_then(PgDatabaseError::position);
                let position = position.and_then(|position| match position {
                    PgErrorPosition::Original(position) => position.checked_sub(skipped),
                    PgErrorPosition::Internal { .. } => None,
                });
                let hint = error.try_downcast_ref::<PgDatabaseError>();
                let hint = hint.and_then(PgDatabaseError::hint).map(str::to_owned);
                let code = error.code().unwrap_or_default();
                return Ok(Some(Refusal {
                    fault: format!("is refused: {}", error.message()),
                    help: hint,
                    position,
                    absent: ABSENT.contains(&code.as_ref()),
                }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// What is wrong with the columns that a query gives.
fn misshapen(query: &Query, types: &[&str]) -> Option<Refusal> {
    let wanted = if query.columns == 1 {
        (types.len() != 1).then_some("one column")
    } else {
        let number = types.iter().any(|name| NUMBERS.contains(name));
        let fits = matches!(types.len(), 1 | 2) && number;
        (!fits).then_some("one number, or rows of a text and a number")
    }?;
    let given: Vec<String> = types.iter().map(|name| name.to_lowercase()).collect();
    Some(Refusal {
        fault: format!("gives {}, and {wanted} is wanted", shown(&given)),
        help: None,
        position: None,
        absent: false,
    })
}

fn shown(types: &[String]) -> String {
    match types {
        [] => "no column".to_owned(),
        [one] => format!("one column of type {one}"),
        several => format!("{} columns ({})", several.len(), several.join(", ")),
    }
}
