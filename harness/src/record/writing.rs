//! Putting what was learnt into the text of a manifest.

use std::collections::BTreeSet;

use super::seen::Seen;
use super::{jobs, names, places, routes, stages, timers};
use crate::ids::MessageName;
use crate::manifest::{Editor, Entry, Manifest, Put, Submit};

/// A route that nobody asks for: a service of the harness has at least one.
const NO_ROUTE: &str = "{ on: OPTIONS /nothing-is-known-yet }";
const CANDIDATES: &str = "# terminal:";

/// The text with what a manifest must have and this one has not.
pub(super) fn runnable(editor: &Editor) -> Editor {
    let mut text = editor.clone();
    let takes = editor.has(&["messages", "submit", "process"]);
    if takes && !editor.has(&["messages", "submit", "job"]) {
        let whole = Put::Line("{ body: $ }".to_owned());
        let _ = text.put(&["messages", "submit"], "job", &whole, &[]);
    }
    for service in stubs(editor) {
        let path = ["dependencies", &service];
        let list = ["dependencies", service.as_str(), "routes"];
        if editor.is_empty_list(&list) {
            let _ = text.append(&list, NO_ROUTE);
        } else if !editor.has(&list) {
            let _ = text.put(&path, "routes", &Put::Line(format!("[{NO_ROUTE}]")), &[]);
        }
    }
    text
}

fn stubs(editor: &Editor) -> Vec<String> {
    let mut services = editor.keys(&["dependencies"]);
    services.retain(|name| {
        editor
            .text_at(&["dependencies", name, "provide"])
            .as_deref()
            == Some("stub")
    });
    services
}

/// Where ids stand, what services answer, who consumes what. Gives what was put in, in words.
pub(super) fn put_places(editor: &mut Editor, manifest: &Manifest, runs: &[Seen]) -> Vec<String> {
    let mut added = Vec::new();
    put_job(editor, manifest, runs, &mut added);
    if !added.is_empty() {
        // Ids that the system gives itself are known only now.
        return added;
    }
    put_routes(editor, manifest, runs, &mut added);
    put_recognise(editor, manifest, runs, &mut added);
    put_timers(editor, manifest, runs, &mut added);
    added
}

fn put_job(editor: &mut Editor, manifest: &Manifest, runs: &[Seen], added: &mut Vec<String>) {
    let submit = ["messages", "submit"];
    let missing = matches!(manifest.messages.submit, Submit::Request(_))
        && !editor.has(&["messages", "submit", "job"]);
    if !missing {
        return;
    }
    let Some(place) = jobs::place(manifest, runs) else {
        return;
    };
    let value = format!("{{ body: {} }}", names::yaml(&place));
    let why = "which job it became: differs from answer to answer".to_owned();
    if editor
        .put(&submit, "job", &Put::Line(value.clone()), &[why])
        .is_ok()
    {
        added.push(format!("messages.submit.job: {value}"));
    }
}

fn put_routes(editor: &mut Editor, manifest: &Manifest, runs: &[Seen], added: &mut Vec<String>) {
    for (service, elements) in routes::missing(manifest, runs) {
        let list = ["dependencies", service.as_str(), "routes"];
        for element in elements {
            let put = if editor.has(&list) {
                editor.append(&list, &element)
            } else {
                let path = ["dependencies", service.as_str()];
                editor.put(&path, "routes", &Put::Line(format!("[{element}]")), &[])
            };
            if put.is_ok() {
                added.push(format!("dependencies.{service}.routes: {element}"));
            }
        }
    }
}

fn put_recognise(editor: &mut Editor, manifest: &Manifest, runs: &[Seen], added: &mut Vec<String>) {
    for dependency in manifest.dependencies.keys() {
        if editor.has(&["messages", "recognise", dependency.as_str()]) {
            continue;
        }
        let Some(proposal) = places::propose(manifest, dependency, runs) else {
            continue;
        };
        let put = if editor.has(&["messages", "recognise"]) {
            let line = Put::Line(proposal.value.clone());
            let path = ["messages", "recognise"];
            editor.put(&path, dependency.as_str(), &line, &[proposal.comment])
        } else {
            let entry = Entry {
                key: dependency.to_string(),
                value: proposal.value.clone(),
                comment: Some(proposal.comment),
            };
            editor.put(&["messages"], "recognise", &Put::Table(vec![entry]), &[])
        };
        if put.is_ok() {
            added.push(format!(
                "messages.recognise.{dependency}: {}",
                proposal.value
            ));
        }
    }
}

fn put_timers(editor: &mut Editor, manifest: &Manifest, runs: &[Seen], added: &mut Vec<String>) {
    for (role, queues) in timers::consumers(manifest, runs) {
        let queues: Vec<String> = queues.into_iter().collect();
        let value = match queues.as_slice() {
            [only] => only.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let path = ["processes", role.as_str()];
        if editor
            .put(&path, "consumes", &Put::Line(value.clone()), &[])
            .is_ok()
        {
            added.push(format!("processes.{role}.consumes: {value}"));
        }
    }
    if editor.has(&["background"]) {
        return;
    }
    let polls = timers::polls(manifest, runs);
    if polls.is_empty() {
        return;
    }
    let why = "what looks for work by itself: it must look once more before all is quiet";
    let value = Put::Line(format!("[{}]", polls.join(", ")));
    if editor
        .put(&[], "background", &value, &[why.to_owned()])
        .is_ok()
    {
        added.extend(polls.into_iter().map(|poll| format!("background: {poll}")));
    }
}

/// Names for what messages pass, and for their end. Also gives whether there is an end.
pub(super) fn put_stages(
    editor: &mut Editor,
    manifest: &Manifest,
    runs: &[Seen],
    messages: &[MessageName],
) -> (Vec<String>, bool) {
    let mut added = Vec::new();
    let proposed = stages::propose(manifest, runs, messages);
    let open = !editor.has(&["stages"]);
    if open && !put_names(editor, &proposed, &mut added) {
        return (added, false);
    }
    if !open || editor.has(&["terminal"]) || editor.text().contains(CANDIDATES) {
        return (added, false);
    }
    let Some(end) = proposed.end else {
        return (added, false);
    };
    if !proposed.once {
        let why = "a repetition may pass there again: an end is what happens once";
        added.push(put_candidate(editor, &end, why));
        return (added, false);
    }
    let why = "the last thing that every message left for good: is it the end?".to_owned();
    let value = format!("{}: {}", end.key, end.value);
    if editor
        .put(&[], "terminal", &Put::Table(vec![end]), &[why])
        .is_err()
    {
        return (added, false);
    }
    added.push(format!("terminal: {value}"));
    if let Some(total) = proposed.total.filter(|_| !editor.has(&["totals"])) {
        let why = "what is stored must agree with what was seen".to_owned();
        let value = format!("{}: {}", total.key, total.value);
        if editor
            .put(&[], "totals", &Put::Table(vec![total]), &[why])
            .is_ok()
        {
            added.push(format!("totals: {value}"));
        }
    }
    (added, true)
}

fn put_names(editor: &mut Editor, proposed: &stages::Stages, added: &mut Vec<String>) -> bool {
    if proposed.names.is_empty() {
        return false;
    }
    let why = "what each message passed, in two runs of two messages".to_owned();
    let put = Put::Table(proposed.names.clone());
    if editor.put(&[], "stages", &put, &[why]).is_err() {
        return false;
    }
    let stages = proposed.names.iter();
    added.extend(stages.map(|stage| format!("stages: {}: {}", stage.key, stage.value)));
    true
}

/// The same with the end as a candidate that a person decides on.
pub(super) fn put_candidates(
    editor: &mut Editor,
    manifest: &Manifest,
    runs: &[Seen],
    messages: &[MessageName],
) -> Vec<String> {
    let mut added = Vec::new();
    let proposed = stages::propose(manifest, runs, messages);
    if !editor.has(&["stages"]) && !put_names(editor, &proposed, &mut added) {
        return Vec::new();
    }
    // Those that were put in before are told already.
    added.clear();
    if let Some(end) = proposed.end {
        let why = "without any fault it did not hold each time";
        added.push(put_candidate(editor, &end, why));
    }
    added
}

fn put_candidate(editor: &mut Editor, end: &Entry, why: &str) -> String {
    let line = format!("{}: {}", end.key, end.value);
    editor.add_lines(&format!(
        "\n# A candidate for the end of a message; {why}.\n{CANDIDATES}\n#   {line}\n"
    ));
    format!("a candidate for terminal, as a comment: {line}")
}

/// What is missing and could not be learnt, in words.
pub(super) fn doubts(
    editor: &Editor,
    manifest: &Manifest,
    runs: &[Seen],
    messages: &[MessageName],
) -> Vec<String> {
    let mut doubts: BTreeSet<String> = BTreeSet::new();
    let takes = matches!(manifest.messages.submit, Submit::Request(_));
    if takes && !editor.has(&["messages", "submit", "job"]) {
        doubts.insert(format!(
            "no answer to a submission held a value of its own: say under `messages.submit.job` \
             where it stands{}",
            answers(runs)
        ));
    }
    for dependency in manifest.dependencies.keys() {
        doubts.extend(places::unrecognised(dependency, runs));
    }
    let seen = || stages::propose(manifest, runs, messages).names;
    if !editor.has(&["stages"]) && doubts.is_empty() && !seen().is_empty() {
        doubts.insert(
            "the stages that were seen cannot be put in without touching what stands there: \
             begin a table `stages:` with one of them"
                .to_owned(),
        );
    }
    doubts.into_iter().collect()
}

/// What clients were answered, if it was no success.
fn answers(runs: &[Seen]) -> String {
    use crate::tap::{Reply, Request};
    let calls = runs.iter().flat_map(|run| &run.calls);
    let mut refusals = calls.filter(|passed| Seen::role(passed).is_none());
    let told = refusals.find_map(
        |passed| match (&passed.call.request, passed.reply.as_deref()) {
            (Request::Http(request), Some(Reply::Http(reply))) => {
                let body: String = String::from_utf8_lossy(&reply.body)
                    .chars()
                    .take(200)
                    .collect();
                Some(format!(
                    "; {} {} was answered {} {body}",
                    request.method, request.path, reply.status
                ))
            }
            (Request::Http(request), Some(Reply::Broken { reason })) => Some(format!(
                "; {} {} got no answer: {reason}",
                request.method, request.path
            )),
            _ => None,
        },
    );
    told.unwrap_or_default()
}
