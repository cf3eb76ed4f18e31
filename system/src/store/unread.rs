//! Bodies that nobody lived to read: attempts that died before they knew their job count by
//! `MessageId` alone, and at the limit the body is not read once more.

use uuid::Uuid;

use super::{Purpose, Store, StoreError};

/// Whether a body may be read once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It may.
    MayBeRead,
    /// It may not, but the outbox says whose message it is.
    Of(Uuid),
    /// It may not, and nobody knows whose it is.
    OfNobody,
}

impl Store {
    /// Whether fewer than `limit` attempts of this message were charged with a death before
    /// its body was read. The dead were judged before the message was recorded.
    pub(crate) async fn unread(&self, message_id: &str, limit: u32) -> Result<Unread, StoreError> {
        self.limit(async {
            let (deaths, job): (i64, Option<Uuid>) = sqlx::query_as(
                "select (select count(*) from attempts where message_id = $1 and counted
                           and state = 'died' and stage = 'attempt-recorded'),
                        (select job_id from outbox where message_id = $1 limit 1)",
            )
            .bind(message_id)
            .fetch_one(&self.pool)
            .await?;
            Ok(match job {
                _ if deaths < i64::from(limit) => Unread::MayBeRead,
                Some(job) => Unread::Of(job),
                None => Unread::OfNobody,
            })
        })
        .await
        .to("ask whether a body was ever read")
    }
}
