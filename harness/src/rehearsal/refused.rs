//! Why a server did not do what it was asked, in words for people.

use std::error::Error;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use sqlx::postgres::PgDatabaseError;

/// Its code and message; where it did not answer at all, what the connection met.
pub(super) fn why<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    match error {
        SdkError::TimeoutError(_) => {
            "it takes the connection and does not answer in time".to_owned()
        }
        SdkError::ServiceError(_) => {
            let Some(code) = error.code() else {
                return "it answers with an error that has no code, as no SQS server does"
                    .to_owned();
            };
            match error.message() {
                Some(message) => format!("{code}: {message}"),
                None => code.to_owned(),
            }
        }
        SdkError::ResponseError(_) => {
            format!("its answer is none of an SQS server ({})", innermost(error))
        }
        _ => format!("nobody answers there ({})", innermost(error)),
    }
}

/// Why a database did not do what it was asked: its own words without the line of its own
/// program, or what the connection met.
pub(super) fn why_of_database(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => {
            let hint = error.try_downcast_ref::<PgDatabaseError>();
            match hint.and_then(PgDatabaseError::hint) {
                Some(hint) => format!("{} ({hint})", error.message()),
                None => error.message().to_owned(),
            }
        }
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => error.to_string(),
        sqlx::Error::Io(error) => format!("nobody answers there as a database ({error})"),
        sqlx::Error::Protocol(_) => "what answers there is no PostgreSQL server".to_owned(),
        sqlx::Error::PoolTimedOut => "it gave no connection in time".to_owned(),
        other => other.to_string(),
    }
}

/// What is beneath all that explains it.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
