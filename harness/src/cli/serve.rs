//! `rehearse serve`: an embedded dependency alone, for people and for conformance
//! tests with other SDKs.

use std::io::{self, Write as _};
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::serve_database::{self, ServeDatabase};
use super::serve_queue::{self, ServeQueue};
use super::{Application, Halt, Surroundings};
use crate::gherkin::Exit;

#[derive(Clone, Debug, Args)]
pub(super) struct ServeArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Serve SQS standard queues on 127.0.0.1
    Queue(ServeQueue),
    /// Serve a PostgreSQL database on 127.0.0.1
    Database(ServeDatabase),
}

pub(super) fn serve<A: Application>(
    application: &A,
    arguments: ServeArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Halt::broken(miette::miette!("cannot start threads: {error}")))?;
    let interrupt = surroundings.interrupt.clone();
    match arguments.what {
        What::Queue(arguments) => {
            let announce = |line: &str| surroundings.say(&format!("{line}\n"));
            let serving = serve_queue::run(arguments, announce, interrupt.raised());
            runtime
                .block_on(serving)
                .map_err(|error| Halt::broken(miette::miette!("{error}")))?;
        }
        What::Database(arguments) => {
            let (guard, search) = application
                .begin_serving()
                .map_err(|error| Halt::broken(miette::miette!("{error}")))?;
            let say = Arc::new(|line: &str| {
                // Whoever stopped reading has seen enough.
                let _ = writeln!(io::stdout(), "{line}");
            });
            let served = runtime.block_on(async {
                let registry = guard.registry().clone();
                let serving =
                    serve_database::run(arguments, search, &registry, say, interrupt.raised());
                let served = serving.await;
                guard.finish().await;
                served
            });
            served.map_err(|error| Halt::broken(miette::miette!("{error}")))?;
        }
    }
    Ok(Exit::Passed)
}
