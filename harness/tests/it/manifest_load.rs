//! What a manifest becomes when it is loaded.

use std::path::Path;
use std::time::Duration;

use rehearsal::ids::{DependencyName, RoleName, StageName};
use rehearsal::manifest::{
    Binding, CapturePlace, Defect, Manifest, Observation, Pattern, Pipeline, Place, Protocol,
    Ready, Recognise, ReplyBody, Restart, Route, Submit, Template, render_json,
};
use rehearsal::tap::Side;
use serde_json::json;

/// A manifest with one of nearly everything.
const WHOLE: &str = r#"
version: 1
name: shop
build:
  - make "all parts"
prepare:
  - bin/shop migrate
dependencies:
  database:
    protocol: postgres
    provide: external
    url: postgres://shop:p%40ss@db.example:5432/shop?password=other
    allow_external: true
  queue:
    protocol: sqs
    provide: embedded
    queues:
      orders:
        attributes: { VisibilityTimeout: 30, DelaySeconds: "${setting.delay}" }
        dead_letter: { queue: dead, max_receives: 10 }
      dead:
  shipping:
    protocol: http
    provide: stub
    routes:
      - { on: "GET /items/{message}", reply: { body: message } }
      - on: POST /parcels
        write: true
        job: { header: X-Order }
        reply: { status: 202, body: { text: fine } }
settings:
  delay: { default: 1.50, doc: Seconds before a copy is seen. }
processes:
  api:
    command: bin/shop api --port ${port}
    environment: { DEBUG: true, RATIO: 1.10, COUNT: 7, EMPTY: "" }
    listens: true
    ready: { http: /healthz }
    ready_within: 1m
    restart: { after: 500ms }
  worker:
    command: [bin/shop, worker]
    instances: 2
    consumes: queue/orders
    restart: never
    stop_within: 150ms
    ready: { call: { dependency: queue, action: ReceiveMessage, queue: orders } }
messages:
  submit:
    process: api
    request: POST /orders
    headers: { Idempotency-Key: "${message.key}" }
    body: { item: "${message.name}", tags: [1, true, null, 1.5] }
    job: { body: "$.orders[0].id" }
  recognise:
    database: [{ statement: insert into parcels, bind: 2 }]
    queue: [{ body: $.id }]
    shipping: [{ path: message }, { header: X-Order }]
  kinds:
    plain: { content: plain.txt, type: text/plain }
    deadly: { content: plain.txt, type: text/plain, kills: worker }
stages:
  packed:
    process: worker
    after: { dependency: database, statement: insert into parcels }
    capture: { label: { statement: insert into parcels, bind: 3 } }
  sent:
    process: worker
    after: { dependency: shipping, request: "* /parcels" }
    capture: { label: { body: $.label } }
  weighing:
    process: worker
    checkpoint: weighing
totals:
  packed: { witness: { add: [packed], by: label }, labels: [worn out] }
terminal:
  completed: { stage: packed, requires_write: true }
operator:
  show: { command: [bin/shop, show, "${message.job}"] }
observations:
  state: { process: api, request: "GET /orders/${message.job}", json: $.state }
  content: { operator: show, path: $.content, base64: true }
background:
  - { process: worker, dependency: database, statement: from parcels }
limits: { step: 5s }
"#;

/// Loads a text as the manifest of a directory with a content file in it.
fn load(text: &str) -> Manifest {
    let path = Path::new("tests/manifests/rehearsal.yaml");
    Manifest::parse(path, text).unwrap_or_else(|error| panic!("{}", error.plain()))
}

#[test]
fn the_manifest_of_the_repository_loads() {
    let directory = tempfile::tempdir().unwrap();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../rehearsal.yaml");
    let path = directory.path().join("rehearsal.yaml");
    std::fs::copy(own, &path).unwrap();
    // The content files are made for it, so that only the manifest itself is judged.
    if let Err(error) = Manifest::load(&path) {
        for problem in error.problems() {
            let Defect::NoFile { path } = &problem.defect else {
                panic!("{}", error.plain())
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "content").unwrap();
        }
    }
    let manifest = Manifest::load(&path).unwrap_or_else(|error| panic!("{}", error.plain()));
    assert_eq!(manifest.root, directory.path());
    assert!(!manifest.terminal.is_empty());
}

#[test]
fn the_manifest_of_the_reference_loads() {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manifest.md");
    let reference = std::fs::read_to_string(reference).unwrap();
    let (_, example) = reference.split_once("```yaml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    // Nothing builds in the example, and its files are elsewhere.
    let example = example
        .replace("orders/plain.txt", "plain.txt")
        .replace("target/debug/shop", "shop");
    load(&example);
}

#[test]
fn every_how_to_of_the_reference_has_a_manifest_that_loads() {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manifest.md");
    let reference = std::fs::read_to_string(reference).unwrap();
    let sections = reference
        .split("\n## ")
        .filter(|section| section.starts_with("How to describe"));
    let mut described = Vec::new();
    for section in sections {
        let title = section.lines().next().unwrap();
        let blocks = section.split("```yaml\n").skip(1);
        let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
        assert!(!blocks.is_empty(), "{title} shows no manifest");
        for block in blocks {
            load(block);
        }
        described.push(title.trim_start_matches("How to describe "));
    }
    for wanted in [
        "a relay",
        "a retry by a new copy",
        "a batch callback",
        "a fan-out",
        "a service of your own",
        "a system without a queue",
        "a stub with a memory",
        "a FIFO queue",
    ] {
        assert!(described.contains(&wanted), "{wanted}: {described:?}");
    }
}

#[test]
fn what_is_left_out_takes_its_default() {
    let text = std::fs::read_to_string("tests/manifests/good.yaml").unwrap();
    let manifest = load(&text);
    let worker = &manifest.processes[&RoleName::new("worker")];
    assert_eq!(worker.instances, 1);
    assert!(!worker.listens);
    let Ready::Call { pattern, .. } = &worker.ready else {
        panic!("{:?}", worker.ready)
    };
    let first = "ReceiveMessage on queue `orders`";
    assert_eq!(pattern.describe(), first);
    assert_eq!(worker.restart, Restart::After(Duration::ZERO));
    assert_eq!(worker.ready_within, Duration::from_secs(15));
    assert_eq!(worker.stop_within, Duration::from_secs(10));
    assert_eq!(manifest.limits.step, Duration::from_secs(30));
    assert_eq!(manifest.limits.build, Duration::from_mins(15));
    assert_eq!(manifest.root, Path::new("tests/manifests"));
    assert!(manifest.secrets().is_empty());
}

#[test]
fn processes_keep_what_was_written() {
    let manifest = load(WHOLE);
    let api = &manifest.processes[&RoleName::new("api")];
    let rendered = api
        .command
        .render(&|name| (name == "port").then(|| "81".to_owned()))
        .unwrap();
    assert_eq!(rendered.words, ["bin/shop", "api", "--port", "81"]);
    let environment: Vec<_> = rendered.environment.iter().collect();
    let pairs = [
        ("COUNT", "7"),
        ("DEBUG", "true"),
        ("EMPTY", ""),
        ("RATIO", "1.10"),
    ];
    assert_eq!(environment.len(), pairs.len());
    for (name, value) in pairs {
        assert_eq!(rendered.environment[name], value);
    }
    assert!(matches!(&api.ready, Ready::Http(path) if path == "/healthz"));
    assert_eq!(api.ready_within, Duration::from_mins(1));
    assert_eq!(api.restart, Restart::After(Duration::from_millis(500)));

    let worker = &manifest.processes[&RoleName::new("worker")];
    assert_eq!(worker.instances, 2);
    assert_eq!(worker.consumes, [("queue".into(), "orders".to_owned())]);
    assert_eq!(worker.restart, Restart::Never);
    assert_eq!(worker.stop_within, Duration::from_millis(150));
    let Ready::Call { pattern, .. } = &worker.ready else {
        panic!("{:?}", worker.ready)
    };
    assert_eq!(pattern.describe(), "ReceiveMessage on queue `orders`");
    assert_eq!(manifest.build[0].words[1], Template::literal("all parts"));
    assert_eq!(manifest.settings["delay"].default, "1.50");
}

#[test]
fn dependencies_keep_what_was_written() {
    let manifest = load(WHOLE);
    assert_eq!(manifest.secrets(), ["other", "p%40ss", "p@ss"]);
    let Protocol::Sqs { queues } = &manifest.dependencies[&DependencyName::new("queue")].protocol
    else {
        panic!("not a queue")
    };
    assert_eq!(
        queues["orders"].attributes["VisibilityTimeout"],
        Template::literal("30")
    );
    let dead_letter = queues["orders"].dead_letter.as_ref().unwrap();
    assert_eq!(dead_letter.queue, "dead");
    assert_eq!(dead_letter.max_receives, Template::literal("10"));
    assert!(queues["dead"].dead_letter.is_none());
    let Protocol::Http { routes } =
        &manifest.dependencies[&DependencyName::new("shipping")].protocol
    else {
        panic!("not HTTP")
    };
    assert!(matches!(routes[0].replies[0].body, ReplyBody::Message));
    let told = |route: &Route| (route.replies[0].status, route.may_write());
    assert_eq!(
        (told(&routes[0]), told(&routes[1])),
        ((200, false), (202, true))
    );
    assert_eq!(
        routes[1].job,
        Some(Place::Header("x-order".to_owned(), Pipeline::default()))
    );
    assert!(matches!(&routes[1].replies[0].body, ReplyBody::Text(text) if text == "fine"));
}

#[test]
fn messages_and_stages_keep_what_was_written() {
    let manifest = load(WHOLE);
    let Submit::Request(submit) = &manifest.messages.submit else {
        panic!("a process takes it");
    };
    let body = render_json(&submit.body, &|_| Some("M3".to_owned())).unwrap();
    assert_eq!(body, json!({ "item": "M3", "tags": [1, true, null, 1.5] }));
    let Place::Body(pipeline) = &submit.job else {
        panic!("{:?}", submit.job)
    };
    assert_eq!(pipeline.to_string(), "$.orders[0].id");
    let Recognise::Binds(binds) = &manifest.messages.recognise[&DependencyName::new("database")]
    else {
        panic!("not binds")
    };
    assert_eq!(
        (&*binds[0].statement, binds[0].position),
        ("insert into parcels", 2)
    );
    assert_eq!(
        manifest.messages.kinds["deadly"].kills,
        Some("worker".into())
    );

    let packed = &manifest.stages[&StageName::new("packed")];
    let Binding::Boundary { side, pattern, .. } = &packed.binding else {
        panic!("{packed:?}")
    };
    assert_eq!(*side, Side::After);
    assert_eq!(*pattern, Pattern::Statement("insert into parcels".into()));
    assert!(matches!(&packed.capture["label"], CapturePlace::Bind(bind) if bind.position == 3));
    let sent = &manifest.stages[&StageName::new("sent")];
    assert!(matches!(
        &sent.capture["label"],
        CapturePlace::Place(Place::Body(_))
    ));
    let Observation::Request { path, .. } = &manifest.observations["state"] else {
        panic!("not a request")
    };
    assert_eq!(path.to_string(), "/orders/${message.job}");
    assert_eq!(manifest.background[0].role, "worker".into());
}

#[test]
fn anchors_and_merged_tables_are_read_where_they_are_used() {
    let text = WHOLE
        .replace("    command: [bin/shop, worker]\n", "    <<: *common\n")
        .replace("processes:\n  api:\n", "processes:\n  api: &common\n");
    let manifest = load(&text);
    let worker = &manifest.processes[&RoleName::new("worker")];
    assert_eq!(worker.ready_within, Duration::from_mins(1));
    assert_eq!(worker.restart, Restart::Never);
}
