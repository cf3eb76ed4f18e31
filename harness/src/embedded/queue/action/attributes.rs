//! Reading and setting the attributes of a queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::journal::Record;
use super::super::refusal::{Code, Refusal};
use super::super::server::Shared;
use super::super::settings::{FIFO_NAMES, NAMES};
use super::super::state::{Queue, Terms};
use super::{Empty, queue_in};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Get {
    queue_url: Option<String>,
    attribute_names: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Got {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
}

pub(super) fn get(shared: &Shared, request: &Get) -> Result<Got, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    let asked = request.attribute_names.as_deref().unwrap_or_default();
    for asked in asked {
        let asked = asked.as_str();
        if asked != "All" && !NAMES.contains(&asked) && !FIFO_NAMES.contains(&asked) {
            return Err(Refusal::new(
                Code::InvalidAttributeName,
                format!("Unknown Attribute {asked}."),
            ));
        }
    }
    let all = asked.iter().any(|name| name == "All");
    shared.broker.read(|state, now| {
        state.advance(name, now);
        let queue = state.queue(name)?;
        let attributes = NAMES
            .iter()
            .chain(&FIFO_NAMES)
            .filter(|known| all || asked.iter().any(|asked| asked == *known))
            .filter_map(|name| Some(((*name).to_owned(), value(queue, &state.terms, name)?)))
            .collect();
        Ok(Got { attributes })
    })
}

fn value(queue: &Queue, terms: &Terms, name: &str) -> Option<String> {
    let counts = queue.counts();
    match name {
        "ApproximateNumberOfMessages" => Some(counts.visible.to_string()),
        "ApproximateNumberOfMessagesDelayed" => Some(counts.delayed.to_string()),
        "ApproximateNumberOfMessagesNotVisible" => Some(counts.in_flight.to_string()),
        "CreatedTimestamp" => Some(queue.created.seconds().to_string()),
        "LastModifiedTimestamp" => Some(queue.modified.seconds().to_string()),
        "QueueArn" => Some(terms.arn(&queue.name)),
        _ => queue.settings.get(name),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Set {
    queue_url: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
}

pub(super) fn set(shared: &Shared, request: Set) -> Result<Empty, Refusal> {
    let queue = queue_in(shared, request.queue_url.as_ref())?.to_owned();
    let attributes = request
        .attributes
        .ok_or_else(|| Refusal::missing("Attributes"))?;
    shared.broker.change(|state, now| {
        state.set_attributes(&queue, &attributes, now)?;
        Ok((Empty {}, Some(Record::SetAttributes { queue, attributes })))
    })
}
