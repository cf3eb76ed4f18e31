//! What is on record of messages whose attempts are used up, and of those that have their end.

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

    /// Reads what the system says of each message that has an end to which an observation
    /// belongs, for the judge; and of those that have none, whether it says that they ended.
    pub(super) async fn note_observed(&mut self) -> Result<(), RehearsalError> {
        let ends = self.manifest.terminal.clone();
        for (end, observed) in ends
            .iter()
            .filter_map(|(end, it)| Some((end, it.observed.as_ref()?)))
        {
            let (ended, unsettled) = self.ledger(|ledger| {
                let ended: Vec<MessageName> = ledger.ended(end).into_iter().cloned().collect();
                let accounts = ledger.accounts.iter();
                let unsettled = accounts.filter(|(_, account)| account.is_unsettled());
                let names = unsettled.map(|(message, _)| message.clone());
                (ended, names.collect::<Vec<_>>())
            });
            let observation = &observed.observation;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            for message in ended {
                if let Some(value) = self.on_record(Some(observation), &message).await? {
                    self.board.history().append(Event::Observed {
                        message,
                        end: end.clone(),
                        observation: observation.clone(),
                        value: value.map(text),
                    });
                }
            }
            for message in unsettled {
                let value = self.on_record(Some(observation), &message).await?;
                let value = value.flatten().map(text);
                if observed.reads.is_some() && observed.is_met_by(value.as_deref()) {
                    self.board.doubt_once(&format!(
                        "the system says of {message} that it ended (`{observation}` reads {:?}), \
                         and `{}` was never seen to be passed with it: is that stage written right?",
                        value.unwrap_or_default(),
                        ends[end].stage
                    ));
                }
            }
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
