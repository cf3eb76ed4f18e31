//! How a message comes in, out of one argument: `POST /orders {"item": "${message.name}"}`, or
//! `orders {"id": "${message.key}"}` for a queue.

use serde_json::Value;

use super::Refused;
use super::draft::{Draft, Kind, RedisQueue, quoted};

const HOW: &str = "say how a message comes in: --submit 'POST /orders {\"item\": \"${message.name}\"}' \
    for a process that listens, or --submit 'orders {\"id\": \"${message.key}\"}' for a queue";

/// `submit` of a manifest, and which process takes the request, if it is one; what nobody said
/// is found out where there is one way only.
pub(super) fn read(draft: &Draft, said: Option<&str>) -> Result<(String, Option<String>), Refused> {
    let queues: Vec<(String, String)> = queues(draft);
    let doors: Vec<&String> = draft
        .processes
        .iter()
        .filter(|process| process.listens)
        .map(|process| &process.name)
        .collect();
    let Some(said) = said else {
        return match (queues.as_slice(), doors.as_slice()) {
            ([(dependency, queue)], []) => Ok((
                format!("{{ queue: {dependency}/{queue}, body: {{ id: \"${{message.key}}\" }} }}"),
                None,
            )),
            _ => Err(Refused::new("how does a message come in?", HOW)),
        };
    };
    let (target, body) = match said.find('{') {
        Some(at) => (said[..at].trim(), Some(&said[at..])),
        None => (said.trim(), None),
    };
    let body = match body.map(serde_json::from_str::<Value>) {
        Some(Ok(body)) => Some(body),
        Some(Err(error)) => {
            return Err(Refused::new(
                format!("--submit: its body is no JSON: {error}"),
                HOW,
            ));
        }
        None => None,
    };
    let words: Vec<&str> = target.split_whitespace().collect();
    match words.as_slice() {
        [method, path] if path.starts_with('/') => {
            let process = match doors.as_slice() {
                [only] => *only,
                [] => {
                    return Err(Refused::new(
                        format!("--submit: no process listens, so none can take {method} {path}"),
                        "a process listens whose environment has a variable for its port: PORT, LISTEN",
                    ));
                }
                many => sounding_like_a_door(many).ok_or_else(|| ambiguous(many))?,
            };
            let submit = request(process, method, path, body);
            Ok((submit, Some(process.clone())))
        }
        [process, method, path] if path.starts_with('/') => {
            let submit = request(process, method, path, body);
            Ok((submit, Some((*process).to_owned())))
        }
        [queue] => {
            let found = queues.iter().find(|(_, name)| name == queue);
            let Some((dependency, _)) = found else {
                let known: Vec<&str> = queues.iter().map(|(_, name)| name.as_str()).collect();
                let known = if known.is_empty() {
                    "no queue has a name: --queue sqs:NAME, or --queue redis:NAME".to_owned()
                } else {
                    format!("known: {}", known.join(", "))
                };
                return Err(Refused::new(
                    format!("--submit: there is no queue `{queue}`"),
                    format!("{known}; {HOW}"),
                ));
            };
            let body = body.unwrap_or_else(|| serde_json::json!({ "id": "${message.key}" }));
            let body = flow(&body);
            let submit = format!("{{ queue: {dependency}/{queue}, body: {body} }}");
            Ok((submit, None))
        }
        _ => Err(Refused::new(
            format!("--submit: `{said}` is neither a request nor a queue"),
            HOW,
        )),
    }
}

/// The only one whose name says that it takes requests.
fn sounding_like_a_door<'d>(doors: &[&'d String]) -> Option<&'d String> {
    let words = ["api", "web", "http", "server", "front", "gateway", "door"];
    let mut found = doors
        .iter()
        .filter(|door| words.iter().any(|word| door.contains(word)));
    let first = found.next()?;
    found.next().is_none().then_some(*first)
}

fn ambiguous(doors: &[&String]) -> Refused {
    let doors: Vec<&str> = doors.iter().map(|door| door.as_str()).collect();
    Refused::new(
        format!("--submit: several processes listen: {}", doors.join(", ")),
        format!(
            "name one before the method: --submit '{} POST /…'",
            doors[0]
        ),
    )
}

fn request(process: &str, method: &str, path: &str, body: Option<Value>) -> String {
    let body = body.map_or_else(String::new, |body| format!(", body: {}", flow(&body)));
    format!(
        "{{ process: {process}, request: {}, headers: {{ Idempotency-Key: \"${{message.key}}\" }}{body} }}",
        quoted(&format!("{method} {path}")),
    )
}

fn queues(draft: &Draft) -> Vec<(String, String)> {
    let mut queues = Vec::new();
    for dependency in &draft.dependencies {
        let names: Vec<String> = match &dependency.kind {
            Kind::Sqs(names) => names.clone(),
            Kind::Redis(queues) => queues.iter().map(RedisQueue::name).collect(),
            _ => Vec::new(),
        };
        let own = names.into_iter();
        queues.extend(own.map(|name| (dependency.name.clone(), name)));
    }
    queues
}

/// JSON as YAML has it within brackets.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, member)| format!("{}: {}", quoted(name), flow(member)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}
