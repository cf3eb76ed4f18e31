//! SQS. No call is repeated behind the caller's back, and every call has a time-out.

use std::ops::Range;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, StalledStreamProtectionConfig};
use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};

use crate::config;

/// Codes by which SQS refuses a message for good.
const REFUSALS: [&str; 4] = [
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingParameter",
    "BatchRequestTooLong",
];

/// One queue.
#[derive(Clone)]
pub(crate) struct Queue {
    client: Client,
    url: String,
    timeout: Duration,
}

/// One message as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) message_id: String,
    pub(crate) receipt: String,
    pub(crate) body: String,
    pub(crate) receive_count: Option<i32>,
}

/// What the queue said to one entry.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    /// Accepted under this `MessageId`.
    Accepted(String),
    /// Refused for what it is.
    Refused(String),
    /// Not accepted, or nobody knows.
    Failed(String),
}

/// The queue did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {why}")]
pub(crate) struct QueueError {
    what: &'static str,
    why: String,
}

impl Queue {
    /// A client for the queue at `url`.
    pub(crate) fn new(settings: &config::Sqs, url: &str) -> Self {
        let timeout = settings.timeout;
        let credentials = Credentials::new(
            &settings.access_key_id,
            &settings.secret_access_key,
            None,
            None,
            "environment",
        );
        let configuration = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(settings.region.clone()))
            .endpoint_url(&settings.endpoint)
            .credentials_provider(credentials)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts(timeout))
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        Self {
            client: Client::from_conf(configuration),
            url: url.to_owned(),
            timeout,
        }
    }

    /// Sends `bodies`, at most ten, and says for each what became of it.
    pub(crate) async fn send(&self, bodies: &[&str]) -> Vec<Sent> {
        match bodies {
            [body] => vec![self.send_one(body).await],
            bodies => self.send_batch(bodies).await,
        }
    }

    async fn send_one(&self, body: &str) -> Sent {
        let sent = self
            .client
            .send_message()
            .queue_url(&self.url)
            .message_body(body)
            .send()
            .await;
        match sent {
            Ok(answer) => Sent::Accepted(answer.message_id.unwrap_or_default()),
            Err(error) => not_sent(&error),
        }
    }

    /// Sends a batch. One that is refused as a whole is halved until what is refused stands
    /// alone: it condemns nobody.
    async fn send_batch(&self, bodies: &[&str]) -> Vec<Sent> {
        let mut outcomes: Vec<Sent> = bodies
            .iter()
            .map(|_| Sent::Failed("the batch's answer does not name this entry".into()))
            .collect();
        let mut parts = vec![(0, bodies.len())];
        while let Some((start, end)) = parts.pop() {
            let part = start..end;
            let middle = start.midpoint(end);
            match self.send_part(bodies, part.clone(), &mut outcomes).await {
                Ok(()) => {}
                Err(Sent::Refused(_))
                    if part.len() > 1 && !defect!("refused-row-condemns-its-batch") =>
                {
                    parts.push((middle, end));
                    parts.push((start, middle));
                }
                Err(refused) => outcomes[part].fill(refused),
            }
        }
        outcomes
    }

    /// One call for a part of `bodies`; writes down what became of each entry of it.
    async fn send_part(
        &self,
        bodies: &[&str],
        part: Range<usize>,
        outcomes: &mut [Sent],
    ) -> Result<(), Sent> {
        let mut call = self.client.send_message_batch().queue_url(&self.url);
        for index in part {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(bodies[index])
                .build()
                .expect("id and body are set");
            call = call.entries(entry);
        }
        let answer = call.send().await.map_err(|error| not_sent(&error))?;
        for accepted in answer.successful() {
            if let Some(outcome) = entry(outcomes, accepted.id()) {
                *outcome = Sent::Accepted(accepted.message_id().to_owned());
            }
        }
        for failed in answer.failed() {
            let why = format!(
                "{}: {}",
                failed.code(),
                failed.message().unwrap_or_default()
            );
            if let Some(outcome) = entry(outcomes, failed.id()) {
                *outcome = if failed.sender_fault() {
                    Sent::Refused(why)
                } else {
                    Sent::Failed(why)
                };
            }
        }
        Ok(())
    }

    /// Waits up to `wait` for up to `most` messages.
    pub(crate) async fn receive(
        &self,
        most: usize,
        wait: Duration,
        visibility: Duration,
    ) -> Result<Vec<Delivery>, QueueError> {
        let patient = aws_sdk_sqs::Config::builder().timeout_config(timeouts(wait + self.timeout));
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(i32::try_from(most.min(10)).unwrap_or(10))
            .wait_time_seconds(whole_seconds(wait))
            .visibility_timeout(whole_seconds(visibility))
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .customize()
            .config_override(patient)
            .send()
            .await
            .map_err(|error| refused("receive", &error))?;
        Ok(answer
            .messages
            .unwrap_or_default()
            .into_iter()
            .filter_map(delivery)
            .collect())
    }

    /// How many receives the queue allows before it moves a message to its dead-letter
    /// queue, if it has one.
    pub(crate) async fn most_receives(&self) -> Result<Option<u32>, QueueError> {
        let answer = self
            .client
            .get_queue_attributes()
            .queue_url(&self.url)
            .attribute_names(QueueAttributeName::RedrivePolicy)
            .send()
            .await
            .map_err(|error| refused("read the queue's redrive policy", &error))?;
        let policy = answer
            .attributes()
            .and_then(|known| known.get(&QueueAttributeName::RedrivePolicy));
        Ok(policy.and_then(|policy| most_receives(policy)))
    }

    /// Deletes what was received under `receipt`.
    pub(crate) async fn delete(&self, receipt: &str) -> Result<(), QueueError> {
        self.client
            .delete_message()
            .queue_url(&self.url)
            .receipt_handle(receipt)
            .send()
            .await
            .map(|_| ())
            .map_err(|error| refused("delete a message", &error))
    }

    /// Lets a message be received again `after` this long from now.
    pub(crate) async fn reappear(&self, receipt: &str, after: Duration) -> Result<(), QueueError> {
        self.client
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(receipt)
            .visibility_timeout(whole_seconds(after))
            .send()
            .await
            .map(|_| ())
            .map_err(|error| refused("change a message's visibility", &error))
    }
}

/// SQS answers with a number or with a text, depending on who set the policy.
fn most_receives(policy: &str) -> Option<u32> {
    let policy: serde_json::Value = serde_json::from_str(policy).ok()?;
    match policy.get("maxReceiveCount")? {
        serde_json::Value::String(text) => text.parse().ok(),
        number => number.as_u64().and_then(|number| number.try_into().ok()),
    }
}

fn timeouts(limit: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(limit)
        .operation_timeout(limit)
        .build()
}

fn whole_seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(i32::MAX)
}

fn entry<'a>(outcomes: &'a mut [Sent], id: &str) -> Option<&'a mut Sent> {
    outcomes.get_mut(id.parse::<usize>().ok()?)
}

fn delivery(message: aws_sdk_sqs::types::Message) -> Option<Delivery> {
    let receive_count = message
        .attributes()
        .and_then(|known| known.get(&MessageSystemAttributeName::ApproximateReceiveCount))
        .and_then(|count| count.parse().ok());
    Some(Delivery {
        message_id: message.message_id?,
        receipt: message.receipt_handle?,
        body: message.body.unwrap_or_default(),
        receive_count,
    })
}

fn not_sent<E>(error: &SdkError<E>) -> Sent
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let code = error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code)
        .unwrap_or_default();
    // SQS says `AWS.SimpleQueueService.…` for some codes, and a shape's name for others.
    let refusal = REFUSALS.iter().any(|known| code.ends_with(known));
    let why = DisplayErrorContext(error).to_string();
    if refusal {
        Sent::Refused(why)
    } else {
        Sent::Failed(why)
    }
}

fn refused<E>(what: &'static str, error: &SdkError<E>) -> QueueError
where
    E: std::error::Error + 'static,
{
    QueueError {
        what,
        why: DisplayErrorContext(error).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redrive_policy_is_read_in_both_spellings() {
        assert_eq!(most_receives(r#"{"maxReceiveCount":10}"#), Some(10));
        assert_eq!(most_receives(r#"{"maxReceiveCount":"4"}"#), Some(4));
        assert_eq!(most_receives("{}"), None);
    }

    #[test]
    fn visibility_is_rounded_up_to_whole_seconds() {
        assert_eq!(whole_seconds(Duration::ZERO), 0);
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::from_secs(30)), 30);
    }
}
