//! Looks at the tables after each call, and says what became of their rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use sqlx::PgPool;

use super::TableQueue;
use super::change::{self, By};
use super::evidence::{Evidence, Returned, may_write};
use super::state::{At, Copy, Row, Rows};
use crate::ids::{Author, CallId, ConnectionId, RoleName};
use crate::protocol::queue::{Item, QueueEffect};
use crate::protocol::redis::Expiry;
use crate::tap::{Call, PgRequest, Request};

/// How long the tables may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was done, and by which call.
pub(crate) type Told = Vec<(Arc<Call>, Vec<QueueEffect>)>;

/// The queues of one database, row by row. All taps of a rehearsal share one.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    queues: IndexMap<String, TableQueue>,
    /// Who is said to consume which queue.
    consumers: HashMap<String, BTreeSet<RoleName>>,
    pool: Option<PgPool>,
    /// Calls that were forwarded and not looked at since.
    flying: Mutex<HashSet<CallId>>,
    /// Which process of the server serves a connection.
    served: Mutex<HashMap<ConnectionId, i32>>,
    state: tokio::sync::Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rows: HashMap<String, Rows>,
    open: HashMap<ConnectionId, Evidence>,
    /// Calls after which the tables could not be read.
    late: Vec<(Arc<Call>, Evidence)>,
    /// Changes of which it is not known yet whose they are.
    unclear: BTreeMap<(String, String), Unclear>,
}

/// A change that one of several calls made.
#[derive(Debug, Default)]
struct Unclear {
    /// Calls that were under way when it was seen first, and are still.
    suspects: HashSet<CallId>,
    /// Whose calls had ended by then that may have made it, too.
    others: Vec<Author>,
}

/// What a tap saw of the end of a call.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Whether a transaction ended with it, well or not.
    pub(crate) ended: bool,
    /// Whether one is open after it.
    pub(crate) open: bool,
    pub(crate) returned: Returned,
}

type Looks = HashMap<String, BTreeMap<String, Row>>;

impl Watch {
    pub(crate) fn new(
        queues: IndexMap<String, TableQueue>,
        consumers: HashMap<String, BTreeSet<RoleName>>,
        pool: PgPool,
    ) -> Self {
        Self {
            queues,
            consumers,
            pool: Some(pool),
            ..Self::default()
        }
    }

    /// Whether there is anything to look at.
    pub(crate) fn is_needed(&self) -> bool {
        !self.queues.is_empty()
    }

    /// The names of the queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &String> {
        self.queues.keys()
    }

    fn flying(&self) -> MutexGuard<'_, HashSet<CallId>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn served(&self) -> MutexGuard<'_, HashMap<ConnectionId, i32>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is served by this process of the server.
    pub(crate) fn serves(&self, connection: ConnectionId, pid: i32) {
        if self.is_needed() {
            self.served().insert(connection, pid);
        }
    }

    /// A call is about to be forwarded.
    pub(crate) fn sending(&self, call: &Call) {
        if self.is_needed() && requested(call).is_some_and(concerns_tables) {
            self.flying().insert(call.id);
        }
    }

    /// It never reached the dependency, or nothing more will be known of it.
    pub(crate) fn forget(&self, call: CallId) {
        self.flying().remove(&call);
    }

    /// A call was answered: what it, and others, did to the queues.
    pub(crate) async fn answered(&self, call: &Arc<Call>, seen: Seen) -> Told {
        let Some(request) = requested(call).filter(|_| self.is_needed()) else {
            return Vec::new();
        };
        if !concerns_tables(request) {
            return Vec::new();
        }
        let mut state = self.state.lock().await;
        let looked = self.look().await;
        self.forget(call.id);
        let mut evidence = state.open.remove(&call.connection).unwrap_or_default();
        evidence.add(&request.statements, seen.returned);
        let Ok(looks) = looked else {
            state.late.push((Arc::clone(call), evidence));
            return Vec::new();
        };
        let mut told = self.compare(&mut state, &looks, call, &evidence, seen.ended);
        self.read_left(&mut told).await;
        if seen.open {
            let taken = self.taken(&mut state, &looks, call, &evidence);
            told.push((Arc::clone(call), taken));
            state.open.insert(call.connection, evidence);
        }
        told.retain(|(_, effects)| !effects.is_empty());
        told
    }

    /// A connection ended on both sides: what its last transaction took is given back, unless
    /// the call that was under way got through.
    pub(crate) async fn closed(&self, connection: ConnectionId, last: Option<&Arc<Call>>) -> Told {
        if !self.is_needed() {
            return Vec::new();
        }
        self.served().remove(&connection);
        let mut told = Vec::new();
        let mut state = self.state.lock().await;
        if let Some(call) = last.filter(|call| self.flying().remove(&call.id)) {
            let mut evidence = state.open.remove(&connection).unwrap_or_default();
            if let Some(request) = requested(call) {
                evidence.add(&request.statements, Returned::default());
            }
            match self.look().await {
                Ok(looks) => {
                    told = self.compare(&mut state, &looks, call, &evidence, true);
                    self.read_left(&mut told).await;
                }
                Err(_) => state.late.push((Arc::clone(call), evidence)),
            }
        }
        state.open.remove(&connection);
        for rows in state.rows.values_mut() {
            let taken = rows.copies.values_mut();
            for copy in taken.filter(|copy| copy.is_taken_on(connection)) {
                if let At::Taken(_, call) = copy.at.clone() {
                    told.push((call, vec![copy.release()]));
                }
            }
        }
        told.retain(|(_, effects)| !effects.is_empty());
        told
    }

    /// Rows that the open transaction of a call took.
    fn taken(
        &self,
        state: &mut State,
        looks: &Looks,
        call: &Arc<Call>,
        evidence: &Evidence,
    ) -> Vec<QueueEffect> {
        let mut effects = Vec::new();
        let holder = self.served().get(&call.connection).copied();
        let Some(holder) = holder else {
            return effects;
        };
        for (name, queue) in &self.queues {
            let (Some(rows), Some(now)) = (state.rows.get_mut(name), looks.get(name)) else {
                continue;
            };
            let held = |row: &str| now.get(row).is_some_and(|row| row.holder == Some(holder));
            let waits = |at: &At| matches!(at, At::Waiting);
            let copies = rows.copies.values_mut().filter(|copy| waits(&copy.at));
            let taken = |copy: &&mut Copy| held(&copy.row) && evidence.brought(queue, &copy.row);
            for copy in copies.filter(taken) {
                let at = At::Taken(call.connection, Arc::clone(call));
                effects.push(copy.deliver(name, &call.author, at));
            }
        }
        effects
    }

    /// What became of each row, and whose doing it was.
    fn compare(
        &self,
        state: &mut State,
        looks: &Looks,
        call: &Arc<Call>,
        evidence: &Evidence,
        ended: bool,
    ) -> Told {
        let mut candidates: Vec<(Arc<Call>, Evidence)> = std::mem::take(&mut state.late);
        if ended {
            candidates.push((Arc::clone(call), evidence.clone()));
        }
        let flying = self.flying().clone();
        let mut told: Told = Vec::new();
        let none = BTreeMap::new();
        for (name, queue) in &self.queues {
            let rows = state.rows.entry(name.clone()).or_default();
            let now = looks.get(name).unwrap_or(&none);
            let ids: BTreeSet<&String> = rows.copies.keys().chain(now.keys()).collect();
            let ids: Vec<String> = ids.into_iter().cloned().collect();
            for id in ids {
                let row = now.get(&id);
                let place = (name.clone(), id.clone());
                let author = |(call, evidence): &(Arc<Call>, Evidence)| {
                    let by = by(call, evidence);
                    change::is_changed(queue, rows.copies.get(&id), row, &by)
                };
                let mut able: Vec<&(Arc<Call>, Evidence)> =
                    candidates.iter().filter(|one| author(one)).collect();
                // Nobody who could have done it was answered yet.
                if able.is_empty() {
                    continue;
                }
                let owner = rows.copies.get(&id).and_then(|copy| copy.owner.as_ref());
                let leaves = row.is_none_or(|row| !row.in_hand);
                let told_by_wire = able
                    .iter()
                    .position(|(_, evidence)| {
                        evidence.brought(queue, &id) || evidence.names(queue, &id)
                    })
                    .or_else(|| {
                        let owns = |one: &&(Arc<Call>, Evidence)| Some(&one.0.author) == owner;
                        able.iter().position(owns).filter(|_| leaves)
                    });
                let mut others: Vec<Author> = Vec::new();
                let doer = if let Some(at) = told_by_wire {
                    able.swap_remove(at)
                } else {
                    let unclear = state.unclear.entry(place.clone());
                    let unclear = unclear.or_insert_with(|| Unclear {
                        suspects: flying.iter().copied().collect(),
                        others: Vec::new(),
                    });
                    unclear.suspects.retain(|suspect| flying.contains(suspect));
                    let authors = able.iter().map(|(call, _)| call.author.clone());
                    unclear.others.extend(authors);
                    if !unclear.suspects.is_empty() {
                        continue;
                    }
                    others = std::mem::take(&mut unclear.others);
                    able.swap_remove(0)
                };
                state.unclear.remove(&place);
                let alone = flying.is_empty() && able.is_empty();
                let may_claim = alone || self.may_claim((name, queue), doer);
                let mut effects = change::apply(
                    (name, queue),
                    rows,
                    (&id, row),
                    &by(&doer.0, &doer.1),
                    may_claim,
                );
                // Nothing tells whose it was, and it makes a difference.
                if others.iter().any(|other| *other != doer.0.author) {
                    effects.push(QueueEffect::Unseen {
                        queue: name.clone(),
                        command: format!("one of several calls at once ({})", doer.0.id),
                    });
                }
                told.push((Arc::clone(&doer.0), effects));
            }
        }
        in_order(told)
    }

    /// Whether a call may be one that claims rows, rather than one that puts them there.
    fn may_claim(
        &self,
        (name, queue): (&str, &TableQueue),
        (call, evidence): &(Arc<Call>, Evidence),
    ) -> bool {
        let said = self.consumers.get(name);
        let consumes = match (&call.author, said) {
            (Author::Process(incarnation), Some(said)) => said.contains(&incarnation.role),
            (Author::Process(_), None) => true,
            _ => false,
        };
        consumes && !evidence.only_inserts(queue)
    }

    /// What rows that left their queue hold now, if they are in the table still.
    async fn read_left(&self, told: &mut Told) {
        let Some(pool) = &self.pool else { return };
        for (name, queue) in &self.queues {
            let left = told.iter_mut().flat_map(|(_, effects)| effects);
            let mut left: Vec<&mut Item> = left
                .filter_map(|effect| match effect {
                    QueueEffect::Deleted(item, _) if item.queue == *name => Some(item),
                    _ => None,
                })
                .collect();
            if left.is_empty() {
                continue;
            }
            let row = |item: &Item| -> Option<String> {
                Some(String::from_utf8_lossy(item.entry.as_ref()?).into_owned())
            };
            let ids: Vec<String> = left.iter().filter_map(|item| row(item)).collect();
            let asked =
                sqlx::query_as::<_, (String, String)>(sqlx::AssertSqlSafe(queue.left_sql()))
                    .bind(ids)
                    .fetch_all(pool);
            // Those that cannot be read hold what they held.
            let Ok(Ok(rows)) = tokio::time::timeout(PATIENCE, asked).await else {
                continue;
            };
            for (id, text) in rows {
                let of_row = |item: &&mut Item| row(item).as_deref() == Some(id.as_str());
                if let Some(item) = left.iter_mut().map(|item| &mut **item).find(of_row) {
                    item.text = text.into();
                }
            }
        }
    }

    async fn look(&self) -> Result<Looks, String> {
        let mut looks = Looks::new();
        for (name, queue) in &self.queues {
            looks.insert(name.clone(), self.look_at(queue).await?);
        }
        Ok(looks)
    }

    async fn look_at(&self, queue: &TableQueue) -> Result<BTreeMap<String, Row>, String> {
        type Columns = (String, bool, Option<String>, String, String, Option<i32>);
        let pool = self.pool.as_ref().ok_or("no connection")?;
        let sql = queue.rows_sql();
        let asked = sqlx::query_as::<_, Columns>(sqlx::AssertSqlSafe(sql)).fetch_all(pool);
        let rows = tokio::time::timeout(PATIENCE, asked)
            .await
            .map_err(|_| "no answer".to_owned())?
            .map_err(|error| error.to_string())?;
        let row = |(id, in_hand, turn, version, text, holder): Columns| {
            let row = Row {
                in_hand,
                turn,
                version,
                text,
                holder,
            };
            (id, row)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// What a queue holds: what waits, what is in hand, what waits for a time.
    ///
    /// # Errors
    /// When the table cannot be read, or could not be after some call, and something happened
    /// to it meanwhile of which nobody knows whose doing it was.
    pub(crate) async fn counts(&self, queue: &str) -> Result<(i64, i64, i64), sqlx::Error> {
        self.make_up().await?;
        let (Some(pool), Some(queue)) = (&self.pool, self.queues.get(queue)) else {
            return Ok((0, 0, 0));
        };
        sqlx::query_as(sqlx::AssertSqlSafe(queue.counts_sql()))
            .fetch_one(pool)
            .await
    }

    /// Looks for what the calls did after which the tables could not be read.
    async fn make_up(&self) -> Result<(), sqlx::Error> {
        let mut state = self.state.lock().await;
        if state.late.is_empty() {
            return Ok(());
        }
        let looks = self.look().await.map_err(sqlx::Error::Protocol)?;
        let late = state.late.clone();
        let unknown = self.queues.iter().find(|(name, queue)| {
            let (rows, now) = (state.rows.get(*name), looks.get(*name));
            let known = |id: &String| rows.and_then(|rows| rows.copies.get(id));
            let here = now.into_iter().flat_map(BTreeMap::keys);
            let mut ids = rows
                .into_iter()
                .flat_map(|rows| rows.copies.keys())
                .chain(here);
            ids.any(|id| {
                let row = now.and_then(|now| now.get(id));
                late.iter().any(|(call, evidence)| {
                    change::is_changed(queue, known(id), row, &by(call, evidence))
                })
            })
        });
        if let Some((name, _)) = unknown {
            return Err(sqlx::Error::Protocol(format!(
                "the table of the queue `{name}` could not be read after {} calls, and something \
                 happened to it: nobody knows whose doing that was",
                late.len()
            )));
        }
        state.late.clear();
        Ok(())
    }

    /// The harness itself puts something on a queue; what the row is called.
    pub(crate) async fn put(&self, name: &str, body: &str) -> Result<String, sqlx::Error> {
        let (Some(pool), Some(queue)) = (&self.pool, self.queues.get(name)) else {
            return Err(sqlx::Error::RowNotFound);
        };
        let mut state = self.state.lock().await;
        let put = queue.put.clone().unwrap_or_default();
        let sql = format!("with put as ({put}) select (put.*)::text from put");
        let row: (String,) = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(body)
            .fetch_one(pool)
            .await?;
        let id = row.0.trim_matches(['(', ')']).to_owned();
        let now = self.look_at(queue).await.map_err(sqlx::Error::Protocol)?;
        let rows = state.rows.entry(name.to_owned()).or_default();
        if let Some(row) = now.get(&id) {
            // Somebody may have it already: that is for whoever's reply says so.
            let waits = Row {
                in_hand: false,
                ..row.clone()
            };
            return Ok(rows.come(name, &id, &waits).id.clone());
        }
        Ok(super::copy_id(name, &id))
    }

    /// Who had a row is gone.
    pub(crate) async fn expire(&self, name: &str, receipt: &str) -> Result<Expiry, sqlx::Error> {
        let (Some(pool), Some(queue)) = (&self.pool, self.queues.get(name)) else {
            return Ok(Expiry::Stays);
        };
        let mut state = self.state.lock().await;
        let rows = state.rows.entry(name.to_owned()).or_default();
        let mut copies = rows.copies.values_mut();
        let Some(copy) = copies.find(|copy| copy.receipt() == receipt) else {
            return Ok(Expiry::Stays);
        };
        copy.owner = None;
        match copy.at {
            At::Waiting => return Ok(Expiry::Visible),
            At::Taken(..) => {
                copy.at = At::Waiting;
                return Ok(Expiry::Visible);
            }
            At::Hand => {}
        }
        let Some(expire) = &queue.expire else {
            return Ok(Expiry::Stays);
        };
        sqlx::query(sqlx::AssertSqlSafe(expire.clone()))
            .bind(copy.row.clone())
            .execute(pool)
            .await?;
        let now = self.look_at(queue).await.map_err(sqlx::Error::Protocol)?;
        let Some(row) = now.get(&copy.row).filter(|row| !row.in_hand) else {
            return Ok(Expiry::Stays);
        };
        copy.at = At::Waiting;
        copy.seen = row.clone();
        Ok(Expiry::Visible)
    }
}

fn by<'a>(call: &'a Call, evidence: &'a Evidence) -> By<'a> {
    By {
        author: &call.author,
        connection: call.connection,
        evidence,
    }
}

fn requested(call: &Call) -> Option<&PgRequest> {
    match &call.request {
        Request::Postgres(request) if request.elsewhere.is_none() => Some(request),
        _ => None,
    }
}

/// Whether a call may have changed a row, or ends what did.
fn concerns_tables(request: &PgRequest) -> bool {
    request.commits || request.statements.iter().any(may_write)
}

/// What moves from one queue to another came there before it left.
fn in_order(mut told: Told) -> Told {
    told.sort_by_key(|(_, effects)| !matches!(effects.first(), Some(QueueEffect::Sent(_))));
    told
}
