//! What is wrong with a container engine is told once, in words, with exit 3 and what to
//! do instead. A small fake of an engine answers where the real thing cannot be had.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use tempfile::TempDir;

const INSTEAD: &str = "--driver processes";

/// What an engine answers to a method and a path.
type Answer = dyn Fn(&str, &str) -> (u16, String) + Send + Sync;

/// A system that does nothing, a feature, and a place for an engine's socket.
struct Desk {
    root: TempDir,
}

impl Desk {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge");
        fs::copy(fixtures.join("idle.yaml"), root.path().join("idle.yaml")).unwrap();
        fs::copy(fixtures.join("plain.txt"), root.path().join("plain.txt")).unwrap();
        let feature = "Feature: F\n  Scenario: S\n    Given the messages M1 to M2\n    When all messages are submitted\n";
        fs::write(root.path().join("a.feature"), feature).unwrap();
        Self { root }
    }

    /// Puts text in the place of other text of the manifest.
    fn change(&self, from: &str, to: &str) {
        let path = self.root.path().join("idle.yaml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn socket(&self) -> PathBuf {
        self.root.path().join("engine.sock")
    }

    /// An engine that answers this, until the desk goes.
    fn engine(&self, answer: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let answer: Arc<Answer> = Arc::new(answer);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(connection, &*answer));
            }
        });
    }

    fn run(&self, host: &str) -> Command {
        self.run_program(Path::new(env!("CARGO_BIN_EXE_rehearse")), host)
    }

    fn run_program(&self, program: &Path, host: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(["--manifest", "idle.yaml", "--driver", "containers"])
            .arg("a.feature")
            .current_dir(self.root.path())
            .env("TMPDIR", self.root.path())
            .env("DOCKER_HOST", host);
        command
    }

    /// Runs with an engine at the desk's socket; gives what was said.
    fn refused(&self) -> String {
        let host = format!("unix://{}", self.socket().display());
        broken(&self.run(&host).output().unwrap())
    }
}

/// One request after the other, on one connection.
fn serve(connection: UnixStream, answer: &Answer) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut connection = connection;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let (status, body) = answer(method, path);
        let length = body.len();
        let reply = format!(
            "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        if connection.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// A run that ended with exit 3: its one error, without where it was wrapped.
fn broken(output: &Output) -> String {
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said.split_whitespace()
        .filter(|word| !matches!(*word, "│" | "×" | "help:"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// It says this, and what to do instead, once.
fn says(said: &str, parts: &[&str]) {
    for part in parts.iter().chain(&[INSTEAD]) {
        assert_eq!(said.matches(part).count(), 1, "`{part}` in: {said}");
    }
}

fn version(api: &str) -> (u16, String) {
    let answer =
        format!(r#"{{"Version": "20.10", "ApiVersion": "{api}", "MinAPIVersion": "1.12"}}"#);
    (200, answer)
}

fn message(status: u16, text: &str) -> (u16, String) {
    (status, format!(r#"{{"message": "{text}"}}"#))
}

#[test]
fn no_engine_at_all() {
    let desk = Desk::new();
    says(
        &desk.refused(),
        &[
            "no container engine answers",
            "no such socket",
            "start Docker",
        ],
    );
    drop(UnixListener::bind(desk.socket()).unwrap());
    says(
        &desk.refused(),
        &["no container engine answers", "refused", "start Docker"],
    );
}

/// Nobody but root may use a socket without permissions, so root becomes somebody else.
#[test]
fn an_engine_that_one_may_not_use() {
    const NOBODY: u32 = 65534;
    let desk = Desk::new();
    desk.engine(|_, _| version("1.41"));
    fs::set_permissions(desk.socket(), fs::Permissions::from_mode(0o0)).unwrap();
    let host = format!("unix://{}", desk.socket().display());
    let mut command = desk.run(&host);
    if nix::unistd::geteuid().is_root() {
        let program = desk.root.path().join("rehearse");
        fs::copy(env!("CARGO_BIN_EXE_rehearse"), &program).unwrap();
        chown(desk.root.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        command = desk.run_program(&program, &host);
        command.uid(NOBODY).gid(NOBODY);
    }
    says(
        &broken(&command.output().unwrap()),
        &["may not use", "group `docker`"],
    );
}

#[test]
fn something_else_answers() {
    let desk = Desk::new();
    desk.engine(|_, _| (200, "<html></html>".to_owned()));
    says(&desk.refused(), &["what answers is no container engine"]);
}

#[test]
fn an_engine_that_is_silent() {
    let desk = Desk::new();
    desk.engine(|_, _| {
        loop {
            thread::park();
        }
    });
    says(&desk.refused(), &["it was silent for 10s"]);
}

#[test]
fn an_engine_that_is_too_old() {
    let desk = Desk::new();
    desk.engine(|_, _| version("1.40"));
    says(
        &desk.refused(),
        &["speaks API 1.40", "1.41 is needed (Docker 20.10)"],
    );
}

#[test]
fn an_engine_elsewhere() {
    let desk = Desk::new();
    for host in ["tcp://10.0.0.1:2375", "ssh://somebody@example.com"] {
        let said = broken(&desk.run(host).output().unwrap());
        says(&said, &[host, "on another machine", "unset DOCKER_HOST"]);
    }
}

#[test]
fn an_image_that_is_missing_and_cannot_be_built() {
    let desk = Desk::new();
    desk.engine(|_, path| {
        if path.contains("/images/") {
            message(404, "No such image")
        } else {
            version("1.41")
        }
    });
    let host = format!("unix://{}", desk.socket().display());
    let no_docker = desk.root.path().join("bin");
    fs::create_dir(&no_docker).unwrap();
    std::os::unix::fs::symlink("/bin/sh", no_docker.join("sh")).unwrap();
    let done = desk.run(&host).env("PATH", &no_docker).output().unwrap();
    says(
        &broken(&done),
        &[
            "cannot build the image `rehearsal/process:1`",
            "there is no docker command on the PATH",
        ],
    );
}

#[test]
fn an_image_with_a_name_that_is_none() {
    let desk = Desk::new();
    desk.change(
        "listens: true",
        "listens: true\n    container: { image: \"No Such/Image\" }",
    );
    desk.engine(|method, path| {
        if !path.contains("/images/") {
            version("1.41")
        } else if path.contains("rehearsal/process") {
            (200, "{}".to_owned())
        } else if method == "GET" {
            message(404, "No such image")
        } else {
            message(400, "invalid reference format")
        }
    });
    says(
        &desk.refused(),
        &[
            "there is no image `No Such/Image`",
            "invalid reference format",
        ],
    );
}

#[test]
fn no_space_is_left() {
    let desk = Desk::new();
    desk.engine(|_, path| {
        if path.contains("/images/") {
            (200, "{}".to_owned())
        } else if path.contains("/networks/create") {
            message(500, "mkdir /var/lib/docker: no space left on device")
        } else {
            version("1.41")
        }
    });
    says(&desk.refused(), &["the container engine has no space left"]);
}
