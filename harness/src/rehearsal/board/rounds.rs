//! When a consumer of a table asks it for more.
//!
//! No statement says by itself that it asks for work. One that claimed rows once does; and who
//! makes the same call again, without an effect in between, has gone round its loop.

use super::Board;
use super::state::{Receive, State};
use crate::ids::Author;
use crate::manifest::Protocol;
use crate::sql::Kind;
use crate::tap::{Call, PgRequest, Request};

/// So many texts are kept: those with values in them would grow for ever.
const MOST: usize = 4_096;

impl Board {
    /// A call began that may ask a table for more.
    pub(super) fn note_rounds(&self, state: &mut State, call: &Call, began: u64) {
        let (Request::Postgres(request), Some(incarnation)) =
            (&call.request, call.author.incarnation())
        else {
            return;
        };
        let dependency = self.0.manifest.dependencies.get(&call.dependency);
        let process = self.0.manifest.processes.get(&incarnation.role);
        let (Some(Protocol::Postgres { queues }), Some(process)) =
            (dependency.map(|dependency| &dependency.protocol), process)
        else {
            return;
        };
        let consumed: Vec<&String> = process
            .consumes
            .iter()
            .filter(|(of, queue)| *of == call.dependency && queues.contains_key(queue))
            .map(|(_, queue)| queue)
            .collect();
        let Some(text) = text_of(request).filter(|_| !consumed.is_empty()) else {
            return;
        };
        let claims = (call.dependency.clone(), text.clone());
        let claims = state.claiming.contains(&claims);
        if state.rounds.len() >= MOST {
            state.rounds.clear();
        }
        // Who waits for notices has looked, or looks once it hears of something.
        let listens = text.trim_start().to_lowercase().starts_with("listen");
        let round = (incarnation.clone(), call.dependency.clone(), text);
        let before = state.rounds.insert(round, began);
        let asks = process.ready.is_first_receive(&call.dependency);
        if asks && (claims || listens || before.is_some()) {
            state.called.insert(incarnation.clone());
        }
        let effect = state.effects.of(&Author::Process(incarnation.clone()));
        if !claims && before.is_none_or(|before| before <= effect) {
            return;
        }
        for queue in consumed {
            let at = (incarnation.clone(), call.dependency.clone(), queue.clone());
            let receive = Receive {
                call: call.id,
                began,
                empty_handed: true,
            };
            state.receives.insert(at, receive);
        }
    }

    /// A call claimed a row.
    pub(super) fn note_claim(state: &mut State, call: &Call) {
        if let Request::Postgres(request) = &call.request
            && let Some(text) = text_of(request)
        {
            state.claiming.insert((call.dependency.clone(), text));
        }
    }
}

/// What a call says, without what only marks a transaction.
fn text_of(request: &PgRequest) -> Option<String> {
    let marks = |kind: &Kind| {
        matches!(
            kind,
            Kind::Begin | Kind::Commit { .. } | Kind::Rollback { .. } | Kind::Savepoint(_)
        )
    };
    let statements = request.statements.iter();
    let texts: Vec<&str> = statements
        .map(|statement| &*statement.sql)
        .filter(|sql| !marks(&Kind::of(sql)))
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
