//! Why a queue server did not do what it was asked, in words for people.

use std::error::Error;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

/// Its code and message; where it did not answer at all, what the connection met.
pub(super) fn why<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    match error {
        SdkError::TimeoutError(_) => "it did not answer in time".to_owned(),
        SdkError::ServiceError(_) => {
            let code = error.code().unwrap_or("an error without a code");
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

/// What is beneath all that explains it.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
