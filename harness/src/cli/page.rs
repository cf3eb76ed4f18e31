//! What the command says of itself: help, manual pages, completions, the manifest's
//! reference and schema.

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use super::{Arguments, Halt, Surroundings};
use crate::gherkin::Exit;
use crate::manifest::{REFERENCE, nearest, schema as of_manifest};

#[derive(Clone, Debug, Args)]
pub(super) struct CompletionsArguments {
    /// Which shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Clone, Debug, Args)]
pub(super) struct PageArguments {
    /// A command, or `manifest` with `help`
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
}

pub(super) fn schema(surroundings: &mut Surroundings) -> Result<Exit, Halt> {
    let text = serde_json::to_string_pretty(&of_manifest());
    let text = text.map_err(|error| Halt::broken(miette::miette!("{error}")))?;
    write(surroundings, format!("{text}\n").as_bytes())
}

pub(super) fn completions(
    arguments: &CompletionsArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let mut text = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "rehearse",
        &mut text,
    );
    write(surroundings, &text)
}

pub(super) fn man(
    arguments: &PageArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let mut command = Arguments::command().after_help(super::exit_codes());
    command.build();
    let command = match &arguments.topic {
        None => command,
        Some(name) => {
            let name = name.as_str();
            let found = find(&command, name)?.clone();
            found.display_name(format!("rehearse-{name}"))
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .map_err(|error| Halt::output(&error))?;
    write(surroundings, &text)
}

pub(super) fn help(
    arguments: &PageArguments,
    mut command: Command,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    command.build();
    let text = match arguments.topic.as_deref() {
        Some("manifest") => REFERENCE.to_owned(),
        None => command.render_long_help().to_string(),
        Some(name) => find(&command, name)?.clone().render_long_help().to_string(),
    };
    write(surroundings, text.as_bytes())
}

fn find<'c>(command: &'c Command, name: &str) -> Result<&'c Command, Halt> {
    command.find_subcommand(name).ok_or_else(|| {
        let names = command.get_subcommands().map(Command::get_name);
        let known: Vec<&str> = names.chain(["manifest"]).collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        Halt::invalid(miette::miette!(
            help = help,
            "there is no page about `{name}`"
        ))
    })
}

fn write(surroundings: &mut Surroundings, text: &[u8]) -> Result<Exit, Halt> {
    let written = surroundings.out.write_all(text);
    written
        .and_then(|()| surroundings.out.flush())
        .map_err(|error| Halt::output(&error))?;
    Ok(Exit::Passed)
}
