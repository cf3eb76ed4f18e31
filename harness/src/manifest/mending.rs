//! How each mistake in a manifest is mended.

use super::command_line::CommandLineFault;
use super::pipeline::{DECODERS, PipelineFault};
use super::problem::{Defect, Noun, ProtocolName, TOO_LARGE, yaml_message};
use super::route::RouteFault;
use super::suggestion::any_of;
use super::template::TemplateFault;

impl Defect {
    /// How it is mended.
    pub fn mending(&self) -> String {
        match self {
            Self::Yaml(error) => mend_yaml(error).to_owned(),
            Self::Version(_) => "write `version: 1`".to_owned(),
            Self::UnknownKey { nearest, known, .. } | Self::UnknownChoice { nearest, known, .. } => {
                meant(nearest.as_deref(), known, "known here")
            }
            Self::MissingKey { key: "version", .. } => "add `version: 1`".to_owned(),
            Self::MissingKey { key, .. } => format!("add `{key}: …`"),
            Self::MissingOneOf { keys, .. } => format!("add {}", any_of(keys)),
            Self::DuplicateKey { .. } | Self::Excluding { .. } => "keep one of the two".to_owned(),
            Self::KeyDoesNotFit { key, belongs, .. } => {
                format!("remove `{key}`, or make this {belongs}")
            }
            Self::WrongType { what, .. } if what == "the manifest" => {
                "describe the system in it: `rehearse init` writes a first one, `rehearse help \
                 manifest` explains each key"
                    .to_owned()
            }
            Self::WrongType { expected, found, .. } => mend_type(expected, found),
            Self::Empty { .. } => "put something in it".to_owned(),
            Self::OutOfRange { least, most, .. } => format!("write a number from {least} to {most}"),
            Self::UnknownName { noun, nearest, known, .. } => match noun {
                _ if known.is_empty() => format!("the manifest has no {noun} yet: add it"),
                _ => meant(nearest.as_deref(), known, "there are"),
            },
            Self::BadName { blanks: true, .. } => {
                "use letters, digits, `-`, `_` and single blanks, with a letter or digit at both ends"
                    .to_owned()
            }
            Self::BadName { blanks: false, .. } => {
                "use letters, digits, `-` and `_`, with a letter first".to_owned()
            }
            Self::ReservedName { .. } => "choose another name".to_owned(),
            Self::Duration { .. } => {
                "write a whole number with `ms`, `s`, `m` or `h`: `150ms`, `2s`, `15m`".to_owned()
            }
            Self::Pipeline { fault, .. } => mend_pipeline(fault),
            Self::SeveralValues { .. } => "name one element: `[0]` instead of `[*]`".to_owned(),
            Self::JsonPath { .. } => "write it like `$.order.lines[0].id`".to_owned(),
            Self::Route { fault, .. } => mend_route(fault),
            Self::Template { fault, .. } => match fault {
                TemplateFault::Unclosed => "close it with `}`, or write `$$` for a dollar",
                TemplateFault::Empty => "name a value between the braces",
                TemplateFault::LoneDollar => {
                    "write `$$` for a dollar, or `${name}` for a value; there is no shell here"
                }
            }
            .to_owned(),
            Self::UnknownPlaceholder { nearest, known, .. } => match nearest {
                Some(nearest) => format!("did you mean `${{{nearest}}}`?"),
                None if known.is_empty() => "no placeholder has a value here".to_owned(),
                None => format!("these have a value here: {}", list(known, 12)),
            },
            Self::PortWithoutListening { .. } => "add `listens: true`".to_owned(),
            Self::SettleTwice => "keep one of them".to_owned(),
            Self::CommandLine { fault } => match fault {
                CommandLineFault::Empty => "write a program with its arguments",
                CommandLineFault::OpenQuote => "close the quote, or write `\\'` for the character",
                CommandLineFault::Shell(_) => {
                    "write one command, or start a shell: `[sh, -c, \"first && second\"]`"
                }
            }
            .to_owned(),
            Self::VariableName { .. } => "use letters, digits and `_`, not a digit first".to_owned(),
            Self::HeaderName { .. } => "use letters, digits and `-`".to_owned(),
            Self::QueueAttribute { name, nearest } => mend_attribute(name, nearest.as_deref()),
            Self::FifoAttribute { .. } => {
                "add `FifoQueue: true`, or end the queue's name in `.fifo`".to_owned()
            }
            Self::QueueType => {
                "write `FifoQueue: true`; a queue without it is a standard queue".to_owned()
            }
            Self::DeadLetterType { .. } => {
                "make both FIFO queues, or none: SQS takes dead letters of the same type only"
                    .to_owned()
            }
            Self::KeyPattern { .. } => {
                "use `{job}` or `{message}` for the id, `*` for anything".to_owned()
            }
            Self::NoPut { .. } => {
                "give the queue `put: insert into … values ($1::jsonb) returning id`, or let a process of the system submit".to_owned()
            }
            Self::RowBefore => {
                "write `after`, or bind it to the `statement` that does it".to_owned()
            }
            Self::Becomes { .. } => "write it like `status = succeeded`".to_owned(),
            Self::QueueProfile { .. } => {
                "write the name of one that is built in, or `FILE#NAME` for one of your own".to_owned()
            }
            Self::OwnDeadLetter { .. } => "name another queue".to_owned(),
            Self::ProvideDoesNotFit { protocol, .. } => {
                format!("it can be {}", any_of(protocol.provisions()))
            }
            Self::PatternDoesNotFit { protocol, .. } => {
                format!("use {} here", any_of(protocol.patterns()))
            }
            Self::WrongProtocol { needed, .. } => {
                format!("name a dependency with `protocol: {}`", needed.key())
            }
            Self::PlaceDoesNotFit { .. } => "name a place that is there".to_owned(),
            Self::SegmentNowhere { segment, .. } => {
                format!("name it in a route: `on: GET /items/{{{segment}}}`")
            }
            Self::ReplyWithoutMessage => {
                "name the message in the path (`{message}` or `{job}`), or add `job:`".to_owned()
            }
            Self::Url { protocol, .. } => match protocol {
                ProtocolName::Postgres => "write it like `postgres://user:password@127.0.0.1:5432/name`",
                ProtocolName::Sqs | ProtocolName::Http => "write it like `http://127.0.0.1:8080`",
                ProtocolName::Redis => "write it like `redis://127.0.0.1:6379`",
            }
            .to_owned(),
            Self::Encryption { asked } if asked.starts_with("https") => {
                "write `http://`; where the service speaks nothing but TLS, put a proxy on this \
                 machine that ends it, and give the proxy's address"
                    .to_owned()
            }
            Self::Encryption { .. } => {
                "write `sslmode=disable`; where the server accepts nothing but TLS, put a proxy \
                 on this machine that ends it, and give the proxy's address"
                    .to_owned()
            }
            Self::NotLoopback { .. } => "the harness kills processes and purges queues: add \
                                         `allow_external: true` only if it may do so there"
                .to_owned(),
            Self::NotListening { process, .. } => {
                format!("add `listens: true` to `{process}`, or ask another process")
            }
            Self::Consumes { .. } => "write the dependency and its queue: `queue/jobs`".to_owned(),
            Self::NoFile { .. } => {
                "create it, or correct the path; it is relative to the manifest".to_owned()
            }
            Self::NoProgram { .. } => "correct the path (it is relative to the manifest), or add the \
                                       command that builds it to `build`"
                .to_owned(),
            Self::MediaType { .. } => "write it like `text/plain`".to_owned(),
            Self::NotCaptured { stage, name, captured } => {
                if captured.is_empty() {
                    format!("add `capture: {{ {name}: … }}` to stage `{stage}`")
                } else {
                    format!("it captures {}", list(captured, 12))
                }
            }
            Self::NotWitnessed { .. } => {
                "add a `witness` to the total, or name one that has it".to_owned()
            }
            Self::EndBefore { .. } => {
                "bind the stage of an end to `after`: the job has ended once the call took effect"
                    .to_owned()
            }
            Self::Query { help, .. } => help.clone().unwrap_or_else(|| {
                "write one statement of PostgreSQL that reads and gives what is asked for".to_owned()
            }),
            Self::NoWriteRoute => {
                "add `write: true` to the route that takes the outside write, or remove \
                 `requires_write`"
                    .to_owned()
            }
        }
    }
}

fn meant<S: AsRef<str>>(nearest: Option<&str>, known: &[S], introduction: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("{introduction}: {}", list(known, 16)),
    }
}

fn list<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(most)
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    let more = if names.len() > most { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn mend_yaml(error: &serde_yaml::Error) -> &'static str {
    let said = yaml_message(error);
    if said == TOO_LARGE || said.contains("recursion limit") {
        "this is larger or deeper than a manifest can be; nest no more than 16 levels"
    } else if said.contains("multiple found") {
        "keep one of the parts that `---` divides"
    } else if said.contains("tabs") {
        "indent with blanks, not with tabs"
    } else {
        "look at the indentation, and put texts with `: `, ` #`, `{` or `}` in them in quotes"
    }
}

fn mend_type(expected: &str, found: &str) -> String {
    match (expected, found) {
        (wanted, "a text") if wanted.starts_with("true or false") => {
            "write `true` or `false` without quotes".to_owned()
        }
        (wanted, "a number" | "a truth value") if wanted.starts_with("a text") => {
            "put it in quotes".to_owned()
        }
        ("a whole number", "a text") => "write a whole number, without quotes".to_owned(),
        (_, "nothing") => format!("write {expected} behind the colon"),
        _ => format!("write {expected}"),
    }
}

fn mend_route(fault: &RouteFault) -> String {
    match fault {
        RouteFault::Shape => "write it like `GET /items/{message}`",
        RouteFault::Method(_) => "write the method in capitals: `GET`, `POST`",
        RouteFault::NotGet(_) => {
            "observe with a request that changes nothing: `GET /jobs/${message.job}`"
        }
        RouteFault::NoSlash => "begin the path with `/`",
        RouteFault::Query => "leave the query out",
        RouteFault::Segment(_) => "a whole segment can be `{message}`, `{job}` or `*`",
    }
    .to_owned()
}

fn mend_pipeline(fault: &PipelineFault) -> String {
    match fault {
        PipelineFault::Empty => "take the `|` away, or name a decoder beside it".to_owned(),
        PipelineFault::Unknown { nearest, .. } => {
            meant(nearest.as_deref(), DECODERS, "decoders are")
        }
        PipelineFault::JsonPath { .. } => {
            "write it like `$.order.id`, or with decoders like `$.Message | json | $.id`".to_owned()
        }
        PipelineFault::NotJson { path, decoder } => {
            format!("read it as JSON first: `{decoder} | json | {path}`")
        }
        PipelineFault::Text { path } => format!("read it as JSON first: `| json | {path}`"),
        PipelineFault::Table { decoder } => {
            format!("name a field first: `form | $.id | {decoder}`")
        }
    }
}

fn mend_attribute(name: &str, nearest: Option<&str>) -> String {
    match (name, nearest) {
        ("RedrivePolicy", _) => {
            "write it as `dead_letter: { queue: …, max_receives: … }` beside `attributes`"
                .to_owned()
        }
        (_, nearest) => meant(nearest, super::queues::QUEUE_ATTRIBUTES, "SQS has"),
    }
}

impl Noun {
    /// Whether names of this kind are phrases that may have blanks.
    pub(super) fn has_blanks(self) -> bool {
        !matches!(self, Self::Process | Self::Dependency | Self::Queue)
    }
}
