//! What a received message is to become: one transaction that holds the job's row, judges
//! the attempts of dead owners, counts, and starts or steps back.

use sqlx::PgConnection;
use uuid::Uuid;

use super::attempts::AttemptKey;
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
    },
    /// The message names a job that does not exist.
    UnknownJob,
}

/// What the decision depends on.
struct Situation<'a> {
    state: &'a str,
    write: Option<&'a str>,
    others_alive: bool,
    failures: i64,
    last_failure: Option<&'a str>,
    limit: u32,
}

impl Situation<'_> {
    fn decide(&self, document: String) -> Decision {
        if self.state != "pending" {
            return Decision::Duplicate;
        }
        if self.others_alive {
            return Decision::OwnerAlive;
        }
        // Whatever the count: a write whose outcome is unknown is never repeated.
        if matches!(self.write, Some("intended" | "unknown")) {
            let label = "outcome unknown";
            return Decision::HandOver { label, document };
        }
        if self.failures >= i64::from(self.limit) {
            let label = match self.last_failure {
                Some("timed out") => "timed out",
                _ => "attempt limit",
            };
            return Decision::HandOver { label, document };
        }
        Decision::Start {
            document,
            performed: self.write == Some("performed"),
        }
    }
}

/// What is known of an attempt whose owner is dead.
struct Death {
    /// It had announced its outside write, and no answer is recorded.
    intent: bool,
    /// Its owner had been asked to stop.
    stop_requested: bool,
    /// How many attempts its owner had in hand.
    in_hand: i32,
}

impl Death {
    /// The attempt's state, whether it counts, and why.
    fn ending(&self) -> (&'static str, bool, &'static str) {
        let attributed = self.in_hand <= 1 && !self.stop_requested;
        if self.intent {
            let reason = "its owner died between the outside request and its answer";
            return ("outcome_unknown", attributed, reason);
        }
        if self.stop_requested {
            return ("stopped", false, "its owner was asked to stop");
        }
        if attributed {
            return (
                "died",
                true,
                "its owner died with this message alone in hand",
            );
        }
        (
            "unattributed",
            false,
            "its owner died with several messages in hand",
        )
    }
}

#[derive(sqlx::FromRow)]
struct JobRow {
    state: String,
    document: String,
    series: i32,
}

#[derive(sqlx::FromRow)]
struct OpenAttempt {
    message_id: String,
    number: i32,
    incarnation: Uuid,
    intent: bool,
    stop_requested: bool,
    dead: bool,
}

impl Store {
    /// Decides what `attempt` of `job` becomes, and makes that durable.
    pub(crate) async fn decide(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        judge: Uuid,
        limit: u32,
    ) -> Result<Decision, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let decision = decide(&mut transaction, attempt, job, judge, limit).await?;
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
    limit: u32,
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
    // Also attempts of this message whose owner died before it could decode it.
    sqlx::query(
        "update attempts set job_id = $2, series = $3 where message_id = $1 and job_id is null",
    )
    .bind(&attempt.message_id)
    .bind(job)
    .bind(series)
    .execute(&mut *connection)
    .await?;
    let others_alive = judge_others(connection, attempt, job, judge).await?;
    let write: Option<String> =
        sqlx::query_scalar("select state from outside_writes where job_id = $1")
            .bind(job)
            .fetch_optional(&mut *connection)
            .await?;
    let (failures, last_failure): (i64, Option<String>) = sqlx::query_as(
        "select count(*), (array_agg(reason order by ended_at desc))[1]
         from attempts where job_id = $1 and series = $2 and counted",
    )
    .bind(job)
    .bind(series)
    .fetch_one(&mut *connection)
    .await?;
    let situation = Situation {
        state: &state,
        write: write.as_deref(),
        others_alive,
        failures,
        last_failure: last_failure.as_deref(),
        limit,
    };
    let decision = situation.decide(document);
    settle(connection, attempt, &decision).await?;
    Ok(decision)
}

/// Ends the job's open attempts of dead owners; says whether a living owner is left.
async fn judge_others(
    connection: &mut PgConnection,
    attempt: &AttemptKey,
    job: Uuid,
    judge: Uuid,
) -> Result<bool, sqlx::Error> {
    let open: Vec<OpenAttempt> = sqlx::query_as(
        "select a.message_id, a.number, a.incarnation, i.stop_requested_at is not null as stop_requested,
                exists (select 1 from outside_writes w where w.job_id = a.job_id and w.state = 'intended'
                        and w.message_id = a.message_id and w.number = a.number) as intent,
                is_dead(a.incarnation, $4) as dead
         from attempts a join incarnations i on i.id = a.incarnation
         where a.job_id = $3 and a.state in ('received', 'started')
           and not (a.message_id = $1 and a.number = $2)
         order by a.received_at for update of a",
    )
    .bind(&attempt.message_id)
    .bind(attempt.number)
    .bind(job)
    .bind(judge)
    .fetch_all(&mut *connection)
    .await?;
    let mut alive = false;
    for other in open {
        if !other.dead {
            alive = true;
            continue;
        }
        let in_hand = judge_dead(connection, other.incarnation).await?;
        let death = Death {
            intent: other.intent && write_is_unknown(connection, job).await?,
            stop_requested: other.stop_requested,
            in_hand,
        };
        let (state, counted, reason) = death.ending();
        sqlx::query(
            "update attempts set state = $3, counted = $4, reason = $5, ended_at = clock_timestamp()
             where message_id = $1 and number = $2",
        )
        .bind(&other.message_id)
        .bind(other.number)
        .bind(state)
        .bind(counted)
        .bind(reason)
        .execute(&mut *connection)
        .await?;
    }
    Ok(alive)
}

/// Settles an intent without an answer, unless its answer arrived this very moment.
async fn write_is_unknown(connection: &mut PgConnection, job: Uuid) -> Result<bool, sqlx::Error> {
    let settled = sqlx::query(
        "update outside_writes set state = 'unknown', answer = 'none: its owner died'
         where job_id = $1 and state = 'intended'",
    )
    .bind(job)
    .execute(connection)
    .await?;
    Ok(settled.rows_affected() > 0)
}

/// Records the judgement once, with what was in hand at that moment: the owner's other
/// attempts are ended later, one by one, and must all see the same number.
async fn judge_dead(connection: &mut PgConnection, owner: Uuid) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar(
        "update incarnations i set judged_dead_at = coalesce(judged_dead_at, clock_timestamp()),
             in_hand_at_death = coalesce(in_hand_at_death, (select count(*)::integer from attempts
                 where incarnation = i.id and state in ('received', 'started')))
         where id = $1 returning in_hand_at_death",
    )
    .bind(owner)
    .fetch_one(connection)
    .await
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
        Decision::UnknownJob => return Ok(()),
    };
    sqlx::query(
        "update attempts set state = 'stepped_back', reason = $3, ended_at = clock_timestamp()
         where message_id = $1 and number = $2 and state in ('received', 'started')",
    )
    .bind(&attempt.message_id)
    .bind(attempt.number)
    .bind(reason)
    .execute(connection)
    .await?;
    Ok(())
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

    fn hand_over(label: &'static str) -> Decision {
        Decision::HandOver {
            label,
            document: "M1".into(),
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
        assert_eq!(decide(&spent), hand_over("attempt limit"));
        let slow = Situation {
            failures: 3,
            last_failure: Some("timed out"),
            ..situation()
        };
        assert_eq!(decide(&slow), hand_over("timed out"));
        assert_eq!(
            decide(&Situation {
                failures: 1,
                limit: 1,
                ..situation()
            }),
            hand_over("attempt limit")
        );
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
                assert_eq!(decide(&unknown), hand_over("outcome unknown"));
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

    #[test]
    fn a_death_is_charged_only_to_a_message_alone_in_hand() {
        let death = Death {
            intent: false,
            stop_requested: false,
            in_hand: 1,
        };
        assert_eq!(death.ending().0, "died");
        assert!(death.ending().1);
        let several = Death {
            in_hand: 2,
            ..death
        };
        assert_eq!(several.ending().0, "unattributed");
        assert!(!several.ending().1);
    }

    #[test]
    fn a_requested_stop_is_charged_to_nobody() {
        let stopped = Death {
            intent: false,
            stop_requested: true,
            in_hand: 1,
        };
        assert_eq!((stopped.ending().0, stopped.ending().1), ("stopped", false));
    }

    #[test]
    fn an_intent_without_an_answer_is_an_unknown_outcome_in_every_death() {
        for stop_requested in [false, true] {
            for in_hand in [1, 5] {
                let death = Death {
                    intent: true,
                    stop_requested,
                    in_hand,
                };
                assert_eq!(death.ending().0, "outcome_unknown");
            }
        }
    }
}
