//! Whether messages may be taken, fleet-wide and durable: stopped, paused, on trial, or
//! normal.

use serde::Serialize;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::decision::{Rules, several_deaths};
use super::judgement::{judge_dead, judge_others, judge_unknown};
use super::{Purpose, Store, StoreError};

/// Why the fleet is paused when several messages killed workers close together.
pub(crate) const SEVERAL_DEATHS: &str = "several deaths";
/// Why the fleet is paused when a person said so.
pub(crate) const OPERATOR: &str = "operator";

/// What the fleet may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Fleet {
    pub(crate) stopped_reason: Option<String>,
    pub(crate) paused_reason: Option<String>,
    pub(crate) trial_left: Option<i32>,
}

/// The fleet, and whether somebody died whose messages are not judged yet.
#[derive(sqlx::FromRow)]
struct Glance {
    died_in_hand: bool,
    #[sqlx(flatten)]
    fleet: Fleet,
}

impl Fleet {
    /// How many messages one worker may have in hand.
    pub(crate) fn in_hand(&self, configured: usize) -> usize {
        let stopped = self.stopped_reason.is_some() && !defect!("received-while-stopped");
        let paused = self.paused_reason.is_some() && !defect!("received-while-paused");
        if stopped || paused {
            0
        } else if self.trial_left.is_some() && !defect!("trial-takes-as-many-as-before") {
            1
        } else {
            configured
        }
    }
}

/// The fleet as an operator sees it.
#[derive(Debug, Serialize, sqlx::FromRow)]
pub(crate) struct FleetStatus {
    pub(crate) mode: String,
    pub(crate) reason: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub(crate) since: Option<OffsetDateTime>,
    pub(crate) trial_left: Option<i32>,
    pub(crate) in_hand: i64,
    pub(crate) workers: i64,
    pub(crate) in_quarantine: i64,
    pub(crate) pending: i64,
}

impl Store {
    /// Judges owners that died with something in hand, then says what the fleet may do.
    /// Asked before every receive, so that nobody takes more than the last crash allows;
    /// where nobody died it is one statement.
    pub(crate) async fn fleet(&self, judge: Uuid, rules: Rules) -> Result<Fleet, StoreError> {
        self.limit(async {
            let seen = self.glance(judge).await?;
            if !seen.died_in_hand {
                return Ok(seen.fleet);
            }
            self.judge_the_dead(judge).await?;
            self.sweep(judge, rules).await?;
            Ok(self.glance(judge).await?.fleet)
        })
        .await
        .to("ask what the fleet may do")
    }

    async fn glance(&self, judge: Uuid) -> Result<Glance, sqlx::Error> {
        sqlx::query_as(
            "select exists (select 1 from died_in_hand($1)) as died_in_hand,
                    stopped_reason, paused_reason, trial_left from fleet",
        )
        .bind(judge)
        .fetch_one(&self.pool)
        .await
    }

    async fn judge_the_dead(&self, judge: Uuid) -> Result<(), sqlx::Error> {
        let dead: Vec<Uuid> =
            sqlx::query_scalar("select id from died_in_hand($1) where judged_dead_at is null")
                .bind(judge)
                .fetch_all(&self.pool)
                .await?;
        for owner in dead {
            let mut transaction = self.pool.begin().await?;
            judge_dead(&mut transaction, owner).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    /// Ends the open attempts of the dead, also of messages that nobody will receive again.
    /// Each in a transaction of its own, so that two sweepers never wait for each other.
    async fn sweep(&self, judge: Uuid, rules: Rules) -> Result<(), sqlx::Error> {
        let open: Vec<(String, i32, Option<Uuid>)> = sqlx::query_as(
            "select a.message_id, a.number, a.job_id
             from attempts a join died_in_hand($1) i on i.id = a.incarnation
             where a.state in ('received', 'started') and i.judged_dead_at is not null",
        )
        .bind(judge)
        .fetch_all(&self.pool)
        .await?;
        for (message_id, number, job) in open {
            let mut transaction = self.pool.begin().await?;
            let charged = match job {
                Some(job) => {
                    sqlx::query("select 1 from jobs where id = $1 for no key update")
                        .bind(job)
                        .execute(&mut *transaction)
                        .await?;
                    judge_others(&mut transaction, None, job, judge)
                        .await?
                        .charged
                }
                None => judge_unknown(&mut transaction, &message_id, number).await?,
            };
            if charged && several_deaths(&mut transaction, rules).await? {
                pause_for_deaths(&mut transaction).await?;
            }
            transaction.commit().await?;
        }
        Ok(())
    }

    /// A message ended without a crash while the fleet was on trial. The last one needed
    /// ends the trial; a pause or a stop does not advance it.
    pub(crate) async fn advance_trial(&self) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let advanced = sqlx::query(
                altered!(
                    "update fleet set trial_left = trial_left - 1
                         where trial_left is not null and stopped_reason is null and paused_reason is null",
                    "trial-never-advances": "trial_left - 1" => "trial_left",
                    "pause-advances-the-trial": "and stopped_reason is null and paused_reason is null" => "",
                ),
            )
            .execute(&mut *transaction)
            .await?;
            if advanced.rows_affected() > 0 {
                sqlx::query(
                    "update fleet set trial_left = null, trial_at = null where trial_left = 0",
                )
                .execute(&mut *transaction)
                .await?;
            }
            transaction.commit().await
        })
        .await
        .to("advance the trial")
    }

    /// Stops the fleet. Only a person resumes it.
    pub(crate) async fn stop_fleet(&self, reason: &str) -> Result<(), StoreError> {
        self.limit(async {
            let mut connection = self.pool.acquire().await?;
            stop(&mut connection, reason).await
        })
        .await
        .to("stop the fleet")
    }

    /// A paused fleet goes on, if it is still paused for this reason and has been for
    /// `at_least` seconds.
    pub(crate) async fn end_pause(&self, reason: &str, at_least: f64) -> Result<bool, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let ended = sqlx::query(
                "update fleet set paused_reason = null, paused_at = null,
                     deaths_since = case when $1 = 'several deaths' then clock_timestamp() else deaths_since end
                 where paused_reason = $1 and paused_at + make_interval(secs => $2) <= clock_timestamp()",
            )
            .bind(reason)
            .bind(at_least)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "update dependencies set outage_ended_at = clock_timestamp() where name = $1 and $2",
            )
            .bind(reason)
            .bind(ended.rows_affected() > 0)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(ended.rows_affected() > 0)
        })
        .await
        .to("end a pause")
    }

    /// Several messages killed workers while this dependency was ill: none of the deaths
    /// stays charged, and the fleet waits for the dependency.
    pub(crate) async fn blame_deaths_on(&self, dependency: &str) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            sqlx::query(altered!(
                "update attempts set counted = false, state = 'outage', dependency = $1
             from fleet f where state = 'died' and ended_at > f.deaths_since",
                "deaths-stay-charged-in-an-outage": "counted = false" => "counted = true",
            ))
            .bind(dependency)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "update fleet set paused_reason = $1, deaths_since = clock_timestamp()
                 where paused_reason = 'several deaths'",
            )
            .bind(dependency)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await
        })
        .await
        .to("take back the charge for several deaths")
    }

    /// Pauses the fleet because a person says so.
    pub(crate) async fn pause_fleet(&self) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            sqlx::query(altered!(
                "update fleet set paused_reason = $1, paused_at = clock_timestamp()",
                "pause-ends-the-trial": "clock_timestamp()" => "clock_timestamp(), trial_left = null",
            ))
            .bind(OPERATOR)
            .execute(&mut *transaction)
            .await?;
            sqlx::query("insert into operator_actions (action) values ('pause')")
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await
        })
        .await
        .to("pause the fleet")
    }

    /// Ends a stop or a pause because a person says so. The brake looks only at what ends
    /// from now on; a trial goes on.
    pub(crate) async fn resume_fleet(&self) -> Result<(), StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            sqlx::query(
                altered!(
                    "update fleet set stopped_reason = null, stopped_at = null, paused_reason = null,
                             paused_at = null, brake_since = clock_timestamp()",
                    "resume-keeps-the-window": ", brake_since = clock_timestamp()" => "",
                    "resume-ends-the-trial": "paused_at = null" => "paused_at = null, trial_left = null",
                ),
            )
            .execute(&mut *transaction)
            .await?;
            sqlx::query("insert into operator_actions (action) values ('resume')")
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await
        })
        .await
        .to("resume the fleet")
    }

    /// Mode, reason, since when, in hand.
    pub(crate) async fn fleet_status(&self) -> Result<FleetStatus, StoreError> {
        self.limit(async {
            sqlx::query_as(
                altered!(
                    "select case when stopped_reason is not null then 'stopped'
                             when paused_reason is not null then 'paused'
                             when trial_left is not null then 'trial' else 'normal' end as mode,
                        coalesce(stopped_reason, paused_reason) as reason,
                        coalesce(stopped_at, paused_at, trial_at) as since, trial_left,
                        (select count(*) from attempts a join incarnations i on i.id = a.incarnation
                         where a.state in ('received', 'started') and may_act(i.id)) as in_hand,
                        (select count(*) from incarnations where may_act(id)) as workers,
                        (select count(*) from quarantine
                         where resolution is distinct from 'done' and replayed_at is null) as in_quarantine,
                        (select count(*) from jobs where state = 'pending') as pending
                 from fleet",
                    "paused-outweighs-stopped": "when stopped_reason is not null then" => "when paused_reason is not null then 'paused' when stopped_reason is not null then",
                    "settled-told-as-in-quarantine": "where resolution is distinct from 'done' and replayed_at is null" => "where true",
                    "finished-jobs-told-as-pending": "where state = 'pending'" => "where state <> 'failed'",
                    "the-dead-told-as-workers": "from incarnations where may_act(id)" => "from incarnations",
                ),
            )
            .fetch_one(&self.pool)
            .await
        })
        .await
        .to("read the fleet's status")
    }
}

/// Stops the fleet inside a transaction that goes on. The first reason stays.
pub(super) async fn stop(connection: &mut PgConnection, reason: &str) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update fleet set stopped_reason = $1, stopped_at = clock_timestamp()
         where stopped_reason is null",
    )
    .bind(reason)
    .execute(connection)
    .await
    .map(|_| ())
}

/// Pauses the fleet until every dependency was probed.
pub(super) async fn pause_for_deaths(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query(
        "update fleet set paused_reason = $1, paused_at = clock_timestamp()
         where paused_reason is null",
    )
    .bind(SEVERAL_DEATHS)
    .execute(connection)
    .await
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_outweighs_paused_outweighs_trial_outweighs_normal() {
        let mut fleet = Fleet::default();
        assert_eq!(fleet.in_hand(5), 5);
        fleet.trial_left = Some(3);
        assert_eq!(fleet.in_hand(5), 1);
        fleet.paused_reason = Some("outside service".into());
        assert_eq!(fleet.in_hand(5), 0);
        fleet.paused_reason = None;
        fleet.stopped_reason = Some("quarantine full".into());
        assert_eq!(fleet.in_hand(5), 0);
    }
}
