//! Quarantine: what the workers gave up, with all that a person needs to decide.

use sqlx::PgConnection;
use uuid::Uuid;

use super::attempts::{AttemptKey, without_nul};
use super::fleet::stop;
use super::{Purpose, Store, StoreError};
use crate::config;

/// The brake says nothing before it has seen this many.
const LEAST_SEEN: i64 = 10;

/// What became of a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The record is durable, by us or by somebody before us.
    Durably,
    /// It would have made things worse: the fleet is stopped, and nothing was given up.
    Stopped,
    /// Fewer failures are left than it was to rest on: nothing was given up.
    Reversed,
}

/// What is put into quarantine.
pub(crate) struct HandOver<'a> {
    pub(crate) message_id: &'a str,
    pub(crate) label: &'static str,
    /// The message as it was delivered.
    pub(crate) body: &'a [u8],
    /// What the message is about, byte for byte.
    pub(crate) content: &'a [u8],
    pub(crate) media_type: Option<&'a str>,
    pub(crate) diagnostics: &'a str,
    /// How many failures the hand-over rests on.
    pub(crate) failures: i64,
}

impl Store {
    /// Puts a pending job into quarantine: record and state in one transaction. Repeated,
    /// by whoever, it stays one record.
    pub(crate) async fn quarantine_job(
        &self,
        job: Uuid,
        hand_over: &HandOver<'_>,
        limits: config::Quarantine,
    ) -> Result<Kept, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            let series: Option<i32> = sqlx::query_scalar(
                "select series from jobs where id = $1 and state = 'pending' for no key update",
            )
            .bind(job)
            .fetch_optional(&mut *transaction)
            .await?;
            let Some(series) = series else {
                transaction.rollback().await?;
                return Ok(Kept::Durably);
            };
            // Whoever takes a charge back waits here, and then finds the record that rests on it.
            let charged = sqlx::query(
                "select 1 from attempts where job_id = $1 and series = $2 and counted for update",
            )
            .bind(job)
            .bind(series)
            .execute(&mut *transaction)
            .await?;
            if i64::try_from(charged.rows_affected()).unwrap_or(i64::MAX) < hand_over.failures {
                transaction.rollback().await?;
                return Ok(Kept::Reversed);
            }
            if let Some(reason) = reason_to_stop(&mut transaction, hand_over.label, limits).await? {
                stop(&mut transaction, reason).await?;
                transaction.commit().await?;
                return Ok(Kept::Stopped);
            }
            sqlx::query(
                "update jobs set state = 'quarantined', label = $2, ended_at = clock_timestamp()
                 where id = $1",
            )
            .bind(job)
            .bind(hand_over.label)
            .execute(&mut *transaction)
            .await?;
            sqlx::query(
                "insert into quarantine (message_id, label, job_id, series, body, content, media_type,
                     diagnostics, counted, last_stage, attempts)
                 select $1, $2, $3, $4, $5, $6, $7, $8,
                     (select count(*) from attempts where job_id = $3 and series = $4 and counted),
                     (select stage from attempts where job_id = $3 and series = $4 and state <> 'stepped_back'
                      order by received_at desc limit 1),
                     coalesce((select jsonb_agg(to_jsonb(a) - 'delivery' order by received_at)
                               from attempts a where job_id = $3), '[]')",
            )
            .bind(hand_over.message_id)
            .bind(hand_over.label)
            .bind(job)
            .bind(series)
            .bind(hand_over.body)
            .bind(hand_over.content)
            .bind(hand_over.media_type)
            .bind(without_nul(hand_over.diagnostics))
            .execute(&mut *transaction)
            .await?;
            let altered = if defect!("last-stage-of-the-first") {
                "update quarantine q set last_stage = (select stage from attempts a where a.job_id = q.job_id
                     order by received_at limit 1) where q.job_id = $1"
            } else if defect!("last-stage-of-another-job") {
                "update quarantine q set last_stage = (select stage from attempts a where a.job_id <> q.job_id
                     order by received_at desc limit 1) where q.job_id = $1"
            } else if defect!("attempts-of-every-job-on-record") {
                "update quarantine set attempts = (select jsonb_agg(to_jsonb(a) - 'delivery' order by received_at)
                     from attempts a) where job_id = $1"
            } else if defect!("attempts-not-on-record") {
                "update quarantine set attempts = '[]' where job_id = $1"
            } else if defect!("ends-not-on-record") {
                "update quarantine q set attempts = (select jsonb_agg(a - 'state' - 'ended_at')
                     from jsonb_array_elements(q.attempts) a) where q.job_id = $1"
            } else if defect!("count-not-on-record") {
                "update quarantine set counted = 0 where job_id = $1"
            } else if defect!("replayed-by-itself") {
                "with again as (update jobs set state = 'pending', series = series + 1 where id = $1 returning id)
                 insert into outbox (job_id, body) select id, json_build_object('job_id', id) from again"
            } else {
                ""
            };
            if !altered.is_empty() {
                sqlx::query(altered)
                    .bind(job)
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await?;
            Ok(Kept::Durably)
        })
        .await
        .to("put a job into quarantine")
    }

    /// Puts a message into quarantine that names no job of ours; the attempt that met it
    /// ends with it.
    pub(crate) async fn quarantine_message(
        &self,
        attempt: Option<&AttemptKey>,
        hand_over: &HandOver<'_>,
        limits: config::Quarantine,
    ) -> Result<Kept, StoreError> {
        self.limit(async {
            let mut transaction = self.pool.begin().await?;
            if let Some(reason) = reason_to_stop(&mut transaction, hand_over.label, limits).await? {
                stop(&mut transaction, reason).await?;
                transaction.commit().await?;
                return Ok(Kept::Stopped);
            }
            if let Some(attempt) = attempt {
                sqlx::query(
                    "update attempts set state = 'failed', counted = true, reason = $3, diagnostics = $4,
                         ended_at = clock_timestamp()
                     where message_id = $1 and number = $2 and state = 'received'",
                )
                .bind(&attempt.message_id)
                .bind(attempt.number)
                .bind(hand_over.label)
                .bind(without_nul(hand_over.diagnostics))
                .execute(&mut *transaction)
                .await?;
            }
            sqlx::query(
                "insert into quarantine (message_id, label, body, content, diagnostics, counted, last_stage, attempts)
                 select $1, $2, $3, $3, $4,
                     (select count(*) from attempts where message_id = $1 and counted),
                     'attempt-recorded',
                     coalesce((select jsonb_agg(to_jsonb(a) - 'delivery' order by number)
                               from attempts a where message_id = $1), '[]')
                 on conflict do nothing",
            )
            .bind(hand_over.message_id)
            .bind(hand_over.label)
            .bind(hand_over.body)
            .bind(without_nul(hand_over.diagnostics))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(Kept::Durably)
        })
        .await
        .to("put a message into quarantine")
    }
}

/// Whether one more record would make things worse. Holds the fleet's row, so that hand-overs
/// come one after the other and none slips past a limit.
async fn reason_to_stop(
    connection: &mut PgConnection,
    label: &str,
    limits: config::Quarantine,
) -> Result<Option<&'static str>, sqlx::Error> {
    let stopped: bool =
        sqlx::query_scalar("select stopped_reason is not null from fleet for update")
            .fetch_one(&mut *connection)
            .await?;
    if stopped {
        return Ok(Some("stopped"));
    }
    let (open, seen, spoiled): (i64, i64, i64) = sqlx::query_as(
        altered!(
            "select (select count(*) from quarantine
                 where resolution is distinct from 'done' and replayed_at is null),
                count(*),
                count(*) filter (where state = 'quarantined' and label in ('attempt limit', 'timed out'))
         from (select j.state, j.label from jobs j, fleet f
               where j.ended_at > f.brake_since order by j.ended_at desc limit 50) recent",
            "capacity-counts-the-settled": "where resolution is distinct from 'done' and replayed_at is null" => "where true",
            "resumed-brake-looks-back": "j.ended_at > f.brake_since" => "j.ended_at is not null",
            "window-too-narrow": "limit 50" => "limit 20",
            "window-too-wide": "limit 50" => "limit 500",
            "brake-forgets-time-outs": "('attempt limit', 'timed out')" => "('attempt limit')",
            "unknown-outcomes-brake": "('attempt limit', 'timed out')" => "('attempt limit', 'timed out', 'outcome unknown')",
        ),
    )
    .fetch_one(connection)
    .await?;
    let recent = Recent {
        open,
        seen,
        spoiled,
    };
    Ok(recent.reason_to_stop(label, limits))
}

/// What the fleet gave up recently.
struct Recent {
    /// Records that nobody settled yet.
    open: i64,
    /// Jobs among the last ones that ended.
    seen: i64,
    /// Of those, how many ended at the limit or timed out.
    spoiled: i64,
}

impl Recent {
    /// Whether one more record under `label` would lose something or condemn the healthy.
    fn reason_to_stop(&self, label: &str, limits: config::Quarantine) -> Option<&'static str> {
        let mut capacity = i64::from(limits.quarantine_capacity);
        if defect!("capacity-one-more") {
            capacity += 1;
        }
        if self.open >= capacity && !defect!("capacity-ignored") {
            return Some("quarantine full");
        }
        let share = i64::from(limits.quarantine_share);
        let braked = match label {
            "timed out" => !defect!("time-outs-pass-the-brake"),
            "attempt limit" => !defect!("no-brake"),
            _ => defect!("brake-on-every-label"),
        };
        let least = if defect!("brake-sees-five") {
            5
        } else if defect!("brake-sees-eleven") {
            11
        } else {
            LEAST_SEEN
        };
        let spoiled = if defect!("brake-at-the-share") {
            self.spoiled + 1
        } else {
            self.spoiled
        };
        if braked && self.seen >= least && spoiled * 100 > share * self.seen {
            return Some("too large a share quarantined");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: config::Quarantine = config::Quarantine {
        quarantine_capacity: 100,
        quarantine_share: 20,
    };

    fn recent(open: i64, seen: i64, spoiled: i64) -> Recent {
        Recent {
            open,
            seen,
            spoiled,
        }
    }

    #[test]
    fn a_full_quarantine_stops_whatever_the_label() {
        for label in ["attempt limit", "outcome unknown", "undecodable"] {
            let reason = recent(100, 0, 0).reason_to_stop(label, LIMITS);
            assert_eq!(reason, Some("quarantine full"));
        }
    }

    #[test]
    fn the_brake_needs_ten_seen_and_more_than_the_share() {
        assert_eq!(
            recent(9, 9, 9).reason_to_stop("attempt limit", LIMITS),
            None
        );
        assert_eq!(
            recent(2, 10, 2).reason_to_stop("attempt limit", LIMITS),
            None
        );
        assert!(
            recent(3, 10, 3)
                .reason_to_stop("timed out", LIMITS)
                .is_some()
        );
        assert!(
            recent(10, 10, 10)
                .reason_to_stop("attempt limit", LIMITS)
                .is_some()
        );
    }

    #[test]
    fn unknown_outcomes_are_not_braked_and_a_share_of_100_is_off() {
        assert_eq!(
            recent(9, 50, 50).reason_to_stop("outcome unknown", LIMITS),
            None
        );
        let off = config::Quarantine {
            quarantine_share: 100,
            ..LIMITS
        };
        assert_eq!(recent(9, 50, 50).reason_to_stop("attempt limit", off), None);
    }
}
