//! Whose failure it was: several different messages failing against one dependency with
//! no success there in between are an outage, and none of them is to blame.

use sqlx::PgConnection;

use super::attempts::{AttemptKey, Ending, without_nul};
use super::{Purpose, Store, StoreError};

/// What workers depend on, by the names of the table `dependencies`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// Where documents are read.
    DocumentStore,
    /// Where the one write per job goes.
    Outside,
}

impl Dependency {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::DocumentStore, Self::Outside];

    /// Its name in the database and in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DocumentStore => "document store",
            Self::Outside => "outside service",
        }
    }

    /// The dependency with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// What a failure against a dependency turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The message's, as far as anybody knows.
    Message,
    /// The dependency's: the fleet is paused, and nothing of it counts.
    Outage,
}

impl Store {
    /// Ends an attempt that failed against a dependency, and declares an outage when a
    /// health probe `confirmed` it, or when `enough` different jobs failed there since it
    /// last worked.
    pub(crate) async fn fail_on_dependency(
        &self,
        attempt: &AttemptKey,
        dependency: Dependency,
        ending: Option<&Ending>,
        confirmed: bool,
        enough: u32,
    ) -> Result<Blame, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let blame = blame(
                &mut transaction,
                attempt,
                dependency,
                ending,
                confirmed,
                enough,
            )
            .await?;
            transaction.commit().await?;
            Ok(blame)
        })
        .await
        .to("record a dependency's failure")
    }

    /// Declares an outage that a probe found.
    pub(crate) async fn declare_outage(&self, dependency: Dependency) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            declare(&mut transaction, dependency).await?;
            transaction.commit().await
        })
        .await
        .to("declare an outage")
    }
}

async fn blame(
    connection: &mut PgConnection,
    attempt: &AttemptKey,
    dependency: Dependency,
    ending: Option<&Ending>,
    confirmed: bool,
    enough: u32,
) -> Result<Blame, sqlx::Error> {
    if let Some(ending) = ending {
        sqlx::query(
            "update attempts set state = $3, counted = $4, reason = $5, diagnostics = $6,
                 ended_at = clock_timestamp()
             where message_id = $1 and number = $2 and state in ('received', 'started')",
        )
        .bind(&attempt.message_id)
        .bind(attempt.number)
        .bind(ending.state)
        .bind(ending.counted)
        .bind(ending.reason)
        .bind(without_nul(&ending.diagnostics))
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query("update attempts set dependency = $3 where message_id = $1 and number = $2")
        .bind(&attempt.message_id)
        .bind(attempt.number)
        .bind(dependency.name())
        .execute(&mut *connection)
        .await?;
    sqlx::query("update dependencies set failing = true where name = $1 and not failing")
        .bind(dependency.name())
        .execute(&mut *connection)
        .await?;
    let (jobs, lasts): (i64, bool) = sqlx::query_as(altered!(
        "select (select count(distinct a.job_id) from attempts a
                 where a.dependency = $1 and a.ended_at > d.last_success_at),
                f.paused_reason is not distinct from $1
                or exists (select 1 from attempts a where a.message_id = $2 and a.number = $3
                           and a.started_at < d.outage_ended_at)
         from dependencies d, fleet f where d.name = $1",
        "failures-of-one-message-are-an-outage": "count(distinct a.job_id)" => "count(*)",
        "success-in-between-forgotten": "a.ended_at > d.last_success_at" => "a.ended_at is not null",
        "failures-added-across-dependencies": "where a.dependency = $1 and" => "where a.dependency is not null and",
    ))
    .bind(dependency.name())
    .bind(&attempt.message_id)
    .bind(attempt.number)
    .fetch_one(&mut *connection)
    .await?;
    let enough = if defect!("outage-one-failure-later") {
        enough + 1
    } else if defect!("outage-one-failure-earlier") {
        enough - 1
    } else {
        enough
    };
    if lasts && !confirmed {
        take_back(connection, dependency).await?;
        return Ok(Blame::Outage);
    }
    if !confirmed && jobs < i64::from(enough) {
        return Ok(Blame::Message);
    }
    declare(connection, dependency).await?;
    Ok(Blame::Outage)
}

/// Declares an outage: nobody is charged, and the fleet is paused.
async fn declare(connection: &mut PgConnection, dependency: Dependency) -> Result<(), sqlx::Error> {
    sqlx::query("update dependencies set outage = true where name = $1")
        .bind(dependency.name())
        .execute(&mut *connection)
        .await?;
    if !defect!("outage-charged") {
        take_back(connection, dependency).await?;
    }
    if defect!("outage-does-not-pause") {
        return Ok(());
    }
    sqlx::query(
        "update fleet set paused_reason = $1, paused_at = clock_timestamp() where paused_reason is null",
    )
    .bind(dependency.name())
    .execute(connection)
    .await
    .map(|_| ())
}

/// Takes back what was charged since the dependency last worked.
async fn take_back(
    connection: &mut PgConnection,
    dependency: Dependency,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update attempts a set counted = false,
             state = case a.state when 'failed' then 'outage' else a.state end
         from dependencies d
         where d.name = $1 and a.dependency = $1
           and (a.ended_at > d.last_success_at or a.started_at < d.outage_ended_at)
           and a.state in ('failed', 'outcome_unknown')",
    )
    .bind(dependency.name())
    .execute(connection)
    .await
    .map(|_| ())
}

/// The dependency did what it was asked. Costs no write while it was well before.
pub(super) async fn worked(
    connection: &mut PgConnection,
    dependency: Dependency,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update dependencies set failing = false, outage = false, last_success_at = clock_timestamp(),
             outage_ended_at = case when outage then clock_timestamp() else outage_ended_at end
         where name = $1 and failing",
    )
    .bind(dependency.name())
    .execute(connection)
    .await
    .map(|_| ())
}
