//! Outages: a dependency, or a part of it, is ill from one moment to another.
//!
//! What a phrase leaves open stands in a table below it, one row for each: `only`, `of`,
//! `for`, `one message in`, `from`, `until`, `if`.

use std::sync::Arc;

use super::total::check_total;
use crate::gherkin::{Arguments, Objection, Step, StepDraft, StepError, StepKind, Table};
use crate::ids::{DependencyName, MessageName, RoleName};
use crate::manifest::{Manifest, Protocol};
use crate::outage::{ErrorReply, Moment, Names, Outage, Part, Way};
use crate::suite::Scene;

const GROUP: &str = "outages";

/// What a phrase makes of its values.
type WayOf = fn(&Arguments) -> Way;

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let ways: [(&str, &str, &str, WayOf); 11] = [
        (
            "refuses connections",
            "refuses connections",
            "Connections are refused by the operating system; those that are there carry one more call at most.",
            |_| Way::Refuses,
        ),
        (
            "resets connections",
            "resets connections",
            "Connections that are there are reset at once, further ones at their first call.",
            |_| Way::Resets,
        ),
        (
            "hangs",
            "hangs",
            "Nothing gets through and nothing comes back until it is over; then all goes on.",
            |_| Way::Hangs,
        ),
        (
            "swallows everything",
            "swallows everything",
            "Calls never arrive and are never answered, also after it is over.",
            |_| Way::Swallows,
        ),
        (
            "is read-only",
            "is read-only",
            "What writes is refused with SQLSTATE 25006; what reads is answered.",
            |_| Way::ReadsOnly,
        ),
        (
            "answers {int}",
            "answers 503",
            "Every call is answered with this status and not performed.",
            |arguments| Way::Answers(status(arguments, 1)),
        ),
        (
            "answers {string}",
            "answers \"53300\"",
            "Every call is answered with this error of its protocol (SQLSTATE, or an error of SQS) and not performed.",
            |arguments| Way::Answers(ErrorReply::Code(arguments.text(1).to_owned())),
        ),
        (
            "performs and closes",
            "performs and closes",
            "Calls are performed; the connection closes instead of an answer.",
            |_| Way::PerformsAndCloses,
        ),
        (
            "performs and hangs",
            "performs and hangs",
            "Calls are performed; the answer comes when it is over.",
            |_| Way::PerformsAndHangs,
        ),
        (
            "performs and answers {int}",
            "performs and answers 502",
            "Calls are performed; the answer is this status.",
            |arguments| Way::PerformsAndAnswers(status(arguments, 1)),
        ),
        (
            "performs and answers {string}",
            "performs and answers \"InternalFailure\"",
            "Calls are performed; the answer is this error of the protocol.",
            |arguments| Way::PerformsAndAnswers(ErrorReply::Code(arguments.text(1).to_owned())),
        ),
    ];
    let real: [(&str, &str, &str, WayOf); 2] = [
        (
            "freezes",
            "freezes",
            "All processes of its server are stopped (SIGSTOP); it gets a server of its own.",
            |_| Way::Freezes,
        ),
        (
            "dies",
            "dies",
            "All processes of its server are killed; when it is over it starts again with what it had acknowledged. It gets a server of its own.",
            |_| Way::Dies,
        ),
    ];
    let mut pack: Vec<Step<Scene>> = ways
        .into_iter()
        .chain(real)
        .map(|(phrase, example, doc, way)| {
            let manifest = Arc::clone(manifest);
            let other =
                |step, other: &str| StepDraft::alias(step, format!("the {{dependency}} {other}"));
            let step = Step::given(format!("the {{dependency}} {phrase}"));
            plain_words(phrase)
                .iter()
                .copied()
                .fold(step, other)
                .known_as(synonyms(phrase))
                .also(StepKind::When)
                .doc(format!(
                    "{doc} A table may say `only`, `of`, `for`, `one message in`, `from`, `until`, and `| if | it gets there |` where it need not come to it."
                ))
                .example(format!("When the {} {example}", whose(phrase)))
                .group(GROUP)
                .checked(move |arguments, table| {
                    let dependency = DependencyName::new(arguments.text(0));
                    let outage = outage(&manifest, dependency, way(arguments), table);
                    outage.err().unwrap_or_default()
                })
                .table()
                .run(move |scene: &mut Scene, arguments, table, _| {
                    Box::pin(async move {
                        let dependency = DependencyName::new(arguments.text(0));
                        let way = way(&arguments);
                        let outage = outage(scene.manifest(), dependency, way, table.as_ref());
                        let outage = outage.map_err(|objections| {
                            let first = objections.into_iter().next();
                            StepError::from(first.expect("a refusal has a reason"))
                        })?;
                        scene.strike(outage).await
                    })
                })
        })
        .collect();
    pack.push(
        Step::given("the {dependency} has a server of its own")
            .of_a_fault()
            .doc("No other rehearsal uses its server, so that it may be frozen or killed while the system runs.")
            .example("Given the database has a server of its own")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let dependency = DependencyName::new(arguments.text(0));
                    scene.plan("who has a server of its own")?.own(dependency);
                    Ok(())
                })
            }),
    );
    pack.push(
        Step::when("the {dependency} is well again")
            .of_a_fault()
            .doc("Ends every outage of a dependency and waits until it can be reached.")
            .example("When the outside is well again")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let dependency = DependencyName::new(arguments.text(0));
                    if scene.running().await?.heal(&dependency).await == 0 {
                        return Err(StepError::invalid(format!("the {dependency} was not ill")));
                    }
                    Ok(())
                })
            }),
    );
    pack
}

/// What people say that can only mean this.
fn plain_words(phrase: &str) -> &'static [&'static str] {
    match phrase {
        "refuses connections" => &[
            "is down",
            "is unavailable",
            "is unreachable",
            "goes away",
            "goes down",
        ],
        "swallows everything" => &["times out"],
        "answers {int}" => &["returns {int}", "responds with {int}", "replies with {int}"],
        _ => &[],
    }
}

fn synonyms(phrase: &str) -> &'static str {
    match phrase {
        "refuses connections" => {
            "down unavailable unreachable offline outage away stopped fails lost disconnected"
        }
        "resets connections" => "reset drops broken connection",
        "hangs" => "slow stuck unresponsive",
        "swallows everything" => "timeout times timed out silent drops blackhole hangs",
        "is read-only" => "readonly failover replica",
        "answers {int}" | "answers {string}" => {
            "returns return responds responding replies error errors fails status throttles"
        }
        "freezes" => "frozen paused pause",
        "dies" => "crashes crash killed restarted",
        _ => "",
    }
}

/// Whose example it is: not every way suits every protocol.
fn whose(phrase: &str) -> &'static str {
    match phrase {
        "freezes" | "dies" | "is read-only" | "answers {string}" => "database",
        "performs and answers {string}" => "queue",
        _ => "outside",
    }
}

fn status(arguments: &Arguments, position: usize) -> ErrorReply {
    // What is out of range is refused by the check of the step.
    ErrorReply::Status(u16::try_from(arguments.int(position)).unwrap_or(0))
}

/// Whether a dependency can answer so.
fn check_reply(
    manifest: &Manifest,
    dependency: &DependencyName,
    reply: &ErrorReply,
) -> Result<(), StepError> {
    match reply {
        ErrorReply::Status(status) if !(200..600).contains(status) => Err(StepError::invalid(
            "it can answer with no such status; write 200 to 599",
        )),
        ErrorReply::Code(code) => super::fault::check_code(manifest.protocol_of(dependency), code),
        ErrorReply::Status(_) => Ok(()),
    }
}

/// The outage that a step and its table say, or all that is wrong with them.
fn outage(
    manifest: &Manifest,
    dependency: DependencyName,
    way: Way,
    table: Option<&Table>,
) -> Result<Outage, Vec<Objection>> {
    let mut wrong = super::objections(check_way(manifest, &dependency, &way));
    if let Way::Answers(reply) | Way::PerformsAndAnswers(reply) = &way {
        wrong.extend(super::objections(check_reply(manifest, &dependency, reply)));
    }
    let names = names(manifest);
    let mut outage = Outage {
        dependency,
        way,
        part: Part::default(),
        from: None,
        until: Vec::new(),
        may: false,
    };
    let rows = table.map_or(Some(Vec::new()), Table::pairs);
    if rows.is_none() {
        let error = StepError::invalid("the table of an outage has two columns");
        wrong.push(error.with_help(ROWS).into());
    }
    for (row, (key, value)) in rows.into_iter().flatten().enumerate() {
        let read = read_row(manifest, &names, &mut outage, (key, value));
        wrong.extend(read.err().map(|error| Objection::from(error).at(row)));
    }
    let nobody_passes =
        outage.part.of_passer && !matches!(outage.from, Some(Moment::Passed { .. }));
    // What `from` says may be wrong itself.
    if nobody_passes && wrong.is_empty() {
        let error = StepError::invalid("nobody passes anything: `from` names no stage");
        wrong.push(error.with_help("write | from | processing of M1 |").into());
    }
    if wrong.is_empty() {
        Ok(outage)
    } else {
        Err(wrong)
    }
}

fn read_row(
    manifest: &Manifest,
    names: &Names,
    outage: &mut Outage,
    (key, value): (&str, &str),
) -> Result<(), StepError> {
    match key {
        "only" => outage.part.only = Some(value.to_owned()),
        "of" if value == "who passes it" => outage.part.of_passer = true,
        "of" => outage.part.of = Some(process(manifest, value)?),
        "for" => outage.part.messages.extend(messages(value)?),
        "one message in" => {
            let count = value.parse().ok().filter(|count| *count > 0);
            outage.part.one_in = Some(count.ok_or_else(|| {
                StepError::invalid(format!("`{value}` is no count; write 1 or more"))
            })?);
        }
        "from" => outage.from = Some(moment(manifest, value, names)?),
        "until" => outage.until.push(moment(manifest, value, names)?),
        "if" if value == "it gets there" => outage.may = true,
        "if" => {
            return Err(
                StepError::invalid(format!("an outage has no condition `{value}`"))
                    .with_help("write | if | it gets there | where it need not come to it"),
            );
        }
        _ => {
            return Err(StepError::invalid(format!("an outage has no `{key}`")).with_help(ROWS));
        }
    }
    Ok(())
}

const ROWS: &str = "its rows are `only`, `of`, `for`, `one message in`, `from`, `until` and `if`";

fn check_way(manifest: &Manifest, dependency: &DependencyName, way: &Way) -> Result<(), StepError> {
    let protocol = &manifest.dependencies[dependency].protocol;
    let fits = match way {
        Way::ReadsOnly => matches!(protocol, Protocol::Postgres { .. }),
        Way::Freezes | Way::Dies => !matches!(protocol, Protocol::Http { .. }),
        Way::Answers(ErrorReply::Status(_)) | Way::PerformsAndAnswers(ErrorReply::Status(_)) => {
            !matches!(protocol, Protocol::Postgres { .. } | Protocol::Redis { .. })
        }
        Way::Answers(ErrorReply::Code(_)) | Way::PerformsAndAnswers(ErrorReply::Code(_)) => {
            !matches!(protocol, Protocol::Http { .. })
        }
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(StepError::invalid(format!(
        "`{dependency} {way}` makes no sense with its protocol"
    ))
    .with_help("HTTP answers with a status, PostgreSQL, SQS and Redis with an error of their own"))
}

/// The names that moments may use.
pub(super) fn names(manifest: &Manifest) -> Names {
    Names {
        stages: manifest.stages.keys().cloned().collect(),
        totals: manifest
            .totals
            .iter()
            .filter(|(_, total)| total.witness.is_some())
            .map(|(name, _)| name.clone())
            .collect(),
    }
}

fn moment(manifest: &Manifest, text: &str, names: &Names) -> Result<Moment, StepError> {
    let moment =
        Moment::parse(text, names).map_err(|fault| StepError::invalid(fault.to_string()))?;
    match &moment {
        Moment::Total { total, label, .. } => check_total(manifest, total, label.as_deref())?,
        Moment::Passed {
            stage,
            message: Some(_),
            ..
        } if manifest.stages[stage].is_nobodys() => {
            return Err(
                StepError::invalid(format!("`{stage}` is passed with no message")).with_help(
                    format!("write `{stage}` alone, or name a stage that a message passes"),
                ),
            );
        }
        _ => {}
    }
    Ok(moment)
}

fn process(manifest: &Manifest, text: &str) -> Result<(RoleName, Option<u32>), StepError> {
    let role = RoleName::new(text);
    if manifest.processes.contains_key(&role) {
        return Ok((role, None));
    }
    let instance = text.rsplit_once('-').and_then(|(role, instance)| {
        let role = RoleName::new(role);
        let known = manifest.processes.contains_key(&role);
        known.then_some((role, Some(instance.parse().ok()?)))
    });
    instance.ok_or_else(|| StepError::invalid(format!("there is no process `{text}`")))
}

fn messages(text: &str) -> Result<Vec<MessageName>, StepError> {
    let is_message = |word: &&str| {
        word.strip_prefix('M')
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let words: Vec<&str> = text
        .split([',', ' '])
        .filter(|word| !word.is_empty() && *word != "and")
        .collect();
    if words.is_empty() || !words.iter().all(is_message) {
        return Err(StepError::invalid(format!(
            "`{text}` names no messages; write `M1, M2 and M3`"
        )));
    }
    Ok(words.into_iter().map(MessageName::new).collect())
}
