//! A manifest out of a few words on the command line and the sources of the programs.

use std::path::PathBuf;

use super::draft::{Dependency, Draft, Kind, Process, Program, RedisQueue};
use super::values::{note, outside_name};
use super::{Refused, scan, submit};
use crate::manifest::split_command;

/// What is said on the command line.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The system's name.
    pub name: String,
    /// Where its programs are.
    pub root: PathBuf,
    /// `NAME=COMMAND`.
    pub processes: Vec<String>,
    /// `sqs` or `redis`, or `sqs:orders,shipping`.
    pub queue: Option<String>,
    /// `postgres`.
    pub database: Option<String>,
    /// Services outside, by name.
    pub outside: Vec<String>,
    /// Commands that prepare the database.
    pub prepare: Vec<String>,
    /// `NAME=VALUE`, for all processes.
    pub environment: Vec<String>,
    /// How a message comes in.
    pub submit: Option<String>,
}

/// What variables that end so name.
const ADDRESSES: &[&str] = &["URL", "URI", "ENDPOINT", "BASE", "ADDRESS"];

/// A manifest of what was said.
///
/// # Errors
/// When something was said that makes no sense, or nobody can tell how a message comes in.
pub fn of_flags(flags: &Flags) -> Result<Draft, Refused> {
    let mut draft = Draft {
        name: flags.name.clone(),
        ..Draft::default()
    };
    declare(&mut draft, flags)?;
    let given = given(flags)?;
    for command in &flags.prepare {
        let words = split(command)?;
        // Nothing but the database is there yet.
        let is_there =
            |(_, value): &&(String, String)| !value.contains("${") || value.contains("${database.");
        let mut program = Program {
            environment: given.iter().filter(is_there).cloned().collect(),
            words,
        };
        for variable in scan::variables(&flags.root, &program.words) {
            if program
                .environment
                .iter()
                .any(|(known, _)| *known == variable)
            {
                continue;
            }
            let value = meaning(&mut draft, &variable, false);
            if let Some(value) = value.filter(|value| value.contains("${database.")) {
                program.environment.push((variable, value));
            }
        }
        usual(&draft, &mut program.environment);
        draft.prepare.push(program);
    }
    for process in &flags.processes {
        let process = read_process(&mut draft, flags, &given, process)?;
        draft.processes.push(process);
    }
    if draft.processes.is_empty() {
        return Err(Refused::new(
            "what does the system consist of?",
            "--process 'worker=python3 worker.py' for each program, or --from compose.yaml",
        ));
    }
    let default_queue = |dependency: &mut Dependency| {
        if let Kind::Sqs(queues) = &mut dependency.kind
            && queues.is_empty()
        {
            queues.push("jobs".to_owned());
        }
    };
    draft.dependencies.iter_mut().for_each(default_queue);
    if draft.dependencies.is_empty() {
        return Err(Refused::new(
            "what does the system talk to?",
            "--queue sqs:NAME, --database postgres, --queue redis, --outside NAME",
        ));
    }
    name_consumers(&mut draft);
    let (submit, door) = submit::read(&draft, flags.submit.as_deref())?;
    draft.submit = submit;
    if let Some(door) = door {
        close_others(&mut draft, &door);
    }
    Ok(draft)
}

/// Who takes from queues in Redis: the only process, or a person says it. A look at the wires
/// tells it only once somebody waits for it.
fn name_consumers(draft: &mut Draft) {
    let redis = |one: &Dependency| match &one.kind {
        Kind::Redis(queues) => {
            let names = queues
                .iter()
                .map(|queue| format!("{}/{}", one.name, queue.name()));
            names.collect()
        }
        _ => Vec::new(),
    };
    let queues: Vec<String> = draft.dependencies.iter().flat_map(redis).collect();
    if queues.is_empty() {
        return;
    }
    if let [only] = draft.processes.as_mut_slice() {
        only.consumes = queues;
        return;
    }
    draft.notes.push(format!(
        "who takes from {}? say `consumes: [{}]` at that process",
        queues.join(" and "),
        queues[0]
    ));
}

/// Programs that share a file share the names of its variables: a port is the one's that
/// messages are submitted to.
fn close_others(draft: &mut Draft, door: &str) {
    let Draft {
        processes, notes, ..
    } = draft;
    for process in processes.iter_mut().filter(|process| process.name != door) {
        let is_port = |value: &str| value == "${port}" || value == "${listen}";
        let environment = &mut process.program.environment;
        let ports: Vec<String> = environment
            .iter()
            .filter(|(_, value)| is_port(value))
            .map(|(name, _)| format!("${name}"))
            .collect();
        if ports.is_empty() {
            continue;
        }
        environment.retain(|(_, value)| !is_port(value));
        process.listens = false;
        notes.push(format!(
            "the sources of {} name {}, as those of {door} do: if it listens too, say `listens: true` and give it its port",
            process.name,
            ports.join(" and ")
        ));
    }
}

/// The usual name of a database's address, where no source that could be read has another.
fn usual(draft: &Draft, environment: &mut Vec<(String, String)>) {
    let has_one = draft
        .dependencies
        .iter()
        .any(|one| one.kind == Kind::Postgres);
    let named = environment
        .iter()
        .any(|(_, value)| value.contains("${database."));
    if has_one && !named {
        environment.push(("DATABASE_URL".to_owned(), "${database.url}".to_owned()));
    }
}

fn declare(draft: &mut Draft, flags: &Flags) -> Result<(), Refused> {
    let dependency = |name: &str, kind: Kind| Dependency {
        name: name.to_owned(),
        kind,
        image: None,
        why: None,
    };
    match flags.database.as_deref() {
        None => {}
        Some("postgres" | "postgresql") => {
            draft
                .dependencies
                .push(dependency("database", Kind::Postgres));
        }
        Some(other) => {
            return Err(Refused::new(
                format!("--database: `{other}` is not known"),
                "known: postgres",
            ));
        }
    }
    if let Some(queue) = &flags.queue {
        let (kind, names) = queue.split_once(':').unwrap_or((queue, ""));
        let names = names.split(',').filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        match kind {
            "sqs" => draft
                .dependencies
                .push(dependency("queue", Kind::Sqs(names))),
            "redis" => {
                let queues = names.iter().map(|name| RedisQueue::read(name)).collect();
                draft
                    .dependencies
                    .push(dependency("redis", Kind::Redis(queues)));
            }
            other => {
                return Err(Refused::new(
                    format!("--queue: `{other}` is not known"),
                    "known: sqs, redis; with the names of its queues: sqs:orders,shipping; redis:jobs for a list, redis:jobs+doing with the list of what is in hand, redis:jobs@workers for a stream with a group",
                ));
            }
        }
    }
    for name in &flags.outside {
        draft.dependencies.push(dependency(name, Kind::Outside));
    }
    Ok(())
}

fn given(flags: &Flags) -> Result<Vec<(String, String)>, Refused> {
    let pairs = flags.environment.iter().map(|pair| {
        let split = pair.split_once('=').ok_or_else(|| {
            Refused::new(format!("--env: `{pair}` has no value"), "write NAME=VALUE")
        });
        split.map(|(name, value)| (name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

fn split(command: &str) -> Result<Vec<String>, Refused> {
    let words = split_command(command);
    words.map_err(|fault| Refused::new(format!("`{command}`: {fault}"), "quote it as for a shell"))
}

fn read_process(
    draft: &mut Draft,
    flags: &Flags,
    given: &[(String, String)],
    written: &str,
) -> Result<Process, Refused> {
    let (name, command) = written.split_once('=').ok_or_else(|| {
        Refused::new(
            format!("--process: `{written}` has no command"),
            "write NAME=COMMAND: --process 'worker=python3 worker.py'",
        )
    })?;
    let words = split(command)?;
    let mut process = Process {
        name: name.to_owned(),
        ..Process::default()
    };
    let mut environment: Vec<(String, String)> = given.to_vec();
    for variable in scan::variables(&flags.root, &words) {
        if environment.iter().any(|(known, _)| *known == variable) {
            continue;
        }
        match meaning(draft, &variable, true) {
            Some(value) => {
                process.listens |= value == "${port}" || value == "${listen}";
                environment.push((variable, value));
            }
            None => draft.notes.push(format!(
                "{name} reads ${variable}: where it needs one, give it with --env {variable}=VALUE"
            )),
        }
    }
    usual(draft, &mut environment);
    process.program = Program { words, environment };
    Ok(process)
}

/// What a variable is for, by its name.
fn meaning(draft: &mut Draft, variable: &str, may_add: bool) -> Option<String> {
    let upper = variable.to_uppercase();
    let words: Vec<&str> = upper.split('_').collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let is_address = has(ADDRESSES) || has(&["DSN"]);
    let database = draft
        .dependencies
        .iter()
        .any(|one| one.kind == Kind::Postgres);
    if database
        && (has(&["DATABASE", "POSTGRES", "POSTGRESQL", "PG", "DB", "DSN"])
            || upper.starts_with("PG"))
    {
        let part = match words.last().copied().unwrap_or_default() {
            "HOST" | "PGHOST" => "host",
            "PORT" | "PGPORT" => "port",
            "USER" | "USERNAME" | "PGUSER" => "user",
            "PASSWORD" | "PGPASSWORD" => "password",
            "NAME" | "PGDATABASE" => "name",
            _ => "url",
        };
        return Some(format!("${{database.{part}}}"));
    }
    let redis = draft
        .dependencies
        .iter()
        .any(|one| matches!(one.kind, Kind::Redis(_)));
    if redis && has(&["REDIS", "VALKEY", "BROKER"]) {
        let part = match words.last().copied().unwrap_or_default() {
            "HOST" => "host",
            "PORT" => "port",
            _ => "url",
        };
        return Some(format!("${{redis.{part}}}"));
    }
    if let Some(value) = of_queue(draft, &upper, &words) {
        return Some(value);
    }
    match words.last().copied().unwrap_or_default() {
        "PORT" => return Some("${port}".to_owned()),
        "LISTEN" | "BIND" | "ADDR" => return Some("${listen}".to_owned()),
        _ => {}
    }
    let name = outside_name(variable, "");
    let declared = draft.dependencies.iter().any(|one| {
        one.kind == Kind::Outside && (one.name == name || one.name.to_uppercase() == upper)
    });
    if declared {
        let known = draft.dependencies.iter();
        let mut own = known.filter(|one| one.name == name || one.name.to_uppercase() == upper);
        return own.next().map(|one| format!("${{{}.url}}", one.name));
    }
    if is_address && may_add && !upper.starts_with("AWS") {
        draft.dependencies.push(Dependency {
            name: name.clone(),
            kind: Kind::Outside,
            image: None,
            why: Some(format!(
                "played by the harness: ${variable} names a service"
            )),
        });
        return Some(format!("${{{name}.url}}"));
    }
    None
}

/// A variable that names the queue's server, or one of its queues.
fn of_queue(draft: &mut Draft, upper: &str, words: &[&str]) -> Option<String> {
    let found = draft
        .dependencies
        .iter_mut()
        .find_map(|one| match &mut one.kind {
            Kind::Sqs(queues) => Some((one.name.clone(), queues)),
            _ => None,
        });
    let (name, queues) = found?;
    let about = words
        .iter()
        .any(|word| ["QUEUE", "SQS", "QUEUES"].contains(word));
    if (about && words.contains(&"ENDPOINT")) || upper.starts_with("AWS_ENDPOINT_URL") {
        return Some(format!("${{{name}.url}}"));
    }
    let named = |queue: &String| queue.to_uppercase().replace('-', "_");
    let filler = ["QUEUE", "SQS", "URL", "NAME", "AWS"];
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !filler.contains(word))
        .collect();
    let rest = rest.join("_");
    let known = queues.iter().find(|queue| named(queue) == rest).cloned();
    let queue = match known {
        Some(queue) => queue,
        None if !about => return None,
        None if rest.is_empty() => queues.first().cloned().unwrap_or_else(|| "jobs".to_owned()),
        None if queues.len() == 1 => queues[0].clone(),
        None => rest.to_lowercase().replace('_', "-"),
    };
    note(queues, &queue);
    let part = if words.last() == Some(&"NAME") {
        "name"
    } else {
        "url"
    };
    Some(format!("${{{name}.{queue}.{part}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_in_redis_are_lists_or_streams() {
        let root = tempfile::tempdir().expect("a directory");
        let draft = of_flags(&Flags {
            name: "shop".to_owned(),
            root: root.path().to_owned(),
            processes: vec!["worker=python3 app.py".to_owned()],
            queue: Some("redis:jobs,work:new+work:doing,views@counters".to_owned()),
            submit: Some("work-new".to_owned()),
            ..Flags::default()
        });
        let text = draft.expect("a draft").text();
        for part in [
            "jobs: { list: jobs }",
            "work-new: { list: \"work:new\", processing: \"work:doing\" }",
            "views: { stream: views, group: counters }",
            "submit: { queue: redis/work-new,",
            "consumes: [redis/jobs, redis/work-new, redis/views]",
        ] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }

    #[test]
    fn programs_that_share_a_file_do_not_all_listen_and_commands_get_what_is_given() {
        let root = tempfile::tempdir().expect("a directory");
        let source = "import os\nport = os.environ[\"PORT\"]\n";
        std::fs::write(root.path().join("app.py"), source).expect("a file");
        let draft = of_flags(&Flags {
            name: "shop".to_owned(),
            root: root.path().to_owned(),
            processes: vec![
                "api=python3 app.py api".to_owned(),
                "worker=python3 app.py worker".to_owned(),
            ],
            database: Some("postgres".to_owned()),
            queue: Some("sqs:jobs".to_owned()),
            prepare: vec!["python3 app.py migrate".to_owned()],
            environment: vec![
                "REGION=here".to_owned(),
                "QUEUE=${queue.jobs.url}".to_owned(),
            ],
            submit: Some("POST /jobs".to_owned()),
            ..Flags::default()
        });
        let draft = draft.expect("a draft");
        let listening: Vec<&str> = draft
            .processes
            .iter()
            .filter(|process| process.listens)
            .map(|process| process.name.as_str())
            .collect();
        assert_eq!(listening, ["api"]);
        assert!(draft.notes.iter().any(|note| note.contains("$PORT")));
        let prepare = &draft.prepare[0].environment;
        assert!(prepare.contains(&("REGION".to_owned(), "here".to_owned())));
        assert!(!prepare.iter().any(|(name, _)| name == "QUEUE"));
    }
}
