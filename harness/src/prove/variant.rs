//! What is changed, and what became of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::gherkin::Exit;

/// Which kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A scenario without all its faults.
    Control,
    /// A scenario without one line of them.
    Line,
    /// A defect of the team's own.
    Defect,
    /// A call that misbehaves.
    Wire,
    /// A setting that is off by one.
    Setting,
}

impl Kind {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 5] = [
        Self::Control,
        Self::Line,
        Self::Defect,
        Self::Wire,
        Self::Setting,
    ];

    /// Whether it leaves something out of a scenario, and the system is as it is.
    pub fn is_control(self) -> bool {
        matches!(self, Self::Control | Self::Line)
    }

    /// Several of them, as a heading.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Control => "controls",
            Self::Line => "lines",
            Self::Defect => "defects",
            Self::Wire => "wire mutants",
            Self::Setting => "settings",
        }
    }
}

/// One change, to be tried with scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Which kind.
    pub kind: Kind,
    /// What it is called: the same from run to run.
    pub name: String,
    /// What it means, in a sentence.
    pub what: String,
    /// Steps that are set up before those of a scenario.
    pub given: Vec<String>,
    /// Places of the steps that are left out.
    pub left_out: Vec<usize>,
    /// The scenarios that are meant to see it, by their place in the suite.
    pub meant: Vec<usize>,
    /// Those that are tried where these see nothing.
    pub others: Vec<usize>,
    /// How a system with it is made, where that is otherwise than usual.
    pub made: Option<Made>,
}

/// How a broken system is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Made {
    /// Command lines that build it; none: as all defects are built.
    pub build: Vec<String>,
    /// What `prepare` gets too.
    pub prepare: BTreeMap<String, String>,
}

impl Variant {
    /// How the list of accepted variants calls it.
    pub fn key(&self) -> String {
        format!("{}: {}", self.kind, self.name)
    }
}

/// What became of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A rule broke, which holds for every system.
    SeenByRule,
    /// An expectation of a scenario failed.
    Seen,
    /// Nothing was seen but that something did not come in time.
    Late,
    /// Every scenario stayed green, or proved nothing.
    Unseen,
    /// Without the line, or the faults, the scenario is not green.
    Decides,
    /// Without the line, or the faults, all is as green as with.
    DecidesNothing,
    /// It could not be tried.
    Untold,
}

impl Mark {
    /// All, the best first.
    pub const ALL: [Self; 7] = [
        Self::SeenByRule,
        Self::Seen,
        Self::Late,
        Self::Unseen,
        Self::Decides,
        Self::DecidesNothing,
        Self::Untold,
    ];

    /// Whether it speaks against the suite.
    pub fn is_gap(self) -> bool {
        matches!(self, Self::Late | Self::Unseen | Self::DecidesNothing)
    }

    /// What a proof with such a variant exits with.
    pub fn exit(self) -> Exit {
        match self {
            Self::SeenByRule | Self::Seen | Self::Decides => Exit::Passed,
            Self::Late | Self::Unseen | Self::DecidesNothing => Exit::Failed,
            Self::Untold => Exit::Unproven,
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SeenByRule => "seen by a rule",
            Self::Seen => "seen",
            Self::Late => "late",
            Self::Unseen => "not seen",
            Self::Decides => "decides",
            Self::DecidesNothing => "decides nothing",
            Self::Untold => "not told",
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Control => "control",
            Self::Line => "line",
            Self::Defect => "defect",
            Self::Wire => "wire",
            Self::Setting => "setting",
        })
    }
}
