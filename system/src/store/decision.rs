//! What a received message is to become: one transaction that holds the job's row, judges
//! the attempts of dead owners, counts, and starts or steps back.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::attempts::{AttemptKey, step_back};
use super::dependencies::Dependency;
use super::fleet::pause_for_deaths;
use super::judgement::{adopt, judge_others};
use super::{Purpose, Store, StoreError};

/// What is to be done with a received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The attempt is started.
    Start {
        /// The document's reference.
        document: String,
        /// Whether an earlier attempt performed the outside write already.
        performed: bool,
    },
    /// The job is finished: delete the receipt.
    Duplicate,
    /// A living owner has the job in hand: leave the message alone.
    OwnerAlive,
    /// Put the job into quarantine; nothing is started.
    HandOver {
        /// Why.
        label: &'static str,
        /// The document's reference.
        document: String,
        /// How many failures it rests on; with an unknown outcome the count does not matter.
        failures: i64,
    },
    /// The last failure at the limit was a dependency's: probe it before anything is given
    /// up. The attempt is still only received.
    ProbeFirst(Dependency),
    /// Several messages killed workers close together: the fleet is paused until every
    /// dependency was probed.
    Pause,
    /// The message names a job that does not exist.
    UnknownJob,
}

/// The limits that decisions respect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Failed attempts before a job is given up.
    pub(crate) attempt_limit: u32,
    /// How many different jobs must die close together to be suspicious.
    pub(crate) deaths: u32,
    /// How close together.
    pub(crate) death_window: Duration,
}

/// What the decision depends on.
struct Situation<'a> {
    state: &'a str,
    write: Option<&'a str>,
    others_alive: bool,
    failures: i64,
    last_failure: Option<&'a str>,
    last_dependency: Option<Dependency>,
    probed: bool,
    several_deaths: bool,
    limit: u32,
}

impl Situation<'_> {
    fn decide(&self, document: String) -> Decision {
        if self.state != "pending" && !defect!("finished-job-started-again") {
            return Decision::Duplicate;
        }
        if self.others_alive && !defect!("living-owner-ignored") {
            return Decision::OwnerAlive;
        }
        // Whatever the count: a write whose outcome is unknown is never repeated.
        if matches!(self.write, Some("intended" | "unknown")) {
            return Decision::HandOver {
                label: "outcome unknown",
                document,
                failures: 0,
            };
        }
        if self.several_deaths {
            return Decision::Pause;
        }
        let mut limit = i64::from(self.limit);
        if defect!("limit-one-later") {
            limit += 1;
        }
        if defect!("limit-one-earlier") {
            limit -= 1;
        }
        if defect!("malformed-given-up-at-once") && self.last_failure == Some("malformed document")
        {
            limit = 1;
        }
        if self.failures >= limit {
            let probed = self.probed || defect!("no-probe-before-the-limit");
            if let (Some(dependency), false) = (self.last_dependency, probed) {
                return Decision::ProbeFirst(dependency);
            }
            let label = match self.last_failure {
                Some("timed out") if !defect!("time-outs-called-attempt-limit") => "timed out",
                _ => "attempt limit",
            };
            return Decision::HandOver {
                label,
                document,
                failures: self.failures,
            };
        }
        Decision::Start {
            document,
            performed: self.write == Some("performed") && !defect!("answered-write-repeated"),
        }
    }
}

#[derive(sqlx::FromRow)]
struct JobRow {
    state: String,
    document: String,
    series: i32,
}

impl Store {
    /// Decides what `attempt` of `job` becomes, and makes that durable. `probed` says that
    /// the dependency that failed last was found well.
    pub(crate) async fn decide(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        judge: Uuid,
        rules: Rules,
        probed: bool,
    ) -> Result<Decision, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let decision = decide(&mut transaction, attempt, job, judge, rules, probed).await?;
            transaction.commit().await?;
            Ok(decision)
        })
        .await
        .to("decide what becomes of a message")
    }
}

async fn decide(
    connection: &mut PgConnection,
    attempt: &AttemptKey,
    job: Uuid,
    judge: Uuid,
    rules: Rules,
    probed: bool,
) -> Result<Decision, sqlx::Error> {
    let row: Option<JobRow> =
        sqlx::query_as("select state, document, series from jobs where id = $1 for no key update")
            .bind(job)
            .fetch_optional(&mut *connection)
            .await?;
    let Some(JobRow {
        state,
        document,
        series,
    }) = row
    else {
        return Ok(Decision::UnknownJob);
    };
    adopt(connection, &attempt.message_id, job, series).await?;
    let judged = judge_others(connection, Some(attempt), job, judge).await?;
    let write: Option<String> =
        sqlx::query_scalar("select state from outside_writes where job_id = $1")
            .bind(job)
            .fetch_optional(&mut *connection)
            .await?;
    let (mut failures, last_failure, last_dependency): (i64, Option<String>, Option<String>) =
        sqlx::query_as(
            "select count(*), (array_agg(reason order by ended_at desc))[1],
                (array_agg(dependency order by ended_at desc))[1]
         from attempts where job_id = $1 and series = $2 and counted",
        )
        .bind(job)
        .bind(series)
        .fetch_one(&mut *connection)
        .await?;
    if defect!("counted-for-each-copy") {
        let of_copy = "select count(*) from attempts where message_id = $1 and counted";
        failures = sqlx::query_scalar(of_copy)
            .bind(&attempt.message_id)
            .fetch_one(&mut *connection)
            .await?;
    }
    if defect!("replay-keeps-the-count") {
        let of_job = "select count(*) from attempts where job_id = $1 and counted";
        failures = sqlx::query_scalar(of_job)
            .bind(job)
            .fetch_one(&mut *connection)
            .await?;
    }
    let situation = Situation {
        state: &state,
        write: write.as_deref(),
        others_alive: judged.others_alive,
        failures,
        last_failure: last_failure.as_deref(),
        last_dependency: last_dependency.as_deref().and_then(Dependency::named),
        probed,
        several_deaths: judged.charged && several_deaths(connection, rules).await?,
        limit: rules.attempt_limit,
    };
    let mut decision = situation.decide(document);
    if defect!("row-means-duplicate") && attempt.number > 1 {
        decision = Decision::Duplicate;
    }
    settle(connection, attempt, &decision).await?;
    Ok(decision)
}

/// Starts the attempt, or steps back from it.
async fn settle(
    connection: &mut PgConnection,
    attempt: &AttemptKey,
    decision: &Decision,
) -> Result<(), sqlx::Error> {
    let reason = match decision {
        Decision::Start { .. } => {
            sqlx::query(
                "update attempts set state = 'started', stage = 'started', started_at = clock_timestamp()
                 where message_id = $1 and number = $2 and state = 'received'",
            )
            .bind(&attempt.message_id)
            .bind(attempt.number)
            .execute(connection)
            .await?;
            return Ok(());
        }
        Decision::Duplicate => "duplicate",
        Decision::OwnerAlive => "owner alive",
        Decision::HandOver { .. } => "hand-over",
        Decision::Pause => {
            pause_for_deaths(connection).await?;
            "pause"
        }
        Decision::UnknownJob | Decision::ProbeFirst(_) => return Ok(()),
    };
    step_back(connection, attempt, reason).await
}

/// Whether several different jobs killed their workers close together. Deaths that were
/// probed already do not count again.
pub(super) async fn several_deaths(
    connection: &mut PgConnection,
    rules: Rules,
) -> Result<bool, sqlx::Error> {
    if defect!("several-deaths-not-noticed") {
        return Ok(false);
    }
    let jobs: i64 = sqlx::query_scalar(altered!(
        "select count(distinct job_id) from attempts, fleet
         where state = 'died' and counted and ended_at > deaths_since
           and ended_at > clock_timestamp() - make_interval(secs => $1)",
        "deaths-of-one-message-are-several": "count(distinct job_id)" => "count(*)",
    ))
    .bind(rules.death_window.as_secs_f64())
    .fetch_one(connection)
    .await?;
    let enough = if defect!("two-deaths-are-several") {
        2
    } else if defect!("three-deaths-are-not-several") {
        4
    } else {
        rules.deaths
    };
    Ok(jobs >= i64::from(enough))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation() -> Situation<'static> {
        Situation {
            state: "pending",
            write: None,
            others_alive: false,
            failures: 0,
            last_failure: None,
            last_dependency: None,
            probed: false,
            several_deaths: false,
            limit: 3,
        }
    }

    fn decide(situation: &Situation<'_>) -> Decision {
        situation.decide("M1".into())
    }

    fn start(performed: bool) -> Decision {
        Decision::Start {
            document: "M1".into(),
            performed,
        }
    }

    fn hand_over(label: &'static str, failures: i64) -> Decision {
        Decision::HandOver {
            label,
            document: "M1".into(),
            failures,
        }
    }

    #[test]
    fn a_pending_job_below_the_limit_is_started() {
        assert_eq!(
            decide(&Situation {
                failures: 2,
                ..situation()
            }),
            start(false)
        );
    }

    #[test]
    fn a_finished_job_is_a_duplicate_whatever_else_holds() {
        for state in ["succeeded", "failed", "quarantined"] {
            let finished = Situation {
                state,
                others_alive: true,
                failures: 9,
                write: Some("unknown"),
                ..situation()
            };
            assert_eq!(decide(&finished), Decision::Duplicate);
        }
    }

    #[test]
    fn a_living_owner_is_left_alone_even_at_the_limit() {
        let held = Situation {
            others_alive: true,
            failures: 3,
            write: Some("intended"),
            ..situation()
        };
        assert_eq!(decide(&held), Decision::OwnerAlive);
    }

    #[test]
    fn the_receive_after_the_last_failure_hands_over() {
        let spent = Situation {
            failures: 3,
            last_failure: Some("x"),
            ..situation()
        };
        assert_eq!(decide(&spent), hand_over("attempt limit", 3));
        let slow = Situation {
            failures: 3,
            last_failure: Some("timed out"),
            ..situation()
        };
        assert_eq!(decide(&slow), hand_over("timed out", 3));
        assert_eq!(
            decide(&Situation {
                failures: 1,
                limit: 1,
                ..situation()
            }),
            hand_over("attempt limit", 1)
        );
    }

    #[test]
    fn a_dependency_that_failed_last_is_probed_before_the_hand_over() {
        let spent = Situation {
            failures: 3,
            last_dependency: Some(Dependency::Outside),
            ..situation()
        };
        assert_eq!(decide(&spent), Decision::ProbeFirst(Dependency::Outside));
        let probed = Situation {
            probed: true,
            ..spent
        };
        assert_eq!(decide(&probed), hand_over("attempt limit", 3));
    }

    #[test]
    fn several_deaths_pause_before_anybody_is_given_up() {
        let suspicious = Situation {
            failures: 3,
            several_deaths: true,
            ..situation()
        };
        assert_eq!(decide(&suspicious), Decision::Pause);
    }

    #[test]
    fn an_unknown_outcome_is_handed_over_whatever_the_count() {
        for failures in [0, 3] {
            for write in ["intended", "unknown"] {
                let unknown = Situation {
                    failures,
                    write: Some(write),
                    ..situation()
                };
                assert_eq!(decide(&unknown), hand_over("outcome unknown", 0));
            }
        }
    }

    #[test]
    fn a_performed_write_is_skipped_and_one_not_performed_is_not() {
        assert_eq!(
            decide(&Situation {
                write: Some("performed"),
                ..situation()
            }),
            start(true)
        );
        assert_eq!(
            decide(&Situation {
                write: Some("not_performed"),
                ..situation()
            }),
            start(false)
        );
    }
}
