//! What can stand on the command line can stand in the environment too.

use clap::{Arg, Command};

/// A command whose options, and those of its commands, are read from the environment where
/// the command line says nothing: `--jobs` from `REHEARSE_JOBS`, whoever takes it.
pub(super) fn heard(command: Command) -> Command {
    command.mut_args(from_environment).mut_subcommands(heard)
}

fn from_environment(argument: Arg) -> Arg {
    let name = argument.get_long().map(|long| {
        let name = long.to_uppercase().replace('-', "_");
        format!("REHEARSE_{name}")
    });
    match name {
        Some(name) if argument.get_env().is_none() && !is_about_the_command(&argument) => {
            argument.env(name).hide_env(true)
        }
        _ => argument,
    }
}

fn is_about_the_command(argument: &Arg) -> bool {
    matches!(argument.get_long(), Some("help" | "version"))
}
