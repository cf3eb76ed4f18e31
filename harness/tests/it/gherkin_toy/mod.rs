//! A toy deployment that can end in every way a scenario can end, to test the frame.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by test targets, each of which uses its own part"
)]

pub mod command;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rehearsal::gherkin::{
    Closing, Complaint, Context, Evidence, Exit, Interrupt, Limits, Names, Notes, Project, Row,
    RunInfo, ScenarioInfo, ScenarioOutcome, Step, StepError, Vocabulary, World,
};

/// What the toy worlds of one run share: a diary, optionally also kept in a file.
#[derive(Default)]
pub struct Diary {
    pub lines: Mutex<Vec<String>>,
    pub file: Option<PathBuf>,
}

impl Diary {
    pub fn write(&self, line: String) {
        if let Some(file) = &self.file {
            let mut file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)
                .unwrap();
            writeln!(file, "{line}").unwrap();
        }
        self.lines.lock().unwrap().push(line);
    }

    pub fn read(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

pub struct Toy {
    name: String,
    diary: Arc<Diary>,
    notes: Notes,
    handled: u64,
    at_close: Option<Evidence>,
    slow_close: Option<Duration>,
}

impl World for Toy {
    type Shared = Arc<Diary>;

    async fn open(
        context: &Context<Arc<Diary>>,
        scenario: &ScenarioInfo,
    ) -> Result<Self, StepError> {
        if scenario.tags.iter().any(|tag| tag == "unopenable") {
            return Err(StepError::broken("port 8081 is in use"));
        }
        let name = scenario.name.clone();
        context.shared.write(format!("open {name}"));
        Ok(Self {
            name,
            diary: Arc::clone(&context.shared),
            notes: context.notes.clone(),
            handled: 0,
            at_close: None,
            slow_close: None,
        })
    }

    async fn close(&mut self, outcome: &ScenarioOutcome) -> Closing {
        if let Some(pause) = self.slow_close {
            tokio::time::sleep(pause).await;
        }
        self.diary
            .write(format!("close {} {}", self.name, outcome.verdict));
        let mut closing = Closing::quiet()
            .with_figure("handled", self.handled)
            .with_figure("left", 0)
            .with_history("reports/run/toy/history.jsonl");
        closing.evidence.extend(self.at_close.take());
        closing
    }
}

pub struct ToyProject {
    pub diary: Arc<Diary>,
    pub limits: Limits,
    pub ill: bool,
}

impl Default for ToyProject {
    fn default() -> Self {
        Self {
            diary: Arc::default(),
            ill: false,
            limits: Limits {
                step: Duration::from_millis(300),
                scenario: Duration::from_secs(5),
                close: Duration::from_secs(5),
                grace: Duration::from_millis(300),
            },
        }
    }
}

impl Project for ToyProject {
    type World = Toy;

    fn profiles(&self) -> Vec<(String, Vec<(String, Vec<String>)>)> {
        let options = [("tags", "@fast"), ("repeat", "2"), ("quiet", "false")];
        let options = options.map(|(name, value)| (name.to_owned(), vec![value.to_owned()]));
        vec![("fast".to_owned(), options.to_vec())]
    }

    fn vocabulary(&self) -> Vocabulary<Toy> {
        let names = Names::new()
            .with("stage", ["attempt-recorded", "processing", "outside sent"])
            .with("setting", ["attempt limit", "concurrency"])
            .with("process", ["api", "worker"]);
        Vocabulary::new(names).with(steps()).checked_by(|_, steps| {
            let twice = steps.iter().enumerate().skip(1).filter(|(position, step)| {
                step.0.starts_with("the {setting}") && steps[..*position].contains(step)
            });
            let complain = |(step, _)| Complaint {
                step: Some(step),
                row: None,
                line: None,
                message: "the setting is set twice".to_owned(),
                help: Some("take one away".to_owned()),
            };
            twice.map(complain).collect()
        })
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    async fn prepare(
        &self,
        _run: &Arc<RunInfo>,
        notes: &Notes,
        _interrupt: &Interrupt,
    ) -> Result<Arc<Diary>, StepError> {
        notes.say("preparing the toy");
        if self.ill {
            return Err(StepError::broken("no database was found"));
        }
        self.diary.write("prepare".to_owned());
        Ok(Arc::clone(&self.diary))
    }

    async fn finish(&self, shared: Arc<Arc<Diary>>) -> Result<(), StepError> {
        shared.write("finish".to_owned());
        Ok(())
    }
}

#[expect(clippy::too_many_lines, reason = "a list of phrases")]
fn steps() -> Vec<Step<Toy>> {
    vec![
        Step::<Toy>::given("the {setting} is {int}")
            .doc("Sets a value for this scenario.")
            .example("Given the attempt limit is 3")
            .group("settings")
            .run(|_, arguments, _, _| {
                Box::pin(async move {
                    match arguments.int(1) {
                        0 => Err(StepError::invalid(format!(
                            "the {} cannot be 0",
                            arguments.text(0)
                        ))
                        .with_help("write 1 or more")),
                        _ => Ok(()),
                    }
                })
            }),
        Step::<Toy>::when("{messages} is/are handled")
            .doc("Handles messages.")
            .example("When M1 to M5 are handled")
            .group("messages")
            .run(|toy, arguments, _, _| {
                Box::pin(async move {
                    toy.notes.say("handling");
                    toy.handled += arguments.messages(0).len() as u64;
                    Ok(())
                })
            }),
        Step::<Toy>::when("the {process} is killed with {signal} at {stage} of {message}")
            .doc("Kills a process at a stage.")
            .example("When the worker is killed with SIGKILL at processing of M3")
            .group("faults")
            .run(|_, _, _, _| Box::pin(async { Ok(()) })),
        Step::<Toy>::when("nothing happens for {duration}")
            .doc("Waits.")
            .example("When nothing happens for 2s")
            .group("time")
            .run(|_, arguments, _, _| {
                Box::pin(async move {
                    tokio::time::sleep(arguments.duration(0)).await;
                    Ok(())
                })
            }),
        Step::<Toy>::when("the thread is blocked for {duration}")
            .doc("Blocks the thread.")
            .example("When the thread is blocked for 2s")
            .group("time")
            .run(|_, arguments, _, _| {
                Box::pin(async move {
                    std::thread::sleep(arguments.duration(0));
                    Ok(())
                })
            }),
        Step::<Toy>::when("the closing takes {duration}")
            .doc("Makes the closing slow.")
            .example("When the closing takes 2s")
            .group("time")
            .run(|toy, arguments, _, _| {
                Box::pin(async move {
                    toy.slow_close = Some(arguments.duration(0));
                    Ok(())
                })
            }),
        Step::<Toy>::when("the harness panics")
            .doc("Panics.")
            .example("When the harness panics")
            .group("ends")
            .run(|_, _, _, _| Box::pin(async { panic!("a bug of ours") })),
        Step::<Toy>::when("a task of the harness panics")
            .doc("Panics in a task that nobody awaits.")
            .example("When a task of the harness panics")
            .group("ends")
            .run(|_, _, _, _| {
                Box::pin(async {
                    let _ = tokio::task::spawn_local(async { panic!("a bug in a task") }).await;
                    Ok(())
                })
            }),
        Step::<Toy>::when("the environment fails")
            .doc("Fails as the environment can.")
            .example("When the environment fails")
            .group("ends")
            .run(|_, _, _, _| {
                Box::pin(async {
                    Err(StepError::broken(std::io::Error::other(
                        "cannot start `worker`: port 8081 is in use",
                    )))
                })
            }),
        Step::<Toy>::then("the end is {word}")
            .doc("Decides what the closing says: failed, unproven or error.")
            .example("Then the end is unproven")
            .group("ends")
            .run(|toy, arguments, _, _| {
                Box::pin(async move {
                    let verdict = Exit::ALL
                        .into_iter()
                        .find(|exit| exit.to_string() == arguments.text(0));
                    let verdict = verdict.ok_or_else(|| StepError::invalid("no such end"))?;
                    toy.at_close = Some(Evidence::new(verdict, "the fault never landed"));
                    Ok(())
                })
            }),
        Step::<Toy>::then("the totals are")
            .doc("Compares figures.")
            .example("Then the totals are\n  | handled | 5 |")
            .group("totals")
            .table()
            .run(|toy, _, table, _| {
                Box::pin(async move {
                    let table =
                        table.ok_or_else(|| StepError::invalid("the totals need a table"))?;
                    let pairs = table.pairs().unwrap_or_default();
                    let seen = |name: &str| match name {
                        "handled" => toy.handled.to_string(),
                        _ => "0".to_owned(),
                    };
                    let rows: Vec<Row> = pairs
                        .iter()
                        .map(|(name, value)| Row::new(*name, value, seen(name)))
                        .collect();
                    if rows.iter().all(Row::agrees) {
                        Ok(())
                    } else {
                        Err(StepError::differs("the totals differ", rows))
                    }
                })
            }),
        Step::<Toy>::then("it is the {word}")
            .also(rehearsal::gherkin::StepKind::When)
            .doc("Stands for one half of an ambiguity.")
            .example("Then it is the end")
            .group("ends")
            .run(|_, _, _, _| Box::pin(async { Ok(()) })),
        Step::<Toy>::then("it is {word} same")
            .doc("Stands for the other half of an ambiguity.")
            .example("Then it is quite same")
            .group("ends")
            .run(|_, _, _, _| Box::pin(async { Ok(()) })),
    ]
}
