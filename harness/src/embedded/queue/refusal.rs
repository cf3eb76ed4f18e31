//! Errors as SQS gives them: a shape name for the JSON protocol, a code for
//! the query protocol, a status, and a sentence.

use std::fmt;

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
}

/// The kinds of refusal the server gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    InternalFailure,
    InvalidAction,
    InvalidAddress,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidBatchEntryId,
    InvalidMessageContents,
    InvalidParameterValue,
    MalformedRequest,
    MessageNotInflight,
    MissingParameter,
    OverLimit,
    PurgeQueueInProgress,
    QueueDeletedRecently,
    QueueDoesNotExist,
    QueueNameExists,
    ReceiptHandleIsInvalid,
    RequestTooLarge,
    ResourceNotFound,
    TooManyEntriesInBatchRequest,
    UnsupportedOperation,
}

impl Code {
    /// The shape in `__type`, which boto3 maps to an exception class.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            Self::BatchEntryIdsNotDistinct => "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
            Self::BatchRequestTooLong => "com.amazonaws.sqs#BatchRequestTooLong",
            Self::EmptyBatchRequest => "com.amazonaws.sqs#EmptyBatchRequest",
            Self::InternalFailure => "com.amazon.coral.service#InternalFailure",
            Self::InvalidAction => "com.amazon.coral.service#UnknownOperationException",
            Self::InvalidAddress => "com.amazonaws.sqs#InvalidAddress",
            Self::InvalidAttributeName => "com.amazonaws.sqs#InvalidAttributeName",
            Self::InvalidAttributeValue => "com.amazonaws.sqs#InvalidAttributeValue",
            Self::InvalidBatchEntryId => "com.amazonaws.sqs#InvalidBatchEntryId",
            Self::InvalidMessageContents => "com.amazonaws.sqs#InvalidMessageContents",
            Self::InvalidParameterValue => {
                "com.amazon.coral.service#InvalidParameterValueException"
            }
            Self::MalformedRequest | Self::RequestTooLarge => {
                "com.amazon.coral.service#SerializationException"
            }
            Self::MessageNotInflight => "com.amazonaws.sqs#MessageNotInflight",
            Self::MissingParameter => "com.amazon.coral.service#MissingRequiredParameterException",
            Self::OverLimit => "com.amazonaws.sqs#OverLimit",
            Self::PurgeQueueInProgress => "com.amazonaws.sqs#PurgeQueueInProgress",
            Self::QueueDeletedRecently => "com.amazonaws.sqs#QueueDeletedRecently",
            Self::QueueDoesNotExist => "com.amazonaws.sqs#QueueDoesNotExist",
            Self::QueueNameExists => "com.amazonaws.sqs#QueueNameExists",
            Self::ReceiptHandleIsInvalid => "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            Self::ResourceNotFound => "com.amazonaws.sqs#ResourceNotFoundException",
            Self::TooManyEntriesInBatchRequest => "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
            Self::UnsupportedOperation => "com.amazonaws.sqs#UnsupportedOperation",
        }
    }

    /// The code of the query protocol, which also stands in
    /// `x-amzn-query-error`.
    pub(crate) fn query(self) -> &'static str {
        match self {
            Self::BatchEntryIdsNotDistinct => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            Self::BatchRequestTooLong => "AWS.SimpleQueueService.BatchRequestTooLong",
            Self::EmptyBatchRequest => "AWS.SimpleQueueService.EmptyBatchRequest",
            Self::InternalFailure => "InternalFailure",
            Self::InvalidAction => "InvalidAction",
            Self::InvalidAddress => "InvalidAddress",
            Self::InvalidAttributeName => "InvalidAttributeName",
            Self::InvalidAttributeValue => "InvalidAttributeValue",
            Self::InvalidBatchEntryId => "AWS.SimpleQueueService.InvalidBatchEntryId",
            Self::InvalidMessageContents => "InvalidMessageContents",
            Self::InvalidParameterValue => "InvalidParameterValue",
            Self::MalformedRequest | Self::RequestTooLarge => "MalformedInput",
            Self::MessageNotInflight => "AWS.SimpleQueueService.MessageNotInflight",
            Self::MissingParameter => "MissingParameter",
            Self::OverLimit => "OverLimit",
            Self::PurgeQueueInProgress => "AWS.SimpleQueueService.PurgeQueueInProgress",
            Self::QueueDeletedRecently => "AWS.SimpleQueueService.QueueDeletedRecently",
            Self::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue",
            Self::QueueNameExists => "QueueAlreadyExists",
            Self::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
            Self::ResourceNotFound => "ResourceNotFoundException",
            Self::TooManyEntriesInBatchRequest => {
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"
            }
            Self::UnsupportedOperation => "AWS.SimpleQueueService.UnsupportedOperation",
        }
    }

    /// The HTTP status.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::InternalFailure => 500,
            Self::RequestTooLarge => 413,
            _ => 400,
        }
    }

    /// Whose fault it is, in the words of the protocol.
    pub(crate) fn blame(self) -> &'static str {
        match self {
            Self::InternalFailure => "Receiver",
            _ => "Sender",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.query())
    }
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn missing(parameter: &str) -> Self {
        Self::new(
            Code::MissingParameter,
            format!("The request must contain the parameter {parameter}."),
        )
    }

    pub(crate) fn value(value: impl fmt::Display, parameter: &str, reason: &str) -> Self {
        Self::new(
            Code::InvalidParameterValue,
            format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}"),
        )
    }

    pub(crate) fn no_queue() -> Self {
        Self::new(
            Code::QueueDoesNotExist,
            "The specified queue does not exist.",
        )
    }

    pub(crate) fn bad_handle() -> Self {
        Self::new(
            Code::ReceiptHandleIsInvalid,
            "The input receipt handle is invalid.",
        )
    }
}
