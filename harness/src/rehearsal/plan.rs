//! What a scenario asks for before anything runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::IndexMap;

use crate::fault::Fault;
use crate::ids::{DependencyName, MessageName, RoleName};
use crate::manifest::{Manifest, Process};
use crate::outage::Outage;

use super::{ExpectedDeath, Overrides};

/// A message of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMessage {
    /// Its name.
    pub name: MessageName,
    /// What it carries: a kind of the manifest.
    pub kind: String,
}

/// A scenario asks for something that makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A message was not declared.
    #[error("{message} is unknown here; declare it first: `Given the messages M1 to M5`")]
    UnknownMessage {
        /// Which.
        message: MessageName,
    },
}

/// What a scenario asks for before anything runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    settings: BTreeMap<String, String>,
    instances: BTreeMap<RoleName, u32>,
    messages: IndexMap<MessageName, PlannedMessage>,
    faults: Vec<Fault>,
    outages: Vec<Outage>,
    own: BTreeSet<DependencyName>,
    stop_expected: bool,
    /// Messages that the harness itself puts on a queue.
    foreign: BTreeSet<MessageName>,
    patience: Option<Duration>,
    deaths: Vec<ExpectedDeath>,
    overrides: Overrides,
    surveyed: Option<i64>,
    /// How long who deleted a message early does nothing but receive until that is rest.
    rest: Option<Duration>,
    /// Whether calls are kept as they pass.
    recorded: bool,
}

impl Plan {
    /// Sets a setting of the manifest.
    pub fn set(&mut self, setting: &str, value: impl Into<String>) {
        self.settings.insert(setting.to_owned(), value.into());
    }

    /// Runs so many instances of a role.
    pub fn run(&mut self, role: RoleName, instances: u32) {
        self.instances.insert(role, instances);
    }

    /// Declares a message; one that is declared already changes what it carries.
    pub fn declare(&mut self, name: &MessageName, kind: &str) {
        let planned = PlannedMessage {
            name: name.clone(),
            kind: kind.to_owned(),
        };
        self.messages.insert(name.clone(), planned);
    }

    /// Arms a fault before anything runs.
    ///
    /// # Errors
    /// When it waits for a message that was not declared.
    pub fn arm(&mut self, fault: Fault) -> Result<(), PlanError> {
        for message in fault.whose.named() {
            self.knows(message)?;
        }
        self.faults.push(fault);
        Ok(())
    }

    /// Arms an outage before anything runs. One that is real gets its dependency a server
    /// of its own.
    ///
    /// # Errors
    /// When it concerns a message that was not declared.
    pub fn arm_outage(&mut self, outage: Outage) -> Result<(), PlanError> {
        for message in &outage.part.messages {
            self.knows(message)?;
        }
        if outage.way.is_real() {
            self.own(outage.dependency.clone());
        }
        self.outages.push(outage);
        Ok(())
    }

    /// Gives a dependency a server that no other rehearsal uses.
    pub fn own(&mut self, dependency: DependencyName) {
        self.own.insert(dependency);
    }

    /// The consumers are expected to stop.
    pub fn expect_stop(&mut self) {
        self.stop_expected = true;
    }

    /// A process is expected to die by itself.
    pub fn expect_death(&mut self, death: ExpectedDeath) {
        self.deaths.push(death);
    }

    /// What single processes get that others do not.
    pub fn overrides(&mut self) -> &mut Overrides {
        &mut self.overrides
    }

    /// Whether a message was declared.
    ///
    /// # Errors
    /// When it was not.
    pub fn knows(&self, message: &MessageName) -> Result<(), PlanError> {
        if self.messages.contains_key(message) || self.foreign.contains(message) {
            return Ok(());
        }
        Err(PlanError::UnknownMessage {
            message: message.clone(),
        })
    }

    /// Introduces a message that no client submits: the harness puts it on a queue.
    pub fn introduce(&mut self, message: &MessageName) {
        self.foreign.insert(message.clone());
    }

    /// How long the client waits for an answer.
    pub fn wait_at_most(&mut self, patience: Duration) {
        self.patience = Some(patience);
    }

    /// Keeps every call, and lets ids that a database hands out begin so much later, so
    /// that no small number is taken for one.
    pub fn survey(&mut self, offset: i64) {
        self.surveyed = Some(offset);
    }

    /// Whoever deleted a message and does nothing but receive for so long is at rest.
    pub fn rest_after(&mut self, rest: Duration) {
        self.rest = Some(rest);
    }

    pub(super) fn rest(&self) -> Option<Duration> {
        self.rest
    }

    /// Keeps every call as it passes, with what is answered.
    pub fn record(&mut self) {
        self.recorded = true;
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.recorded
    }

    pub(super) fn surveyed(&self) -> Option<i64> {
        self.surveyed
    }

    pub(super) fn is_surveyed(&self) -> bool {
        self.surveyed.is_some()
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// All declared messages, in their order.
    pub fn messages(&self) -> impl Iterator<Item = &PlannedMessage> {
        self.messages.values()
    }

    pub(super) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(super) fn outages(&self) -> &[Outage] {
        &self.outages
    }

    pub(super) fn owned(&self) -> &BTreeSet<DependencyName> {
        &self.own
    }

    pub(super) fn stop_expected(&self) -> bool {
        self.stop_expected
    }

    pub(super) fn expected_deaths(&self) -> &[ExpectedDeath] {
        &self.deaths
    }

    pub(super) fn own_values(&self) -> Overrides {
        self.overrides.clone()
    }

    pub(super) fn instances(&self, role: &RoleName, process: &Process) -> u32 {
        self.instances
            .get(role)
            .copied()
            .unwrap_or(process.instances)
    }

    /// The values of `${setting.…}`: the manifest's defaults unless set here.
    pub(super) fn settings(&self, manifest: &Manifest) -> BTreeMap<String, String> {
        manifest
            .settings
            .iter()
            .map(|(name, setting)| {
                let value = self.settings.get(name).unwrap_or(&setting.default);
                (format!("setting.{name}"), value.clone())
            })
            .collect()
    }
}
