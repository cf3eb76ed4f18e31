//! Names and numbers that tell things of one run apart. Each is its own type,
//! so that a stage can never be passed where a message is meant.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a name as it stands in a manifest or a feature.
            pub fn new(name: impl Into<String>) -> Self {
                Self(Arc::from(name.into()))
            }

            /// The name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(Arc::from(name))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.as_str()).finish()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }
    };
}

name! {
    /// One invocation of `rehearse`. Everything a run creates carries it.
    RunId
}
name! {
    /// A process as the manifest names it: `api`, `worker`. Several instances
    /// of one role may run.
    RoleName
}
name! {
    /// A dependency as the manifest names it: `database`, `queue`.
    DependencyName
}
name! {
    /// A named point in a process's handling of a message.
    StageName
}
name! {
    /// A submitted job as a feature names it: `M3`.
    MessageName
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

number! {
    /// One call on one wire, unique in a rehearsal.
    CallId, "call-"
}
number! {
    /// One client connection that a tap accepted, unique in a rehearsal.
    ConnectionId, "connection-"
}
number! {
    /// One armed fault, unique in a rehearsal.
    FaultId, "fault-"
}

/// One start of one instance of a role: `worker-1#2` is the second start of
/// the first worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Incarnation {
    /// The role it plays.
    pub role: RoleName,
    /// Which of the role's instances, from 1.
    pub instance: u32,
    /// Which start of that instance, from 1.
    pub start: u32,
}

impl Incarnation {
    /// The instance without the start: `worker-1`.
    pub fn process(&self) -> String {
        format!("{}-{}", self.role, self.instance)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}#{}", self.role, self.instance, self.start)
    }
}

impl From<Incarnation> for String {
    fn from(incarnation: Incarnation) -> Self {
        incarnation.to_string()
    }
}

/// A text that should name an incarnation does not.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an incarnation; write it as `worker-1#2`")]
pub struct NotAnIncarnation(String);

impl TryFrom<String> for Incarnation {
    type Error = NotAnIncarnation;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parsed = text.rsplit_once('#').and_then(|(process, start)| {
            let (role, instance) = process.rsplit_once('-')?;
            Some(Self {
                role: RoleName::new(role),
                instance: instance.parse().ok()?,
                start: start.parse().ok()?,
            })
        });
        parsed.ok_or(NotAnIncarnation(text))
    }
}

/// Who made a call: a process of the system, or the harness playing its client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Author {
    /// One incarnation of a process of the system.
    Process(Incarnation),
    /// The harness in the part of the system's client.
    Client,
}

impl Author {
    /// The incarnation, unless the harness's client made the call.
    pub fn incarnation(&self) -> Option<&Incarnation> {
        match self {
            Self::Process(incarnation) => Some(incarnation),
            Self::Client => None,
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(incarnation) => incarnation.fmt(f),
            Self::Client => f.write_str("client"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incarnation_reads_back_what_it_prints() {
        let incarnation = Incarnation {
            role: "dead-letter-reader".into(),
            instance: 2,
            start: 13,
        };
        let text = incarnation.to_string();
        assert_eq!(text, "dead-letter-reader-2#13");
        assert_eq!(Incarnation::try_from(text).unwrap(), incarnation);
        assert!(Incarnation::try_from("worker".to_owned()).is_err());
    }
}
