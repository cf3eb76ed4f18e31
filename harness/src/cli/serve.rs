//! `rehearse serve`: an embedded dependency alone, for people and for conformance
//! tests with other SDKs.

use clap::{Args, Subcommand};

use super::serve_queue::{self, ServeQueue};
use super::{Halt, Surroundings};
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
}

pub(super) fn serve(
    arguments: ServeArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Halt::broken(miette::miette!("cannot start threads: {error}")))?;
    let interrupt = surroundings.interrupt.clone();
    runtime.block_on(async {
        match arguments.what {
            What::Queue(arguments) => {
                let announce = |line: &str| surroundings.say(&format!("{line}\n"));
                serve_queue::run(arguments, announce, interrupt.raised())
                    .await
                    .map_err(|error| Halt::broken(miette::miette!("{error}")))
            }
        }
    })?;
    Ok(Exit::Passed)
}
