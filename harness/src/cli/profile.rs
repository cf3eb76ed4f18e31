//! Profiles: options that a manifest names, for what neither the command line nor the
//! environment says.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches as _};

use super::{Application, Arguments, Command, Halt};
use crate::gherkin::{ProfileOptions, Project as _};

/// Why arguments were not taken.
pub(super) enum Refused {
    /// They make no sense, or ask for help.
    Words(clap::Error),
    /// A profile that there is not, or a manifest that cannot be read.
    Halt(Halt),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::Words(error)
    }
}

/// Reads the arguments, and once more with what the profile adds.
pub(super) fn parse<A: Application>(
    application: &A,
    command: impl Fn() -> clap::Command,
    words: Vec<OsString>,
) -> Result<Arguments, Refused> {
    let matches = command().try_get_matches_from(&words)?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    let (run, at) = match &arguments.command {
        None => (&arguments.run, 1),
        Some(Command::Run(run)) => (run, subcommand(&words)),
        Some(_) => return Ok(arguments),
    };
    let Some(name) = &run.profile else {
        return Ok(arguments);
    };
    let project = application
        .load(&run.manifest.path())
        .map_err(|report| Refused::Halt(Halt::invalid(report)))?;
    let profiles = project.profiles();
    let Some((_, options)) = profiles.iter().find(|(known, _)| known == name) else {
        return Err(Refused::Halt(unknown(name, &profiles)));
    };
    let own = matches.subcommand_matches("run").unwrap_or(&matches);
    let mut all = words;
    let added = options.iter().filter(|(option, _)| !is_given(own, option));
    let added: Vec<OsString> = added
        .flat_map(|(option, values)| said(option, values))
        .collect();
    all.splice(at..at, added);
    let matches = command().try_get_matches_from(&all)?;
    Ok(Arguments::from_arg_matches(&matches)?)
}

/// Behind which word the options of `run` may stand.
fn subcommand(words: &[OsString]) -> usize {
    let position = words.iter().position(|word| word == "run");
    position.map_or(1, |position| position + 1)
}

/// Whether the command line or the environment says it.
fn is_given(matches: &ArgMatches, option: &str) -> bool {
    matches!(
        matches.value_source(option),
        Some(ValueSource::CommandLine | ValueSource::EnvVariable)
    )
}

/// An option as words of a command line.
fn said(option: &str, values: &[String]) -> Vec<OsString> {
    let option = option.replace('_', "-");
    let word = |value: &String| match value.as_str() {
        "true" => Some(format!("--{option}").into()),
        "false" => None,
        value => Some(format!("--{option}={value}").into()),
    };
    values.iter().filter_map(word).collect()
}

fn unknown(name: &str, profiles: &[(String, ProfileOptions)]) -> Halt {
    let names: Vec<String> = profiles
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let help = if names.is_empty() {
        "the manifest has no `profiles` yet: add `profiles: { ci: { jobs: 2 } }`".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    Halt::invalid(miette::miette!(help = help, "there is no profile `{name}`"))
}
