//! Queues: create, find, list, tag, purge, delete.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::journal::Record;
use super::super::refusal::Refusal;
use super::super::server::Shared;
use super::super::state::check_tags;
use super::{Caller, Empty, page, page_start, queue_in, require, within};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Create {
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    /// The only lower-case name in the protocol.
    #[serde(rename = "tags", alias = "Tags")]
    tags: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Url {
    queue_url: String,
}

pub(super) fn create(shared: &Shared, caller: &Caller, request: Create) -> Result<Url, Refusal> {
    let queue = require("QueueName", request.queue_name.as_ref())?.clone();
    let attributes = request.attributes.unwrap_or_default();
    let tags = request.tags.unwrap_or_default();
    check_tags(&tags)?;
    let url = caller.url(shared, &queue);
    shared.broker.change(|state, now| {
        let new = state.create(&queue, &attributes, &tags, now)?;
        let record = new.then_some(Record::Create {
            queue,
            attributes,
            tags,
        });
        Ok((Url { queue_url: url }, record))
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetUrl {
    queue_name: Option<String>,
    #[serde(rename = "QueueOwnerAWSAccountId")]
    owner: Option<String>,
}

pub(super) fn get_url(shared: &Shared, caller: &Caller, request: &GetUrl) -> Result<Url, Refusal> {
    let name = require("QueueName", request.queue_name.as_ref())?;
    if request
        .owner
        .as_ref()
        .is_some_and(|owner| *owner != shared.terms.account)
    {
        return Err(Refusal::no_queue());
    }
    shared.broker.read(|state, _| state.queue(name).map(drop))?;
    Ok(Url {
        queue_url: caller.url(shared, name),
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct List {
    queue_name_prefix: Option<String>,
    max_results: Option<i64>,
    next_token: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listed {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue_urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

pub(super) fn list(shared: &Shared, caller: &Caller, request: &List) -> Result<Listed, Refusal> {
    let size = within("MaxResults", request.max_results, 1..=1_000)?;
    let after = page_start(request.next_token.as_deref())?;
    let prefix = request.queue_name_prefix.as_deref().unwrap_or_default();
    Ok(shared.broker.read(|state, _| {
        let names = state
            .queues_after(&after)
            .map(|queue| queue.name.as_ref())
            .filter(|name| name.starts_with(prefix));
        let (names, next_token) = page(names, size);
        Listed {
            queue_urls: names.iter().map(|name| caller.url(shared, name)).collect(),
            next_token,
        }
    }))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListSources {
    queue_url: Option<String>,
    max_results: Option<i64>,
    next_token: Option<String>,
}

/// Here, and only here, the list is always present and in lower case.
#[derive(Debug, Serialize)]
pub(super) struct Sources {
    #[serde(rename = "queueUrls")]
    queue_urls: Vec<String>,
    #[serde(rename = "NextToken", skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

pub(super) fn list_dead_letter_sources(
    shared: &Shared,
    caller: &Caller,
    request: &ListSources,
) -> Result<Sources, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    let size = within("MaxResults", request.max_results, 1..=1_000)?;
    let after = page_start(request.next_token.as_deref())?;
    shared.broker.read(|state, _| {
        state.queue(name)?;
        let names = state
            .dead_letter_sources(name, &after)
            .map(|queue| queue.name.as_ref());
        let (names, next_token) = page(names, size);
        Ok(Sources {
            queue_urls: names.iter().map(|name| caller.url(shared, name)).collect(),
            next_token,
        })
    })
}

/// A request that names a queue and nothing else.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OneQueue {
    queue_url: Option<String>,
}

pub(super) fn delete(shared: &Shared, request: &OneQueue) -> Result<Empty, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    shared.broker.delete_queue(name)?;
    shared.callers.forget(name);
    Ok(Empty {})
}

pub(super) fn purge(shared: &Shared, request: &OneQueue) -> Result<Empty, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    shared.broker.change(|state, now| {
        state.purge(name, now)?;
        let queue = name.to_owned();
        Ok((Empty {}, Some(Record::Purge { queue })))
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TagQueue {
    queue_url: Option<String>,
    tags: Option<BTreeMap<String, String>>,
}

pub(super) fn tag(shared: &Shared, request: TagQueue) -> Result<Empty, Refusal> {
    let queue = queue_in(shared, request.queue_url.as_ref())?.to_owned();
    let tags = request.tags.ok_or_else(|| Refusal::missing("Tags"))?;
    shared.broker.change(|state, _| {
        state.tag(&queue, &tags)?;
        Ok((Empty {}, Some(Record::Tag { queue, tags })))
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UntagQueue {
    queue_url: Option<String>,
    tag_keys: Option<Vec<String>>,
}

pub(super) fn untag(shared: &Shared, request: UntagQueue) -> Result<Empty, Refusal> {
    let queue = queue_in(shared, request.queue_url.as_ref())?.to_owned();
    let keys = request
        .tag_keys
        .ok_or_else(|| Refusal::missing("TagKeys"))?;
    shared.broker.change(|state, _| {
        state.untag(&queue, &keys)?;
        Ok((Empty {}, Some(Record::Untag { queue, keys })))
    })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tags {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
}

pub(super) fn list_tags(shared: &Shared, request: &OneQueue) -> Result<Tags, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    shared.broker.read(|state, _| {
        let tags = state.queue(name)?.tags.clone();
        Ok(Tags { tags })
    })
}
