//! The dependencies of one rehearsal: its own database and queues on the run's warm
//! servers, and the services that the harness plays. What the harness does here
//! itself goes around the taps: it is no part of the system.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use aws_sdk_sqs::types::{MessageAttributeValue, QueueAttributeName};
use indexmap::IndexMap;
use serde_json::{Map, Value};
use sqlx::postgres::PgPool;

use super::own::OwnServer;
use super::refused::{why, why_of_database};
use crate::ids::DependencyName;
use crate::manifest::{FIFO_NAME, Manifest};
use crate::protocol;
use crate::protocol::redis::{Expiry, RedisService, View};
use crate::protocol::sqs::Names;
use crate::protocol::table::Watch;
use crate::stub::Stub;

/// Quoted names of all tables that are the system's own.
const TABLES: &str = "select format('%I.%I', n.nspname, c.relname) from pg_class c \
    join pg_namespace n on n.oid = c.relnamespace \
    where c.relkind in ('r', 'p') and not c.relispartition \
    and n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%' order by 1";

const SEQUENCES: &str = "select format('%I.%I', schemaname, sequencename)::regclass as name, \
    max_value - 1000 as most, coalesce(last_value, start_value) as last \
    from pg_sequences where increment_by > 0";

/// A database of this rehearsal.
pub(super) struct Database {
    pub(super) address: SocketAddr,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) name: String,
    pub(super) pool: PgPool,
    /// Transactions that were prepared in it, whoever did.
    pub(super) prepared: protocol::postgres::Prepared,
    /// What becomes of rows in its tables that are queues.
    pub(super) watch: Arc<Watch>,
}

/// A queue service with the queues of this rehearsal.
pub(super) struct QueueService {
    pub(super) address: SocketAddr,
    pub(super) client: aws_sdk_sqs::Client,
    /// By the name in the manifest.
    pub(super) queues: IndexMap<String, OwnQueue>,
    /// What the system calls its queues.
    pub(super) names: Arc<Names>,
}

impl QueueService {
    /// Whether the rehearsal has a queue of this name there.
    pub(super) fn has(&self, at_service: &str) -> bool {
        self.queues.values().any(|own| own.name == at_service)
    }
}

/// A queue of this rehearsal.
#[derive(Clone, Debug)]
pub(super) struct OwnQueue {
    /// Its name at the service.
    pub(super) name: String,
    /// Its URL at the service.
    pub(super) url: String,
}

/// The placeholders of a database for one who reaches it at `at`.
pub(super) fn database_values(
    dependency: &DependencyName,
    at: SocketAddr,
    user: &str,
    password: &str,
    name: &str,
) -> Vec<(String, String)> {
    let url = format!("postgres://{user}:{password}@{at}/{name}");
    let parts = [
        ("url", url.as_str()),
        ("user", user),
        ("password", password),
        ("name", name),
    ];
    let parts = parts.map(|(part, value)| (format!("{dependency}.{part}"), value.to_owned()));
    parts
        .into_iter()
        .chain(address_values(dependency, at))
        .collect()
}

fn address_values(dependency: &DependencyName, at: SocketAddr) -> [(String, String); 2] {
    [
        ("host", at.ip().to_string()),
        ("port", at.port().to_string()),
    ]
    .map(|(part, value)| (format!("{dependency}.{part}"), value))
}

/// A dependency could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum DependencyError {
    /// A query failed.
    #[error("the query `{query}` on `{dependency}`{place} is refused: {}", why_of_database(.cause))]
    Query {
        /// Which database.
        dependency: DependencyName,
        /// What was asked.
        query: String,
        /// Where it stands in the manifest, in brackets, if it does.
        place: String,
        /// Why.
        cause: Box<sqlx::Error>,
    },
    /// A query gave something that is no figure.
    #[error("the query `{query}` on `{dependency}` gave {seen}; expected {expected}")]
    Shape {
        /// Which database.
        dependency: DependencyName,
        /// What was asked.
        query: String,
        /// What it should give.
        expected: &'static str,
        /// What it gave.
        seen: String,
    },
    /// The queue service refused.
    #[error("`{dependency}` refused {action} on {queue}: {reason}")]
    Queue {
        /// Which service.
        dependency: DependencyName,
        /// What was asked.
        action: &'static str,
        /// Of which queue.
        queue: String,
        /// Why.
        reason: String,
    },
}

/// What a queue holds, by its own attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    pub(super) visible: i64,
    pub(super) in_flight: i64,
    pub(super) delayed: i64,
}

impl QueueCounts {
    pub(super) fn all(self) -> i64 {
        self.visible + self.in_flight + self.delayed
    }
}

/// Everything that the processes of one rehearsal talk to.
pub(super) struct Dependencies {
    pub(super) databases: BTreeMap<DependencyName, Database>,
    pub(super) queues: BTreeMap<DependencyName, QueueService>,
    pub(super) redis: BTreeMap<DependencyName, RedisService>,
    pub(super) stubs: BTreeMap<DependencyName, Stub>,
    pub(super) externals: BTreeMap<DependencyName, SocketAddr>,
    /// Values for `${setting.…}`.
    pub(super) settings: BTreeMap<String, String>,
    /// Where queries stand.
    pub(super) manifest: Arc<Manifest>,
    /// Servers that no other rehearsal uses.
    pub(super) servers: BTreeMap<DependencyName, OwnServer>,
}

impl Dependencies {
    /// Where a dependency really listens.
    pub(super) fn address(&self, name: &DependencyName) -> SocketAddr {
        let database = self.databases.get(name).map(|database| database.address);
        let queue = self.queues.get(name).map(|service| service.address);
        let redis = self.redis.get(name).map(|service| service.address);
        let stub = self.stubs.get(name).map(Stub::address);
        let external = self.externals.get(name).copied();
        database
            .or(queue)
            .or(redis)
            .or(stub)
            .or(external)
            .expect("every dependency of a checked manifest is provided")
    }

    /// What the taps of a database share.
    pub(super) fn shared(&self, name: &DependencyName) -> protocol::postgres::Shared {
        self.databases
            .get(name)
            .map(|database| protocol::postgres::Shared {
                database: Some(database.name.clone()),
                prepared: database.prepared.clone(),
                watch: Arc::clone(&database.watch),
            })
            .unwrap_or_default()
    }

    /// The values of placeholders that name this dependency, for one who reaches it at
    /// `at`.
    pub(super) fn values(&self, name: &DependencyName, at: SocketAddr) -> Vec<(String, String)> {
        let mut values = Vec::new();
        if let Some(database) = self.databases.get(name) {
            let Database {
                user,
                password,
                name: own,
                ..
            } = database;
            values.extend(database_values(name, at, user, password, own));
        } else if let Some(service) = self.redis.get(name) {
            values.push((format!("{name}.url"), service.url(at)));
            values.extend(address_values(name, at));
        } else {
            values.push((format!("{name}.url"), format!("http://{at}")));
            values.extend(address_values(name, at));
        }
        if let Some(service) = self.queues.get(name) {
            for (queue, own) in &service.queues {
                let path = own.url.splitn(4, '/').nth(3).unwrap_or_default();
                let account = path.rsplit_once('/').map_or("", |(account, _)| account);
                let known_as = service.names.of_system(&own.name);
                let known_as = known_as.unwrap_or_else(|| own.name.clone());
                let url = format!("http://{at}/{account}/{known_as}");
                values.push((format!("{name}.{queue}.url"), url));
                values.push((format!("{name}.{queue}.name"), known_as));
            }
        }
        values
    }

    /// What the system calls the queues of a dependency.
    pub(super) fn names(&self, name: &DependencyName) -> Arc<Names> {
        let service = self.queues.get(name);
        service.map_or_else(Arc::default, |service| Arc::clone(&service.names))
    }

    /// What becomes of the elements of the queues of a Redis.
    pub(super) fn view(&self, name: &DependencyName) -> Arc<View> {
        let service = self.redis.get(name);
        service.map_or_else(Arc::default, |service| Arc::clone(&service.view))
    }

    /// How many elements of a queue were pushed and not seen to be taken: an answer that
    /// takes one may be on its way. Queues that count what is in flight need none of this.
    pub(super) fn seen_waiting(&self, dependency: &DependencyName, queue: &str) -> i64 {
        let redis = self.redis.get(dependency);
        redis.map_or(0, |redis| redis.view.waiting(&redis.queues[queue]))
    }

    /// What a queue of the manifest is called at its dependency.
    pub(super) fn queue_name(&self, dependency: &DependencyName, queue: &str) -> String {
        if let Some(redis) = self.redis.get(dependency) {
            return redis.queues[queue].name();
        }
        if self.databases.contains_key(dependency) {
            return queue.to_owned();
        }
        self.queues[dependency].queues[queue].name.clone()
    }

    pub(super) fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// Queue names at their dependency, by dependency and name in the manifest.
    pub(super) fn queue_names(&self) -> BTreeMap<(DependencyName, String), String> {
        self.queues
            .iter()
            .flat_map(|(dependency, service)| {
                service
                    .queues
                    .iter()
                    .map(|(queue, own)| ((dependency.clone(), queue.clone()), own.name.clone()))
            })
            .chain(self.redis.iter().flat_map(|(dependency, service)| {
                let queues = service.queues.iter();
                queues.map(|(name, queue)| ((dependency.clone(), name.clone()), queue.name()))
            }))
            .chain(self.databases.iter().flat_map(|(dependency, database)| {
                let queues = database.watch.queues();
                queues.map(|name| ((dependency.clone(), name.clone()), name.clone()))
            }))
            .collect()
    }

    /// Makes a delivery visible at once, as the end of its visibility would.
    pub(super) async fn expire(
        &self,
        dependency: &DependencyName,
        queue: &str,
        receipt: &str,
    ) -> Result<Expiry, DependencyError> {
        if let Some(redis) = self.redis.get(dependency) {
            return redis
                .expire(receipt)
                .await
                .map_err(|error| DependencyError::Queue {
                    dependency: dependency.clone(),
                    action: "the end of a delivery",
                    queue: queue.to_owned(),
                    reason: error.to_string(),
                });
        }
        if let Some(database) = self.databases.get(dependency) {
            let expired = database.watch.expire(queue, receipt).await;
            return expired.map_err(|error| DependencyError::Queue {
                dependency: dependency.clone(),
                action: "the end of a delivery",
                queue: queue.to_owned(),
                reason: error.to_string(),
            });
        }
        let Some(service) = self.queues.get(dependency) else {
            return Ok(Expiry::Visible);
        };
        let Some(own) = service.queues.values().find(|own| own.name == queue) else {
            return Ok(Expiry::Visible);
        };
        let changed = service
            .client
            .change_message_visibility()
            .queue_url(&own.url)
            .receipt_handle(receipt)
            .visibility_timeout(0)
            .send()
            .await;
        match changed {
            Ok(_) => Ok(Expiry::Visible),
            Err(error) => {
                // Visible already, or gone: there is nothing left to expire.
                let over = error.as_service_error().is_some_and(|error| {
                    error.is_message_not_inflight()
                        || error.is_receipt_handle_is_invalid()
                        || error
                            .meta()
                            .code()
                            .is_some_and(|code| code.contains("InvalidParameterValue"))
                });
                if over {
                    return Ok(Expiry::Visible);
                }
                Err(DependencyError::Queue {
                    dependency: dependency.clone(),
                    action: "ChangeMessageVisibility",
                    queue: queue.to_owned(),
                    reason: why(&error),
                })
            }
        }
    }

    /// Puts a message on a queue of the manifest; gives its `MessageId`.
    pub(super) async fn put(
        &self,
        dependency: &DependencyName,
        queue: &str,
        body: &str,
        attributes: Option<HashMap<String, MessageAttributeValue>>,
    ) -> Result<String, DependencyError> {
        if let Some(redis) = self.redis.get(dependency) {
            return redis
                .put(queue, body)
                .await
                .map_err(|error| DependencyError::Queue {
                    dependency: dependency.clone(),
                    action: "a push",
                    queue: queue.to_owned(),
                    reason: error.to_string(),
                });
        }
        if let Some(database) = self.databases.get(dependency) {
            let put = database.watch.put(queue, body).await;
            return put.map_err(|error| DependencyError::Queue {
                dependency: dependency.clone(),
                action: "`put` of the manifest",
                queue: queue.to_owned(),
                reason: error.to_string(),
            });
        }
        let service = &self.queues[dependency];
        let own = &service.queues[queue];
        let mut sending = service.client.send_message().queue_url(&own.url);
        if own.name.ends_with(FIFO_NAME) {
            // It holds nobody up, and is never taken for another.
            let alone = uuid::Uuid::new_v4().to_string();
            sending = sending
                .message_group_id(&alone)
                .message_deduplication_id(&alone);
        }
        let answer = sending
            .message_body(body)
            .set_message_attributes(attributes)
            .send()
            .await
            .map_err(|error| DependencyError::Queue {
                dependency: dependency.clone(),
                action: "SendMessage",
                queue: queue.to_owned(),
                reason: why(&error),
            })?;
        Ok(answer.message_id.unwrap_or_default())
    }

    /// What a queue holds.
    pub(super) async fn counts(
        &self,
        dependency: &DependencyName,
        queue: &str,
    ) -> Result<QueueCounts, DependencyError> {
        if let Some(redis) = self.redis.get(dependency) {
            let counted = redis.counts(queue).await;
            let (visible, in_flight, delayed) =
                counted.map_err(|error| DependencyError::Queue {
                    dependency: dependency.clone(),
                    action: "a count",
                    queue: queue.to_owned(),
                    reason: error.to_string(),
                })?;
            return Ok(QueueCounts {
                visible,
                in_flight,
                delayed,
            });
        }
        if let Some(database) = self.databases.get(dependency) {
            let counted = database.watch.counts(queue).await;
            let (visible, in_flight, delayed) =
                counted.map_err(|error| DependencyError::Queue {
                    dependency: dependency.clone(),
                    action: "a count",
                    queue: queue.to_owned(),
                    reason: error.to_string(),
                })?;
            return Ok(QueueCounts {
                visible,
                in_flight,
                delayed,
            });
        }
        let service = &self.queues[dependency];
        let own = &service.queues[queue];
        let answer = service
            .client
            .get_queue_attributes()
            .queue_url(&own.url)
            .attribute_names(QueueAttributeName::All)
            .send()
            .await
            .map_err(|error| DependencyError::Queue {
                dependency: dependency.clone(),
                action: "GetQueueAttributes",
                queue: queue.to_owned(),
                reason: why(&error),
            })?;
        let count = |name: QueueAttributeName| {
            answer
                .attributes()
                .and_then(|attributes| attributes.get(&name)?.parse().ok())
                .unwrap_or_default()
        };
        Ok(QueueCounts {
            visible: count(QueueAttributeName::ApproximateNumberOfMessages),
            in_flight: count(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
            delayed: count(QueueAttributeName::ApproximateNumberOfMessagesDelayed),
        })
    }

    /// Asks a database: rows as JSON values, each a row's columns without their order.
    async fn rows(
        &self,
        dependency: &DependencyName,
        query: &str,
        job: Option<&str>,
    ) -> Result<Vec<Vec<Value>>, DependencyError> {
        let database = &self.databases[dependency];
        // One form for all types: the server writes the row as JSON.
        let (_, wrapped) = as_json(query);
        let asking = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(wrapped));
        let asking = match job {
            Some(job) => asking.bind(job.to_owned()),
            None => asking,
        };
        let rows =
            asking
                .fetch_all(&database.pool)
                .await
                .map_err(|source| DependencyError::Query {
                    dependency: dependency.clone(),
                    query: query.to_owned(),
                    place: self.where_asked(dependency, query),
                    cause: Box::new(source),
                })?;
        Ok(rows
            .iter()
            .map(|row| match serde_json::from_str(row) {
                Ok(Value::Object(columns)) => columns.into_iter().map(|(_, value)| value).collect(),
                _ => Vec::new(),
            })
            .collect())
    }

    fn where_asked(&self, dependency: &DependencyName, query: &str) -> String {
        let place = self.manifest.where_asked(dependency, query);
        place.map_or_else(String::new, |place| format!(" ({place})"))
    }

    /// Every table of a database with its rows.
    pub(super) async fn tables(
        &self,
        dependency: &DependencyName,
    ) -> Result<Vec<(String, Vec<Map<String, Value>>)>, DependencyError> {
        let named = self.texts(dependency, TABLES.to_owned()).await?;
        let mut tables = Vec::with_capacity(named.len());
        for quoted in named {
            let rows = format!("select row_to_json(r)::text from {quoted} r");
            let rows = self.texts(dependency, rows).await?;
            let rows = rows
                .iter()
                .filter_map(|row| serde_json::from_str(row).ok())
                .collect();
            let name = quoted.replace('"', "");
            let name = name.strip_prefix("public.").unwrap_or(&name);
            tables.push((name.to_owned(), rows));
        }
        Ok(tables)
    }

    /// Lets every sequence of every database go on so much later.
    pub(super) async fn advance_sequences(&self, by: i64) -> Result<(), DependencyError> {
        for dependency in self.databases.keys() {
            // Each by some more: the number of one thing is not the number of another.
            let apart = "1000 * row_number() over (order by name::text)";
            let later = format!(
                "select setval(name, least(most, last + {by} + {apart}))::text from ({SEQUENCES}) s"
            );
            self.texts(dependency, later).await?;
        }
        Ok(())
    }

    /// One text a row.
    async fn texts(
        &self,
        dependency: &DependencyName,
        query: String,
    ) -> Result<Vec<String>, DependencyError> {
        let pool = &self.databases[dependency].pool;
        let asking = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(query.clone()));
        let asked = asking.fetch_all(pool).await;
        asked.map_err(|source| DependencyError::Query {
            dependency: dependency.clone(),
            query,
            place: String::new(),
            cause: Box::new(source),
        })
    }

    /// A figure by query: one number, or numbers by label.
    pub(super) async fn figure(
        &self,
        dependency: &DependencyName,
        query: &str,
        job: Option<&str>,
    ) -> Result<BTreeMap<String, i64>, DependencyError> {
        let mut figure = BTreeMap::new();
        for row in self.rows(dependency, query, job).await? {
            let number = row.iter().find_map(Value::as_i64);
            let label = row.iter().find_map(Value::as_str).unwrap_or_default();
            let Some(number) = number.filter(|_| row.len() <= 2) else {
                return Err(DependencyError::Shape {
                    dependency: dependency.clone(),
                    query: query.to_owned(),
                    expected: "rows of one number, or of a text and a number",
                    seen: serde_json::to_string(&row).unwrap_or_default(),
                });
            };
            if figure.insert(label.to_owned(), number).is_some() {
                return Err(DependencyError::Shape {
                    dependency: dependency.clone(),
                    query: query.to_owned(),
                    expected: "one number, or one for each text",
                    seen: format!("several for {label:?}"),
                });
            }
        }
        Ok(figure)
    }

    /// One value by query, as text; none if there is no row or it is NULL.
    pub(super) async fn value(
        &self,
        dependency: &DependencyName,
        query: &str,
        job: Option<&str>,
    ) -> Result<Option<String>, DependencyError> {
        let rows = self.rows(dependency, query, job).await?;
        if rows.len() > 1 || rows.iter().any(|row| row.len() != 1) {
            return Err(DependencyError::Shape {
                dependency: dependency.clone(),
                query: query.to_owned(),
                expected: "one row of one value at most",
                seen: serde_json::to_string(&rows).unwrap_or_default(),
            });
        }
        Ok(rows
            .into_iter()
            .flatten()
            .next()
            .and_then(|value| match value {
                Value::Null => None,
                Value::String(text) => Some(text),
                other => Some(other.to_string()),
            }))
    }
}

/// A query whose rows come as JSON, and what stands before it there. What follows stands on
/// a line of its own, in case the query ends with a comment.
pub(super) fn as_json(query: &str) -> (&'static str, String) {
    let before = "select row_to_json(row)::text from (";
    let query = query.trim_end().trim_end_matches(';');
    (before, format!("{before}{query}\n) as row"))
}

impl Database {
    /// Rolls back what the system prepared and never ended: a database with such a
    /// transaction cannot be dropped.
    pub(super) async fn forget_prepared(&self, name: &DependencyName) -> Result<(), String> {
        let told = |error: sqlx::Error| {
            let why = why_of_database(&error);
            format!("`{name}`: cannot roll back prepared transactions: {why}")
        };
        if self.prepared.is_empty() {
            return Ok(());
        }
        let gids: Vec<String> = sqlx::query_scalar(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(told)?;
        for gid in gids {
            let rollback = format!("ROLLBACK PREPARED '{}'", gid.replace('\'', "''"));
            sqlx::raw_sql(sqlx::AssertSqlSafe(rollback))
                .execute(&self.pool)
                .await
                .map_err(told)?;
        }
        Ok(())
    }
}
