//! What one scenario plays in: first a plan, then, from the first thing that happens
//! on, a rehearsal.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::findings::{convicting, evidence_of, warnings_of};
use super::steps::Figure;
use crate::fault::Fault;
use crate::gherkin::{
    Closing, Context, Evidence, Exit, Notes, ScenarioInfo, ScenarioOutcome, StepError, World,
};
use crate::history::{self, Event};
use crate::ids::MessageName;
use crate::judge;
use crate::manifest::Manifest;
use crate::outage::Outage;
use crate::rehearsal::{
    Blame, ClientAnswer, ExpectedDeath, OperatorAnswer, Plan, Rehearsal, Snapshot, Title, Unrest,
    Venue,
};
use crate::timeline::{RECORD, Record};

/// The world of a scenario.
pub struct Scene {
    venue: Arc<Venue>,
    title: Title,
    directory: PathBuf,
    notes: Notes,
    plan: Plan,
    rehearsal: Option<Rehearsal>,
    last_snapshot: Option<Snapshot>,
    last_answer: Option<OperatorAnswer>,
    client_answers: Vec<ClientAnswer>,
}

impl Scene {
    /// The manifest.
    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        self.venue.manifest()
    }

    /// The plan, while nothing runs yet.
    pub(super) fn plan(&mut self, what: &str) -> Result<&mut Plan, StepError> {
        if self.rehearsal.is_some() {
            return Err(
                StepError::invalid(format!("{what} cannot change once the system runs"))
                    .with_help("say it before the first step that makes something happen"),
            );
        }
        Ok(&mut self.plan)
    }

    /// The messages that were declared.
    pub(super) fn declared(&self) -> Vec<MessageName> {
        self.plan
            .messages()
            .map(|message| message.name.clone())
            .collect()
    }

    /// Introduces a message that no client submits.
    pub(super) fn introduce(&mut self, message: &MessageName) -> Result<(), StepError> {
        if self.declared().contains(message) {
            return Err(StepError::invalid(format!(
                "{message} is a message that clients submit; give what is put on the queue another name"
            )));
        }
        self.plan.introduce(message);
        Ok(())
    }

    pub(super) fn check_declared(&self, messages: &[MessageName]) -> Result<(), StepError> {
        for message in messages {
            self.plan
                .knows(message)
                .map_err(|error| StepError::invalid(error.to_string()))?;
        }
        Ok(())
    }

    /// Whether messages came into the system at all: of one that did not, nothing that it
    /// never did proves anything.
    pub(super) async fn check_known(&mut self, messages: &[MessageName]) -> Result<(), StepError> {
        self.check_declared(messages)?;
        let history = std::sync::Arc::clone(self.running().await?.history());
        let stranger = history.read(|entries| {
            let known = judge::submitted(entries);
            messages
                .iter()
                .find(|message| !known.contains(*message))
                .cloned()
        });
        match stranger {
            None => Ok(()),
            Some(message) => Err(StepError::unproven(format!(
                "{message} was not submitted before this step, so that it did nothing proves nothing"
            ))),
        }
    }

    /// Whether a figure of messages can be held against what is expected: nothing proves
    /// something only of messages that came in.
    pub(super) async fn check_countable(
        &mut self,
        messages: &[MessageName],
        expected: Figure,
    ) -> Result<(), StepError> {
        if expected.includes(0) {
            return self.check_known(messages).await;
        }
        self.check_declared(messages)
    }

    /// Arms a fault, before or while the system runs.
    pub(super) fn arm(&mut self, fault: Fault) -> Result<(), StepError> {
        self.check_declared(fault.whose.named())?;
        match &mut self.rehearsal {
            Some(rehearsal) => {
                rehearsal.arm(fault);
                Ok(())
            }
            None => self
                .plan
                .arm(fault)
                .map_err(|error| StepError::invalid(error.to_string())),
        }
    }

    /// Expects a process to die by itself, before or while the system runs.
    pub(super) fn expect_death(&mut self, death: ExpectedDeath) {
        match &mut self.rehearsal {
            Some(rehearsal) => rehearsal.expect_death(death),
            None => self.plan.expect_death(death),
        }
    }

    /// Arms an outage, before or while the system runs.
    pub(super) async fn strike(&mut self, outage: Outage) -> Result<(), StepError> {
        let messages: Vec<MessageName> = outage.part.messages.iter().cloned().collect();
        self.check_declared(&messages)?;
        let Some(rehearsal) = &mut self.rehearsal else {
            return self
                .plan
                .arm_outage(outage)
                .map_err(|error| StepError::invalid(error.to_string()));
        };
        if outage.way.is_real() && !rehearsal.owns(&outage.dependency) {
            let name = &outage.dependency;
            return Err(
                StepError::invalid(format!("others use the server of the {name} too")).with_help(
                    format!("begin with `Given the {name} has a server of its own`"),
                ),
            );
        }
        rehearsal.strike(outage).await;
        Ok(())
    }

    /// The running system, started if this is the first time it is needed.
    pub(super) async fn running(&mut self) -> Result<&mut Rehearsal, StepError> {
        if self.rehearsal.is_none() {
            self.notes.say("starting the system");
            let started =
                Rehearsal::start(&self.venue, &self.plan, &self.title, self.directory.clone());
            let rehearsal = started.await.map_err(StepError::broken)?;
            for warning in rehearsal.warnings() {
                self.notes.say(format!("warning: {warning}"));
            }
            self.rehearsal = Some(rehearsal);
            self.notes.say("running");
        }
        let rehearsal = self.rehearsal.as_mut().expect("started above");
        if let Some(stop) = rehearsal.unexpected_stop() {
            return Err(StepError::failed(stop));
        }
        Ok(rehearsal)
    }

    /// The figures of the present moment, once everything is quiet.
    pub(super) async fn snapshot(&mut self) -> Result<Snapshot, StepError> {
        self.notes.say("waiting until everything is quiet");
        let snapshot = self
            .running()
            .await?
            .snapshot()
            .await
            .map_err(StepError::broken)?;
        self.notes.say("quiet");
        let snapshot = snapshot.map_err(|unrest| restless(&unrest))?;
        self.last_snapshot = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// So many different numbers from 1 to `among`, by the scenario's seed.
    pub(super) fn choose(&self, count: u64, among: u64) -> Result<BTreeSet<u32>, StepError> {
        let (Ok(count), Ok(among)) = (usize::try_from(count), u32::try_from(among)) else {
            return Err(StepError::invalid(format!("{among} is too many")));
        };
        if count == 0 || count > among as usize {
            return Err(StepError::invalid(format!(
                "{count} of {among} cannot be chosen; write a number from 1 to {among}"
            )));
        }
        let mut random = StdRng::seed_from_u64(self.title.seed);
        let mut chosen = BTreeSet::new();
        while chosen.len() < count {
            chosen.insert(random.random_range(1..=among));
        }
        Ok(chosen)
    }

    pub(super) fn keep_answers(&mut self, answers: Vec<ClientAnswer>) {
        self.client_answers = answers;
    }

    /// What the client was answered last: several answers where it asked several times.
    pub(super) fn client_answers(&self) -> Result<&[ClientAnswer], StepError> {
        if self.client_answers.is_empty() {
            return Err(StepError::invalid(
                "the client asked nothing before this step",
            ));
        }
        Ok(&self.client_answers)
    }

    /// The entries of the history that a step's finding rests on.
    pub(super) fn cite(&self, wanted: impl Fn(&Event) -> bool) -> Vec<u64> {
        let Some(rehearsal) = &self.rehearsal else {
            return Vec::new();
        };
        rehearsal.history().read(|entries| {
            let wanted = entries.iter().filter(|entry| wanted(&entry.event));
            wanted.map(|entry| entry.seq).collect()
        })
    }

    pub(super) fn say(&self, text: &str) {
        self.notes.say(text);
    }

    pub(super) fn keep_answer(&mut self, answer: OperatorAnswer) {
        self.last_answer = Some(answer);
    }

    pub(super) fn answer(&self) -> Result<&OperatorAnswer, StepError> {
        self.last_answer
            .as_ref()
            .ok_or_else(|| StepError::invalid("no operator's command was run before this step"))
    }

    /// What happened since the last figures were counted is judged too: waits until
    /// everything is quiet and counts once more.
    async fn count_once_more(&mut self, rehearsal: &mut Rehearsal) -> Option<Evidence> {
        self.notes.say("waiting until everything is quiet");
        match rehearsal.snapshot().await {
            Ok(Ok(snapshot)) => {
                self.last_snapshot = Some(snapshot);
                None
            }
            Ok(Err(unrest)) => Some(Evidence::from(restless(&unrest))),
            Err(error) => Some(Evidence::from(StepError::broken(error))),
        }
    }

    /// Keeps what the report draws of this rehearsal, beside its history.
    fn keep_record(&self, rehearsal: &Rehearsal, passed: bool) -> std::io::Result<()> {
        let mut record = rehearsal.history().read(|entries| {
            Record::of(judge::Evidence {
                manifest: rehearsal.manifest(),
                entries,
            })
        });
        if passed {
            record = record.without_calls();
        } else {
            let processes = self.directory.join("processes");
            let history = rehearsal.history();
            record = record.with_output(&processes, |line| history.without_secrets(line));
        }
        std::fs::write(self.directory.join(RECORD), record.compressed()?)
    }

    /// What there is of a system that did not even start: its history as far as it goes.
    fn unstarted(&self, outcome: &ScenarioOutcome) -> Closing {
        let path = self.directory.join("history.jsonl");
        let Ok((entries, _)) = history::read_as_far(&path) else {
            return Closing::quiet();
        };
        let record = Record::of(judge::Evidence {
            manifest: self.manifest(),
            entries: &entries,
        });
        // The reason stands in the outcome already; the picture is only a help.
        let packed = record.compressed();
        let _ = packed.and_then(|packed| std::fs::write(self.directory.join(RECORD), packed));
        Closing::quiet()
            .with_excerpt(convicting(&entries, outcome, &[]))
            .with_history(path)
    }

    fn closing(&self, rehearsal: &Rehearsal, outcome: &ScenarioOutcome) -> Closing {
        let judgement = rehearsal.judgement();
        let mut closing = Closing::quiet().with_history(rehearsal.history().path());
        for (name, figure) in self
            .last_snapshot
            .iter()
            .flat_map(|snapshot| &snapshot.totals)
        {
            let fixed = self.manifest().totals.get(name);
            let always = fixed.and_then(|fixed| fixed.always);
            for (label, value) in figure {
                // What is as it always is tells nobody anything.
                if always == Some(*value) {
                    continue;
                }
                let name = if label.is_empty() {
                    name.clone()
                } else {
                    format!("{name} ({label})")
                };
                closing = closing.with_figure(name, value);
            }
        }
        for evidence in evidence_of(&judgement, outcome) {
            closing = closing.with_evidence(evidence);
        }
        if !closing.evidence.is_empty() || outcome.verdict != Exit::Passed {
            for told in rehearsal.unpassed() {
                closing = closing.with_evidence(Evidence::new(Exit::Unproven, told));
            }
        }
        let excerpt = rehearsal
            .history()
            .read(|entries| convicting(entries, outcome, &closing.evidence));
        let passed = outcome.verdict == Exit::Passed && closing.evidence.is_empty();
        self.venue.note_passed(rehearsal.history());
        if let Err(error) = self.keep_record(rehearsal, passed) {
            let told = format!("cannot keep what the report draws: {error}");
            closing = closing.with_evidence(Evidence::new(Exit::Broken, told));
        }
        closing
            .with_warnings(warnings_of(&judgement))
            .with_excerpt(excerpt)
            .doubted(!judgement.doubts.is_empty())
    }
}

/// What is not quiet by the scenario's own doing (a call held for good, a fault at work)
/// proves nothing; a system that was still getting on had too little time; one that stands
/// has failed.
fn restless(unrest: &Unrest) -> StepError {
    match unrest {
        Unrest::NotQuiet(not_quiet) => match not_quiet.blame() {
            Blame::Scenario => StepError::unproven(unrest.to_string()),
            Blame::Harness => StepError::broken(std::io::Error::other(unrest.to_string())),
            Blame::System if not_quiet.is_more_than_late() => StepError::failed(unrest.to_string()),
            Blame::System => StepError::late(unrest.to_string()),
        },
        Unrest::Stopped(_) => StepError::failed(unrest.to_string()),
    }
}

impl World for Scene {
    type Shared = Arc<Venue>;

    async fn open(
        context: &Context<Self::Shared>,
        scenario: &ScenarioInfo,
    ) -> Result<Self, StepError> {
        let title = Title {
            run: context.run.id.to_string(),
            scenario: scenario.name.clone(),
            place: scenario.selector(),
            seed: scenario.seed,
            real_time: context.run.real_time,
        };
        Ok(Self {
            venue: Arc::clone(&context.shared),
            title,
            directory: context.directory.clone(),
            notes: context.notes.clone(),
            plan: Plan::default(),
            rehearsal: None,
            last_snapshot: None,
            last_answer: None,
            client_answers: Vec::new(),
        })
    }

    async fn settle(&mut self, outcome: &ScenarioOutcome) -> Vec<Evidence> {
        if outcome.verdict != Exit::Passed {
            return Vec::new();
        }
        let Some(mut rehearsal) = self.rehearsal.take() else {
            return Vec::new();
        };
        let unsettled = self.count_once_more(&mut rehearsal).await;
        if unsettled.is_none() && !rehearsal.manifest().limits.linger.is_zero() {
            rehearsal.history().append(Event::Lingers);
            self.notes.say("watching what comes later");
        }
        self.rehearsal = Some(rehearsal);
        unsettled.into_iter().collect()
    }

    fn lingers(&self, outcome: &ScenarioOutcome) -> Duration {
        match &self.rehearsal {
            Some(rehearsal) if outcome.verdict == Exit::Passed => {
                rehearsal.manifest().limits.linger
            }
            _ => Duration::ZERO,
        }
    }

    async fn close(&mut self, outcome: &ScenarioOutcome) -> Closing {
        let Some(mut rehearsal) = self.rehearsal.take() else {
            // Nothing ever ran: a scenario of plans alone proves nothing.
            let nothing = "nothing was rehearsed: no step made anything happen";
            return if outcome.verdict == Exit::Passed {
                Closing::quiet().with_evidence(Evidence::new(Exit::Unproven, nothing))
            } else {
                self.unstarted(outcome)
            };
        };
        let found = outcome.evidence.iter();
        let reasons = found.map(|evidence| evidence.message.clone()).collect();
        let trouble = rehearsal.history().trouble();
        let concluded = match &trouble {
            Some(_) => Exit::Broken,
            None => outcome.verdict,
        };
        rehearsal.conclude(concluded.to_string(), reasons);
        self.notes.say("ending");
        rehearsal.end().await;
        let trouble = trouble.or_else(|| rehearsal.history().trouble());
        let void =
            trouble.map(|why| format!("the record is not whole, so it judges nobody: {why}"));
        self.closing(&rehearsal, outcome).voided(void)
    }
}
