//! What can be wrong with a manifest. Each kind of mistake is a variant of its own and
//! knows how it is mended.

use std::fmt;
use std::path::PathBuf;

use super::command_line::CommandLineFault;
use super::duration::DurationFault;
use super::json_path::JsonPathFault;
use super::pipeline::PipelineFault;
use super::route::RouteFault;
use super::source::Spot;
use super::suggestion::any_of;
use super::template::TemplateFault;

/// One mistake and where it stands.
#[derive(Debug)]
pub struct Problem {
    /// Where.
    pub spot: Spot,
    /// What.
    pub defect: Defect,
    /// Where the thing stands that it clashes with, if there is one.
    pub earlier: Option<Spot>,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Defect {
    /// Not YAML, or YAML beyond what a manifest needs.
    #[error("not readable as YAML: {}", yaml_message(.0))]
    Yaml(#[source] Box<serde_yaml::Error>),
    /// A manifest for another version of the harness.
    #[error("version `{0}` of the manifest is not known")]
    Version(String),
    /// A key that means nothing here.
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        /// As written.
        key: String,
        /// Where.
        table: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// What is known there.
        known: &'static [&'static str],
    },
    /// A key that stands twice in one table.
    #[error("`{key}` stands twice in {table}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where.
        table: String,
    },
    /// A key that must be there.
    #[error("{table} has no `{key}`")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// Where.
        table: String,
    },
    /// None of several keys, of which one must be there.
    #[error("{table} has none of {}", any_of(.keys))]
    MissingOneOf {
        /// The keys.
        keys: Vec<&'static str>,
        /// Where.
        table: String,
    },
    /// Two keys that exclude each other.
    #[error("{table} has both `{first}` and `{second}`")]
    Excluding {
        /// The one.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Where.
        table: String,
    },
    /// A key that means nothing beside the others.
    #[error("`{key}` means nothing in {table}: it belongs to {belongs}")]
    KeyDoesNotFit {
        /// The key.
        key: &'static str,
        /// Where.
        table: String,
        /// What it belongs to.
        belongs: &'static str,
    },
    /// A value of another type.
    #[error("{what} must be {expected}, and this is {found}")]
    WrongType {
        /// The key's path.
        what: String,
        /// What is wanted.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A text with nothing in it.
    #[error("{what} is empty")]
    Empty {
        /// The key's path.
        what: String,
    },
    /// A number that is no whole number, or too small or large.
    #[error("{what} must be a whole number from {least} to {most}, and this is `{written}`")]
    OutOfRange {
        /// The key's path.
        what: String,
        /// As written.
        written: String,
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A word that is not one of the few that are known.
    #[error("{what} cannot be `{written}`")]
    UnknownChoice {
        /// The key's path.
        what: String,
        /// As written.
        written: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// The words that are known.
        known: &'static [&'static str],
    },
    /// A name that nothing carries.
    #[error("there is no {noun} `{name}`")]
    UnknownName {
        /// What was sought.
        noun: Noun,
        /// As written.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// All that there are.
        known: Vec<String>,
    },
    /// A name with characters that names may not have.
    #[error("`{name}` cannot be the name of {}", .noun.with_article())]
    BadName {
        /// As written.
        name: String,
        /// What it should name.
        noun: Noun,
        /// Whether blanks are allowed in it.
        blanks: bool,
    },
    /// A name that has a meaning of its own.
    #[error("`{name}` cannot be the name of {}: it has a meaning of its own", .noun.with_article())]
    ReservedName {
        /// As written.
        name: String,
        /// What it should name.
        noun: Noun,
    },
    /// A duration that cannot be read.
    #[error("`{written}` is no duration: it {fault}")]
    Duration {
        /// As written.
        written: String,
        /// Why.
        fault: DurationFault,
    },
    /// A JSON path that cannot be read.
    #[error("`{written}` is no JSON path: it {fault}")]
    JsonPath {
        /// As written.
        written: String,
        /// Why.
        fault: JsonPathFault,
    },
    /// Where an id stands, in a way that cannot be read.
    #[error("`{written}` does not say where an id stands: it {fault}")]
    Pipeline {
        /// As written.
        written: String,
        /// Why.
        fault: PipelineFault,
    },
    /// A place with several values where one is wanted.
    #[error("{what} must be one value, and `{written}` finds several")]
    SeveralValues {
        /// The key's path.
        what: String,
        /// As written.
        written: String,
    },
    /// A request that cannot be read.
    #[error("`{written}` is no request: it {fault}")]
    Route {
        /// As written.
        written: String,
        /// Why.
        fault: RouteFault,
    },
    /// A template that cannot be read.
    #[error("{fault} in `{written}`")]
    Template {
        /// As written.
        written: String,
        /// Why.
        fault: TemplateFault,
    },
    /// A placeholder that has no value where it stands.
    #[error("`${{{name}}}` has no value here")]
    UnknownPlaceholder {
        /// Between the braces.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// All that have a value here.
        known: Vec<String>,
    },
    /// A second settle time.
    #[error("`settle` stands in `background` twice")]
    SettleTwice,
    /// An address of a process that does not listen.
    #[error("`${{{name}}}` has no value: process `{process}` does not listen")]
    PortWithoutListening {
        /// The placeholder.
        name: String,
        /// The process.
        process: String,
    },
    /// A command line that cannot be split.
    #[error("the command line {fault}")]
    CommandLine {
        /// Why.
        fault: CommandLineFault,
    },
    /// A variable's name that no environment can hold.
    #[error("`{name}` cannot be the name of an environment variable")]
    VariableName {
        /// As written.
        name: String,
    },
    /// A header's name that HTTP does not allow.
    #[error("`{name}` cannot be the name of a header")]
    HeaderName {
        /// As written.
        name: String,
    },
    /// A queue attribute that SQS does not have, or that is written elsewhere.
    #[error("there is no queue attribute `{name}`")]
    QueueAttribute {
        /// As written.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// An attribute of FIFO queues at another one.
    #[error("`{name}` means nothing at `{queue}`, which is a standard queue")]
    FifoAttribute {
        /// As written.
        name: String,
        /// The queue.
        queue: String,
    },
    /// `FifoQueue` with something else than true.
    #[error("`FifoQueue` can only be `true`")]
    QueueType,
    /// A dead-letter queue of the other type.
    #[error("`{queue}` and its dead-letter queue `{target}` are of different types")]
    DeadLetterType {
        /// The queue.
        queue: String,
        /// Its dead-letter queue.
        target: String,
    },
    /// A queue that is its own dead-letter queue.
    #[error("queue `{queue}` is its own dead-letter queue")]
    OwnDeadLetter {
        /// The queue.
        queue: String,
    },
    /// A table that the harness is to put something on, and nobody says how.
    #[error("nothing says how a message is put on the table of queue `{queue}`")]
    NoPut {
        /// The queue.
        queue: String,
    },
    /// A stage before a change that nobody knows of before.
    #[error("what becomes of a row is known once it did")]
    RowBefore,
    /// What a row is to become, and cannot be read.
    #[error("`{written}` is no `COLUMN = VALUE`")]
    Becomes {
        /// As written.
        written: String,
    },
    /// A profile of a queue that cannot be had.
    #[error("queue profile `{uses}`: {why}")]
    QueueProfile {
        /// As written.
        uses: String,
        /// What is wrong with it.
        why: String,
    },
    /// A provision that the protocol does not have.
    #[error("a dependency that speaks {protocol} cannot be `{provide}`")]
    ProvideDoesNotFit {
        /// As written.
        provide: &'static str,
        /// The protocol.
        protocol: ProtocolName,
    },
    /// A pattern of another protocol.
    #[error("`{key}` does not fit `{dependency}`, which speaks {protocol}")]
    PatternDoesNotFit {
        /// The pattern's key.
        key: &'static str,
        /// The dependency.
        dependency: String,
        /// Its protocol.
        protocol: ProtocolName,
    },
    /// A reference to a dependency of the wrong protocol.
    #[error("{what} needs a dependency that speaks {needed}, and `{dependency}` speaks {protocol}")]
    WrongProtocol {
        /// What refers to it.
        what: String,
        /// What is needed.
        needed: ProtocolName,
        /// The dependency.
        dependency: String,
        /// Its protocol.
        protocol: ProtocolName,
    },
    /// A place that calls to this dependency do not have.
    #[error("{what} cannot be a `{key}`: {holder} has none")]
    PlaceDoesNotFit {
        /// What is sought.
        what: String,
        /// The place's key.
        key: &'static str,
        /// What is searched.
        holder: &'static str,
    },
    /// A segment that no route names.
    #[error("no route of `{dependency}` has a segment `{{{segment}}}`")]
    SegmentNowhere {
        /// The dependency.
        dependency: String,
        /// The segment.
        segment: String,
    },
    /// A route that answers with a message's content without knowing the message.
    #[error("this route cannot answer with a message: it does not say which one it is about")]
    ReplyWithoutMessage,
    /// An address that cannot be read.
    #[error("{what} is no address of a dependency that speaks {protocol}")]
    Url {
        /// The key's path.
        what: String,
        /// The protocol.
        protocol: ProtocolName,
    },
    /// Encryption, which would not be kept.
    #[error("`{asked}` asks for encryption, and a tap speaks in the clear")]
    Encryption {
        /// As written.
        asked: String,
    },
    /// An address beyond this machine without a word that this is meant.
    #[error("dependency `{dependency}` is at `{host}`, which is not this machine")]
    NotLoopback {
        /// The dependency.
        dependency: String,
        /// Where it is.
        host: String,
    },
    /// A process that is asked over HTTP and does not listen.
    #[error("{what} asks process `{process}`, which does not listen")]
    NotListening {
        /// What asks it.
        what: String,
        /// The process.
        process: String,
    },
    /// `consumes:` in another form.
    #[error("`{written}` is not a queue")]
    Consumes {
        /// As written.
        written: String,
    },
    /// A pattern of keys with something unknown in braces.
    #[error("the key `{written}` has `{part}`, which is not known")]
    KeyPattern {
        /// As written.
        written: String,
        /// The part.
        part: String,
    },
    /// A file that is not there.
    #[error("there is no file `{}`", .path.display())]
    NoFile {
        /// Where it was sought.
        path: PathBuf,
    },
    /// A program that is not there and that no build command could make.
    #[error("there is no program `{}`", .path.display())]
    NoProgram {
        /// Where it was sought.
        path: PathBuf,
    },
    /// Something that is no media type.
    #[error("`{written}` is no media type")]
    MediaType {
        /// As written.
        written: String,
    },
    /// A total split by something that its stages do not capture.
    #[error("stage `{stage}` does not capture `{name}`")]
    NotCaptured {
        /// The stage.
        stage: String,
        /// The name.
        name: String,
        /// What it captures.
        captured: Vec<String>,
    },
    /// A total that is only claimed where it must be seen.
    #[error("total `{total}` has no witness")]
    NotWitnessed {
        /// The total.
        total: String,
    },
    /// An end at a stage whose calls have not taken effect.
    #[error("stage `{stage}` is passed before its call, so nothing is durable there")]
    EndBefore {
        /// The stage.
        stage: String,
    },
    /// A query that cannot be asked.
    #[error("the query of {title} {fault}")]
    Query {
        /// What asks it.
        title: String,
        /// What is wrong with it.
        fault: String,
        /// How to mend it, if that is known.
        help: Option<String>,
    },
    /// An end that requires a write where no route is one.
    #[error("no route of any dependency is a write")]
    NoWriteRoute,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A process.
    Process,
    /// A dependency.
    Dependency,
    /// A queue.
    Queue,
    /// A stage.
    Stage,
    /// A setting.
    Setting,
    /// A kind of message.
    Kind,
    /// A total.
    Total,
    /// An end of a job.
    End,
    /// An operator command.
    OperatorCommand,
    /// An observation.
    Observation,
    /// A profile of a run.
    Profile,
    /// A captured value.
    Capture,
    /// An action of SQS.
    Action,
    /// A command of Redis.
    Command,
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Dependency => "dependency",
            Self::Queue => "queue",
            Self::Stage => "stage",
            Self::Setting => "setting",
            Self::Kind => "kind of message",
            Self::Total => "total",
            Self::End => "end of a job",
            Self::OperatorCommand => "operator command",
            Self::Observation => "observation",
            Self::Profile => "profile",
            Self::Capture => "captured value",
            Self::Action => "SQS action",
            Self::Command => "command of Redis",
        })
    }
}

impl Noun {
    fn with_article(self) -> String {
        let article = match self {
            Self::End | Self::OperatorCommand | Self::Observation | Self::Action => "an",
            _ => "a",
        };
        format!("{article} {self}")
    }
}

/// A protocol by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolName {
    /// PostgreSQL v3.
    Postgres,
    /// SQS, JSON protocol.
    Sqs,
    /// HTTP/1.1.
    Http,
    /// Redis.
    Redis,
}

impl ProtocolName {
    /// How a manifest writes it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqs => "sqs",
            Self::Http => "http",
            Self::Redis => "redis",
        }
    }

    /// The keys that describe its calls.
    pub fn patterns(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &["statement", "transaction", "row"],
            Self::Sqs => &["action"],
            Self::Http => &["request"],
            Self::Redis => &["command"],
        }
    }

    /// Whether it has queues that processes consume.
    pub fn has_queues(self) -> bool {
        matches!(self, Self::Sqs | Self::Redis | Self::Postgres)
    }

    /// How it can be provided.
    pub fn provisions(self) -> &'static [&'static str] {
        match self {
            Self::Postgres | Self::Sqs | Self::Redis => &["embedded", "container", "external"],
            Self::Http => &["stub", "process", "container", "external"],
        }
    }
}

impl fmt::Display for ProtocolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqs => "SQS",
            Self::Http => "HTTP",
            Self::Redis => "Redis",
        })
    }
}

/// What is said of a file beyond what a manifest needs.
pub(super) const TOO_LARGE: &str = "it holds more than a manifest can";

/// What the parser says, without the place.
pub(super) fn yaml_message(error: &serde_yaml::Error) -> String {
    use serde_yaml::MessageFormatter as _;
    let said = serde_yaml::UserMessageFormatter.format_message(error.without_snippet());
    // Its own words show the inside of a value.
    if said.starts_with("YAML ") && said.contains(" too large") {
        return TOO_LARGE.to_owned();
    }
    said.into_owned()
}
