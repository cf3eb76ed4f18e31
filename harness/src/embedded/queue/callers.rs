//! Who called which queue: the ports of everybody but the harness itself, so that it can
//! be told whether somebody came past the taps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::HeaderMap;

/// How the harness's own client names itself, as an application of the SDK.
pub const OWN_APPLICATION: &str = "rehearsal-harness";

tokio::task_local! {
    /// The port of the request that is being answered; none for the harness's own.
    pub(crate) static CALLER: Option<u16>;
}

const FILE: &str = "queue-callers";

/// Ports by the name of the queue that they called.
#[derive(Debug, Default)]
pub(crate) struct Callers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    ports: BTreeMap<String, BTreeSet<u16>>,
    /// Where a server that keeps its state across a kill keeps these.
    file: Option<File>,
    /// Why the file does not hold all of them.
    trouble: Option<io::Error>,
}

impl Known {
    /// Whether it is a new one.
    fn add(&mut self, queue: &str, port: u16) -> bool {
        if let Some(ports) = self.ports.get_mut(queue) {
            ports.insert(port)
        } else {
            let ports = BTreeSet::from([port]);
            self.ports.insert(queue.to_owned(), ports).is_none()
        }
    }
}

impl Callers {
    /// Those of a server that keeps its state in this directory: also of its earlier
    /// starts.
    pub(crate) fn kept(directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        let mut known = Known::default();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        // A line without its end is of a call that was never answered.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        for line in whole.lines() {
            if let Some((port, queue)) = line.split_once(' ')
                && let Ok(port) = port.parse()
            {
                known.add(queue, port);
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(whole.len() as u64)?;
        known.file = Some(file);
        Ok(Self(Mutex::new(known)))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the request that is being answered names this queue.
    pub(crate) fn note(&self, queue: &str) {
        let Ok(Some(port)) = CALLER.try_with(|caller| *caller) else {
            return;
        };
        let mut known = self.known();
        if known.add(queue, port)
            && let Some(file) = &mut known.file
            && let Err(error) = file.write_all(format!("{port} {queue}\n").as_bytes())
        {
            known.trouble.get_or_insert(error);
        }
    }

    /// Forgets a queue, if it is the harness itself that has just deleted it: nobody will
    /// ask any more.
    pub(crate) fn forget(&self, queue: &str) {
        if matches!(CALLER.try_with(|caller| *caller), Ok(None)) {
            self.known().ports.remove(queue);
        }
    }

    /// Who called a queue.
    ///
    /// # Errors
    /// When it is not known, because a record could not be written.
    pub(crate) fn of(&self, queue: &str) -> Result<BTreeSet<u16>, String> {
        let known = self.known();
        match &known.trouble {
            Some(error) => Err(format!("the record of callers cannot be written: {error}")),
            None => Ok(known.ports.get(queue).cloned().unwrap_or_default()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn note(callers: &Callers, port: u16, queue: &str) {
        CALLER.sync_scope(Some(port), || callers.note(queue));
    }

    #[test]
    fn callers_are_kept_across_a_death_and_a_torn_line_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let callers = Callers::kept(directory.path()).unwrap();
        note(&callers, 4001, "orders");
        note(&callers, 4001, "orders");
        note(&callers, 4002, "other");
        CALLER.sync_scope(None, || callers.note("orders"));
        drop(callers);
        let path = directory.path().join(FILE);
        let mut torn = OpenOptions::new().append(true).open(path).unwrap();
        torn.write_all(b"40").unwrap();
        let callers = Callers::kept(directory.path()).unwrap();
        note(&callers, 4003, "orders");
        drop(callers);
        let callers = Callers::kept(directory.path()).unwrap();
        assert_eq!(callers.of("orders").unwrap(), BTreeSet::from([4001, 4003]));
        assert_eq!(callers.of("other").unwrap(), BTreeSet::from([4002]));
    }
}
