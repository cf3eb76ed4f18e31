//! The Redis of one rehearsal, as the harness itself uses it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use indexmap::IndexMap;

use super::client::{Access, Client, ClientError};
use super::queue::{Kind, RedisQueue};
use super::value::Value;
use super::view::{Orphan, View};
use crate::ids::CallId;

/// The key by which a rehearsal holds a database of a server that is not its own.
const CLAIM: &[u8] = b"rehearsal:claimed-by";
/// How many databases a server has unless it is told otherwise.
const DATABASES: u32 = 16;

/// The Redis of one rehearsal.
pub(crate) struct RedisService {
    pub(crate) address: SocketAddr,
    access: Access,
    pub(crate) queues: IndexMap<String, RedisQueue>,
    /// What becomes of their elements.
    pub(crate) view: Arc<View>,
    /// Ports of the harness's own connections.
    own: Mutex<BTreeSet<u16>>,
    client: tokio::sync::Mutex<Option<Client>>,
    /// Whether the database was claimed, and is to be emptied.
    claimed: bool,
}

/// What became of a delivery whose owner is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// It is where the system itself finds it.
    Stays,
    /// It is visible again.
    Visible,
    /// It is nowhere: this call took it.
    Lost(CallId),
}

/// No database of a rehearsal's own can be had.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It cannot be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Something is in each of its databases.
    #[error(
        "none of its {DATABASES} databases is empty, and what is in them is not this run's: empty one"
    )]
    NoneEmpty,
}

impl RedisService {
    pub(crate) fn new(
        address: SocketAddr,
        access: Access,
        queues: IndexMap<String, RedisQueue>,
    ) -> Self {
        Self {
            address,
            access,
            view: Arc::new(View::new(queues.clone())),
            queues,
            own: Mutex::default(),
            client: tokio::sync::Mutex::default(),
            claimed: false,
        }
    }

    /// Takes an empty database of a server that is somebody else's.
    pub(crate) async fn claim(
        address: SocketAddr,
        access: &Access,
        queues: IndexMap<String, RedisQueue>,
        run: &str,
    ) -> Result<Self, ClaimError> {
        for database in 0..DATABASES {
            let access = Access {
                database,
                ..access.clone()
            };
            let mut client = match Client::open(address, &access).await {
                Ok(client) => client,
                Err(ClientError::Refused(_)) if database > 0 => break,
                Err(error) => return Err(error.into()),
            };
            if !matches!(client.ask(&[b"DBSIZE"]).await?, Value::Integer(0)) {
                continue;
            }
            let claim = client.ask(&[b"SET", CLAIM, run.as_bytes(), b"NX"]).await?;
            if claim.is_nothing() {
                continue;
            }
            // Somebody may have written between the two.
            if !matches!(client.ask(&[b"DBSIZE"]).await?, Value::Integer(1)) {
                client.ask(&[b"DEL", CLAIM]).await?;
                continue;
            }
            let mut service = Self::new(address, access, queues);
            service.claimed = true;
            return Ok(service);
        }
        Err(ClaimError::NoneEmpty)
    }

    /// Empties a database that was claimed.
    pub(crate) async fn release(&self) -> Result<(), ClientError> {
        if self.claimed {
            self.ask(&[b"FLUSHDB"]).await?;
        }
        Ok(())
    }

    /// Its URL for one who reaches it at `at`.
    pub(crate) fn url(&self, at: SocketAddr) -> String {
        let Access {
            user,
            password,
            database,
        } = &self.access;
        let login = match password {
            Some(password) => format!("{}:{password}@", user.as_deref().unwrap_or_default()),
            None => String::new(),
        };
        format!("redis://{login}{at}/{database}")
    }

    /// Ports of the harness's own connections.
    pub(crate) fn own_ports(&self) -> BTreeSet<u16> {
        self.own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Asks the server, on a connection that is kept.
    pub(crate) async fn ask(&self, words: &[&[u8]]) -> Result<Value, ClientError> {
        let mut kept = self.client.lock().await;
        if let Some(client) = kept.as_mut() {
            match client.ask(words).await {
                Err(ClientError::Io(_)) => *kept = None,
                answered => return answered,
            }
        }
        let mut client = Client::open(self.address, &self.access).await?;
        self.note_own(&client);
        let answer = client.ask(words).await;
        *kept = Some(client);
        answer
    }

    fn note_own(&self, client: &Client) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.extend(client.port());
    }

    /// What becomes of a delivery whose owner is gone: made visible now, lost with the call
    /// that took it, or left to the system.
    pub(crate) async fn expire(&self, receipt: &str) -> Result<Expiry, ClientError> {
        match self.view.orphaned(receipt) {
            Orphan::Stays => Ok(Expiry::Stays),
            Orphan::Lost(call) => Ok(Expiry::Lost(call)),
            Orphan::Ask(words) => {
                let words: Vec<&[u8]> = words.iter().map(std::convert::AsRef::as_ref).collect();
                self.ask(&words).await.map(|_| Expiry::Visible)
            }
        }
    }

    /// Puts an element on a queue; what it is called.
    pub(crate) async fn put(&self, queue: &str, body: &str) -> Result<String, ClientError> {
        let queue = &self.queues[queue];
        let key = queue.key().as_bytes();
        let text = Bytes::copy_from_slice(body.as_bytes());
        match &queue.kind {
            Kind::Stream { .. } => {
                let added = self.ask(&[b"XADD", key, b"*", b"body", &text]).await?;
                let entry = added.text().cloned().unwrap_or_default();
                Ok(self.view.put_entry(queue, &entry))
            }
            Kind::List { .. } => {
                let copy = self.view.put(queue, &text);
                self.ask(&[b"RPUSH", key, &text]).await.map(|_| copy)
            }
            Kind::Sorted { .. } => {
                let copy = self.view.put(queue, &text);
                self.ask(&[b"ZADD", key, b"0", &text]).await.map(|_| copy)
            }
        }
    }

    /// What a queue holds: what waits, what somebody works on, what waits for a time.
    pub(crate) async fn counts(&self, queue: &str) -> Result<(i64, i64, i64), ClientError> {
        let Some(queue) = self.queues.get(queue) else {
            return Ok((0, 0, 0));
        };
        let key = queue.key().as_bytes();
        let in_work = self.in_work(queue).await?;
        match &queue.kind {
            Kind::List { .. } => Ok((self.count(&[b"LLEN", key]).await?, in_work, 0)),
            Kind::Stream { group, .. } => {
                let (waiting, pending) = self.of_group(key, group.as_bytes()).await?;
                Ok((waiting, pending, 0))
            }
            Kind::Sorted { .. } => Ok((self.count(&[b"ZCARD", key]).await?, in_work, 0)),
        }
    }

    async fn in_work(&self, queue: &RedisQueue) -> Result<i64, ClientError> {
        let mut all = 0;
        for pattern in &queue.processing {
            let keys = self.ask(&[b"KEYS", pattern.glob().as_bytes()]).await?;
            for key in keys.items().iter().filter_map(Value::text) {
                let kind = self.ask(&[b"TYPE", key]).await?;
                let count: &[u8] = match kind.text().map(std::convert::AsRef::as_ref) {
                    Some(b"list") => b"LLEN",
                    Some(b"zset") => b"ZCARD",
                    Some(b"hash") => b"HLEN",
                    Some(b"set") => b"SCARD",
                    _ => continue,
                };
                all += self.count(&[count, key]).await?;
            }
        }
        Ok(all)
    }

    async fn count(&self, words: &[&[u8]]) -> Result<i64, ClientError> {
        match self.ask(words).await? {
            Value::Integer(count) => Ok(count),
            _ => Ok(0),
        }
    }

    /// What a group has not read yet, and what it read and did not acknowledge.
    async fn of_group(&self, stream: &[u8], group: &[u8]) -> Result<(i64, i64), ClientError> {
        let length = self.count(&[b"XLEN", stream]).await?;
        let groups = match self.ask(&[b"XINFO", b"GROUPS", stream]).await {
            Ok(groups) => groups,
            // There is no such stream yet.
            Err(ClientError::Refused(_)) => return Ok((0, 0)),
            Err(error) => return Err(error),
        };
        for one in groups.items() {
            let pairs = one.pairs();
            let of = |name: &[u8]| {
                let named = |(key, _): &&(&Value, &Value)| {
                    key.text().is_some_and(|key| key.as_ref() == name)
                };
                pairs.iter().find(named).map(|(_, value)| *value)
            };
            if of(b"name")
                .and_then(Value::text)
                .is_none_or(|name| name.as_ref() != group)
            {
                continue;
            }
            let Some(Value::Integer(pending)) = of(b"pending") else {
                return Ok((0, 0));
            };
            let waiting = if let Some(Value::Integer(lag)) = of(b"lag") {
                *lag
            } else {
                // It cannot tell once entries were deleted: then they are looked at.
                let last = of(b"last-delivered-id").and_then(Value::text).cloned();
                let from = last.map(|last| [&b"("[..], &last].concat());
                let from = from.unwrap_or_else(|| b"-".to_vec());
                let rest = self.ask(&[b"XRANGE", stream, &from, b"+"]).await?;
                i64::try_from(rest.items().len()).unwrap_or(i64::MAX)
            };
            return Ok((waiting, *pending));
        }
        Ok((length, 0))
    }
}
