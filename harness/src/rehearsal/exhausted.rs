//! What is on record of messages whose attempts are used up.

use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::MessageName;
use crate::judge;

impl Rehearsal {
    /// Reads what the system keeps of each message that ended at the limit of its
    /// attempts, for the judge. What cannot be read, or told, is doubted.
    pub(super) async fn note_exhausted(&mut self) -> Result<(), RehearsalError> {
        let attempts = self.manifest.attempts.clone();
        let Some(exhausted) = attempts.and_then(|attempts| attempts.exhausted) else {
            return Ok(());
        };
        let messages = self.evidence(judge::exhausted);
        let lookup = |name: &str| self.dependencies.settings().get(name).cloned();
        let written = exhausted.limit.render(&lookup).unwrap_or_default();
        for message in messages.into_keys() {
            let Ok(limit) = written.trim().parse() else {
                self.board
                    .doubt(format!("`{written}` is no limit of attempts"));
                return Ok(());
            };
            let counted = self.on_record(exhausted.counted.as_ref(), &message).await?;
            let content = self.on_record(exhausted.content.as_ref(), &message).await?;
            let last_stage = self
                .on_record(exhausted.last_stage.as_ref(), &message)
                .await?;
            let (Some(counted), Some(content), Some(last_stage)) = (counted, content, last_stage)
            else {
                continue;
            };
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            let counted = match counted.map(text) {
                None => None,
                Some(figure) => {
                    let Ok(number) = figure.trim().parse() else {
                        self.board.doubt(format!(
                            "the attempts that counted of {message} are {figure:?}, which is no number"
                        ));
                        continue;
                    };
                    Some(number)
                }
            };
            let history = self.board.history();
            history.append(Event::Exhausted {
                limit,
                counted,
                content: content.map(|content| history.blob(&content)),
                last_stage: last_stage.map(text),
                message,
            });
        }
        Ok(())
    }

    /// One observation; the outer none: it could not be made.
    async fn on_record(
        &mut self,
        observation: Option<&String>,
        message: &MessageName,
    ) -> Result<Option<Option<Vec<u8>>>, RehearsalError> {
        let Some(observation) = observation else {
            return Ok(Some(None));
        };
        match self.observe(observation, message).await? {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.board.doubt(format!(
                    "the {observation} of {message} could not be read: {error}"
                ));
                Ok(None)
            }
        }
    }
}
