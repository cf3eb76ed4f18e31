//! How the client behaves: it gives up, tries again, asks several times at once, or
//! means something else under the same key.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fault::check_code;
use super::objections;
use crate::fault::{Effect, Fault, Point};
use crate::gherkin::{Arguments, Step, StepError, StepKind};
use crate::history::{Entry, Event};
use crate::ids::{Author, CallId, MessageName};
use crate::manifest::DependencyProtocol;
use crate::rehearsal::{ClientAnswer, Posting, Submission};
use crate::suite::Scene;

const GROUP: &str = "client";
/// How long a client waits before it tries again.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

pub(super) fn pack() -> Vec<Step<Scene>> {
    let mut pack = vec![
        fault(
            "loses its request",
            "Given the client loses its request when it submits M1 once",
            "The submission never arrives; the client loses the connection.",
            0,
            |_| Ok(Effect::LoseRequest),
        ),
        fault(
            "loses the reply",
            "Given the client loses the reply when it submits M1 once",
            "The submission takes effect; the client loses the connection and is told nothing.",
            0,
            |_| Ok(Effect::LoseReply),
        ),
        fault(
            "is heard twice",
            "Given the client is heard twice when it submits M1 once",
            "The network repeats the submission.",
            0,
            |_| Ok(Effect::Duplicate),
        ),
        fault(
            "is refused with {word}",
            "Given the client is refused with 503 when it submits M1 once",
            "Something between client and system answers in its place.",
            1,
            |arguments| {
                let code = arguments.text(0);
                check_code(DependencyProtocol::Http, code)?;
                Ok(Effect::Answer(code.to_owned()))
            },
        ),
    ];
    pack.extend(submissions());
    pack.extend(answers());
    pack
}

fn fault(
    effect: &str,
    example: &str,
    doc: &str,
    own: usize,
    make: fn(&Arguments) -> Result<Effect, StepError>,
) -> Step<Scene> {
    Step::given(format!(
        "the client {effect} when it submits {{whose}} {{times}}"
    ))
    .also(StepKind::When)
    .a_fault()
    .doc(doc)
    .example(example)
    .group(GROUP)
    .checked(move |arguments, _| objections(make(arguments)))
    .run(move |scene: &mut Scene, arguments, _, _| {
        Box::pin(async move {
            scene.arm(Fault {
                effect: make(&arguments)?,
                point: Point::Submission,
                whose: arguments.whose(own),
                times: arguments.times(1 + own),
                may: arguments.may(1 + own),
            })
        })
    })
}

fn submissions() -> Vec<Step<Scene>> {
    vec![
        Step::given("the client gives up after {duration}")
            .doc("How long the client waits for an answer to a submission.")
            .example("Given the client gives up after 500 ms")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let patience = arguments.duration(0);
                    scene.plan("the client's patience")?.wait_at_most(patience);
                    Ok(())
                })
            }),
        Step::when("the client submits {messages} and gets no answer")
            .doc("The client submits; the step fails if it is answered.")
            .example("When the client submits M1 and gets no answer")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    for message in arguments.messages(0) {
                        let answer = submit(scene, message).await?;
                        if answer.status.is_some() {
                            return Err(StepError::failed(format!(
                                "the client was answered: {}",
                                answer.said
                            )));
                        }
                    }
                    Ok(())
                })
            }),
        Step::when("the client submits {messages} again")
            .doc("The client submits once more under the same key, and must be told a job.")
            .example("When the client submits M1 again")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    for message in arguments.messages(0) {
                        let answer = submit(scene, message).await?;
                        if answer.job.is_none() {
                            return Err(StepError::failed(format!(
                                "{message} was not accepted: {}",
                                answer.said
                            )));
                        }
                    }
                    Ok(())
                })
            }),
        Step::when("the client submits {message} until it is told its job")
            .doc("The client tries again under the same key for as long as it takes.")
            .example("When the client submits M1 until it is told its job")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let message = arguments.message(0);
                    // The limit of the step ends it at the latest.
                    while submit(scene, &message).await?.job.is_none() {
                        tokio::time::sleep(BETWEEN_TRIES).await;
                    }
                    Ok(())
                })
            }),
        Step::when("the client submits {message} {int} times at once")
            .doc("So many submissions under one key, at the same moment.")
            .example("When the client submits M1 20 times at once")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let message = arguments.message(0);
                    scene.check_declared(std::slice::from_ref(&message))?;
                    let times = usize::try_from(arguments.count(1)?).unwrap_or(usize::MAX);
                    let rehearsal = scene.running().await?;
                    let answers = rehearsal.submit_at_once(&message, times).await;
                    scene.keep_answers(answers.map_err(StepError::broken)?);
                    Ok(())
                })
            }),
        Step::when("the client submits {message} with its members in another order")
            .doc("The same JSON under the same key, its members in the opposite order and with other white space.")
            .example("When the client submits M1 with its members in another order")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let reversed = true;
                    let posting = Posting { reversed, ..Posting::of(&arguments.message(0)) };
                    post(scene, posting).await
                })
            }),
        Step::when("the client submits {message} under the key of {message}")
            .doc("The content of one message under the key of another.")
            .example("When the client submits M2 under the key of M1")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let key = arguments.message(1);
                    let posting = Posting { key, ..Posting::of(&arguments.message(0)) };
                    post(scene, posting).await
                })
            }),
    ]
}

fn answers() -> Vec<Step<Scene>> {
    vec![
        Step::then("every answer names the same job")
            .doc("The client's last question was answered, and every answer that named a job named the same one: also the job that it was told before.")
            .example("Then every answer names the same job")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    let answers = scene.client_answers()?.to_vec();
                    let mut jobs: Vec<&String> =
                        answers.iter().filter_map(|answer| answer.job.as_ref()).collect();
                    jobs.dedup();
                    match jobs.as_slice() {
                        [_] => Ok(()),
                        [] => Err(StepError::failed("no answer named a job")),
                        _ => Err(StepError::failed(format!("the answers named several jobs: {jobs:?}"))),
                    }
                })
            }),
        Step::then("{message} is that job")
            .doc("The client's last answer named the job that this message already was.")
            .example("Then M1 is that job")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let message = arguments.message(0);
                    let told = scene.client_answers()?.last().and_then(|answer| answer.job.clone());
                    let known = scene.running().await?.job_of(&message);
                    if told.is_some() && told == known {
                        return Ok(());
                    }
                    Err(StepError::failed(format!(
                        "the client was told {told:?}; {message} is {known:?}"
                    )))
                })
            }),
        Step::then("the client was answered {int}")
            .doc("Every answer to the client's last question had this status code.")
            .example("Then the client was answered 422")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let expected = arguments.int(0);
                    for answer in scene.client_answers()? {
                        if answer.status.map(i64::from) != Some(expected) {
                            return Err(StepError::failed(format!(
                                "expected {expected}; the answer was {}",
                                answer.said
                            )));
                        }
                    }
                    Ok(())
                })
            }),
        Step::then("no answer was a server error")
            .doc("The system answered no request of the client with a status code of 500 or above, be it a submission or a question, in the whole scenario so far; and each submission of the client's last step was answered. If the client asked nothing, the scenario is unproven.")
            .example("Then no answer was a server error")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    for answer in scene.client_answers().unwrap_or_default() {
                        if answer.status.is_none_or(|status| status >= 500) {
                            return Err(StepError::failed(format!("an answer was {}", answer.said)));
                        }
                    }
                    match scene.running().await?.history().read(server_errors) {
                        None => Err(StepError::unproven("the client asked nothing, so no answer was a server error")),
                        Some(errors) if errors.is_empty() => Ok(()),
                        Some(errors) => Err(StepError::failed(format!(
                            "the client was answered {}",
                            errors.join(", ")
                        ))),
                    }
                })
            }),
    ]
}

/// The client's requests that the system answered with a server error; none: there was no
/// request.
fn server_errors(entries: &[Entry]) -> Option<Vec<String>> {
    let mut asked: BTreeMap<CallId, u64> = BTreeMap::new();
    let mut errors = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::Called {
                call,
                author: Author::Client,
                ..
            } => {
                asked.insert(*call, entry.seq);
            }
            Event::Replied {
                call,
                status: Some(status @ 500..),
                ..
            } => {
                if let Some(request) = asked.get(call) {
                    errors.push(format!("{status} (history: {request}, {})", entry.seq));
                }
            }
            _ => {}
        }
    }
    (!asked.is_empty()).then_some(errors)
}

async fn submit(scene: &mut Scene, message: &MessageName) -> Result<ClientAnswer, StepError> {
    scene.check_declared(std::slice::from_ref(message))?;
    let rehearsal = scene.running().await?;
    let submission = rehearsal.submit(message).await.map_err(StepError::broken)?;
    let answer = match submission {
        Submission::Accepted { job } => ClientAnswer {
            status: Some(202),
            job: Some(job),
            said: String::new(),
        },
        Submission::Refused { reason, status } => ClientAnswer {
            status,
            job: None,
            said: reason,
        },
    };
    scene.keep_answers(vec![answer.clone()]);
    Ok(answer)
}

async fn post(scene: &mut Scene, posting: Posting) -> Result<(), StepError> {
    scene.check_declared(&[posting.content.clone(), posting.key.clone()])?;
    let rehearsal = scene.running().await?;
    let answer = rehearsal.post(&posting).await.map_err(StepError::broken)?;
    scene.keep_answers(vec![answer]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Attribution, Text};
    use crate::ids::ConnectionId;
    use crate::judge::story::{Story, packer};

    fn asked(story: Story, call: u64, author: Author, request: &str, answer: &str) -> Story {
        story
            .then(Event::Called {
                kind: None,
                shape: None,
                call: CallId(call),
                connection: ConnectionId(1),
                author,
                dependency: "shop".into(),
                summary: Text::default(),
                actions: vec![request.to_owned()].into(),
                messages: Vec::new(),
                attribution: Attribution::None,
                receipts: Vec::new(),
                content: None,
            })
            .then(Event::Replied {
                call: CallId(call),
                summary: Text::default(),
                status: answer.parse().ok(),
                wrote: false,
                deliverable: true,
                ok: false,
                content: None,
            })
    }

    #[test]
    fn every_answer_to_the_client_is_looked_at_and_no_other() {
        let story = Story::new();
        assert_eq!(server_errors(&story.entries()), None);
        let story = asked(story, 1, Author::Process(packer(1)), "POST", "503");
        assert_eq!(server_errors(&story.entries()), None);
        let story = asked(story, 2, Author::Client, "POST", "422");
        assert_eq!(server_errors(&story.entries()), Some(Vec::new()));
        let story = asked(story, 3, Author::Client, "GET", "500");
        let story = asked(story, 4, Author::Client, "POST", "202");
        let errors = server_errors(&story.entries()).unwrap();
        assert_eq!(errors, ["500 (history: 6, 7)"]);
    }
}
