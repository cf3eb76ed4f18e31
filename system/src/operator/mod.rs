//! What a person can look at and decide. Looking changes nothing; every decision is one
//! transaction, and is kept.

mod show;

use std::io::{self, Write};

use crate::config::{self, OperatorCommand, Resolution};
use crate::reconciler::{Reconciler, ReconcilerError};
use crate::store::operator::{Decided, Refusal};
use crate::store::{Store, StoreError};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperatorError {
    /// The database could not say.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The dead-letter queue could not be reconciled.
    #[error(transparent)]
    Reconciler(#[from] ReconcilerError),
    /// Standard output is gone.
    #[error("cannot write the answer")]
    Output(#[from] io::Error),
    /// The rules forbid it.
    #[error("`{subject}`: {}", advice(*.refusal))]
    Refused {
        /// The job or message.
        subject: String,
        /// Which rule.
        refusal: Refusal,
    },
}

/// Says what stands in the way, and what would remove it.
fn advice(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotInQuarantine => "nothing in quarantine has this id; see `operator list`",
        Refusal::Settled => "its record was settled already; see `operator show`",
        Refusal::NoCause => "a replay needs a recorded cause; use `operator cause` first",
        Refusal::NotResolved => {
            "its outcome is unknown; check the outside service, then `operator resolve` it"
        }
        Refusal::Done => "the outside service performed its write; nothing is left to replay",
        Refusal::NoJob => "the message names no job, so there is nothing to resolve or replay",
    }
}

/// Carries out one command.
pub(crate) async fn run(settings: config::Operator) -> Result<(), OperatorError> {
    let store = Store::connect(&settings.database, "operator", 2).await?;
    match settings.command {
        OperatorCommand::List { json } => list(&store, json).await,
        OperatorCommand::Show { subject, json } => show::show(&store, &subject, json).await,
        OperatorCommand::Cause { subject, cause } => {
            carried_out(&subject, store.record_cause(&subject, &cause).await?)
        }
        OperatorCommand::Resolve {
            subject,
            resolution,
            checked,
        } => {
            let decided = match resolution {
                Resolution::Done => store.resolve_done(&subject, &checked).await?,
                Resolution::NotDone => store.resolve_not_done(&subject, &checked).await?,
            };
            carried_out(&subject, decided)
        }
        OperatorCommand::Replay { subject } => carried_out(&subject, store.replay(&subject).await?),
        OperatorCommand::Reconcile { reconciler, json } => reconcile(store, reconciler, json).await,
        OperatorCommand::Status { json } => status(&store, json).await,
        OperatorCommand::Pause => Ok(store.pause_fleet().await?),
        OperatorCommand::Resume => Ok(store.resume_fleet().await?),
        OperatorCommand::Outbox {
            outbox: settings,
            json,
        } => outbox(&store, settings, json).await,
    }
}

fn carried_out(subject: &str, decided: Decided) -> Result<(), OperatorError> {
    decided.map_err(|refusal| OperatorError::Refused {
        subject: subject.to_owned(),
        refusal,
    })
}

async fn list(store: &Store, json: bool) -> Result<(), OperatorError> {
    let records = store.quarantined().await?;
    if json {
        return print_json(&records);
    }
    let mut out = io::stdout().lock();
    for record in &records {
        let subject = record
            .job_id
            .map_or_else(|| record.message_id.clone(), |job| job.to_string());
        let settled = match (&record.resolution, record.replayed_at) {
            (_, Some(_)) => "replayed",
            (Some(resolution), None) => resolution,
            (None, None) => "open",
        };
        writeln!(
            out,
            "{subject}  {:15}  {} failed  at {}  {settled}",
            record.label,
            record.counted,
            record.last_stage.as_deref().unwrap_or("-"),
        )?;
    }
    Ok(())
}

async fn reconcile(
    store: Store,
    settings: config::Reconciler,
    json: bool,
) -> Result<(), OperatorError> {
    let reconciler = Reconciler::open(store, settings).await?;
    let outcome = reconciler.once().await;
    reconciler.close().await?;
    let done = outcome?;
    if json {
        return print_json(&done);
    }
    writeln!(
        io::stdout(),
        "{} had ended before, {} failed, {} quarantined, {} can still be committed",
        done.ended,
        done.failed,
        done.quarantined,
        done.waiting
    )?;
    Ok(())
}

async fn status(store: &Store, json: bool) -> Result<(), OperatorError> {
    let fleet = store.fleet_status().await?;
    if json {
        return print_json(&fleet);
    }
    let mut out = io::stdout().lock();
    write!(out, "{}", fleet.mode)?;
    if let Some(reason) = &fleet.reason {
        write!(out, ": {reason}")?;
    }
    if let Some(left) = fleet.trial_left {
        write!(out, ", {left} messages of a trial left")?;
    }
    if let Some(since) = fleet.since {
        write!(out, ", since {since}")?;
    }
    writeln!(
        out,
        "\n{} workers, {} in hand, {} pending, {} in quarantine",
        fleet.workers, fleet.in_hand, fleet.pending, fleet.in_quarantine
    )?;
    Ok(())
}

async fn outbox(store: &Store, settings: config::Outbox, json: bool) -> Result<(), OperatorError> {
    let backlog = store.backlog(settings.outbox_lag).await?;
    if json {
        return print_json(&backlog);
    }
    let age = backlog.oldest_unsent_seconds.unwrap_or_default();
    writeln!(
        io::stdout(),
        "{} unsent, the oldest for {age:.1} s{}; {} unsendable",
        backlog.unsent,
        if backlog.lagging { ", too long" } else { "" },
        backlog.unsendable
    )?;
    Ok(())
}

fn print_json(value: &impl serde::Serialize) -> Result<(), OperatorError> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
