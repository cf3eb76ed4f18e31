//! A real database server for this test alone.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

use crate::needs::Need;

/// The superuser, who proves its password by SCRAM.
pub const USER: &str = "owner";
/// The password of every role that has one.
pub const PASSWORD: &str = "not-a-secret";

/// A running server; the last that holds it stops it.
pub struct Server {
    bin: PathBuf,
    root: TempDir,
    account: Option<(u32, u32)>,
    /// Where it listens.
    pub address: SocketAddr,
}

/// The server that this process's tests share while any of them runs. Nothing, and a line
/// that says so, where none is installed.
pub fn server() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let Some(bin) = find() else {
        Need::Postgres.is_missing("no server in PATH or /usr/lib/postgresql/*/bin");
        return None;
    };
    let server = Arc::new(Server::start(bin));
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// The directory of the server's programs.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        places.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    // What stands in PATH may be a link to one program of several.
    let real = places
        .iter()
        .filter_map(|place| place.join("initdb").canonicalize().ok());
    real.filter_map(|initdb| initdb.parent().map(Path::to_path_buf))
        .find(|place| {
            ["initdb", "pg_ctl", "postgres", "psql"]
                .iter()
                .all(|name| place.join(name).is_file())
        })
}

/// Who may run a server when the test runs as root, which may not.
fn account() -> Option<(u32, u32)> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let user = ["postgres", "nobody"]
        .iter()
        .find_map(|name| nix::unistd::User::from_name(name).ok().flatten())
        .expect("an account other than root");
    Some((user.uid.as_raw(), user.gid.as_raw()))
}

impl Server {
    fn start(bin: PathBuf) -> Self {
        let root = tempfile::Builder::new()
            .prefix("tap-postgres-")
            .tempdir()
            .unwrap();
        let account = account();
        if let Some((uid, gid)) = account {
            chown(root.path(), Some(uid), Some(gid)).unwrap();
        }
        let password = root.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        if let Some((uid, gid)) = account {
            chown(&password, Some(uid), Some(gid)).unwrap();
        }
        let mut server = Self {
            bin,
            root,
            account,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
        };
        let data = server.data();
        run(server
            .command("initdb")
            .args([
                "--no-sync",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
            ])
            .arg(format!("--username={USER}"))
            .arg(format!("--pwfile={}", password.display()))
            .arg("--pgdata")
            .arg(&data));
        let access = "local all all trust\n\
                      host all raw 127.0.0.1/32 trust\n\
                      host all clear 127.0.0.1/32 password\n\
                      host all md5 127.0.0.1/32 md5\n\
                      host all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(data.join("pg_hba.conf"), access).unwrap();
        // Another process may take the free port before the server does.
        for attempt in 0..5 {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            server.address = free.local_addr().unwrap();
            drop(free);
            let started = server.start_on(server.address.port());
            if started.status.success() {
                server.create_roles();
                return server;
            }
            assert!(attempt < 4, "{}", String::from_utf8_lossy(&started.stderr));
        }
        unreachable!()
    }

    fn start_on(&self, port: u16) -> Output {
        let options = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60 \
             -c client_connection_check_interval=100ms -c max_prepared_transactions=4",
            self.root.path().display()
        );
        self.command("pg_ctl")
            .args(["start", "--wait", "--silent", "--log"])
            .arg(self.root.path().join("log"))
            .arg("--pgdata")
            .arg(self.data())
            .args(["--options", &options])
            .output()
            .unwrap()
    }

    fn create_roles(&self) {
        let roles = format!(
            "CREATE ROLE raw LOGIN SUPERUSER; \
             CREATE ROLE clear LOGIN PASSWORD '{PASSWORD}'; \
             SET password_encryption = 'md5'; CREATE ROLE md5 LOGIN PASSWORD '{PASSWORD}'"
        );
        run(self
            .command("psql")
            .args([
                "--no-psqlrc",
                "--quiet",
                "--dbname=postgres",
                "--username",
                USER,
            ])
            .args(["--port", &self.address.port().to_string()])
            .arg("--host")
            .arg(self.root.path())
            .args(["--command", &roles]));
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.current_dir(Path::new("/"));
        if let Some((uid, gid)) = self.account {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self
            .command("pg_ctl")
            .args(["stop", "--silent", "--wait", "--mode=immediate", "--pgdata"])
            .arg(self.data())
            .output();
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
