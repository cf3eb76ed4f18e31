//! Reading commands and environments.

use std::collections::BTreeMap;

use super::command_line::{CommandLineFault, split_command_line};
use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::placeholders::Placeholders;
use super::problem::Defect;
use super::table::{Table, named, template, wrong_type};
use super::{Command, Template, TemplatePart, tls};

/// A list of commands, each a line, a list of words, or a table with an environment.
pub(super) fn read_commands<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    placeholders: &Placeholders,
) -> Option<Vec<Command>> {
    let items = super::table::list(cx, node, title)?;
    let commands: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let title = format!("{title}, command {}", index + 1);
            if matches!(item.value, Value::Table(_)) {
                let table = Table::read(cx, item, keys::COMMAND, title)?;
                read_command(cx, &table, placeholders)
            } else {
                let words = read_words(cx, item, &title, placeholders)?;
                Some(Command {
                    words,
                    environment: BTreeMap::new(),
                })
            }
        })
        .collect();
    commands.into_iter().collect()
}

/// The keys `command` and `environment` of a table.
pub(super) fn read_command<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    placeholders: &Placeholders,
) -> Option<Command> {
    let what = table.what("command");
    let words = table
        .need(cx, "command")
        .and_then(|node| Some((read_words(cx, node, &what, placeholders)?, node)));
    if let Some((words, node)) = &words
        && !cx.builds
    {
        check_program(cx, node, words);
    }
    let environment = match table.get("environment") {
        None => Some(BTreeMap::new()),
        Some(node) => read_environment(cx, node, &table.what("environment"), placeholders),
    };
    Some(Command {
        words: words?.0,
        environment: environment?,
    })
}

fn read_words<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    what: &str,
    placeholders: &Placeholders,
) -> Option<Vec<Template>> {
    match &node.value {
        Value::Text(line) => match split_command_line(line) {
            Ok(words) => {
                let words: Vec<_> = words
                    .iter()
                    .map(|word| cx.template(node.span, word, placeholders))
                    .collect();
                words.into_iter().collect()
            }
            Err(fault) => {
                cx.report(node.span, Defect::CommandLine { fault });
                None
            }
        },
        Value::List(items) => {
            let words: Vec<_> = items
                .iter()
                .map(|item| template(cx, item, what, placeholders))
                .collect();
            let words: Vec<_> = words.into_iter().collect::<Option<_>>()?;
            if words.first().is_none_or(|program| program.parts.is_empty()) {
                cx.report(
                    node.span,
                    Defect::CommandLine {
                        fault: CommandLineFault::Empty,
                    },
                );
                return None;
            }
            Some(words)
        }
        _ => wrong_type(
            cx,
            node,
            what.to_owned(),
            "a command line or a list of words",
        ),
    }
}

/// A program given by its path must be there when nothing builds it.
fn check_program(cx: &mut Context<'_>, node: &Node, words: &[Template]) {
    let Some([TemplatePart::Text(program)]) = words.first().map(|word| word.parts.as_slice())
    else {
        return;
    };
    let path = cx.root.join(program);
    if program.contains('/') && !path.is_file() {
        let path = path.components().collect();
        let span = cx.source.narrow(node.span, program);
        cx.report(span, Defect::NoProgram { path });
    }
}

fn read_environment<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    placeholders: &Placeholders,
) -> Option<BTreeMap<String, Template>> {
    let mut whole = true;
    let mut environment = BTreeMap::new();
    for (name, key, value) in named(cx, node, title)? {
        let starts = name
            .chars()
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            cx.report(
                key,
                Defect::VariableName {
                    name: name.to_owned(),
                },
            );
            whole = false;
        }
        match template(cx, value, &format!("`{name}` in {title}"), placeholders) {
            Some(template) => {
                whole &= tls::check_variable(cx, value.span, name, &template).is_some();
                environment.insert(name.to_owned(), template);
            }
            None => whole = false,
        }
    }
    whole.then_some(environment)
}
