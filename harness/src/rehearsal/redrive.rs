//! What a person does with a dead-letter queue once the cause is gone: each message goes
//! back to the queue that it came from, as a new one; and a message that is known is put on
//! a queue once more.

use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};

use super::{DependencyError, Rehearsal, RehearsalError};
use crate::ids::{DependencyName, MessageName};

/// As many as a receive may ask for.
const BATCH: i32 = 10;

impl Rehearsal {
    /// Puts all that a dead-letter queue holds back where it came from; gives back how many.
    ///
    /// # Errors
    /// When the queue cannot be asked, or a message there came from no queue.
    pub async fn redrive(&mut self, queue: &str) -> Result<usize, RehearsalError> {
        let dependency = self.service_of(queue);
        let mut moved = 0;
        loop {
            let messages = self.take(&dependency, queue).await?;
            if messages.is_empty() {
                return Ok(moved);
            }
            for message in messages {
                self.put_back(&dependency, queue, message).await?;
                moved += 1;
            }
        }
    }

    /// How many messages a queue of the manifest holds that can be received.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn visible(&self, queue: &str) -> Result<i64, RehearsalError> {
        let dependency = self.service_of(queue);
        Ok(self.dependencies.counts(&dependency, queue).await?.visible)
    }

    /// Puts a copy of a message on a queue: what was delivered of it first. Resolves once
    /// there is such.
    ///
    /// # Errors
    /// When the queue refuses it.
    pub async fn put_copy(
        &mut self,
        message: &MessageName,
        queue: &str,
    ) -> Result<(), RehearsalError> {
        let delivered = || self.board.delivered_message(message);
        let delivered = self.board.until(delivered).await;
        let dependency = self.service_of(queue);
        self.board.putting_copy(message, &delivered.body);
        let (body, attributes) = (&delivered.body, delivered.attributes());
        let sent = self.dependencies.put(&dependency, queue, body, attributes);
        let message_id = sent.await?;
        let own = self.dependencies.queue_name(&dependency, queue);
        self.board.put(message, &own, &message_id);
        Ok(())
    }

    pub(super) fn service_of(&self, queue: &str) -> DependencyName {
        let found = self.manifest.queues().find(|(_, name)| *name == queue);
        let dependency = found.map(|(dependency, _)| dependency.clone());
        dependency.expect("phrases name queues of the manifest only")
    }

    async fn take(
        &self,
        dependency: &DependencyName,
        queue: &str,
    ) -> Result<Vec<Message>, DependencyError> {
        let Some(service) = self.dependencies.queues.get(dependency) else {
            return Err(DependencyError::Queue {
                dependency: dependency.clone(),
                action: "a redrive",
                queue: queue.to_owned(),
                reason: "only SQS has one; let the system move its elements".to_owned(),
            });
        };
        let answer = service
            .client
            .receive_message()
            .queue_url(&service.queues[queue].url)
            .max_number_of_messages(BATCH)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All")
            .send()
            .await;
        let answer = answer.map_err(|error| DependencyError::Queue {
            dependency: dependency.clone(),
            action: "ReceiveMessage",
            queue: queue.to_owned(),
            reason: DisplayErrorContext(&error).to_string(),
        })?;
        Ok(answer.messages.unwrap_or_default())
    }

    async fn put_back(
        &self,
        dependency: &DependencyName,
        queue: &str,
        message: Message,
    ) -> Result<(), DependencyError> {
        let failed = |action, reason| DependencyError::Queue {
            dependency: dependency.clone(),
            action,
            queue: queue.to_owned(),
            reason,
        };
        let service = &self.dependencies.queues[dependency];
        let of = |name| message.attributes.as_ref()?.get(&name);
        let source = of(MessageSystemAttributeName::DeadLetterQueueSourceArn);
        let name = source.and_then(|arn| arn.rsplit(':').next());
        let mut own = service.queues.values();
        let Some(source) = own.find(|own| Some(own.name.as_str()) == name) else {
            let reason = "a message there came from no queue of the manifest: only a redrive policy tells where one came from";
            return Err(failed("the redrive", reason.to_owned()));
        };
        let sending = service
            .client
            .send_message()
            .queue_url(&source.url)
            .set_message_body(message.body.clone())
            .set_message_attributes(message.message_attributes.clone())
            .set_message_group_id(of(MessageSystemAttributeName::MessageGroupId).cloned())
            .set_message_deduplication_id(
                of(MessageSystemAttributeName::MessageDeduplicationId).cloned(),
            );
        let sent = sending.send().await;
        let sent =
            sent.map_err(|error| failed("SendMessage", DisplayErrorContext(&error).to_string()))?;
        let from = message.message_id.unwrap_or_default();
        let to = sent.message_id.unwrap_or_default();
        let receipt = message.receipt_handle.unwrap_or_default();
        self.board.redriving(&source.name, &from, &to);
        let deleting = service
            .client
            .delete_message()
            .queue_url(&service.queues[queue].url)
            .receipt_handle(&receipt)
            .send();
        deleting
            .await
            .map_err(|error| failed("DeleteMessage", DisplayErrorContext(&error).to_string()))?;
        self.board.redriven(&from, &to, receipt);
        Ok(())
    }
}
