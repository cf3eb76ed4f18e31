//! Every setting of every role: an environment variable with a documented default.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::duration;

/// The database that all roles share.
#[derive(Args, Clone)]
pub(crate) struct Database {
    /// `PostgreSQL` connection URL.
    #[arg(
        id = "database_url",
        long = "database-url",
        env = "DATABASE_URL",
        hide_env_values = true
    )]
    pub(crate) url: String,
    /// How long one statement, or the wait for a connection, may take.
    #[arg(id = "database_timeout", long = "database-timeout", env = "DATABASE_TIMEOUT", default_value = "5s", value_parser = duration::parse)]
    pub(crate) timeout: Duration,
    /// The longest wait between two tries while the database is ill.
    #[arg(id = "database_retry", long = "database-retry", env = "DATABASE_RETRY", default_value = "1s", value_parser = duration::parse)]
    pub(crate) retry: Duration,
    /// How long a connection may rest and be taken on trust; one that rested longer is
    /// tested first.
    #[arg(id = "database_trust", long = "database-trust", env = "DATABASE_TRUST", default_value = "1s", value_parser = duration::parse)]
    pub(crate) trust: Duration,
}

/// How queues are spoken to.
#[derive(Args, Clone)]
pub(crate) struct Sqs {
    /// Where SQS answers, over plain HTTP.
    #[arg(id = "queue_endpoint", long = "queue-endpoint", env = "QUEUE_ENDPOINT")]
    pub(crate) endpoint: String,
    /// The region that requests are signed for.
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1")]
    pub(crate) region: String,
    /// The access key that requests are signed with.
    #[arg(
        long,
        env = "AWS_ACCESS_KEY_ID",
        default_value = "local",
        hide_env_values = true
    )]
    pub(crate) access_key_id: String,
    /// Its secret.
    #[arg(
        long,
        env = "AWS_SECRET_ACCESS_KEY",
        default_value = "local",
        hide_env_values = true
    )]
    pub(crate) secret_access_key: String,
    /// How long one call may take, beyond the wait of a long poll.
    #[arg(id = "queue_timeout", long = "queue-timeout", env = "QUEUE_TIMEOUT", default_value = "5s", value_parser = duration::parse)]
    pub(crate) timeout: Duration,
    /// How long to wait after the queue refused a receive.
    #[arg(id = "queue_pause", long = "queue-pause", env = "QUEUE_PAUSE", default_value = "1s", value_parser = duration::parse)]
    pub(crate) pause: Duration,
}

/// `api`.
#[derive(Args)]
pub(crate) struct Api {
    #[command(flatten)]
    pub(crate) database: Database,
    /// The address to listen on.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// How many database connections it may hold.
    #[arg(long, env = "DATABASE_CONNECTIONS", default_value_t = 8)]
    pub(crate) database_connections: u32,
    #[command(flatten)]
    pub(crate) outbox: Outbox,
}

/// How late the outbox may be.
#[derive(Args, Clone, Copy)]
pub(crate) struct Outbox {
    /// How long a row may wait before the outbox counts as lagging.
    #[arg(long, env = "OUTBOX_LAG", default_value = "1m", value_parser = duration::parse)]
    pub(crate) outbox_lag: Duration,
}

/// `publisher`.
#[derive(Args)]
pub(crate) struct Publisher {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) sqs: Sqs,
    /// The URL of the queue with the jobs.
    #[arg(long, env = "QUEUE_URL")]
    pub(crate) queue_url: String,
    /// How often the outbox is read while it is empty.
    #[arg(long, env = "POLL_INTERVAL", default_value = "200ms", value_parser = duration::parse)]
    pub(crate) poll_interval: Duration,
    /// How many rows are sent in one call, 1 to 10.
    #[arg(long, env = "PUBLISH_BATCH", default_value_t = 1,
          value_parser = clap::value_parser!(u8).range(1..=10))]
    pub(crate) batch: u8,
    /// The first wait after a send failed for a passing reason; it doubles up to a minute.
    #[arg(long, env = "PUBLISH_BACKOFF", default_value = "500ms", value_parser = duration::parse)]
    pub(crate) backoff: Duration,
}

/// When handing over to quarantine would make things worse.
#[derive(Args, Clone, Copy)]
pub(crate) struct Quarantine {
    /// How many open records quarantine holds; at more the fleet stops.
    #[arg(long, env = "QUARANTINE_CAPACITY", default_value_t = 1000)]
    pub(crate) quarantine_capacity: u32,
    /// The brake: the fleet stops when more than this percentage of the last 50 jobs ended
    /// at the attempt limit or timed out. 100 is off.
    #[arg(long, env = "QUARANTINE_SHARE", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) quarantine_share: u32,
}

/// `worker`.
#[derive(Args, Clone)]
pub(crate) struct Worker {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) sqs: Sqs,
    /// The URL of the queue with the jobs.
    #[arg(long, env = "QUEUE_URL")]
    pub(crate) queue_url: String,
    /// Where documents are read: `GET {url}/documents/{reference}`.
    #[arg(long, env = "DOCUMENT_STORE_URL")]
    pub(crate) document_store_url: String,
    /// How long reading one document may take.
    #[arg(long, env = "DOCUMENT_TIMEOUT", default_value = "10s", value_parser = duration::parse)]
    pub(crate) document_timeout: Duration,
    /// The outside service that is notified: `POST {url}/notifications`.
    #[arg(long, env = "OUTSIDE_URL")]
    pub(crate) outside_url: String,
    /// A header that carries the job id as an idempotency key, if the service honours one.
    /// It permits no repetition by itself.
    #[arg(long, env = "OUTSIDE_IDEMPOTENCY_HEADER", default_value = "")]
    pub(crate) outside_idempotency_header: String,
    /// How long the outside service may take to answer before the outcome is unknown.
    #[arg(long, env = "OUTSIDE_TIMEOUT", default_value = "10s", value_parser = duration::parse)]
    pub(crate) outside_timeout: Duration,
    /// Status codes by which the outside service says that it performed nothing.
    #[arg(
        long,
        env = "OUTSIDE_NOT_PERFORMED",
        default_value = "429,503",
        value_delimiter = ','
    )]
    pub(crate) outside_not_performed: Vec<u16>,
    /// Failed attempts of a job before it is quarantined.
    #[arg(long, env = "ATTEMPT_LIMIT", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt_limit: u32,
    /// How many messages are in hand at once.
    #[arg(long, env = "CONCURRENCY", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) concurrency: u32,
    /// How long a received message stays invisible; extended while the job works.
    #[arg(long, env = "VISIBILITY_TIMEOUT", default_value = "30s", value_parser = duration::parse)]
    pub(crate) visibility_timeout: Duration,
    /// How long one receive waits for a message, at most `20s`.
    #[arg(long, env = "WAIT_TIME", default_value = "20s", value_parser = duration::parse)]
    pub(crate) wait_time: Duration,
    /// The first back-off after a failure; it doubles with every further one, up to 15
    /// minutes. SQS counts whole seconds.
    #[arg(long, env = "RETRY_BACKOFF", default_value = "10s", value_parser = duration::parse)]
    pub(crate) retry_backoff: Duration,
    /// How long reading and extracting may take before the attempt is `timed out`.
    #[arg(long, env = "JOB_DEADLINE", default_value = "5m", value_parser = duration::parse)]
    pub(crate) job_deadline: Duration,
    /// How many messages must end without a crash before a fleet on trial takes more than
    /// one at a time again.
    #[arg(long, env = "TRIAL_LENGTH", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trial_length: u32,
    /// How many different messages failing against one dependency are an outage; also how
    /// many killing workers close together are suspicious.
    #[arg(long, env = "OUTAGE_AFTER", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) outage_after: u32,
    /// How close together deaths are suspicious.
    #[arg(long, env = "DEATH_WINDOW", default_value = "1m", value_parser = duration::parse)]
    pub(crate) death_window: Duration,
    /// The path of the dependencies that answers health probes.
    #[arg(long, env = "PROBE_PATH", default_value = "/healthz")]
    pub(crate) probe_path: String,
    /// How often the fleet's state is looked at, and an ill dependency probed, while
    /// nothing may be received.
    #[arg(long, env = "PROBE_INTERVAL", default_value = "1s", value_parser = duration::parse)]
    pub(crate) probe_interval: Duration,
    /// How long a health probe may take.
    #[arg(long, env = "PROBE_TIMEOUT", default_value = "2s", value_parser = duration::parse)]
    pub(crate) probe_timeout: Duration,
    /// How long a pause lasts at least, also when probes find nothing.
    #[arg(long, env = "OUTAGE_PAUSE", default_value = "5s", value_parser = duration::parse)]
    pub(crate) outage_pause: Duration,
    #[command(flatten)]
    pub(crate) quarantine: Quarantine,
    /// Receives of one message that fail nobody, to expect beyond the limit: stops, deaths
    /// with several in hand, step-backs. Only for the warning about `maxReceiveCount`.
    #[arg(long, env = "EXPECTED_SETBACKS", default_value_t = 3)]
    pub(crate) expected_setbacks: u32,
    /// How long this process counts as alive after its last sign, in database time.
    #[arg(long, env = "LEASE", default_value = "15s", value_parser = duration::parse)]
    pub(crate) lease: Duration,
    /// How long work in hand may go on after SIGTERM.
    #[arg(long, env = "GRACE", default_value = "20s", value_parser = duration::parse)]
    pub(crate) grace: Duration,
}

/// `reconciler`, and `operator reconcile`.
#[derive(Args, Clone)]
pub(crate) struct Reconciler {
    #[command(flatten)]
    pub(crate) sqs: Sqs,
    /// The URL of the dead-letter queue.
    #[arg(long, env = "DEAD_LETTER_URL")]
    pub(crate) dead_letter_url: String,
    /// Where documents are read, for the record of a job whose outcome is unknown.
    #[arg(long, env = "DOCUMENT_STORE_URL")]
    pub(crate) document_store_url: String,
    /// How long reading one document may take.
    #[arg(long, env = "DOCUMENT_TIMEOUT", default_value = "10s", value_parser = duration::parse)]
    pub(crate) document_timeout: Duration,
    /// How long one receive waits for a message, at most `20s`.
    #[arg(long, env = "WAIT_TIME", default_value = "20s", value_parser = duration::parse)]
    pub(crate) wait_time: Duration,
    #[command(flatten)]
    pub(crate) quarantine: Quarantine,
    /// After how long a message is looked at again whose job can still be committed.
    #[arg(long, env = "RECONCILE_AGAIN", default_value = "30s", value_parser = duration::parse)]
    pub(crate) again: Duration,
    /// How long this process counts as alive after its last sign, in database time.
    #[arg(long, env = "LEASE", default_value = "15s", value_parser = duration::parse)]
    pub(crate) lease: Duration,
}

/// `reconciler` as a process.
#[derive(Args)]
pub(crate) struct ReconcilerRole {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) reconciler: Reconciler,
}

/// `operator`.
#[derive(Args)]
pub(crate) struct Operator {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(subcommand)]
    pub(crate) command: OperatorCommand,
}

/// What a person can do. A subject is a job id, or the `MessageId` of a message that
/// names no job.
#[derive(Subcommand)]
pub(crate) enum OperatorCommand {
    /// Lists what is in quarantine.
    List {
        /// One JSON array instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Shows one record with its attempts, content and evidence.
    Show {
        /// Job id or `MessageId`.
        subject: String,
        /// One JSON object; the content is base64, byte for byte.
        #[arg(long)]
        json: bool,
    },
    /// Records the cause that was found. A replay needs one.
    Cause {
        /// Job id.
        subject: String,
        /// What was found.
        cause: String,
    },
    /// Records what the outside service was found to have done.
    Resolve {
        /// Job id.
        subject: String,
        /// `done` completes the job without another write; `not-done` permits a replay.
        #[arg(value_enum)]
        resolution: Resolution,
        /// What was checked, and where.
        #[arg(long, default_value = "")]
        checked: String,
    },
    /// Sends the job again, with a fresh count. The history stays.
    Replay {
        /// Job id.
        subject: String,
    },
    /// Reconciles what stands in the dead-letter queue, once.
    Reconcile {
        #[command(flatten)]
        reconciler: Reconciler,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Mode of the fleet, why, since when, and what is in hand.
    Status {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Workers take nothing more until `resume`.
    Pause,
    /// Ends a stop or a pause, without a restart.
    Resume,
    /// How far behind the outbox is.
    Outbox {
        #[command(flatten)]
        outbox: Outbox,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// What an operator found in the outside service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Resolution {
    /// The write was performed.
    Done,
    /// The write was not performed.
    #[value(alias = "not done", alias = "not_done")]
    NotDone,
}
