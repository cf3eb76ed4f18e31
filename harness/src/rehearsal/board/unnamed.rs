//! What is not recognised is not innocent: whatever could not be named by the end is a
//! doubt, told once for each queue or route, with the place where it would be mended.

use super::super::unnamed::{Content, Kind, Telling};
use super::Board;
use super::state::State;
use crate::ids::{DependencyName, MessageName};
use crate::manifest::{Dependency, Place, Recognise};
use crate::place;
use crate::stub::Performed;
use crate::tap::{Call, Request};

impl Board {
    /// A call over HTTP was recorded, by ids in it or not.
    pub(super) fn note_recognition(
        &self,
        state: &mut State,
        call: &Call,
        ids: &[String],
        by_id: bool,
    ) {
        let Request::Http(request) = &call.request else {
            return;
        };
        if call.author.incarnation().is_none()
            || !self
                .0
                .manifest
                .messages
                .recognise
                .contains_key(&call.dependency)
        {
            return;
        }
        if by_id {
            state.unnamed.note_named(&call.dependency);
            return;
        }
        state.unnamed.note(
            (call.dependency.clone(), Kind::Called),
            call.author.to_string(),
            ids.to_vec(),
            || Content::Request(request.clone()),
            state.aliases.known(),
        );
    }

    /// A service that the harness plays performed a write whose job is no message's.
    pub(super) fn note_strange_write(&self, dependency: &DependencyName, performed: &Performed) {
        let request = &performed.request;
        let Some(service) = self.0.manifest.dependencies.get(dependency) else {
            return;
        };
        let fits = |method: &str, path: &str| {
            (method == "*" || method == request.method)
                && place::match_path(path, &request.path).is_some()
        };
        let mut routes = service.routes().iter();
        let Some(route) = routes.find(|route| fits(&route.method, &route.path)) else {
            return;
        };
        if route.job.is_none() {
            return;
        }
        let kind = Kind::Written {
            route: format!("{} {}", route.method, route.path),
        };
        let mut state = self.state();
        let State {
            unnamed, aliases, ..
        } = &mut *state;
        unnamed.note(
            (dependency.clone(), kind),
            dependency.to_string(),
            performed.job.iter().cloned().collect(),
            || Content::Request(request.clone()),
            aliases.known(),
        );
    }

    /// Doubts everything that nobody can name to this day.
    pub(in crate::rehearsal) fn doubt_unnamed(&self) {
        let told = {
            let state = self.state();
            state.unnamed.told(state.aliases.known())
        };
        for telling in told.iter().filter(|telling| telling.is_doubt()) {
            let mut reason = self.what_was_seen(telling);
            reason.push_str(&self.where_it_stands(telling));
            self.doubt_once(&reason);
        }
    }

    fn what_was_seen(&self, telling: &Telling) -> String {
        let Telling {
            dependency,
            kind,
            count,
            who,
            shape,
            ..
        } = telling;
        let times = match count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let who = who.join(" and ");
        let mut seen = match kind {
            Kind::Delivered { queue } => {
                let queue = self.queue_in_manifest(dependency, queue);
                format!(
                    "`{queue}` of `{dependency}` delivered {times} what belongs to no message of the scenario, to {who}"
                )
            }
            Kind::Sent { queue } => {
                let queue = self.queue_in_manifest(dependency, queue);
                format!(
                    "`{queue}` of `{dependency}` took {times} what belongs to no message of the scenario, from {who}"
                )
            }
            Kind::Written { route } => {
                format!("`{dependency}` performed `{route}` {times} for no message of the scenario")
            }
            Kind::Called => format!("none of the calls of {who} to `{dependency}` was recognised"),
        };
        if let Some(shape) = shape {
            seen.push_str(", like this: ");
            seen.push_str(shape);
        }
        seen
    }

    fn where_it_stands(&self, telling: &Telling) -> String {
        let Telling {
            dependency,
            kind,
            finds,
            ..
        } = telling;
        let (table, proposal): (String, fn(&str) -> String) = match kind {
            Kind::Written { route } => (format!("`job` of the route `{route}`"), |place| {
                format!("job: {place}")
            }),
            _ => (format!("`messages.recognise.{dependency}`"), |place| {
                format!("[{place}]")
            }),
        };
        let looked = self.places_now(telling);
        match finds.first() {
            Some(find) if find.exact => {
                let proposal = match kind {
                    Kind::Written { .. } => proposal(&find.place),
                    _ => format!("{dependency}: {}", proposal(&find.place)),
                };
                format!(
                    ". {table} {looked}; {:?}, which is {}, stands at another place: write `{proposal}`",
                    find.id, find.message
                )
            }
            Some(find) => format!(
                ". {table} {looked}; {:?}, which is {}, occurs within {}, where no place reads it: let the system also send it as a member or an attribute of its own",
                find.id, find.message, find.place
            ),
            None => format!(
                ". {table} {looked}, and no id that is known stands in it anywhere, also not within JSON, base64, gzip, zlib, forms or attributes: say there where the job's id stands, or let the scenario name what somebody else puts on the queue"
            ),
        }
    }

    /// What the manifest says now.
    fn places_now(&self, telling: &Telling) -> String {
        let messages = &self.0.manifest.messages;
        let places: Vec<String> = match &telling.kind {
            Kind::Written { route } => self.route_place(&telling.dependency, route),
            _ => match messages.recognise.get(&telling.dependency) {
                Some(Recognise::Places(places)) => places.iter().map(Place::to_string).collect(),
                _ => Vec::new(),
            },
        };
        if places.is_empty() {
            "says nothing".to_owned()
        } else {
            format!("says `{}`, where no known id stands", places.join("`, `"))
        }
    }

    fn route_place(&self, dependency: &DependencyName, wanted: &str) -> Vec<String> {
        let dependency = self.0.manifest.dependencies.get(dependency);
        let mut routes = dependency.into_iter().flat_map(Dependency::routes);
        let route = routes.find(|route| format!("{} {}", route.method, route.path) == wanted);
        let place = route.and_then(|route| route.job.as_ref());
        place.map(Place::to_string).into_iter().collect()
    }

    fn queue_in_manifest(&self, dependency: &DependencyName, queue: &str) -> String {
        let mut names = self.0.queues.iter();
        names
            .find(|((of, _), name)| of == dependency && *name == queue)
            .map_or_else(|| queue.to_owned(), |((_, name), _)| name.clone())
    }

    /// The message of something that a queue took or handed over; if there is none, it
    /// is kept for [`Board::doubt_unnamed`].
    pub(super) fn name_or_note(
        &self,
        state: &mut State,
        call: &Call,
        kind: Kind,
        ids: &[String],
        item: &serde_json::Value,
    ) -> Option<MessageName> {
        let message = state.aliases.messages(ids).into_iter().next();
        let message = message.or_else(|| self.adopt(state, ids));
        if message.is_none() && call.author.incarnation().is_some() {
            state.unnamed.note(
                (call.dependency.clone(), kind),
                call.author.to_string(),
                ids.to_vec(),
                || Content::Message(item.clone()),
                state.aliases.known(),
            );
        }
        message
    }
}
