//! From a compose file to a manifest.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::compose::{Build, Compose, Service};
use super::draft::{Dependency, Draft, Kind, Process, Program};
use super::image::{Start, inspected, of_dockerfile};
use super::values::{Address, Became, Known};
use super::{Refused, submit};

/// Where an image of PostgreSQL looks for what it runs at its first start.
const FIRST_START: &str = "/docker-entrypoint-initdb.d";

/// What a service is to a rehearsal.
enum Part {
    Dependency(Kind),
    /// It runs once, before everything else.
    Preparation,
    Process,
    /// It speaks what the harness cannot stand on.
    Unknown(&'static str),
}

/// A manifest of what a compose file describes.
///
/// # Errors
/// When something of it cannot be rehearsed, or nobody can tell how a message comes in.
pub fn of_compose(compose: &Compose, how: Option<&str>) -> Result<Draft, Refused> {
    let mut making = Making::of(compose)?;
    for name in in_order(&compose.services) {
        let service = &compose.services[&name];
        match part_of(service) {
            Part::Process => making.process(&name, service)?,
            Part::Preparation => making.preparation(&name, service)?,
            Part::Dependency(_) | Part::Unknown(_) => {}
        }
    }
    let Making {
        known, mut draft, ..
    } = making;
    draft.dependencies = known.hosts.into_values().collect();
    for dependency in &draft.dependencies {
        if matches!(&dependency.kind, Kind::Sqs(queues) if queues.is_empty()) {
            return Err(Refused::new(
                format!(
                    "no variable of any service names a queue of `{}`",
                    dependency.name
                ),
                "give the services the URL of their queue: QUEUE_URL=http://…/000000000000/orders",
            ));
        }
    }
    if draft.processes.is_empty() {
        return Err(Refused::new(
            "no service of it is a program of the system",
            "",
        ));
    }
    (draft.submit, _) = submit::read(&draft, how)?;
    Ok(draft)
}

struct Making<'c> {
    compose: &'c Compose,
    known: Known,
    draft: Draft,
}

impl<'c> Making<'c> {
    fn of(compose: &'c Compose) -> Result<Self, Refused> {
        let mut known = Known::default();
        let mut draft = Draft {
            name: compose.name.clone(),
            in_containers: true,
            notes: compose.notes.clone(),
            ..Draft::default()
        };
        for (name, service) in &compose.services {
            match part_of(service) {
                Part::Process => known.processes.push(name.clone()),
                Part::Preparation => {}
                Part::Unknown(what) => {
                    return Err(Refused::new(
                        format!("`{name}` is {what}, on whose wire the harness cannot stand"),
                        "what passes there would not be seen; docs/queues.md tells what can be rehearsed",
                    ));
                }
                Part::Dependency(kind) => {
                    draft.prepare.extend(first_start(name, &kind, service));
                    let dependency = dependency(name, kind, service);
                    known.hosts.insert(name.clone(), dependency);
                }
            }
        }
        Ok(Self {
            compose,
            known,
            draft,
        })
    }

    fn process(&mut self, name: &str, service: &Service) -> Result<(), Refused> {
        let (mut words, image) = self.program(name, service)?;
        let mut process = Process {
            name: name.to_owned(),
            instances: service.instances.filter(|count| *count != 1),
            ..Process::default()
        };
        let mut environment = Vec::new();
        for (variable, value) in &service.environment {
            if let Some(port) = listening(variable, value, &service.ports) {
                process.listens = true;
                environment.push((variable.clone(), port.to_owned()));
            } else {
                environment.push((variable.clone(), self.value(variable, value)));
            }
        }
        for word in &mut words {
            *word = word.replace('$', "$$");
            if let Some(port) = listening("", word, &service.ports).filter(|_| !process.listens) {
                process.listens = true;
                port.clone_into(word);
            }
        }
        if !service.ports.is_empty() && !process.listens {
            self.draft.notes.push(format!(
                "{name} listens on {}, which no variable and no argument names: it cannot be told \
                 where to listen in a rehearsal, and is not asked",
                service.ports.join(", ")
            ));
        }
        process.health = service.health.clone().filter(|_| process.listens);
        process.program = Program { words, environment };
        process.image = image;
        self.draft.processes.push(process);
        Ok(())
    }

    /// A service that ends: it prepares the database that every rehearsal gets a copy of.
    fn preparation(&mut self, name: &str, service: &Service) -> Result<(), Refused> {
        let (words, image) = self.program(name, service)?;
        let words: Vec<String> = words.iter().map(|word| word.replace('$', "$$")).collect();
        let mut environment = Vec::new();
        for (variable, value) in &service.environment {
            let value = self.value(variable, value);
            let of_other = self.known.hosts.values().any(|one| {
                !matches!(one.kind, Kind::Postgres) && value.contains(&format!("${{{}", one.name))
            });
            if !of_other && !value.contains("${process.") {
                environment.push((variable.clone(), value));
            }
        }
        let words = match image {
            None => words,
            Some(image) => {
                let mut run: Vec<String> = ["docker", "run", "--rm", "--network", "host"]
                    .map(str::to_owned)
                    .to_vec();
                for (variable, _) in &environment {
                    run.extend(["--env".to_owned(), variable.clone()]);
                }
                let (first, rest) = words.split_first().expect("a program has a name");
                run.extend(["--entrypoint".to_owned(), first.clone(), image]);
                run.extend(rest.iter().cloned());
                run
            }
        };
        self.draft.prepare.push(Program { words, environment });
        Ok(())
    }

    /// A value of a variable, with what it names as a dependency.
    fn value(&mut self, variable: &str, value: &str) -> String {
        match self.known.value(variable, value) {
            Became::Value(value) => value,
            Became::Outside(name) => {
                let url = Address::read(value);
                let host = url.as_ref().map_or(value, |url| url.host);
                let path = url
                    .as_ref()
                    .map_or("", |url| url.path.trim_end_matches('/'));
                let text = format!("${{{name}.url}}{path}");
                self.known.hosts.insert(
                    host.to_owned(),
                    Dependency {
                        name,
                        kind: Kind::Outside,
                        image: None,
                        why: Some(format!("played by the harness in the place of {host}")),
                    },
                );
                text
            }
        }
    }

    /// The words that start a service, and the image that they are in; none: they are on
    /// this machine.
    fn program(
        &mut self,
        name: &str,
        service: &Service,
    ) -> Result<(Vec<String>, Option<String>), Refused> {
        let image = match (&service.image, &service.build) {
            (Some(image), _) => image.clone(),
            (None, _) => format!("{}-{name}:rehearsal", self.compose.name),
        };
        if let Some(build) = &service.build {
            let command = build_command(build, &image);
            if !self.draft.build.contains(&command) {
                self.draft.build.push(command);
            }
        }
        let whole = service.entrypoint.is_some() && service.command.is_some();
        let of_image = match &service.build {
            _ if whole => Some(Start::default()),
            Some(build) => of_dockerfile(build),
            None => inspected(&image),
        };
        let start = match (of_image, &service.entrypoint, &service.command) {
            (Some(start), ..) => start,
            (None, Some(_), _) => Start::default(),
            (None, None, Some(_) | None) => {
                return Err(Refused::new(
                    format!("what does `{name}` start? its image {image} is not on this machine"),
                    format!("pull it, or give `{name}` an `entrypoint` and a `command`"),
                ));
            }
        };
        let mut words = match (&service.entrypoint, &service.command) {
            (Some(entrypoint), command) => {
                [entrypoint.clone(), command.clone().unwrap_or_default()].concat()
            }
            (None, Some(command)) => [start.entrypoint, command.clone()].concat(),
            (None, None) => [start.entrypoint, start.command].concat(),
        };
        let Some(program) = words.first().cloned() else {
            return Err(Refused::new(
                format!("nothing says what `{name}` starts"),
                "give it a `command`",
            ));
        };
        let mounted = service.volumes.iter().find_map(|(inside, outside)| {
            let rest = program.strip_prefix(inside.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{outside}{rest}"))
        });
        if let Some(path) = mounted {
            words[0] = path;
            return Ok((words, None));
        }
        for (inside, _) in &service.volumes {
            self.draft.notes.push(format!(
                "{name}: what is mounted at {inside} is not there in a rehearsal: build it into \
                 the image"
            ));
        }
        Ok((words, Some(image)))
    }
}

/// What a service must be told for the place where it listens: the placeholder in the place
/// of this value.
fn listening(variable: &str, value: &str, ports: &[String]) -> Option<&'static str> {
    let upper = variable.to_uppercase();
    let means = |words: &[&str]| {
        words
            .iter()
            .any(|word| upper == *word || upper.ends_with(&format!("_{word}")))
    };
    let is_port = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if is_port(value) {
        let own = upper == "PORT" || upper == "HTTP_PORT" || upper == "LISTEN_PORT";
        return (ports.iter().any(|port| port == value) || own).then_some("${port}");
    }
    let bare = value.strip_prefix(':').filter(|port| is_port(port));
    let address = Address::read(value).filter(|_| !value.contains("://"));
    let (host, port) = match (bare, &address) {
        (Some(port), _) => ("", port),
        (None, Some(address)) => (address.host, address.port?),
        (None, None) => return None,
    };
    let own = ["", "0.0.0.0", "127.0.0.1", "localhost"].contains(&host);
    let named = means(&["LISTEN", "BIND", "ADDR", "ADDRESS"]);
    (own && (named || ports.iter().any(|known| known == port))).then_some("${listen}")
}

fn build_command(build: &Build, image: &str) -> Vec<String> {
    let mut words: Vec<String> = ["docker", "build", "--quiet", "--tag", image]
        .map(str::to_owned)
        .to_vec();
    if let Some(file) = &build.dockerfile {
        let file = build.context.join(file);
        words.extend(["--file".to_owned(), file.display().to_string()]);
    }
    if let Some(target) = &build.target {
        words.extend(["--target".to_owned(), target.clone()]);
    }
    for (name, value) in &build.arguments {
        words.extend(["--build-arg".to_owned(), format!("{name}={value}")]);
    }
    words.push(build.context.display().to_string());
    words.iter().map(|word| word.replace('$', "$$")).collect()
}

/// What an image of PostgreSQL would run at its first start.
fn first_start(name: &str, kind: &Kind, service: &Service) -> Vec<Program> {
    if !matches!(kind, Kind::Postgres) {
        return Vec::new();
    }
    let mut files = BTreeSet::new();
    for (inside, outside) in &service.volumes {
        if inside.starts_with(FIRST_START) {
            let entries = std::fs::read_dir(outside).into_iter().flatten().flatten();
            let inner = entries.map(|entry| entry.path().display().to_string());
            files.extend(inner.chain([outside.clone()]));
        }
    }
    files.retain(|file| {
        std::path::Path::new(file)
            .extension()
            .is_some_and(|end| end == "sql")
    });
    let programs = files.into_iter().map(|file| Program {
        words: vec![
            "psql".to_owned(),
            "--quiet".to_owned(),
            "--set=ON_ERROR_STOP=1".to_owned(),
            format!("${{{name}.url}}"),
            format!("--file={file}"),
        ],
        environment: Vec::new(),
    });
    programs.collect()
}

fn dependency(name: &str, kind: Kind, service: &Service) -> Dependency {
    let image = service.image.clone();
    let (image, why) = match &kind {
        Kind::Postgres | Kind::Redis(_) => (image, None),
        Kind::Sqs(_) => (
            None,
            Some(format!(
                "embedded in the place of {}, which stands for SQS itself: it starts at once and \
                 tells who called it",
                image.unwrap_or_default()
            )),
        ),
        Kind::Outside => (
            None,
            Some(format!(
                "played by the harness in the place of {}",
                image.unwrap_or_default()
            )),
        ),
    };
    Dependency {
        name: name.to_owned(),
        kind,
        image,
        why,
    }
}

fn part_of(service: &Service) -> Part {
    let image = service.image.clone().unwrap_or_default();
    let stem = image.rsplit('/').next().unwrap_or_default();
    let stem = stem
        .split([':', '@'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| stem.starts_with(word));
    if service.build.is_some() {
    } else if is(&["postgres", "postgis", "timescaledb", "pgvector"]) {
        return Part::Dependency(Kind::Postgres);
    } else if is(&["redis", "valkey"]) {
        return Part::Dependency(Kind::Redis(Vec::new()));
    } else if is(&["localstack", "elasticmq", "goaws", "moto"]) {
        return Part::Dependency(Kind::Sqs(Vec::new()));
    } else if is(&[
        "wiremock",
        "mockserver",
        "httpbin",
        "nginx",
        "mountebank",
        "prism",
        "caddy",
    ]) {
        return Part::Dependency(Kind::Outside);
    } else if is(&["rabbitmq"]) {
        return Part::Unknown("RabbitMQ");
    } else if is(&["kafka", "cp-kafka", "redpanda"]) {
        return Part::Unknown("Kafka");
    } else if is(&["mysql", "mariadb"]) {
        return Part::Unknown("MySQL");
    } else if is(&["mongo", "nats", "cassandra", "elasticsearch", "memcached"]) {
        return Part::Unknown("a server of another protocol");
    }
    if service.ends {
        Part::Preparation
    } else {
        Part::Process
    }
}

/// Services so that each comes behind those that it depends on.
fn in_order(services: &IndexMap<String, Service>) -> Vec<String> {
    fn visit(
        name: &str,
        services: &IndexMap<String, Service>,
        order: &mut Vec<String>,
        depth: usize,
    ) {
        let Some(service) = services.get(name) else {
            return;
        };
        if order.iter().any(|known| known == name) || depth > services.len() {
            return;
        }
        for other in &service.after {
            visit(other, services, order, depth + 1);
        }
        if !order.iter().any(|known| known == name) {
            order.push(name.to_owned());
        }
    }
    let mut order = Vec::new();
    for name in services.keys() {
        visit(name, services, &mut order, 0);
    }
    order
}
