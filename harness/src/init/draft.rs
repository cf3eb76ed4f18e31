//! A manifest that is being made, and its text.

use std::fmt::Write as _;

/// A manifest that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub(super) name: String,
    pub(super) in_containers: bool,
    pub(super) build: Vec<Vec<String>>,
    pub(super) prepare: Vec<Program>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) processes: Vec<Process>,
    /// `submit`, as a manifest writes it.
    pub(super) submit: String,
    /// What could not be kept, or was decided, in words.
    pub(super) notes: Vec<String>,
}

/// A program with its environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
}

/// What processes talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The image that it runs in; none: the harness's own.
    pub(super) image: Option<String>,
    /// Why it is provided so.
    pub(super) why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Postgres,
    /// With its queues.
    Sqs(Vec<String>),
    /// With its queues.
    Redis(Vec<RedisQueue>),
    /// An outside service that the harness plays.
    Outside,
}

/// A queue in Redis: a list, or a stream where a group reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RedisQueue {
    pub(super) key: String,
    /// Where elements are while somebody works on them.
    pub(super) processing: Option<String>,
    pub(super) group: Option<String>,
}

impl RedisQueue {
    /// As the command line writes it: `jobs`, `jobs+doing`, `jobs@workers`.
    pub(super) fn read(written: &str) -> Self {
        let mut queue = Self {
            key: written.to_owned(),
            processing: None,
            group: None,
        };
        if let Some((key, group)) = written.split_once('@') {
            (queue.key, queue.group) = (key.to_owned(), Some(group.to_owned()));
        } else if let Some((key, processing)) = written.split_once('+') {
            (queue.key, queue.processing) = (key.to_owned(), Some(processing.to_owned()));
        }
        queue
    }

    /// What the manifest calls it.
    pub(super) fn name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.key.chars().map(plain).collect()
    }

    fn value(&self) -> String {
        let key = quoted(&self.key);
        match (&self.group, &self.processing) {
            (Some(group), _) => format!("{{ stream: {key}, group: {} }}", quoted(group)),
            (None, Some(other)) => format!("{{ list: {key}, processing: {} }}", quoted(other)),
            (None, None) => format!("{{ list: {key} }}"),
        }
    }
}

/// A process of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) program: Program,
    pub(super) image: Option<String>,
    pub(super) instances: Option<u32>,
    pub(super) listens: bool,
    /// The path of its health check.
    pub(super) health: Option<String>,
    pub(super) doc: Option<String>,
    /// The queues that it takes from, where nobody else can.
    pub(super) consumes: Vec<String>,
}

impl Draft {
    /// The text of the manifest.
    pub fn text(&self) -> String {
        let mut text = format!("version: 1\nname: {}\n", quoted(&self.name));
        if self.in_containers {
            text += "driver: containers\n";
        }
        if !self.build.is_empty() {
            text += "\nbuild:\n";
            for words in &self.build {
                let _ = writeln!(text, "  - {}", list(words));
            }
        }
        if !self.prepare.is_empty() {
            text += "\nprepare:\n";
            for program in &self.prepare {
                let _ = writeln!(text, "  - command: {}", list(&program.words));
                environment(&mut text, &program.environment, 4);
            }
        }
        text += "\ndependencies:\n";
        for dependency in &self.dependencies {
            if let Some(why) = &dependency.why {
                let _ = writeln!(text, "  # {why}");
            }
            let _ = writeln!(text, "  {}: {}", dependency.name, dependency.value());
        }
        text += "\nprocesses:\n";
        for process in &self.processes {
            process.write(&mut text);
        }
        let _ = write!(text, "\nmessages:\n  submit: {}\n", self.submit);
        text
    }

    /// What a person should know of it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Dependency {
    fn value(&self) -> String {
        let provide = match &self.image {
            Some(image) => format!("provide: container, image: {}", quoted(image)),
            None => "provide: embedded".to_owned(),
        };
        match &self.kind {
            Kind::Postgres => format!("{{ protocol: postgres, {provide} }}"),
            Kind::Redis(queues) if queues.is_empty() => {
                format!("{{ protocol: redis, {provide} }}")
            }
            Kind::Redis(queues) => {
                let queues = queues.iter();
                let queues: Vec<String> = queues
                    .map(|queue| format!("{}: {}", queue.name(), queue.value()))
                    .collect();
                format!(
                    "{{ protocol: redis, {provide}, queues: {{ {} }} }}",
                    queues.join(", ")
                )
            }
            Kind::Sqs(queues) => {
                let queues: Vec<String> = queues
                    .iter()
                    .map(|queue| format!("{queue}: {{}}"))
                    .collect();
                format!(
                    "{{ protocol: sqs, {provide}, queues: {{ {} }} }}",
                    queues.join(", ")
                )
            }
            Kind::Outside => "{ protocol: http, provide: stub, routes: [] }".to_owned(),
        }
    }
}

impl Process {
    fn write(&self, text: &mut String) {
        if let Some(doc) = &self.doc {
            let _ = writeln!(text, "  # {doc}");
        }
        let _ = writeln!(text, "  {}:", self.name);
        let _ = writeln!(text, "    command: {}", list(&self.program.words));
        environment(text, &self.program.environment, 4);
        if let Some(image) = &self.image {
            let _ = writeln!(text, "    container: {{ image: {} }}", quoted(image));
        }
        if let Some(instances) = self.instances {
            let _ = writeln!(text, "    instances: {instances}");
        }
        if self.listens {
            text.push_str("    listens: true\n");
        }
        if !self.consumes.is_empty() {
            let _ = writeln!(text, "    consumes: [{}]", self.consumes.join(", "));
        }
        if let Some(path) = &self.health {
            let _ = writeln!(text, "    ready: {{ http: {} }}", quoted(path));
        }
    }
}

fn environment(text: &mut String, variables: &[(String, String)], column: usize) {
    if variables.is_empty() {
        return;
    }
    let _ = writeln!(text, "{:column$}environment:", "");
    let inner = column + 2;
    for (name, value) in variables {
        let _ = writeln!(text, "{:inner$}{name}: {}", "", quoted(value));
    }
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A text as YAML has it anywhere.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let begins = text
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '/');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if begins && text.chars().all(plain) && !reserved.contains(&text.to_lowercase().as_str()) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}
