//! What only time would end at a queue or a service, ended at once.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use reqwest::StatusCode;
use uuid::Uuid;

use super::{DependencyError, Rehearsal, RehearsalError};
use crate::embedded::queue::admin;
use crate::history::Event;
use crate::ids::{DependencyName, MessageName};

impl Rehearsal {
    /// Makes the delayed copies of a message due; resolves once there was one.
    ///
    /// # Errors
    /// When a queue that has one cannot be told so.
    pub async fn end_delay(&self, message: &MessageName) -> Result<(), RehearsalError> {
        self.at_copies(message, "due").await
    }

    /// Lets the queues and services forget by what they would know a message again;
    /// resolves once one did.
    ///
    /// # Errors
    /// When a queue that has one cannot be told so.
    pub async fn end_deduplication(&self, message: &MessageName) -> Result<(), RehearsalError> {
        let mut forgotten = 0;
        for stub in self.dependencies.stubs.values() {
            forgotten += stub.forget_keys(|job| self.board.means(job, message));
        }
        if forgotten > 0 {
            return Ok(());
        }
        self.at_copies(message, "forget").await
    }

    /// Asks for something to be done to the copies of a message, until it was done to one.
    async fn at_copies(&self, message: &MessageName, what: &str) -> Result<(), RehearsalError> {
        let mut asked = 0;
        loop {
            let copies = self.board.until(|| {
                let copies = self.copies(message);
                (copies.len() > asked).then_some(copies)
            });
            let copies = copies.await;
            asked = copies.len();
            let mut done = false;
            for (copy, queue) in copies {
                done |= self.at_copy(&copy, &queue, what).await?;
            }
            if done {
                return Ok(());
            }
        }
    }

    /// The copies of a message that queues took, each with its queue at the service.
    fn copies(&self, message: &MessageName) -> BTreeMap<String, String> {
        let all = self.board.history().read(|entries| {
            let sent = entries.iter().filter_map(|entry| match &entry.event {
                Event::Sent {
                    message_id, queue, ..
                } => Some((message_id.clone(), queue.clone())),
                _ => None,
            });
            sent.collect::<BTreeMap<_, _>>()
        });
        let is_its = |copy: &String, _: &mut String| self.board.means(copy, message);
        let mut all = all;
        all.retain(is_its);
        all
    }

    async fn at_copy(&self, copy: &str, queue: &str, what: &str) -> Result<bool, DependencyError> {
        let services = &self.dependencies.queues;
        let found = services.iter().find(|(_, service)| service.has(queue));
        let (Some((dependency, service)), Ok(message_id)) = (found, Uuid::parse_str(copy)) else {
            return Ok(false);
        };
        if !self.venue.keeps_callers(dependency, &self.dependencies) {
            let reason = "only the queue server of the harness can be told so".to_owned();
            return Err(refused(dependency, queue, reason));
        }
        let body = serde_json::to_vec(&admin::OneMessage { message_id }).unwrap_or_default();
        self.tell_queue(dependency, queue, (service.address, what), body)
            .await
    }

    /// Lets the long polls that wait on a queue of the manifest go without a message, as the
    /// end of their time would; in real time, and at another queue server, it is left to that.
    pub(super) async fn release_polls(
        &self,
        dependency: &DependencyName,
        queue: &str,
    ) -> Result<(), DependencyError> {
        let service = self.dependencies.queues.get(dependency);
        let own = service.and_then(|service| Some((service.address, service.queues.get(queue)?)));
        let Some((address, served)) = own else {
            return Ok(());
        };
        if self.processes.is_real_time()
            || !self.venue.keeps_callers(dependency, &self.dependencies)
        {
            return Ok(());
        }
        let queue = served.name.clone();
        let release = admin::Release {
            queue: queue.clone(),
        };
        let body = serde_json::to_vec(&release).unwrap_or_default();
        self.tell_queue(dependency, &queue, (address, "release"), body)
            .await
            .map(drop)
    }

    /// Whether the queue server knows what it is told of.
    async fn tell_queue(
        &self,
        dependency: &DependencyName,
        queue: &str,
        (address, what): (SocketAddr, &str),
        body: Vec<u8>,
    ) -> Result<bool, DependencyError> {
        let place = format!("http://{address}{}{what}", admin::PREFIX);
        let asked = async {
            let client = reqwest::Client::builder().no_proxy().build()?;
            client.post(place).body(body).send().await
        };
        let answer = asked
            .await
            .map_err(|error| refused(dependency, queue, error.to_string()))?;
        match answer.status() {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => {
                let reason = answer.text().await.unwrap_or_default();
                Err(refused(dependency, queue, reason))
            }
        }
    }
}

fn refused(dependency: &DependencyName, queue: &str, reason: String) -> DependencyError {
    DependencyError::Queue {
        dependency: dependency.clone(),
        action: "ending what time would end",
        queue: queue.to_owned(),
        reason,
    }
}
