//! Queue servers, and the queues of a rehearsal on them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::operation::delete_queue::DeleteQueueError;
use aws_sdk_sqs::types::QueueAttributeName;
use indexmap::IndexMap;

use super::VenueError;
use crate::deployment::readiness;
use crate::deployment::{Child, Logs, Registry, Start, Variables};
use crate::embedded::queue::OWN_APPLICATION;
use crate::ids::DependencyName;
use crate::manifest::{FIFO_QUEUE, Queue};
use crate::protocol::sqs::Names;
use crate::rehearsal::dependencies::{OwnQueue, QueueService};
use crate::rehearsal::refused::why;

/// How long an embedded server may take to start.
const SERVER_START: Duration = Duration::from_secs(30);

/// How long a server may take to answer what the harness itself asks: none of it waits for
/// messages.
const ANSWER: Duration = Duration::from_secs(10);

/// Starts a queue server at a port, or at a free one for 0; with a journal it keeps what
/// it acknowledged.
pub(in crate::rehearsal) async fn start_queue_server(
    program: &Path,
    logs: &Path,
    registry: &Registry,
    port: u16,
    journal: Option<&Path>,
) -> Result<(Child, SocketAddr), VenueError> {
    let mut arguments: Vec<OsString> = ["serve", "queue", "--port"].map(OsString::from).to_vec();
    arguments.push(port.to_string().into());
    if let Some(journal) = journal {
        arguments.extend(["--data".into(), journal.as_os_str().to_owned()]);
    }
    let start = Start {
        name: "queue server".to_owned(),
        program: program.to_owned(),
        arguments,
        environment: Variables::default(),
        directory: logs.to_owned(),
        logs: Logs::together(logs.join("queue.log")),
        account: None,
        memory: None,
        namespace: false,
    };
    std::fs::create_dir_all(logs).ok();
    let child = Child::start(start, registry)
        .await
        .map_err(VenueError::QueueServer)?;
    let output = readiness::output(&child, "http://127.0.0.1:");
    readiness::ready(
        &child,
        SERVER_START,
        readiness::at_most(SERVER_START),
        output,
    )
    .await?;
    let address = child.logs().last_lines(10).iter().find_map(|line| {
        let (_, rest) = line.split_once("http://")?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    });
    match address {
        Some(address) => Ok((child, address)),
        None => Err(VenueError::Address {
            dependency: "queue".into(),
            url: child.logs().last_lines(10).join(" "),
            reason: "the embedded server did not tell its address".to_owned(),
        }),
    }
}

pub(super) async fn make_queues(
    dependency: &DependencyName,
    address: SocketAddr,
    names: Names,
    wanted: &IndexMap<String, Queue>,
    settings: &BTreeMap<String, String>,
) -> Result<QueueService, VenueError> {
    let client = queue_client(address);
    let lookup = |name: &str| settings.get(name).cloned();
    let mut made: IndexMap<String, OwnQueue> = IndexMap::new();
    // A redrive policy names the other queue by its ARN, so all exist before any is set.
    for queue in wanted.keys() {
        let fifo = wanted[queue].is_fifo(queue);
        let name = names.declare(&wanted[queue].name(queue));
        let failed = |reason: String| VenueError::Queue {
            dependency: dependency.clone(),
            queue: queue.clone(),
            address,
            reason,
        };
        let mut creating = client.create_queue().queue_name(&name);
        if fifo {
            creating = creating.attributes(QueueAttributeName::FifoQueue, "true");
        }
        let created = creating.send().await.map_err(|error| failed(why(&error)))?;
        let url = created.queue_url().unwrap_or_default().to_owned();
        made.insert(queue.clone(), OwnQueue { name, url });
    }
    for (queue, definition) in wanted {
        let failed = |reason: String| VenueError::Queue {
            dependency: dependency.clone(),
            queue: queue.clone(),
            address,
            reason,
        };
        let mut attributes = Vec::new();
        for (name, value) in &definition.attributes {
            if name == FIFO_QUEUE {
                continue;
            }
            let value = value
                .render(&lookup)
                .map_err(|error| failed(error.to_string()))?;
            attributes.push((QueueAttributeName::from(name.as_str()), value));
        }
        if let Some(dead_letter) = &definition.dead_letter {
            let target = &made[&dead_letter.queue];
            let arn = client
                .get_queue_attributes()
                .queue_url(&target.url)
                .attribute_names(QueueAttributeName::QueueArn)
                .send()
                .await
                .map_err(|error| failed(why(&error)))?
                .attributes()
                .and_then(|attributes| attributes.get(&QueueAttributeName::QueueArn).cloned())
                .unwrap_or_default();
            let receives = dead_letter
                .max_receives
                .render(&lookup)
                .map_err(|error| failed(error.to_string()))?;
            let policy = serde_json::json!({
                "deadLetterTargetArn": arn,
                "maxReceiveCount": receives,
            });
            attributes.push((QueueAttributeName::RedrivePolicy, policy.to_string()));
        }
        if attributes.is_empty() {
            continue;
        }
        let mut setting = client.set_queue_attributes().queue_url(&made[queue].url);
        for (name, value) in attributes {
            setting = setting.attributes(name, value);
        }
        setting.send().await.map_err(|error| failed(why(&error)))?;
    }
    Ok(QueueService {
        address,
        client,
        queues: made,
        names: Arc::new(names),
    })
}

/// Deletes all queues of a rehearsal, those that the system made itself too.
pub(super) async fn delete_queues(
    dependency: &DependencyName,
    service: &QueueService,
) -> Vec<String> {
    let client = &service.client;
    let failed = |what: &str, reason: String| format!("`{dependency}`: cannot {what}: {reason}");
    let listing = client
        .list_queues()
        .queue_name_prefix(service.names.prefix());
    let mut pages = listing.max_results(1000).into_paginator().send();
    let mut urls: BTreeSet<String> = service.queues.values().map(|own| own.url.clone()).collect();
    let mut troubles = Vec::new();
    while let Some(page) = pages.next().await {
        match page {
            Ok(page) => urls.extend(page.queue_urls().iter().cloned()),
            Err(error) => {
                troubles.push(failed("list its queues", why(&error)));
                break;
            }
        }
    }
    for url in urls {
        let deleted = client.delete_queue().queue_url(&url).send().await;
        let Err(error) = deleted else { continue };
        // The system may delete what it made, or what was made for it.
        let gone = error
            .as_service_error()
            .is_some_and(DeleteQueueError::is_queue_does_not_exist);
        if !gone {
            troubles.push(failed(&format!("delete {url}"), why(&error)));
        }
    }
    troubles
}

fn queue_client(address: SocketAddr) -> aws_sdk_sqs::Client {
    let credentials =
        aws_credential_types::Credentials::new("rehearsal", "rehearsal", None, None, "rehearsal");
    let own = aws_sdk_sqs::config::AppName::new(OWN_APPLICATION)
        .expect("the name has no character that it must not have");
    let configuration = aws_sdk_sqs::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_sqs::config::Region::new("us-east-1"))
        .credentials_provider(credentials)
        .endpoint_url(format!("http://{address}"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .app_name(own)
        .timeout_config(TimeoutConfig::builder().operation_timeout(ANSWER).build())
        .build();
    aws_sdk_sqs::Client::from_conf(configuration)
}
