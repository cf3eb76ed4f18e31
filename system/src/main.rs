//! `document-service`: clients submit document references, workers extract the text.
//!
//! ```text
//! client ──► api ──► PostgreSQL ◄── publisher ──► SQS ──► worker ──► document store
//!                        ▲                                  │ └────► outside service
//!                        └──────────────────────────────────┘
//! ```
//!
//! One binary, one subcommand per role. Every durable effect of a role is one statement
//! or one transaction in `store`, so that the places at which a crash matters can be
//! read there.

#[macro_use]
mod defects;

mod api;
mod checkpoint;
mod config;
mod documents;
mod duration;
mod extract;
mod message;
mod operator;
mod outside;
mod probe;
mod publisher;
mod quarantine;
mod queue;
mod reconciler;
mod session;
mod shutdown;
mod store;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Extracts text from documents, once per job, whatever crashes.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Takes submissions and answers for the state of jobs.
    Api(config::Api),
    /// Sends what the outbox holds to the queue.
    Publisher(config::Publisher),
    /// Receives messages and does the work.
    Worker(Box<config::Worker>),
    /// Tells what the dead-letter queue holds apart, and settles it.
    Reconciler(config::ReconcilerRole),
    /// What a person can look at and decide.
    Operator(config::Operator),
    /// Brings the database's schema up to date.
    Migrate(config::Database),
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("LOG")
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,html5ever=error")),
        )
        .init();
    defects::announce();
    let outcome = match Arguments::parse().role {
        Role::Api(settings) => api::run(settings).await.map_err(text),
        Role::Publisher(settings) => publisher::run(settings).await.map_err(text),
        Role::Worker(settings) => worker::run(*settings).await.map_err(text),
        Role::Reconciler(settings) => reconciler::run(settings).await.map_err(text),
        Role::Operator(settings) => return operator(settings).await,
        Role::Migrate(settings) => migrate(&settings).await.map_err(text),
    };
    let code = match outcome {
        Ok(()) => 0,
        Err(problem) => {
            tracing::error!("{problem}");
            1
        }
    };
    // A parser that never returns has a thread of its own, which must not keep a process
    // alive that has nothing left to do.
    std::process::exit(code)
}

/// A command for people: what stands in the way is said in one plain line.
async fn operator(settings: config::Operator) -> ExitCode {
    use std::io::Write;

    match operator::run(settings).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {}", text(error));
            ExitCode::FAILURE
        }
    }
}

async fn migrate(settings: &config::Database) -> Result<(), store::StoreError> {
    store::Store::connect(settings, "migrate", 1)
        .await?
        .migrate()
        .await
}

/// An error with all its causes on one line.
fn text(error: impl std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line.push_str(": ");
        line.push_str(&inner.to_string());
        cause = inner.source();
    }
    line
}
