//! `rehearse serve database`: the embedded database alone, for people and for other
//! test suites.

use std::future::Future;
use std::path::PathBuf;

use crate::deployment::Registry;
use crate::embedded::database::{DatabaseError, Search, Server, ServerOptions, Tell};

/// Starts a Postgres server on 127.0.0.1 and stops it at Ctrl-C.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ServeDatabase {
    /// Where it listens; 0 takes a free port.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) port: u16,
    /// A directory that keeps the data; made if it does not exist. Without it the data
    /// goes with the server.
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

/// Serves until `stopped` is ready, or the server dies. `say` gets the lines for the
/// terminal; one of them holds the URL to connect with.
pub(super) async fn run(
    arguments: ServeDatabase,
    search: Search,
    registry: &Registry,
    say: Tell,
    stopped: impl Future<Output = ()>,
) -> Result<(), DatabaseError> {
    let options = ServerOptions {
        port: (arguments.port != 0).then_some(arguments.port),
        data: arguments.data,
        ..ServerOptions::new(search, registry.directory().join("postgres.log"))
    };
    tokio::pin!(stopped);
    let server = tokio::select! {
        server = Server::start(options, registry, say.clone()) => server?,
        () = &mut stopped => return Ok(()),
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
        () = &mut stopped => {}
    }
    server.stop().await.map(drop)
}
