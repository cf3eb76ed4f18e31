//! One rehearsal of an exploration: the messages are submitted, a fault strikes or none
//! does, and what is durable at the end is read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::fault::{Fault, Times};
use crate::ids::{MessageName, RoleName};
use crate::judge::Judgement;
use crate::rehearsal::{
    Blame, Durable, Passed, Plan, Rehearsal, RehearsalError, Site, Submission, Title, Unrest, Venue,
};

/// How often a client that was not told its job tries again.
const TRIES: u32 = 20;
/// How long it waits before.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// What a rehearsal is to do.
pub(crate) struct Order {
    pub(crate) title: Title,
    pub(crate) messages: Vec<MessageName>,
    pub(crate) faults: Vec<Fault>,
    /// How much later the ids of databases begin.
    pub(crate) offset: i64,
    pub(crate) directory: PathBuf,
    /// How many instances of processes run, where it is not as the manifest says.
    pub(crate) instances: Vec<(RoleName, u32)>,
    /// Whether its calls are kept as they pass.
    pub(crate) recorded: bool,
    /// When who deleted a message and only receives is at rest; none: after the usual time.
    pub(crate) rest: Option<Duration>,
}

/// What a rehearsal came to.
pub(crate) struct Trial {
    pub(crate) judgement: Judgement,
    pub(crate) durable: Durable,
    /// Every call.
    pub(crate) survey: Vec<Site>,
    /// The last end of each message that has one.
    pub(crate) ends: BTreeMap<MessageName, String>,
    /// Why it did not come to rest.
    pub(crate) unrest: Option<Restless>,
    pub(crate) history: PathBuf,
    /// Whether there was a fault at all.
    pub(crate) struck: bool,
    /// Whether a fault strikes every time.
    pub(crate) for_ever: bool,
    /// Whether a fault that need not come to it was never met.
    pub(crate) unreached: bool,
    /// Its calls as they passed, if they were asked for, and all ids that are known.
    pub(crate) recording: (Vec<Passed>, BTreeMap<String, MessageName>),
}

/// Why a rehearsal did not come to rest.
pub(crate) struct Restless {
    pub(crate) text: String,
    /// Whether nothing but the harness's own fault kept it from that.
    pub(crate) own_doing: bool,
}

/// Runs one rehearsal from its fresh deployment to its end, on a thread and a runtime of its
/// own: what it began and nobody waits for ends with them, and so do its files and sockets.
pub(crate) async fn rehearse(venue: &Arc<Venue>, order: Order) -> Result<Trial, RehearsalError> {
    let venue = Arc::clone(venue);
    let (to, from) = oneshot::channel();
    let (wanted, unwanted) = oneshot::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RehearsalError::Thread)?;
    let thread = thread::Builder::new()
        .name("rehearsal".to_owned())
        .spawn(move || {
            let done = runtime.block_on(async {
                tokio::select! {
                    done = rehearse_here(&venue, order) => Some(done),
                    // Only a drop comes this way.
                    _ = unwanted => None,
                }
            });
            runtime.shutdown_background();
            if let Some(done) = done {
                let _ = to.send(done);
            }
        })
        .map_err(RehearsalError::Thread)?;
    let running = Running(Some((wanted, thread)));
    let done = from.await;
    running.ended();
    done.expect("it tells how it ended, or panics")
}

/// The thread of a rehearsal: gone when this is.
struct Running(Option<(oneshot::Sender<()>, thread::JoinHandle<()>)>);

impl Running {
    fn ended(mut self) {
        if let Some((_wanted, thread)) = self.0.take()
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((wanted, thread)) = self.0.take() {
            drop(wanted);
            let _ = thread.join();
        }
    }
}

async fn rehearse_here(venue: &Arc<Venue>, order: Order) -> Result<Trial, RehearsalError> {
    let mut plan = Plan::default();
    let kinds = &venue.manifest().messages.kinds;
    let kind = kinds.keys().next().map_or("plain", String::as_str);
    for message in &order.messages {
        plan.declare(message, kind);
    }
    plan.survey(order.offset);
    for (role, instances) in order.instances {
        plan.run(role, instances);
    }
    let for_ever = order.faults.iter().any(|fault| fault.times == Times::Every);
    let struck = !order.faults.is_empty();
    if let Some(rest) = order.rest {
        plan.rest_after(rest);
    }
    if order.recorded {
        plan.record();
    }
    for fault in order.faults {
        plan.arm(fault)
            .expect("exploring strikes messages that it declared");
    }
    let directory = order.directory;
    let mut rehearsal = Rehearsal::start(venue, &plan, &order.title, directory).await?;
    let done = drive(&mut rehearsal, &order.messages).await;
    let concluded = match &done {
        Ok((_, None)) => ("passed", Vec::new()),
        Ok((_, Some(restless))) => ("failed", vec![restless.text.clone()]),
        Err(error) => ("error", vec![error.to_string()]),
    };
    rehearsal.conclude(concluded.0.to_owned(), concluded.1);
    let survey = rehearsal.survey();
    rehearsal.end().await;
    let recording = rehearsal.recording();
    let (durable, unrest) = done?;
    let ends = rehearsal.ledger(|ledger| {
        let accounts = ledger.accounts.iter();
        let last = accounts.filter_map(|(message, account)| {
            let (_, end) = account.ends.last()?;
            Some((message.clone(), end.clone()))
        });
        last.collect()
    });
    Ok(Trial {
        judgement: rehearsal.judgement(),
        durable,
        survey,
        ends,
        unrest,
        history: rehearsal.history().path().to_owned(),
        recording,
        struck,
        for_ever,
        unreached: rehearsal.lacks_what_may_be(),
    })
}

async fn drive(
    rehearsal: &mut Rehearsal,
    messages: &[MessageName],
) -> Result<(Durable, Option<Restless>), RehearsalError> {
    let limit = rehearsal.manifest().limits.scenario;
    let driven = tokio::time::timeout(limit, settle(rehearsal, messages)).await;
    let unrest = match driven {
        Ok(unrest) => unrest?,
        Err(_) => Some(Restless {
            text: format!("it took longer than {limit:?} (`limits.scenario`)"),
            own_doing: false,
        }),
    };
    Ok((rehearsal.durable().await?, unrest))
}

/// Submits all messages and waits until everything is quiet.
async fn settle(
    rehearsal: &mut Rehearsal,
    messages: &[MessageName],
) -> Result<Option<Restless>, RehearsalError> {
    for message in messages {
        let mut refusal = None;
        for _ in 0..TRIES {
            match rehearsal.submit(message).await? {
                Submission::Accepted { .. } => {
                    refusal = None;
                    break;
                }
                Submission::Refused { reason, .. } => {
                    refusal = Some(reason);
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
            }
        }
        if let Some(reason) = refusal {
            return Ok(Some(Restless {
                text: format!("the client of {message} was never told its job: {reason}"),
                own_doing: false,
            }));
        }
    }
    let quiet = rehearsal.snapshot().await?;
    Ok(quiet.err().map(|unrest| Restless {
        own_doing: matches!(&unrest, Unrest::NotQuiet(not_quiet) if not_quiet.blame() != Blame::System),
        text: unrest.to_string(),
    }))
}
