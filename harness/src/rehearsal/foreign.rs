//! Messages that no client submitted: the harness puts them on a queue itself.

use super::{Rehearsal, RehearsalError};
use crate::ids::MessageName;

impl Rehearsal {
    /// Puts a message with this body on a queue of the manifest.
    ///
    /// # Errors
    /// When the queue refuses it.
    pub async fn put(
        &mut self,
        message: &MessageName,
        queue: &str,
        body: &str,
    ) -> Result<(), RehearsalError> {
        let dependency = self.service_of(queue);
        self.board.putting(message, body);
        let sent = self.dependencies.put(&dependency, queue, body, None);
        let message_id = sent.await?;
        let own = self.dependencies.queue_name(&dependency, queue);
        self.board.put(message, &own, &message_id);
        Ok(())
    }
}
