//! `rehearse serve database`: the embedded database alone, for people and for other
//! test suites.

use std::path::PathBuf;

use rehearsal::deployment::Registry;
use rehearsal::embedded::database::{DatabaseError, Search, Server, ServerOptions, Tell};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Starts a Postgres server on 127.0.0.1 and stops it at Ctrl-C.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeDatabase {
    /// Where it listens; 0 takes a free port.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// A directory that keeps the data; made if it does not exist. Without it the data
    /// goes with the server.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Serves until a signal asks to end, or the server dies. `say` gets the lines for the
/// terminal; one of them holds the URL to connect with.
pub(crate) async fn run(
    arguments: ServeDatabase,
    search: Search,
    registry: &Registry,
    say: Tell,
) -> Result<(), DatabaseError> {
    // From here on, so that a Ctrl-C during the start ends in order, too.
    let mut requests = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ]
    .map(|kind| signal(kind).ok());
    let options = ServerOptions {
        port: (arguments.port != 0).then_some(arguments.port),
        data: arguments.data,
        ..ServerOptions::new(search, registry.directory().join("postgres.log"))
    };
    let server = tokio::select! {
        server = Server::start(options, registry, say.clone()) => server?,
        () = any(&mut requests) => return Ok(()),
    };
    say(&format!(
        "Postgres {} listens on {}; Ctrl-C stops it\n{}",
        server.version(),
        server.address(),
        server.url_for("postgres")
    ));
    let child = server.child();
    tokio::select! {
        outcome = child.exited() => {
            return Err(DatabaseError::Died { outcome, output: child.logs().last_lines(10) });
        }
        () = any(&mut requests) => {}
    }
    server.stop().await.map(drop)
}

/// Resolves at the first of these signals.
async fn any(requests: &mut [Option<Signal>]) {
    let received = requests
        .iter_mut()
        .flatten()
        .map(|request| Box::pin(request.recv()));
    futures::future::select_all(received).await;
}
