//! The attributes of a queue that a client may set: the defaults and
//! ranges.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::refusal::{Code, Refusal};

/// What a client has set, or the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) delay: u32,
    pub(crate) max_size: u32,
    pub(crate) retention: u32,
    pub(crate) wait: u32,
    pub(crate) visibility: u32,
    pub(crate) policy: Option<String>,
    pub(crate) redrive: Option<Redrive>,
    pub(crate) redrive_allow: Option<RedriveAllow>,
    #[serde(default)]
    pub(crate) fifo: Option<FifoSettings>,
    kms_key: Option<String>,
    kms_reuse: u32,
    managed_encryption: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            delay: 0,
            max_size: 1_048_576,
            retention: 345_600,
            wait: 0,
            visibility: 30,
            policy: None,
            redrive: None,
            redrive_allow: None,
            fifo: None,
            kms_key: None,
            kms_reuse: 300,
            managed_encryption: true,
        }
    }
}

/// What only FIFO queues have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FifoSettings {
    /// `ContentBasedDeduplication`: the body stands in for a missing deduplication id.
    pub(crate) content_based: bool,
    /// `DeduplicationScope`: ids count within a group only.
    pub(crate) scope_is_group: bool,
    /// `FifoThroughputLimit`: it limits nothing here, but must fit the scope.
    limit_is_per_group: bool,
}

/// `RedrivePolicy`: where a message goes that was received too often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Redrive {
    pub(crate) dead_letter_target_arn: String,
    pub(crate) max_receive_count: u32,
}

/// `RedriveAllowPolicy`: whose dead letters a queue takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RedriveAllow {
    pub(crate) redrive_permission: Permission,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) source_queue_arns: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Permission {
    AllowAll,
    DenyAll,
    ByQueue,
}

/// Every name that `GetQueueAttributes` knows of any queue.
pub(crate) const NAMES: [&str; 17] = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "CreatedTimestamp",
    "DelaySeconds",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "LastModifiedTimestamp",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "Policy",
    "QueueArn",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
];

/// Names that only a FIFO queue has.
pub(crate) const FIFO_NAMES: [&str; 4] = [
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoQueue",
    "FifoThroughputLimit",
];

impl Settings {
    /// Those of a new queue of this type.
    pub(crate) fn of_type(fifo: bool) -> Self {
        Self {
            fifo: fifo.then(FifoSettings::default),
            ..Self::default()
        }
    }

    /// How long a message is kept after it was sent.
    pub(crate) fn retention(&self) -> Duration {
        Duration::from_secs(u64::from(self.retention))
    }

    /// These settings with the given attributes set; nothing is set when one of
    /// them is wrong.
    pub(crate) fn with(&self, attributes: &BTreeMap<String, String>) -> Result<Self, Refusal> {
        let mut settings = self.clone();
        for (name, value) in attributes {
            settings.set(name, value)?;
        }
        if settings
            .fifo
            .is_some_and(|fifo| fifo.limit_is_per_group && !fifo.scope_is_group)
        {
            return Err(Refusal::new(
                Code::InvalidAttributeValue,
                "The FifoThroughputLimit attribute can be set to perMessageGroupId only when the DeduplicationScope attribute is set to messageGroup.",
            ));
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        if let (Some(fifo), true) = (&mut self.fifo, FIFO_NAMES.contains(&name)) {
            return fifo.set(name, value);
        }
        match name {
            "DelaySeconds" => self.delay = number(name, value, 0..=900)?,
            "MaximumMessageSize" => self.max_size = number(name, value, 1_024..=1_048_576)?,
            "MessageRetentionPeriod" => self.retention = number(name, value, 60..=1_209_600)?,
            "ReceiveMessageWaitTimeSeconds" => self.wait = number(name, value, 0..=20)?,
            "VisibilityTimeout" => self.visibility = number(name, value, 0..=43_200)?,
            "KmsDataKeyReusePeriodSeconds" => self.kms_reuse = number(name, value, 60..=86_400)?,
            "KmsMasterKeyId" => self.kms_key = non_empty(value),
            "SqsManagedSseEnabled" => self.managed_encryption = flag(name, value)?,
            "Policy" => {
                self.policy = non_empty(value);
                let object = serde_json::from_str::<serde_json::Map<_, _>>(value);
                if self.policy.is_some() && object.is_err() {
                    return Err(invalid(name, "it must be a JSON object"));
                }
            }
            "RedrivePolicy" => self.redrive = redrive(value)?,
            "RedriveAllowPolicy" => self.redrive_allow = redrive_allow(value)?,
            _ => {
                return Err(Refusal::new(
                    Code::InvalidAttributeName,
                    format!("Unknown Attribute {name}."),
                ));
            }
        }
        Ok(())
    }

    /// The value of one attribute, if it has one.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let json = |value: Result<String, _>| value.ok();
        if FIFO_NAMES.contains(&name) {
            return self.fifo.map(|fifo| fifo.get(name));
        }
        match name {
            "DelaySeconds" => Some(self.delay.to_string()),
            "MaximumMessageSize" => Some(self.max_size.to_string()),
            "MessageRetentionPeriod" => Some(self.retention.to_string()),
            "ReceiveMessageWaitTimeSeconds" => Some(self.wait.to_string()),
            "VisibilityTimeout" => Some(self.visibility.to_string()),
            "KmsMasterKeyId" => self.kms_key.clone(),
            "KmsDataKeyReusePeriodSeconds" => {
                self.kms_key.as_ref().map(|_| self.kms_reuse.to_string())
            }
            "SqsManagedSseEnabled" => {
                Some((self.managed_encryption && self.kms_key.is_none()).to_string())
            }
            "Policy" => self.policy.clone(),
            "RedrivePolicy" => self
                .redrive
                .as_ref()
                .and_then(|redrive| json(serde_json::to_string(redrive))),
            "RedriveAllowPolicy" => self
                .redrive_allow
                .as_ref()
                .and_then(|allow| json(serde_json::to_string(allow))),
            _ => None,
        }
    }
}

fn non_empty(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

fn number(name: &str, value: &str, range: RangeInclusive<u32>) -> Result<u32, Refusal> {
    value
        .parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            invalid(
                name,
                &format!(
                    "it must be a whole number from {} to {}, not {value}",
                    range.start(),
                    range.end()
                ),
            )
        })
}

fn invalid(name: &str, reason: &str) -> Refusal {
    Refusal::new(
        Code::InvalidAttributeValue,
        format!("Invalid value for the parameter {name}: {reason}."),
    )
}

fn flag(name: &str, value: &str) -> Result<bool, Refusal> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(name, "it must be true or false")),
    }
}

impl FifoSettings {
    fn set(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        match (name, value) {
            ("ContentBasedDeduplication", _) => self.content_based = flag(name, value)?,
            ("DeduplicationScope", "queue") => self.scope_is_group = false,
            ("DeduplicationScope", "messageGroup") => self.scope_is_group = true,
            ("FifoThroughputLimit", "perQueue") => self.limit_is_per_group = false,
            ("FifoThroughputLimit", "perMessageGroupId") => self.limit_is_per_group = true,
            ("DeduplicationScope", _) => {
                return Err(invalid(name, "it must be queue or messageGroup"));
            }
            ("FifoThroughputLimit", _) => {
                return Err(invalid(name, "it must be perQueue or perMessageGroupId"));
            }
            // What a queue is, it stays.
            _ if flag(name, value)? => {}
            _ => return Err(invalid(name, "the type of a queue cannot be changed")),
        }
        Ok(())
    }

    fn get(self, name: &str) -> String {
        let word = match name {
            "ContentBasedDeduplication" if !self.content_based => "false",
            "DeduplicationScope" if self.scope_is_group => "messageGroup",
            "DeduplicationScope" => "queue",
            "FifoThroughputLimit" if self.limit_is_per_group => "perMessageGroupId",
            "FifoThroughputLimit" => "perQueue",
            _ => "true",
        };
        word.to_owned()
    }
}

fn redrive(value: &str) -> Result<Option<Redrive>, Refusal> {
    /// Both spellings of the count are met in the wild.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Count {
        Number(u32),
        Text(String),
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Given {
        dead_letter_target_arn: Option<String>,
        max_receive_count: Option<Count>,
    }
    if value.is_empty() {
        return Ok(None);
    }
    let refuse = |reason: &str| Refusal::value(value, "RedrivePolicy", reason);
    let given: Given = serde_json::from_str(value)
        .map_err(|_| refuse("Redrive policy is not a valid JSON map."))?;
    let dead_letter_target_arn = given.dead_letter_target_arn.ok_or_else(|| {
        refuse("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
    })?;
    let max_receive_count = match given.max_receive_count {
        None => {
            return Err(refuse(
                "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
            ));
        }
        Some(Count::Number(count)) => Some(count),
        Some(Count::Text(text)) => text.parse().ok(),
    }
    .filter(|count| (1..=1_000).contains(count))
    .ok_or_else(|| {
        refuse(
            "Invalid value for maxReceiveCount: valid values are from 1 to 1000, both inclusive.",
        )
    })?;
    Ok(Some(Redrive {
        dead_letter_target_arn,
        max_receive_count,
    }))
}

fn redrive_allow(value: &str) -> Result<Option<RedriveAllow>, Refusal> {
    if value.is_empty() {
        return Ok(None);
    }
    let refuse = |reason: &str| Refusal::value(value, "RedriveAllowPolicy", reason);
    let allow: RedriveAllow = serde_json::from_str(value).map_err(|_| {
        refuse("It must be a JSON map with redrivePermission (allowAll, denyAll or byQueue) and, for byQueue, sourceQueueArns.")
    })?;
    let listed = allow.source_queue_arns.len();
    match allow.redrive_permission {
        Permission::ByQueue if !(1..=10).contains(&listed) => {
            Err(refuse("byQueue needs 1 to 10 sourceQueueArns."))
        }
        Permission::AllowAll | Permission::DenyAll if listed > 0 => {
            Err(refuse("sourceQueueArns is allowed with byQueue only."))
        }
        _ => Ok(Some(allow)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Result<Settings, Refusal> {
        Settings::default().with(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn the_stated_ranges_hold_at_both_ends() {
        for (name, low, high) in [
            ("DelaySeconds", 0, 900),
            ("MaximumMessageSize", 1_024, 1_048_576),
            ("MessageRetentionPeriod", 60, 1_209_600),
            ("ReceiveMessageWaitTimeSeconds", 0, 20),
            ("VisibilityTimeout", 0, 43_200),
            ("KmsDataKeyReusePeriodSeconds", 60, 86_400),
        ] {
            assert!(set(name, &i64::to_string(&low)).is_ok(), "{name} {low}");
            assert!(set(name, &i64::to_string(&high)).is_ok(), "{name} {high}");
            for bad in [(low - 1).to_string(), (high + 1).to_string(), "x".into()] {
                let refusal = set(name, &bad).unwrap_err();
                assert_eq!(refusal.code, Code::InvalidAttributeValue, "{name} {bad}");
            }
        }
    }

    #[test]
    fn the_redrive_count_may_be_text_and_comes_back_as_a_number() {
        let policy = r#"{"maxReceiveCount":"3","deadLetterTargetArn":"arn:x"}"#;
        assert_eq!(
            set("RedrivePolicy", policy).unwrap().get("RedrivePolicy"),
            Some(r#"{"deadLetterTargetArn":"arn:x","maxReceiveCount":3}"#.to_owned())
        );
    }

    #[test]
    fn an_incomplete_redrive_policy_is_refused() {
        for bad in [
            "[]",
            "{}",
            r#"{"deadLetterTargetArn":"a"}"#,
            r#"{"deadLetterTargetArn":"a","maxReceiveCount":0}"#,
            r#"{"deadLetterTargetArn":"a","maxReceiveCount":1001}"#,
        ] {
            assert!(set("RedrivePolicy", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_standard_queue_does_not_have_is_refused_by_name() {
        for name in FIFO_NAMES.into_iter().chain(["QueueArn", "Nonsense"]) {
            for value in ["true", "false"] {
                let refusal = set(name, value).unwrap_err();
                assert_eq!(refusal.code, Code::InvalidAttributeName, "{name}");
            }
        }
    }

    #[test]
    fn the_limit_of_a_fifo_queue_is_per_group_only_where_deduplication_is() {
        let fifo = Settings {
            fifo: Some(FifoSettings::default()),
            ..Settings::default()
        };
        let with = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            fifo.with(&pairs.collect())
        };
        let per_group = ("FifoThroughputLimit", "perMessageGroupId");
        let refusal = with(&[per_group]).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidAttributeValue);
        let high = with(&[("DeduplicationScope", "messageGroup"), per_group]).unwrap();
        assert_eq!(
            high.get("FifoThroughputLimit").unwrap(),
            "perMessageGroupId"
        );
        for (name, value) in [
            ("FifoQueue", "false"),
            ("DeduplicationScope", "all"),
            ("FifoThroughputLimit", "none"),
            ("ContentBasedDeduplication", "yes"),
        ] {
            let refusal = with(&[(name, value)]).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidAttributeValue, "{name}");
        }
        assert!(with(&[("FifoQueue", "true")]).is_ok());
    }
}
