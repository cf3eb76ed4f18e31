//! `rehearse serve queue`: the embedded queue alone, as a process of its own.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::embedded::queue::{QueueError, QueueOptions, QueueServer};
use clap::Args;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Serve SQS queues on 127.0.0.1, for development and rehearsals.
#[derive(Clone, Debug, Args)]
pub struct ServeQueue {
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 9324)]
    pub port: u16,
    /// Listen on all addresses: for a container that nobody reaches but the harness.
    #[arg(long)]
    pub in_container: bool,
    /// Keep acknowledged calls in a journal in this directory, across a kill of the server.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The account in queue URLs and ARNs, twelve digits.
    #[arg(long, default_value = "000000000000")]
    pub account: String,
    /// The region in ARNs.
    #[arg(long, default_value = "us-east-1")]
    pub region: String,
    /// Let an old receipt handle delete a message that was delivered again since.
    #[arg(long)]
    pub stale_handle_deletes: bool,
    /// Allow a queue's name again within 60 seconds of its deletion.
    #[arg(long)]
    pub recreate_at_once: bool,
    /// How many entries the delivery log keeps.
    #[arg(long, default_value_t = 10_000, value_name = "ENTRIES")]
    pub log_bound: usize,
}

/// Serves until `stopped` is ready. `announce` gets one line with the endpoint
/// once the server answers.
///
/// # Errors
/// The server cannot start.
pub async fn run(
    args: ServeQueue,
    announce: impl FnOnce(&str),
    stopped: impl Future<Output = ()>,
) -> Result<(), QueueError> {
    raise_file_limit();
    let address = if args.in_container {
        Ipv4Addr::UNSPECIFIED
    } else {
        Ipv4Addr::LOCALHOST
    };
    let server = QueueServer::start(QueueOptions {
        listen: SocketAddr::from((address, args.port)),
        in_container: args.in_container,
        data: args.data,
        account: args.account,
        region: args.region,
        stale_handle_deletes: args.stale_handle_deletes,
        recreate_at_once: args.recreate_at_once,
        log_bound: args.log_bound,
        ..QueueOptions::default()
    })
    .await?;
    announce(&format!("queue server ready: {}", server.endpoint()));
    stopped.await;
    server.stop().await;
    Ok(())
}

/// Lets this process have as many open files as it may: every long poll needs two, and
/// where none is left nobody is answered any more. Where that is refused it has what it had.
fn raise_file_limit() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
