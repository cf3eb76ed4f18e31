//! Who called which queue: the ports of everybody but the harness itself, so that it can
//! be told whether somebody came past the taps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;

/// How the harness's own client names itself, as an application of the SDK.
pub const OWN_APPLICATION: &str = "rehearsal-harness";

tokio::task_local! {
    /// The port of the request that is being answered; none for the harness's own.
    pub(crate) static CALLER: Option<u16>;
}

/// Ports by the name of the queue that they called.
#[derive(Debug, Default)]
pub(crate) struct Callers(Mutex<BTreeMap<String, BTreeSet<u16>>>);

impl Callers {
    /// Notes that the request that is being answered names this queue.
    pub(crate) fn note(&self, queue: &str) {
        let Ok(Some(port)) = CALLER.try_with(|caller| *caller) else {
            return;
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(queue) {
            Some(ports) => drop(ports.insert(port)),
            None => drop(all.insert(queue.to_owned(), BTreeSet::from([port]))),
        }
    }

    pub(crate) fn of(&self, queue: &str) -> BTreeSet<u16> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(queue).cloned().unwrap_or_default()
    }
}

/// Whether a request is the harness's own.
pub(crate) fn is_own(headers: &HeaderMap) -> bool {
    ["x-amz-user-agent", "user-agent"].iter().any(|name| {
        let agent = headers.get(*name).and_then(|value| value.to_str().ok());
        let own = format!("app/{OWN_APPLICATION}");
        agent.is_some_and(|agent| agent.split(' ').any(|word| word == own))
    })
}
