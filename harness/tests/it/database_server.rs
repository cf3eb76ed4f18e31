//! The embedded database keeps its promises: to scenarios that need a fresh one in
//! milliseconds, and to those that kill it.

#![allow(clippy::print_stderr, reason = "a person may watch the download")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::driver_support::{LIMIT, ambient, begin, gone, within};
use rehearsal::deployment::{ExitOutcome, RunGuard, Signal, procfs};
use rehearsal::embedded::database::{
    DatabaseError, Search, Server, ServerOptions, remove_templates,
};
use sqlx::{Connection, Executor, PgConnection, Row};

struct Fixture {
    run: RunGuard,
    directory: tempfile::TempDir,
}

fn fixture(label: &str) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    // Under root another account must pass through.
    std::process::Command::new("chmod")
        .arg("755")
        .arg(directory.path())
        .status()
        .unwrap();
    Fixture {
        run: begin(&directory.path().join("state"), label),
        directory,
    }
}

impl Fixture {
    fn options(&self) -> ServerOptions {
        let search = Search::from_variables(&ambient());
        ServerOptions::new(search, self.directory.path().join("postgres.log"))
    }

    async fn start(&self) -> Server {
        self.try_start(self.options()).await.unwrap()
    }

    async fn try_start(&self, options: ServerOptions) -> Result<Server, DatabaseError> {
        within(Server::start(
            options,
            self.run.registry(),
            Arc::new(|line| eprintln!("{line}")),
        ))
        .await
    }
}

async fn connect(server: &Server, database: &str) -> PgConnection {
    within(PgConnection::connect(&server.url_for(database)))
        .await
        .unwrap()
}

async fn number(connection: &mut PgConnection, query: &'static str) -> i64 {
    within(sqlx::query(query).fetch_one(connection))
        .await
        .unwrap()
        .get(0)
}

#[tokio::test]
async fn a_cached_data_directory_is_removed_unless_somebody_copies_it_and_made_again() {
    let fixture = fixture("cache");
    let base = fixture.directory.path().to_owned();
    assert_eq!(remove_templates(&base).unwrap(), Vec::<PathBuf>::new());
    let start = async || {
        let options = ServerOptions {
            base: base.clone(),
            ..fixture.options()
        };
        let server = fixture.try_start(options).await.unwrap();
        server.stop().await.unwrap();
    };
    start().await;
    let mut cache = base.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let cache = cache
        .find(|path| path.to_string_lossy().contains("rehearse-templates-"))
        .unwrap();
    let inside = || cache.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let lock = inside().find(|path| path.extension().is_some()).unwrap();
    std::fs::write(lock.with_extension("log"), "of a maker that was killed").unwrap();

    let copying = std::fs::File::open(&lock).unwrap();
    copying.lock_shared().unwrap();
    assert_eq!(remove_templates(&base).unwrap().len(), 0);
    assert_eq!(inside().count(), 3);
    drop(copying);

    let mut removed = remove_templates(&base).unwrap();
    removed.sort();
    assert_eq!(
        removed,
        [lock.with_extension(""), lock.with_extension("log")]
    );
    assert!(!cache.exists());
    start().await;
    assert!(lock.with_extension("").is_dir());
}

#[tokio::test]
async fn a_database_is_a_copy_of_its_template() {
    let fixture = fixture("copy");
    let server = fixture.start().await;
    server.create_database("prepared", None).await.unwrap();
    let mut prepared = connect(&server, "prepared").await;
    prepared
        .execute("create table jobs (id int); insert into jobs values (1), (2)")
        .await
        .unwrap();
    prepared.close().await.unwrap();
    server
        .create_database("scenario-1", Some("prepared"))
        .await
        .unwrap();
    let mut one = connect(&server, "scenario-1").await;
    assert_eq!(number(&mut one, "select count(*) from jobs").await, 2);
    // With a session in it.
    server.drop_database("scenario-1").await.unwrap();
    server.drop_database("scenario-1").await.unwrap();
    assert!(
        PgConnection::connect(&server.url_for("scenario-1"))
            .await
            .is_err()
    );
    let refused = server
        .create_database("Robert'); --", None)
        .await
        .unwrap_err();
    assert!(matches!(refused, DatabaseError::Name { .. }));
    assert!(server.version().major >= 15);
    server.stop().await.unwrap();
    let swept = within(fixture.run.finish()).await;
    assert_eq!(
        (
            swept.killed.len(),
            swept.removed.len(),
            swept.problems.len()
        ),
        (0, 0, 0),
        "{swept:?}"
    );
}

#[tokio::test]
async fn a_wrong_password_is_refused() {
    let fixture = fixture("password");
    let server = fixture.start().await;
    let wrong = server
        .url_for("postgres")
        .replace(server.password(), "guess");
    let error = within(PgConnection::connect(&wrong)).await.unwrap_err();
    assert!(
        error.to_string().contains("password authentication failed"),
        "{error}"
    );
    assert!(!format!("{server:?}").contains(server.password()));
    server.stop().await.unwrap();
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn acknowledged_commits_survive_a_kill_and_the_restart_works_at_once() {
    let fixture = fixture("kill");
    let server = fixture.start().await;
    let mut connection = connect(&server, "postgres").await;
    connection
        .execute("create table kept (n int)")
        .await
        .unwrap();
    for round in 1..=3 {
        let writer = tokio::spawn(async move {
            let mut acknowledged = 0;
            while connection
                .execute("insert into kept values (1)")
                .await
                .is_ok()
            {
                acknowledged += 1;
            }
            acknowledged
        });
        // Killed in the middle of writing, with open sessions.
        let mut witness = connect(&server, "postgres").await;
        while number(&mut witness, "select count(*) from kept").await < round * 50 {}
        let before = number(&mut witness, "select count(*) from kept").await;
        let sessions = server.processes();
        assert!(server.kill().await.is_signal(Signal::SIGKILL));
        assert!(
            sessions
                .iter()
                .all(|pid| procfs::stat(*pid).is_none_or(|stat| stat.is_dead()))
        );
        let acknowledged: i64 = within(writer).await.unwrap();
        within(server.restart()).await.unwrap();
        connection = connect(&server, "postgres").await;
        let kept = number(&mut connection, "select count(*) from kept").await;
        assert!(
            kept >= before && kept >= acknowledged,
            "{kept} kept, {before} seen, {acknowledged} acknowledged"
        );
    }
    // The kept connection of the launcher died with the server.
    server.create_database("later", None).await.unwrap();
    server.stop().await.unwrap();
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn the_lock_of_a_killed_client_is_free_once_the_server_closed_its_end() {
    let fixture = fixture("lock");
    let server = fixture.start().await;
    let mut probe = connect(&server, "postgres").await;
    for _ in 0..20 {
        let relay = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = server.address();
        let relay_address = relay.local_addr().unwrap();
        let url = server
            .url_for("postgres")
            .replace(&address.to_string(), &relay_address.to_string());
        let relaying = tokio::spawn(async move {
            let (mut client, _) = relay.accept().await.unwrap();
            let mut upstream = tokio::net::TcpStream::connect(address).await.unwrap();
            let (mut from_client, mut to_client) = client.split();
            let (mut from_server, mut to_server) = upstream.split();
            tokio::select! {
                _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
            }
            // The client is gone: close towards the server and await its own end.
            tokio::io::AsyncWriteExt::shutdown(&mut to_server)
                .await
                .unwrap();
            let _ = tokio::io::copy(&mut from_server, &mut tokio::io::sink()).await;
        });
        let mut client = PgConnection::connect(&url).await.unwrap();
        client.execute("select pg_advisory_lock(42)").await.unwrap();
        // Dropped without a goodbye, as a killed process would.
        drop(client);
        within(relaying).await.unwrap();
        let free: bool = sqlx::query("select pg_try_advisory_lock(42)")
            .fetch_one(&mut probe)
            .await
            .unwrap()
            .get(0);
        assert!(free);
        probe
            .execute("select pg_advisory_unlock(42)")
            .await
            .unwrap();
    }
    server.stop().await.unwrap();
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_waiting_statement_of_a_client_that_left_has_no_effect() {
    let fixture = fixture("waiting");
    let server = fixture.start().await;
    let mut owner = connect(&server, "postgres").await;
    owner
        .execute("create table counter (n int); insert into counter values (0)")
        .await
        .unwrap();
    owner.execute("begin").await.unwrap();
    owner.execute("update counter set n = n + 1").await.unwrap();
    let mut leaving = connect(&server, "postgres").await;
    let waiting =
        tokio::spawn(async move { leaving.execute("update counter set n = n + 100").await });
    let mut watching = connect(&server, "postgres").await;
    let blocked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
    while number(&mut watching, blocked).await == 0 {}
    waiting.abort();
    let _ = waiting.await;
    let begun = Instant::now();
    while number(&mut watching, blocked).await > 0 {
        assert!(begun.elapsed() < LIMIT, "its session still waits");
    }
    owner.execute("commit").await.unwrap();
    assert_eq!(
        number(&mut watching, "select n::bigint from counter").await,
        1
    );
    server.stop().await.unwrap();
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_stopped_server_can_be_killed_and_stopped_for_good() {
    let fixture = fixture("frozen");
    let server = fixture.start().await;
    let child = server.child();
    child.signal(Signal::SIGSTOP).unwrap();
    assert!(within(child.stopped()).await);
    let outcome = within(server.stop()).await.unwrap();
    assert!(outcome.is_signal(Signal::SIGKILL));
    gone(server.pid()).await;
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let fixture = fixture("port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = fixture
        .try_start(ServerOptions {
            port: Some(port),
            ..fixture.options()
        })
        .await
        .unwrap_err();
    let expected = format!(
        "the database cannot listen on 127.0.0.1:{port}: the port is in use; use port 0 to take a free one"
    );
    assert_eq!(error.to_string(), expected);
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn kept_data_is_there_at_the_next_start_and_has_one_server_at_most() {
    let fixture = fixture("kept");
    let data = fixture.directory.path().join("data");
    let options = || ServerOptions {
        data: Some(data.clone()),
        ..fixture.options()
    };
    let server = fixture.try_start(options()).await.unwrap();
    connect(&server, "postgres")
        .await
        .execute("create table kept (n int)")
        .await
        .unwrap();
    let second = fixture.try_start(options()).await.unwrap_err();
    assert!(
        second.to_string().ends_with("another server runs on it"),
        "{second}"
    );
    assert_eq!(server.stop().await.unwrap(), ExitOutcome::Code(0));
    drop(server);
    let server = fixture.try_start(options()).await.unwrap();
    let mut connection = connect(&server, "postgres").await;
    assert_eq!(
        number(&mut connection, "select count(*) from kept").await,
        0
    );
    drop(connection);
    server.stop().await.unwrap();
    within(fixture.run.finish()).await;
    assert!(data.join("PG_VERSION").exists());
}

#[tokio::test]
async fn a_directory_with_other_things_is_not_taken() {
    let fixture = fixture("other");
    let data = fixture.directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("thesis"), "").unwrap();
    let error = fixture
        .try_start(ServerOptions {
            data: Some(data.clone()),
            ..fixture.options()
        })
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("it holds other things; name an empty or a new directory"),
        "{error}"
    );
    assert!(data.join("thesis").exists());
    within(fixture.run.finish()).await;
}

/// A harness in mid-run with a database and a session in it.
#[tokio::test]
#[ignore = "the part of a harness; other tests execute it"]
async fn role_harness() {
    let Some(root) = std::env::var_os("FAKE_HARNESS_ROOT") else {
        return;
    };
    let root = Path::new(&root);
    let run = begin(&root.join("state"), "fakedb");
    let search = Search::from_variables(&ambient());
    let options = ServerOptions::new(search, root.join("postgres.log"));
    let server = Server::start(options, run.registry(), Arc::new(|_| ()))
        .await
        .unwrap();
    let _session = connect(&server, "postgres").await;
    let pids: Vec<String> = server.processes().iter().map(ToString::to_string).collect();
    println!("\nin mid-run {} {}", run.id(), pids.join(" "));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_harness_leaves_no_server_and_no_data() {
    use std::io::{BufRead, BufReader};
    let root = tempfile::tempdir().unwrap();
    std::process::Command::new("chmod")
        .arg("755")
        .arg(root.path())
        .status()
        .unwrap();
    let mut harness = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "database_server::role_harness",
            "--ignored",
            "--nocapture",
        ])
        .env("FAKE_HARNESS_ROOT", root.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(harness.stdout.take().unwrap()).lines();
    let running = lines
        .find_map(|line| line.unwrap().strip_prefix("in mid-run ").map(str::to_owned))
        .unwrap();
    let (run, pids) = running.split_once(' ').unwrap();
    harness.kill().unwrap();
    harness.wait().unwrap();
    for pid in pids.split(' ') {
        gone(rehearsal::deployment::Pid::from_raw(pid.parse().unwrap())).await;
    }
    let begun = Instant::now();
    let data = ServerOptions::new(Search::from_variables(&ambient()), "").base;
    let left = || {
        let entries = std::fs::read_dir(&data)
            .unwrap()
            .chain(std::fs::read_dir(root.path().join("state")).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(run)).collect::<Vec<_>>()
    };
    while !left().is_empty() {
        assert!(begun.elapsed() < LIMIT, "left behind: {:?}", left());
        tokio::task::yield_now().await;
    }
}
