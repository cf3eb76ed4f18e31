//! Who is dead, and whose fault that is. Always inside a transaction that holds the job's
//! row, so that a judgement and the judged attempt's own last step never both happen.

use sqlx::PgConnection;
use uuid::Uuid;

use super::attempts::AttemptKey;

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
        let alone = self.in_hand <= 1 || defect!("neighbours-charged");
        let stopped = self.stop_requested && !defect!("requested-stop-charged");
        let attributed = alone && !stopped && !defect!("death-not-charged");
        if self.intent {
            let reason = "its owner died between the outside request and its answer";
            return ("outcome_unknown", attributed, reason);
        }
        if stopped {
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
struct OpenAttempt {
    message_id: String,
    number: i32,
    incarnation: Uuid,
    intent: bool,
    stop_requested: bool,
    dead: bool,
}

/// Gives attempts of a message whose owners died before they could decode it to its job.
pub(super) async fn adopt(
    connection: &mut PgConnection,
    message_id: &str,
    job: Uuid,
    series: i32,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update attempts set job_id = $2, series = $3 where message_id = $1 and job_id is null",
    )
    .bind(message_id)
    .bind(job)
    .bind(series)
    .execute(connection)
    .await
    .map(|_| ())
}

/// What judging a job's open attempts came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// A living owner is left.
    pub(super) others_alive: bool,
    /// A death was charged to the job just now.
    pub(super) charged: bool,
}

/// Ends the job's open attempts of dead owners, apart from the judge's own.
pub(super) async fn judge_others(
    connection: &mut PgConnection,
    except: Option<&AttemptKey>,
    job: Uuid,
    judge: Uuid,
) -> Result<Judged, sqlx::Error> {
    let open: Vec<OpenAttempt> = sqlx::query_as(
        "select a.message_id, a.number, a.incarnation, i.stop_requested_at is not null as stop_requested,
                exists (select 1 from outside_writes w where w.job_id = a.job_id and w.state = 'intended'
                        and w.message_id = a.message_id and w.number = a.number) as intent,
                is_dead(a.incarnation, $4) as dead
         from attempts a join incarnations i on i.id = a.incarnation
         where a.job_id = $3 and a.state in ('received', 'started')
           and (a.message_id, a.number) is distinct from ($1, $2)
         order by a.received_at for update of a",
    )
    .bind(except.map(|attempt| &attempt.message_id))
    .bind(except.map(|attempt| attempt.number))
    .bind(job)
    .bind(judge)
    .fetch_all(&mut *connection)
    .await?;
    let mut judged = Judged::default();
    for other in open {
        if !other.dead {
            judged.others_alive = true;
            continue;
        }
        let in_hand = judge_dead(connection, other.incarnation).await?;
        let death = Death {
            intent: other.intent && write_is_unknown(connection, job).await?,
            stop_requested: other.stop_requested,
            in_hand,
        };
        let ending = death.ending();
        judged.charged |= ending.0 == "died";
        end(connection, &other.message_id, other.number, ending).await?;
    }
    Ok(judged)
}

/// Ends an open attempt whose owner died before it could say which job it was. True: the
/// death is charged to it.
pub(super) async fn judge_unknown(
    connection: &mut PgConnection,
    message_id: &str,
    number: i32,
) -> Result<bool, sqlx::Error> {
    let open: Option<(Uuid, bool)> = sqlx::query_as(
        "select a.incarnation, i.stop_requested_at is not null
         from attempts a join incarnations i on i.id = a.incarnation
         where a.message_id = $1 and a.number = $2 and a.job_id is null
           and a.state in ('received', 'started') for update of a",
    )
    .bind(message_id)
    .bind(number)
    .fetch_optional(&mut *connection)
    .await?;
    let Some((owner, stop_requested)) = open else {
        return Ok(false);
    };
    let in_hand = judge_dead(connection, owner).await?;
    let death = Death {
        intent: false,
        stop_requested,
        in_hand,
    };
    let (state, counted, reason) = death.ending();
    end(connection, message_id, number, (state, counted, reason)).await?;
    Ok(state == "died")
}

async fn end(
    connection: &mut PgConnection,
    message_id: &str,
    number: i32,
    (state, counted, reason): (&str, bool, &str),
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update attempts set state = $3, counted = $4, reason = $5, ended_at = clock_timestamp()
         where message_id = $1 and number = $2",
    )
    .bind(message_id)
    .bind(number)
    .bind(state)
    .bind(counted)
    .bind(reason)
    .execute(connection)
    .await
    .map(|_| ())
}

/// Settles an intent without an answer, unless its answer arrived this very moment.
async fn write_is_unknown(connection: &mut PgConnection, job: Uuid) -> Result<bool, sqlx::Error> {
    let settled = sqlx::query(altered!(
        "update outside_writes set state = 'unknown', answer = 'none: its owner died'
     where job_id = $1 and state = 'intended'",
        "intent-of-the-dead-repeated": "set state = 'unknown'" => "set state = 'not_performed'",
    ))
    .bind(job)
    .execute(connection)
    .await?;
    Ok(settled.rows_affected() > 0)
}

/// Records the judgement once, with what was in hand at that moment: the owner's other
/// attempts are ended later, one by one, and must all see the same number. A crash that
/// cannot be attributed puts the fleet on trial, and any crash restarts a trial.
pub(super) async fn judge_dead(
    connection: &mut PgConnection,
    owner: Uuid,
) -> Result<i32, sqlx::Error> {
    let known: Option<i32> =
        sqlx::query_scalar("select in_hand_at_death from incarnations where id = $1 for update")
            .bind(owner)
            .fetch_one(&mut *connection)
            .await?;
    if let Some(in_hand) = known {
        return Ok(in_hand);
    }
    let (in_hand, crashed, trial_length): (i32, bool, i32) = sqlx::query_as(
        "update incarnations i set judged_dead_at = clock_timestamp(),
             in_hand_at_death = (select count(*) from attempts
                 where incarnation = i.id and state in ('received', 'started'))
         where id = $1
         returning in_hand_at_death, stop_requested_at is null and ended_at is null, trial_length",
    )
    .bind(owner)
    .fetch_one(&mut *connection)
    .await?;
    if crashed && in_hand > 0 && !defect!("no-trial-after-a-crash") {
        sqlx::query(altered!(
            "update fleet set trial_left = $2, trial_at = coalesce(trial_at, clock_timestamp())
         where $1 > 1 or trial_left is not null",
            "crash-goes-on-with-the-trial": "or trial_left is not null" => "and trial_left is null",
        ))
        .bind(in_hand)
        .bind(if defect!("trial-one-longer") {
            trial_length + 1
        } else if defect!("trial-one-shorter") {
            trial_length - 1
        } else {
            trial_length
        })
        .execute(connection)
        .await?;
    }
    Ok(in_hand)
}

#[cfg(test)]
mod tests {
    use super::*;

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
