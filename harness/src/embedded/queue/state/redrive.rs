//! Dead letters: from which queue to which, after how many receives.

use super::super::moment::Moment;
use super::super::refusal::Refusal;
use super::super::settings::{Permission, Settings};
use super::message::Message;
use super::{Queue, State};

impl State {
    /// The target of a queue's redrive policy, if it exists, and the limit.
    pub(super) fn dead_letter_queue(&self, queue: &Queue) -> Option<(String, u32)> {
        let redrive = queue.settings.redrive.as_ref()?;
        let name = self.terms.name_in(&redrive.dead_letter_target_arn)?;
        self.queues
            .contains_key(name)
            .then(|| (name.to_owned(), redrive.max_receive_count))
    }

    /// Puts dead letters into their queue, marked with where they came from.
    pub(super) fn bury(&mut self, target: &str, source: &str, dead: Vec<Message>, now: Moment) {
        let Some(queue) = self.queues.get_mut(target) else {
            return;
        };
        if !dead.is_empty() {
            queue.advance(now, &mut self.log);
            super::touch(&mut self.touched, target);
        }
        for mut message in dead {
            message.source = Some(source.to_owned());
            queue.adopt(message);
        }
    }

    /// The queues whose redrive policy names this one, by name.
    pub(crate) fn dead_letter_sources<'a>(
        &'a self,
        name: &str,
        after: &str,
    ) -> impl Iterator<Item = &'a Queue> {
        let arn = self.terms.arn(name);
        self.queues_after(after).filter(move |queue| {
            queue
                .settings
                .redrive
                .as_ref()
                .is_some_and(|redrive| redrive.dead_letter_target_arn == arn)
        })
    }

    /// Refuses a redrive policy whose target is missing or does not want it.
    pub(super) fn check_redrive(&self, source: &str, settings: &Settings) -> Result<(), Refusal> {
        let Some(redrive) = &settings.redrive else {
            return Ok(());
        };
        let arn = &redrive.dead_letter_target_arn;
        let refuse = |reason: &str| Err(Refusal::value(arn, "RedrivePolicy", reason));
        let Some(name) = self.terms.name_in(arn) else {
            return refuse(
                "Invalid value for deadLetterTargetArn: it must be the ARN of a queue of the same account and region.",
            );
        };
        let Some(target) = self.queues.get(name) else {
            return refuse("Dead letter target does not exist.");
        };
        if target.settings.fifo.is_some() != settings.fifo.is_some() {
            return refuse("Dead-letter queue must be same type of queue as the source.");
        }
        let allowed = match &target.settings.redrive_allow {
            None => true,
            Some(allow) => match allow.redrive_permission {
                Permission::AllowAll => true,
                Permission::DenyAll => false,
                Permission::ByQueue => allow.source_queue_arns.contains(&self.terms.arn(source)),
            },
        };
        if allowed {
            Ok(())
        } else {
            refuse(
                "The RedriveAllowPolicy of the dead letter target does not allow this source queue.",
            )
        }
    }
}
