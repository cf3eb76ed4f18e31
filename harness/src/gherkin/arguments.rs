//! The values of one step, typed.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::error::StepError;
use super::parameter::{ProcessRef, Value};
use crate::fault::{Times, Whose};
use crate::ids::{MessageName, StageName};

/// The values that stood in a step, in the order of its phrase's parameters.
///
/// Positions count from 0. Asking for another type than the phrase's parameter has is
/// a bug of the step pack and panics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    values: Vec<Value>,
}

impl Arguments {
    pub(super) fn new(values: Vec<Value>) -> Self {
        Self { values }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the phrase has no parameter.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// `{int}`
    #[track_caller]
    pub fn int(&self, position: usize) -> i64 {
        match self.at(position) {
            Value::Int(number) => *number,
            other => mismatch(position, "int", other),
        }
    }

    /// `{int}` where only zero and more make sense.
    ///
    /// # Errors
    /// [`StepError::Invalid`] if it is negative.
    #[track_caller]
    pub fn count(&self, position: usize) -> Result<u64, StepError> {
        let number = self.int(position);
        u64::try_from(number)
            .map_err(|_| StepError::invalid(format!("{number} is no count; write 0 or more")))
    }

    /// `{float}`
    #[track_caller]
    pub fn float(&self, position: usize) -> f64 {
        match self.at(position) {
            Value::Float(number) => *number,
            other => mismatch(position, "float", other),
        }
    }

    /// `{string}`, `{word}`, and every kind of name.
    #[track_caller]
    pub fn text(&self, position: usize) -> &str {
        match self.at(position) {
            Value::Text(text) | Value::Name(text) => text,
            other => mismatch(position, "text", other),
        }
    }

    /// `{duration}`
    #[track_caller]
    pub fn duration(&self, position: usize) -> Duration {
        match self.at(position) {
            Value::Duration(duration) => *duration,
            other => mismatch(position, "duration", other),
        }
    }

    /// `{signal}`
    #[track_caller]
    pub fn signal(&self, position: usize) -> Signal {
        match self.at(position) {
            Value::Signal(signal) => *signal,
            other => mismatch(position, "signal", other),
        }
    }

    /// `{messages}` or `{message}`
    #[track_caller]
    pub fn messages(&self, position: usize) -> &[MessageName] {
        match self.at(position) {
            Value::Messages(messages) => messages,
            other => mismatch(position, "messages", other),
        }
    }

    /// `{message}`
    #[track_caller]
    pub fn message(&self, position: usize) -> MessageName {
        match self.messages(position) {
            [message] => message.clone(),
            _ => mismatch(position, "message", self.at(position)),
        }
    }

    /// `{stage}`
    #[track_caller]
    pub fn stage(&self, position: usize) -> StageName {
        StageName::new(self.text(position))
    }

    /// `{process}`
    #[track_caller]
    pub fn process(&self, position: usize) -> ProcessRef {
        match self.at(position) {
            Value::Process(process) => process.clone(),
            other => mismatch(position, "process", other),
        }
    }

    /// `{whose}`
    ///
    /// # Panics
    /// When the phrase has no such parameter here.
    #[track_caller]
    pub fn whose(&self, position: usize) -> Whose {
        match self.at(position) {
            Value::Whose(whose) => whose.clone(),
            other => mismatch(position, "whose", other),
        }
    }

    /// `{times}`
    ///
    /// # Panics
    /// When the phrase has no such parameter here.
    #[track_caller]
    pub fn times(&self, position: usize) -> Times {
        match self.at(position) {
            Value::Times { times, .. } => times.clone(),
            other => mismatch(position, "times", other),
        }
    }

    /// Whether a `{times}` ends with `, if it gets there`.
    ///
    /// # Panics
    /// When the phrase has no such parameter here.
    #[track_caller]
    pub fn may(&self, position: usize) -> bool {
        match self.at(position) {
            Value::Times { may, .. } => *may,
            other => mismatch(position, "times", other),
        }
    }

    #[track_caller]
    fn at(&self, position: usize) -> &Value {
        let Some(value) = self.values.get(position) else {
            panic!(
                "the phrase has {} parameters; there is none at {position}",
                self.values.len()
            );
        };
        value
    }
}

#[track_caller]
fn mismatch(position: usize, wanted: &str, value: &Value) -> ! {
    panic!("parameter {position} of the phrase is not a {wanted} but {value:?}")
}
