//! `rehearsal.yaml`: what the harness knows of the system under rehearsal, and the
//! only place where it stands.
//!
//! ```text
//! text ── node ──▶ located values ── context ──▶ names ── one reader a section ──▶ Manifest
//!                                                                   └─ problems ─▶ ManifestError
//! ```
//!
//! Every value keeps its place until it is read, and all problems of a file are reported
//! at once. Only the types below leave this module; everything in them has been checked.

mod attempts;
mod background;
mod command;
mod command_line;
mod consumption;
mod container;
mod context;
mod defects;
mod dependencies;
mod dependency;
mod duration;
mod edit;
mod error;
mod explore;
mod figures;
mod findings;
mod json_path;
mod keys;
mod load;
mod mending;
mod messages;
mod node;
mod operator;
mod pattern;
mod pipeline;
mod place;
mod placeholders;
mod problem;
mod processes;
mod profiles;
mod query;
mod queues;
mod recognising;
mod redis;
mod reference;
mod remarks;
mod route;
mod schema;
mod source;
mod stages;
mod suggestion;
mod table;
mod table_queue;
mod template;
mod tls;
mod totals;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

use crate::deployment::{DriverKind, Room};
use crate::ids::{DependencyName, RoleName, StageName};
use crate::place::match_path;
use crate::protocol::redis::KeyPattern;
use crate::sql::Sql;
use crate::tap::Side;

pub(crate) use self::pattern::ACTIONS;
pub use command_line::CommandLineFault;
pub(crate) use command_line::split_command_line as split_command;
pub use defects::{Defects, OwnDefect};
pub use dependency::{
    DeadLetter, Dependency, FIFO_NAME, FIFO_QUEUE, Protocol, Provide, Queue, ReplyBody, Route,
    RouteReply,
};
pub use duration::DurationFault;
pub(crate) use duration::parse_duration;
pub use edit::{Editor, Entry, NotEditable, Put};
pub use error::{Invalid, ManifestError};
pub use figures::{
    Attempts, Claim, Exhausted, Observed, Order, Terminal, Total, Witness, built_in_totals,
};
pub use findings::Level;
pub use json_path::{JsonPathFault, PathStep, show_json_path};
pub use pipeline::{DECODERS, Pipeline, PipelineFault, Reading};
pub use place::Place;
pub use problem::{Defect, Noun, Problem, ProtocolName};
pub use processes::MOST_INSTANCES;
pub use query::{Query, Refusal};
pub use reference::REFERENCE;
pub use route::RouteFault;
pub use schema::schema;
pub use source::{Span, Spot};
pub(crate) use suggestion::nearest;
pub use template::{
    BodyError, Lookup, RenderedCommand, TemplateFault, UnknownPlaceholder, render_json,
    render_table,
};

/// A whole manifest, checked.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file it was read from.
    pub path: PathBuf,
    /// The directory that relative paths and commands start from: the file's own.
    pub root: PathBuf,
    /// The system's name.
    pub name: String,
    /// Commands that build the system, run once per run, in order.
    pub build: Vec<Command>,
    /// Commands that prepare a fresh database (migrations). Run once per run against
    /// the template that every rehearsal's database is copied from.
    pub prepare: Vec<Command>,
    /// What processes talk to.
    pub dependencies: IndexMap<DependencyName, Dependency>,
    /// The system's processes, in the order in which they are started.
    pub processes: IndexMap<RoleName, Process>,
    /// Named values that a scenario may set, with their defaults.
    pub settings: IndexMap<String, Setting>,
    /// How a message is submitted and recognised.
    pub messages: Messages,
    /// Named points in a process's handling of a message.
    pub stages: IndexMap<StageName, Stage>,
    /// How the totals are counted.
    pub totals: IndexMap<String, Total>,
    /// What ends a job for good, and which stage witnesses it. Without any, what becomes of
    /// a message is judged by exploring alone.
    pub terminal: IndexMap<String, Terminal>,
    /// The stage whose passage begins a new series for its message: an operator's replay.
    pub replay: Option<StageName>,
    /// Stages that a message must have passed before others.
    pub order: Vec<Order>,
    /// Stages with which a job comes to rest outside of all queues, where a person sees it.
    pub resting: Vec<StageName>,
    /// What is known of attempts, if the system has them.
    pub attempts: Option<Attempts>,
    /// What an operator can do, by name.
    pub operator: IndexMap<String, OperatorCommand>,
    /// What can be read about one message, by name.
    pub observations: IndexMap<String, Observation>,
    /// Timers of the system that must tick before it counts as quiet.
    pub background: Vec<Background>,
    /// How long nothing may have had an effect before it counts as quiet.
    pub settle: Option<Duration>,
    /// What consumers may do at a time, if the system says so.
    pub consumption: Option<Consumption>,
    /// What is told of a system that may be right all the same.
    pub findings: Findings,
    /// What exploring takes as it is.
    pub explore: Explore,
    /// Defects that the team builds in on purpose, to prove its suite.
    pub defects: Defects,
    /// How long things may take.
    pub limits: Limits,
    /// How processes are run, unless the command line says otherwise.
    pub driver: DriverKind,
    /// Options of a run that `--profile` chooses, by name.
    pub profiles: Vec<Profile>,
    /// Settings that nothing uses: a scenario that sets one would change nothing.
    pub unused_settings: Vec<String>,
    /// What is no mistake and yet probably not meant, each with its place.
    pub remarks: Vec<String>,
    /// All queries, for a database to look at.
    queries: Vec<Query>,
    /// The file's text, safe to show.
    text: String,
}

/// Options of a run under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// Each option with its values; flags are `true` or `false`.
    pub options: Vec<(String, Vec<String>)>,
}

/// Which protocol is spoken with a dependency, or with a process that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyProtocol {
    /// PostgreSQL v3.
    Postgres,
    /// SQS.
    Sqs,
    /// HTTP; processes speak it too.
    Http,
    /// Redis.
    Redis,
}

impl Manifest {
    /// Whether passing this stage ends a message.
    pub fn is_end(&self, stage: &StageName) -> bool {
        self.terminal.values().any(|end| end.stage == *stage)
    }

    /// Ends that rest on what a wire shows alone, each as a warning: what another statement
    /// takes away later, or a trigger prevents, is seen by asking the system only.
    pub fn unclaimed_ends(&self) -> Vec<String> {
        self.terminal
            .iter()
            .filter(|(_, end)| !self.is_backed(&end.stage))
            .map(|(name, end)| {
                format!(
                    "nothing but the stage `{}` tells of the end `{name}`: name an `observation` \
                     of the end, or put a `claim` behind a total that counts it, so that what was \
                     written and is gone again is found",
                    end.stage
                )
            })
            .collect()
    }

    /// Whether the system itself is asked for what ends at a stage: for each message, or for
    /// their number.
    pub fn is_backed(&self, stage: &StageName) -> bool {
        self.is_observed(stage) || self.is_claimed(stage)
    }

    /// Whether it is read of each message that ended at a stage.
    pub fn is_observed(&self, stage: &StageName) -> bool {
        let mut ends = self.terminal.values().filter(|end| end.stage == *stage);
        ends.next().is_some_and(|end| end.observed.is_some())
            && ends.all(|end| end.observed.is_some())
    }

    /// Whether the system's own claim is compared with the passages of a stage.
    pub fn is_claimed(&self, stage: &StageName) -> bool {
        self.totals.values().any(|total| {
            let counts = |witness: &Witness| witness.add.contains(stage);
            total.claim.is_some() && total.witness.as_ref().is_some_and(counts)
        })
    }

    /// How attempts that start are counted, if the manifest says so.
    pub fn attempts_witness(&self) -> Option<&Witness> {
        let total = self.attempts.as_ref()?.started.as_ref()?;
        self.totals.get(total)?.witness.as_ref()
    }

    /// Whether a request, as a line, passes a stage of the fleet that some total counts: it
    /// concerns no single message, and is held to that total.
    pub fn is_the_fleets(&self, dependency: &DependencyName, request: &str) -> bool {
        let Some((method, path)) = request.split_once(' ') else {
            return false;
        };
        let passes = |stage: &Stage| match &stage.binding {
            Binding::Boundary {
                dependency: of,
                pattern:
                    Pattern::Request {
                        method: wanted,
                        path: pattern,
                    },
                ..
            } => {
                of == dependency
                    && (wanted == "*" || wanted.eq_ignore_ascii_case(method))
                    && match_path(pattern, path).is_some()
            }
            _ => false,
        };
        let counted = |name: &StageName| {
            let mut witnesses = self
                .totals
                .values()
                .filter_map(|total| total.witness.as_ref());
            witnesses.any(|witness| witness.add.contains(name))
        };
        let mut stages = self.stages.iter();
        stages.any(|(name, stage)| stage.fleet && passes(stage) && counted(name))
    }

    /// Which protocol is spoken with a dependency, or with a process that listens.
    pub fn protocol_of(&self, dependency: &DependencyName) -> DependencyProtocol {
        match self.dependencies.get(dependency).map(|one| &one.protocol) {
            Some(Protocol::Postgres { .. }) => DependencyProtocol::Postgres,
            Some(Protocol::Sqs { .. }) => DependencyProtocol::Sqs,
            Some(Protocol::Redis { .. }) => DependencyProtocol::Redis,
            Some(Protocol::Http { .. }) | None => DependencyProtocol::Http,
        }
    }

    /// The queues that take what was given up, as `dependency/queue`.
    pub fn dead_letter_queues(&self) -> Vec<String> {
        let mut queues = Vec::new();
        for (name, dependency) in &self.dependencies {
            if let Protocol::Sqs { queues: own } = &dependency.protocol {
                let dead = own.values().filter_map(|queue| queue.dead_letter.as_ref());
                queues.extend(dead.map(|dead| format!("{name}/{}", dead.queue)));
            }
        }
        queues
    }

    /// All queues, each with its dependency.
    pub fn queues(&self) -> impl Iterator<Item = (&DependencyName, &String)> {
        self.dependencies.iter().flat_map(|(name, dependency)| {
            let queues = dependency.protocol.queues().into_iter();
            queues.map(move |queue| (name, queue))
        })
    }
}

/// A program with its arguments. Placeholders as in [`Template`].
#[derive(Clone, Debug)]
pub struct Command {
    /// Program first. A program with a `/` is relative to the manifest's directory.
    pub words: Vec<Template>,
    /// Environment beyond the allow-list.
    pub environment: BTreeMap<String, Template>,
}

/// A text with placeholders: `${database.url}`, `${setting.attempt limit}`, `${port}`,
/// `${message.name}`, `${message.key}`, `${message.job}`, `${message.kind}`, `${root}`,
/// `${queue.url}`, `${queue.jobs.url}`, `${checkpoint.url}`. `$$` writes a dollar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// In order.
    pub parts: Vec<TemplatePart>,
}

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// As it stands.
    Text(String),
    /// To be filled in: the dotted name between the braces.
    Placeholder(String),
}

/// One process of the system.
#[derive(Clone, Debug)]
pub struct Process {
    /// How it is started, once per incarnation, with that incarnation's taps filled in.
    pub command: Command,
    /// How many instances run unless a scenario says otherwise.
    pub instances: u32,
    /// Whether it listens (and gets `${port}` and a tap in front of it).
    pub listens: bool,
    /// When it counts as ready.
    pub ready: Ready,
    /// What happens after a death.
    pub restart: Restart,
    /// The queues it consumes, as `dependency/queue`.
    pub consumes: Vec<(DependencyName, String)>,
    /// How long it may take to become ready.
    pub ready_within: Duration,
    /// How long a requested stop (SIGTERM) may take before SIGKILL.
    pub stop_within: Duration,
    /// The most memory it may use, in bytes. In a container more kills it; as a host
    /// process an allocation that needs more fails, of which most programs die.
    pub memory: Option<u64>,
    /// What holds where it runs in a container.
    pub container: Container,
}

/// What a process gets where it runs in a container.
#[derive(Clone, Debug, Default)]
pub struct Container {
    /// Image and limits.
    pub room: Room,
    /// Its address and host name after a death.
    pub address: Address,
}

/// Whether the next incarnation has the address and host name of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Address {
    /// The same.
    #[default]
    Kept,
    /// Another.
    Fresh,
}

/// When a process counts as ready.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A GET of this path on its port answers 2xx.
    Http(String),
    /// It made its first call of this kind.
    Call {
        /// The wire.
        dependency: DependencyName,
        /// Which calls.
        pattern: Pattern,
    },
    /// A line of its output contains this text.
    Output(String),
    /// Its port takes connections.
    Listening,
    /// At once.
    Started,
}

impl Ready {
    /// Whether it is the first time that messages are asked for at this dependency.
    pub(crate) fn is_first_receive(&self, at: &DependencyName) -> bool {
        let Self::Call {
            dependency,
            pattern: Pattern::Action { action, .. },
        } = self
        else {
            return false;
        };
        dependency == at && action == "ReceiveMessage"
    }
}

/// What happens after a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// A new incarnation starts once this has passed.
    After(Duration),
    /// It stays down.
    Never,
}

/// A value that a scenario may set: `Given the attempt limit is 5`.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What holds unless a scenario says otherwise.
    pub default: String,
    /// What it means, for `rehearse steps`.
    pub doc: Option<String>,
}

/// How a message is submitted and recognised.
#[derive(Clone, Debug)]
pub struct Messages {
    /// How the harness's client submits one.
    pub submit: Submit,
    /// Per wire, where the job's id or the message's name stands. The queue's entry
    /// applies to message bodies; for PostgreSQL see [`Recognise`].
    pub recognise: IndexMap<DependencyName, Recognise>,
    /// What a message may carry, by name. The first is the default.
    pub kinds: IndexMap<String, Kind>,
}

/// How a message comes in.
#[derive(Clone, Debug)]
pub enum Submit {
    /// A process of the system takes it.
    Request(SubmitRequest),
    /// It is put on a queue.
    Put(SubmitPut),
}

impl Submit {
    /// The process that takes it, if one does.
    pub fn role(&self) -> Option<&RoleName> {
        match self {
            Self::Request(request) => Some(&request.role),
            Self::Put(_) => None,
        }
    }

    /// The stage at which the job is durable, if the manifest names one.
    pub fn durable(&self) -> Option<&StageName> {
        match self {
            Self::Request(request) => request.durable.as_ref(),
            Self::Put(_) => None,
        }
    }
}

/// A message that is put on a queue. Its id is its key: `${message.key}`.
#[derive(Clone, Debug)]
pub struct SubmitPut {
    /// Whose queue.
    pub dependency: DependencyName,
    /// The queue, as the manifest names it.
    pub queue: String,
    /// JSON; strings in it are templates.
    pub body: serde_json::Value,
}

/// The request that submits a message.
#[derive(Clone, Debug)]
pub struct SubmitRequest {
    /// The process that takes it.
    pub role: RoleName,
    /// The method.
    pub method: String,
    /// The path.
    pub path: Template,
    /// Headers.
    pub headers: BTreeMap<String, Template>,
    /// A JSON body; strings in it are templates.
    pub body: serde_json::Value,
    /// Where the answer (2xx) says which job it became.
    pub job: Place,
    /// The stage at which the job is durable: before it nobody may be told.
    pub durable: Option<StageName>,
}

/// Where one wire says which job a call is about.
#[derive(Clone, Debug)]
pub enum Recognise {
    /// HTTP calls and queue message bodies: any of these places.
    Places(Vec<Place>),
    /// PostgreSQL: bind values.
    Binds(Vec<BindPlace>),
    /// PostgreSQL: any bind value that equals a known id. For systems whose ids are
    /// unique by themselves (UUIDs).
    AnyBind,
    /// Redis: any key, field or value in which a known id stands.
    AnyValue,
}

/// A bind value that names a job.
#[derive(Clone, Debug)]
pub struct BindPlace {
    /// The statement, see [`Pattern::Statement`].
    pub statement: Sql,
    /// The position, from 1.
    pub position: usize,
}

/// What a message may carry.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The file with the content, relative to the manifest; none: the message's name.
    pub content: Option<PathBuf>,
    /// Its media type.
    pub media_type: String,
    /// The role whose process dies of it: an announced death.
    pub kills: Option<RoleName>,
}

/// A named point in a process's handling of a message.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The roles that pass it.
    pub roles: Vec<RoleName>,
    /// What it is bound to.
    pub binding: Binding,
    /// Whether it concerns no message: what stands in its calls names none.
    pub fleet: bool,
    /// Values picked from the call, by name: a quarantine's label, say.
    pub capture: BTreeMap<String, CapturePlace>,
    /// The captured value that is the job of a message which the system makes here.
    pub makes: Option<String>,
    /// What it means, for `rehearse steps`.
    pub doc: Option<String>,
}

/// What a stage is bound to.
#[derive(Clone, Debug)]
pub enum Binding {
    /// A boundary of the calls that match.
    Boundary {
        /// Which side of the call.
        side: Side,
        /// The wire.
        dependency: DependencyName,
        /// Which calls.
        pattern: Pattern,
    },
    /// The process announces it at `$REHEARSE_CHECKPOINT_URL` under this name.
    Checkpoint(String),
}

/// Which calls are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// PostgreSQL: a round trip that executes a statement containing this text
    /// (names as the server resolves them, not in a literal).
    Statement(Sql),
    /// PostgreSQL: a transaction with such a statement. *Before*: ahead of its COMMIT
    /// (or of the statement itself outside a block); *after*: once it is durable.
    Transaction(Sql),
    /// SQS: this action, optionally on this queue of the manifest.
    Action {
        /// `SendMessage`; also matches its batch form.
        action: String,
        /// The queue's name in the manifest.
        queue: Option<String>,
    },
    /// HTTP: method and path, as in [`Route`].
    Request {
        /// The method, or `*`.
        method: String,
        /// The path pattern.
        path: String,
    },
    /// Redis: this command, optionally on such a key; also as a part of a transaction.
    Command {
        /// In upper case: `LPUSH`.
        command: String,
        /// The key.
        key: Option<KeyPattern>,
    },
    /// PostgreSQL: something became of a row in a table that is a queue, whatever statement,
    /// function or trigger did it.
    Row {
        /// What.
        change: RowChange,
        /// The queue's name in the manifest.
        queue: String,
        /// A column, and what it has to read then.
        becomes: Option<(String, String)>,
    },
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// It came.
    Added,
    /// Somebody has it in hand.
    Claimed,
    /// It waits again.
    Released,
    /// It belongs to its queue no more.
    Finished,
}

impl RowChange {
    /// How a manifest writes them.
    pub(crate) const KEYS: &[&str] = &["added", "claimed", "released", "finished"];

    const ALL: [Self; 4] = [Self::Added, Self::Claimed, Self::Released, Self::Finished];

    fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.key() == key)
    }

    /// How a manifest writes it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Claimed => "claimed",
            Self::Released => "released",
            Self::Finished => "finished",
        }
    }
}

/// Where a captured value stands.
#[derive(Clone, Debug)]
pub enum CapturePlace {
    /// A bind value of the first statement that contains this text.
    Bind(BindPlace),
    /// A place in an HTTP request or a queue message.
    Place(Place),
}

/// The role under which operator commands appear: stages may be bound to it.
pub const OPERATOR: &str = "operator";

/// What an operator can do.
#[derive(Clone, Debug)]
pub struct OperatorCommand {
    /// The command; may name `${message.job}` and `${argument}`.
    pub command: Command,
}

/// What can be read about one message.
#[derive(Clone, Debug)]
pub enum Observation {
    /// One value by query; `$1` is the job id.
    Query {
        /// The query.
        claim: Claim,
        /// Whether the value is base64 of the real one.
        base64: bool,
    },
    /// A member of the JSON that an operator command prints.
    Operator {
        /// The command's name.
        command: String,
        /// Where in its output.
        path: Vec<PathStep>,
        /// Whether the value is base64 of the real one.
        base64: bool,
    },
    /// A member of the JSON that a process answers.
    Request {
        /// The process that is asked.
        role: RoleName,
        /// GET this path.
        path: Template,
        /// Where in its answer.
        json: Vec<PathStep>,
    },
}

/// A timer of the system, or work that it takes up by itself.
#[derive(Clone, Debug)]
pub struct Background {
    /// Who has it.
    pub role: RoleName,
    /// How much waits for it: not quiet before that is nothing.
    pub backlog: Option<Backlog>,
    /// The call that shows a tick; without one its backlog alone tells.
    pub tick: Option<Tick>,
}

/// The call that shows that a timer ticks.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The wire.
    pub dependency: DependencyName,
    /// Which calls.
    pub pattern: Pattern,
}

/// How it is told how much waits for somebody.
#[derive(Clone, Debug)]
pub enum Backlog {
    /// A query gives one number.
    Query(Claim),
    /// A command prints one number.
    Command(Command),
    /// A process answers it.
    Request {
        /// Who is asked; it listens.
        role: RoleName,
        /// By a GET of this path.
        path: String,
        /// Where in its answer the number stands.
        json: Vec<PathStep>,
    },
}

/// What consumers may do at a time, by the system's own word and by what is seen of it.
#[derive(Clone, Debug)]
pub struct Consumption {
    /// Whose consumption it is.
    pub role: RoleName,
    /// The mode of this moment: one row of one text.
    pub mode: Claim,
    /// How many attempts are open whose owner is dead: one number. Nought once everything
    /// is quiet in normal mode.
    pub ownerless: Option<Claim>,
    /// How many messages one instance of a consumer has in hand in normal mode.
    pub in_hand: Template,
    /// The mode in which consumers take as many as that.
    pub normal: String,
    /// Modes that only a person ends: messages may stay in their queues then.
    pub rests: Vec<String>,
    /// The stage that begins a pause.
    pub paused: Option<StageName>,
    /// The stages that end it.
    pub resumed: Vec<StageName>,
    /// The stage that stops consumption. A rehearsal that does not expect it fails.
    pub stopped: Option<StageName>,
    /// How many receives each consumer may begin in a pause.
    pub probes: u32,
}

/// What a system may do and be right all the same, each with what it makes of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Findings {
    /// Two living processes worked on one job at once.
    pub two_owners: Level,
    /// A message was delivered again while its owner had it in hand, and no fault had struck.
    pub redelivery: Level,
    /// A copy of a job that has its end lies in a dead-letter queue.
    pub finished_dead_letter: Level,
}

/// What exploring takes as it is.
#[derive(Clone, Debug, Default)]
pub struct Explore {
    /// Ends that a message may have under faults, though it has another without.
    pub allowed: Vec<String>,
    /// Tables, columns (`table.column`) and dependencies that are not compared.
    pub ignore: Vec<String>,
}

/// How long things may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// One step.
    pub step: Duration,
    /// One scenario.
    pub scenario: Duration,
    /// Until everything is quiet.
    pub quiet: Duration,
    /// How long the deployment is watched once everything was quiet and counted.
    pub linger: Duration,
    /// How long a message may stay hidden once its owner is gone, where that is longer
    /// than its queue hides it.
    pub hidden: Option<Duration>,
    /// The build commands together.
    pub build: Duration,
}
