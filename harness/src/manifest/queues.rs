//! Reading the queues of a dependency.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::context::Context;
use super::dependency::FIFO_QUEUE;
use super::keys;
use super::node::{Node, Value};
use super::placeholders::Placeholders;
use super::problem::{Defect, Noun};
use super::suggestion::nearest;
use super::table::{Table, named, named_things, template};
use super::{DeadLetter, Queue, Template};

/// The attributes of a queue that a client may set.
pub(super) const QUEUE_ATTRIBUTES: &[&str] = &[
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "DelaySeconds",
    "FifoQueue",
    "FifoThroughputLimit",
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "Policy",
    "ReceiveMessageWaitTimeSeconds",
    "SqsManagedSseEnabled",
    "VisibilityTimeout",
];

/// Those that are whole numbers, with what SQS takes.
const NUMBERS: &[(&str, u64, u64)] = &[
    ("DelaySeconds", 0, 900),
    ("KmsDataKeyReusePeriodSeconds", 60, 86_400),
    ("MaximumMessageSize", 1_024, 1_048_576),
    ("MessageRetentionPeriod", 60, 1_209_600),
    ("ReceiveMessageWaitTimeSeconds", 0, 20),
    ("VisibilityTimeout", 0, 43_200),
];

/// Those that only a FIFO queue has.
const FIFO_ATTRIBUTES: &[&str] = &[
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
];

pub(super) fn read_queues<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
) -> Option<IndexMap<String, Queue>> {
    let entries = named_things(cx, node, title, Noun::Queue, &[])?;
    if entries.is_empty() {
        cx.report(
            node.anchor(),
            Defect::Empty {
                what: title.to_owned(),
            },
        );
        return None;
    }
    let names: Vec<_> = entries.iter().map(|&(name, _)| name).collect();
    let queues: Vec<_> = entries
        .iter()
        .map(|&(name, node)| Some((name.to_owned(), read_queue(cx, name, node, &names)?)))
        .collect();
    let queues: IndexMap<String, Queue> = queues.into_iter().collect::<Option<_>>()?;
    for (name, node) in entries {
        let queue = &queues[name];
        let Some(dead_letter) = &queue.dead_letter else {
            continue;
        };
        let target = &dead_letter.queue;
        if queues[target].is_fifo(target) != queue.is_fifo(name) {
            let (queue, target) = (name.to_owned(), target.clone());
            cx.report(node.anchor(), Defect::DeadLetterType { queue, target });
        }
    }
    Some(queues)
}

fn read_queue<'n>(
    cx: &mut Context<'n>,
    name: &str,
    node: &'n Node,
    queues: &[&str],
) -> Option<Queue> {
    if matches!(node.value, Value::Null) {
        return Some(Queue::default());
    }
    let table = Table::read(cx, node, keys::QUEUE, format!("queue `{name}`"))?;
    let placeholders = Placeholders::of_settings(&cx.names);
    let attributes = match table.get("attributes") {
        None => Some(BTreeMap::new()),
        Some(node) => read_attributes(cx, name, node, &table.what("attributes"), &placeholders),
    };
    let dead_letter = match table.get("dead_letter") {
        None => Some(None),
        Some(node) => read_dead_letter(cx, name, node, queues, &placeholders).map(Some),
    };
    let consumed = table.flag(cx, "consumed", true);
    Some(Queue {
        attributes: attributes?,
        dead_letter: dead_letter?,
        unconsumed: !consumed?,
    })
}

fn read_attributes<'n>(
    cx: &mut Context<'n>,
    queue: &str,
    node: &'n Node,
    title: &str,
    placeholders: &Placeholders,
) -> Option<BTreeMap<String, Template>> {
    let mut whole = true;
    let mut attributes = BTreeMap::new();
    for (name, key, value) in named(cx, node, title)? {
        if !QUEUE_ATTRIBUTES.contains(&name) {
            let nearest = nearest(name, QUEUE_ATTRIBUTES.iter().copied());
            cx.report(
                key,
                Defect::QueueAttribute {
                    name: name.to_owned(),
                    nearest,
                },
            );
            whole = false;
        }
        let what = format!("`{name}` in {title}");
        let number = NUMBERS.iter().find(|(number, ..)| *number == name);
        if let Some((_, least, most)) = number
            && !is_number(cx, value, &what, (*least, *most))
        {
            whole = false;
            continue;
        }
        match template(cx, value, &what, placeholders) {
            Some(value) => _ = attributes.insert(name.to_owned(), value),
            None => whole = false,
        }
    }
    let fifo = Queue {
        attributes: attributes.clone(),
        ..Queue::default()
    }
    .is_fifo(queue);
    for (name, key, value) in named(cx, node, title)? {
        if FIFO_ATTRIBUTES.contains(&name) && !fifo {
            let (name, queue) = (name.to_owned(), queue.to_owned());
            cx.report(key, Defect::FifoAttribute { name, queue });
            whole = false;
        }
        let is_true = attributes.get(name) == Some(&Template::literal("true"));
        if name == FIFO_QUEUE && !is_true {
            cx.report(value.span, Defect::QueueType);
            whole = false;
        }
    }
    whole.then_some(attributes)
}

/// Whether a value is a whole number in a range, in quotes or not, or has placeholders:
/// what these come to is known in a scenario.
fn is_number(cx: &mut Context<'_>, node: &Node, what: &str, (least, most): (u64, u64)) -> bool {
    let written = match &node.value {
        Value::Number(written) => written,
        Value::Text(written) if !written.contains("${") => written,
        // Told where the template is read.
        _ => return true,
    };
    let fits = written
        .parse()
        .is_ok_and(|number| (least..=most).contains(&number));
    if !fits {
        let (what, written) = (what.to_owned(), written.clone());
        let defect = Defect::OutOfRange {
            what,
            written,
            least,
            most,
        };
        cx.report(node.span, defect);
    }
    fits
}

fn read_dead_letter<'n>(
    cx: &mut Context<'n>,
    name: &str,
    node: &'n Node,
    queues: &[&str],
    placeholders: &Placeholders,
) -> Option<DeadLetter> {
    let title = format!("`dead_letter` of queue `{name}`");
    let table = Table::read(cx, node, keys::DEAD_LETTER, title)?;
    let queue = table.need_text(cx, "queue").and_then(|(queue, span)| {
        cx.one_of(span, Noun::Queue, queue, queues)?;
        if queue == name {
            cx.report(
                span,
                Defect::OwnDeadLetter {
                    queue: queue.to_owned(),
                },
            );
            return None;
        }
        Some(queue.to_owned())
    });
    let what = table.what("max_receives");
    let max_receives = table.need(cx, "max_receives").and_then(|node| {
        if !is_number(cx, node, &what, (1, 1000)) {
            return None;
        }
        template(cx, node, &what, placeholders)
    });
    let mut optional = |key: &'static str| match table.get(key) {
        None => Some(None),
        Some(node) => template(cx, node, &table.what(key), placeholders).map(Some),
    };
    let (attempts, setbacks) = (optional("attempts"), optional("setbacks"));
    Some(DeadLetter {
        queue: queue?,
        max_receives: max_receives?,
        attempts: attempts?,
        setbacks: setbacks?,
    })
}
