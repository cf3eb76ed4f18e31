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
        let found = self.manifest.queues().find(|(_, name)| *name == queue);
        let dependency = found.map(|(dependency, _)| dependency.clone());
        let dependency = dependency.expect("phrases name queues of the manifest only");
        self.board.putting(message, body);
        let message_id = self.dependencies.put(&dependency, queue, body).await?;
        let own = self.dependencies.queues[&dependency].queues[queue]
            .name
            .clone();
        self.board.put(message, &own, &message_id);
        Ok(())
    }
}
