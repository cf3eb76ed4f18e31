//! What a fault does.

use std::fmt;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::ids::{MessageName, StageName};
use crate::tap::Side;

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The process that passes the stage gets a signal. For KILL the call is held
    /// until the process is seen dead and dropped then; for STOP until it continues;
    /// otherwise the signal is delivered first and the call goes on.
    Signal(Signal),
    /// The process waits at the stage until this came true, or until it is let go.
    Hold(Option<Until>),
    /// The queue hands the message out again although its receiver still has it: the
    /// receipt's visibility ends now.
    Reappear,
    /// The dependency never gets the call; its caller loses the connection.
    LoseRequest,
    /// The call takes effect; its caller loses the connection before the reply.
    LoseReply,
    /// The dependency never gets the call; its caller gets an error with this code: a
    /// status code over HTTP, an error's name from SQS, an SQLSTATE from PostgreSQL.
    Answer(String),
    /// The call waits so long before it reaches the dependency; a receive, whose message
    /// is known with the reply only, waits before the reply is delivered.
    Delay(Duration),
    /// The process stands still for so long (SIGSTOP, then SIGCONT), and goes on with the call.
    Pause(Duration),
    /// The dependency gets the call twice; its caller gets the second reply.
    Duplicate,
    /// The dependency never gets the call; its caller is told that all is done.
    Pretend,
    /// A commit is answered at once, and the dependency gets it so much later.
    AnswerFirst(Duration),
    /// The dependency gets the call with one letter of what it stores changed.
    Spoil,
    /// Once it was told to end, or is in a pause, the process asks for messages all the same,
    /// and again and again.
    AskOn,
    /// What the call hides stays hidden for twelve hours.
    Lengthen,
    /// The dependency gets the call again so much later, and nobody the second reply. Over
    /// HTTP and to a queue of SQS.
    Again(Duration),
    /// One entry of a batch never reaches the queue, and is reported as failed with
    /// this code; the others take effect.
    RefuseEntry(String),
}

/// What a held process waits for: a message passed a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Until {
    /// The message.
    pub message: MessageName,
    /// The stage.
    pub stage: StageName,
    /// Whether a passage before the hold began counts too.
    pub ever: bool,
}

impl Effect {
    /// At which boundary of its call it acts; none: where the stage is bound. (What
    /// becomes visible again does so before the stage's call, where there is one.)
    pub fn side(&self) -> Option<Side> {
        match self {
            Self::Signal(_) | Self::Hold(_) | Self::Pause(_) | Self::Reappear | Self::AskOn => None,
            Self::LoseReply => Some(Side::After),
            Self::LoseRequest
            | Self::Answer(_)
            | Self::Delay(_)
            | Self::Duplicate
            | Self::Pretend
            | Self::AnswerFirst(_)
            | Self::Spoil
            | Self::Lengthen
            | Self::Again(_)
            | Self::RefuseEntry(_) => Some(Side::Before),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal) => write!(f, "{signal}"),
            Self::Hold(None) => write!(f, "hold"),
            Self::Hold(Some(Until { message, stage, .. })) => {
                write!(f, "hold until {message} has passed {stage}")
            }
            Self::Reappear => write!(f, "reappearance"),
            Self::LoseRequest => write!(f, "lost request"),
            Self::LoseReply => write!(f, "lost reply"),
            Self::Answer(code) => write!(f, "answer {code}"),
            Self::Delay(delay) => write!(f, "delay of {delay:?}"),
            Self::Pause(pause) => write!(f, "pause of {pause:?}"),
            Self::Duplicate => write!(f, "duplicate"),
            Self::Pretend => write!(f, "pretence"),
            Self::AnswerFirst(later) => write!(f, "answer {later:?} before its commit"),
            Self::Spoil => write!(f, "altered byte"),
            Self::AskOn => write!(f, "receive that nobody asked for"),
            Self::Lengthen => write!(f, "lengthened visibility"),
            Self::Again(later) => write!(f, "repetition {later:?} later"),
            Self::RefuseEntry(code) => write!(f, "entry refused with {code}"),
        }
    }
}
