//! A tap before the server, with a database of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rehearsal::ids::Author;
use rehearsal::protocol::postgres;
use rehearsal::tap::{Gate, Tap, TapContext};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};

use super::raw::Raw;
use super::recorder::{LONG, Recorder};
use super::server::{PASSWORD, Server, USER, server};

pub struct Stage {
    pub server: Arc<Server>,
    pub recorder: Arc<Recorder>,
    pub gate: Arc<Gate>,
    pub tap: Tap,
    pub database: String,
}

/// A tap at `upstream` that knows nobody's database.
pub async fn tap(upstream: SocketAddr, recorder: &Arc<Recorder>, gate: &Arc<Gate>) -> Tap {
    let director = Arc::clone(recorder);
    postgres::open(TapContext {
        author: Author::Client,
        dependency: "database".into(),
        upstream,
        near_side: std::net::Ipv4Addr::LOCALHOST.into(),
        director,
        gate: Arc::clone(gate),
    })
    .await
    .unwrap()
}

impl Stage {
    /// Nothing where no server is installed.
    pub async fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let server = tokio::task::spawn_blocking(server).await.unwrap()?;
        let database = format!("stage_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut owner = options(server.address, USER, "postgres")
            .connect()
            .await
            .unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {database}")))
            .execute(&mut owner)
            .await
            .unwrap();
        owner.close().await.unwrap();
        let (recorder, gate) = (Recorder::new(), Arc::new(Gate::new()));
        let tap = tap(server.address, &recorder, &gate).await;
        let stage = Self {
            server,
            recorder,
            gate,
            tap,
            database,
        };
        let mut direct = stage.direct().await;
        sqlx::raw_sql("CREATE TABLE t (id int PRIMARY KEY, text text)")
            .execute(&mut direct)
            .await
            .unwrap();
        Some(stage)
    }

    /// A session through the tap.
    pub async fn tapped(&self) -> PgConnection {
        self.tapped_as(USER).await
    }

    pub async fn tapped_as(&self, user: &str) -> PgConnection {
        options(self.tap.address(), user, &self.database)
            .connect()
            .await
            .unwrap()
    }

    /// A session that no tap sees.
    pub async fn direct(&self) -> PgConnection {
        options(self.server.address, USER, &self.database)
            .connect()
            .await
            .unwrap()
    }

    /// A session through the tap, byte by byte.
    pub async fn raw(&self) -> Raw {
        Raw::session(self.tap.address(), &self.database).await
    }

    /// Waits until the server has begun to execute `sql`, as this database shows it.
    pub async fn executing(&self, sql: &str) {
        let mut direct = self.direct().await;
        let active = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' \
                      AND datname = current_database() AND query = $1)";
        let waiting = async {
            while !sqlx::query_scalar::<_, bool>(active)
                .bind(sql)
                .fetch_one(&mut direct)
                .await
                .unwrap()
            {}
        };
        tokio::time::timeout(LONG, waiting)
            .await
            .expect("the server executes it");
    }

    /// The rows of `t` as no tap sees them.
    pub async fn rows(&self) -> Vec<i32> {
        let mut direct = self.direct().await;
        sqlx::query_scalar("SELECT id FROM t ORDER BY id")
            .fetch_all(&mut direct)
            .await
            .unwrap()
    }
}

pub fn options(address: SocketAddr, user: &str, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(address.port())
        .username(user)
        .password(PASSWORD)
        .database(database)
        .ssl_mode(PgSslMode::Disable)
        .disable_statement_logging()
}
