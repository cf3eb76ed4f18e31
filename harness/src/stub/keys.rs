//! Idempotency keys, as a provider honours them: a write that was performed under a key
//! is not performed under it again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use super::routes::{Outcome, plain};
use crate::tap::HttpRequest;

/// What was performed under which key, by the services of one stub.
#[derive(Default)]
pub(super) struct Keys(Mutex<HashMap<String, (HttpRequest, Outcome)>>);

impl Keys {
    /// What a write leads to that carries this key. The first one is performed; the same
    /// request again is answered like it, and another one is refused.
    pub(super) fn honour(&self, key: &str, request: &HttpRequest, outcome: Outcome) -> Outcome {
        // Nothing in here panics half way.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.entry(key.to_owned()) {
            Entry::Vacant(vacant) => {
                vacant.insert((request.clone(), outcome.clone()));
                outcome
            }
            Entry::Occupied(occupied) => {
                let (first, answered) = occupied.get();
                if same(first, request) {
                    return Outcome {
                        write: false,
                        repeated: true,
                        ..answered.clone()
                    };
                }
                let text = format!("`{key}` was the key of another request");
                Outcome {
                    write: false,
                    response: plain(422, &text),
                    ..outcome
                }
            }
        }
    }

    /// Forgets the keys of some of the writes, and says of how many.
    pub(super) fn forget(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.retain(|_, (_, outcome)| !which(outcome));
        before - known.len()
    }
}

/// Whether two requests ask for the same. Headers are the client's own affair.
fn same(one: &HttpRequest, other: &HttpRequest) -> bool {
    one.method == other.method
        && one.path == other.path
        && one.query == other.query
        && one.body == other.body
}
