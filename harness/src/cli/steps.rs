//! `rehearse steps`: the phrases that features may use.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::{Application, Halt, ManifestArgument, Surroundings, glue};
use crate::gherkin::{Exit, Project as _, Step, StepKind};

#[derive(Clone, Debug, Args)]
pub(super) struct StepsArguments {
    #[command(flatten)]
    manifest: ManifestArgument,
    /// Only what has all of these words: a name, an explanation, a synonym
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// For programs
    #[arg(long)]
    json: bool,
    /// Write the phrases to `DIR/rehearse.steps.ts`, from which the cucumber language server
    /// completes and checks features in an editor
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "words"])]
    glue: Option<PathBuf>,
}

#[derive(Serialize)]
struct Entry<'a> {
    group: &'a str,
    kinds: Vec<StepKind>,
    expression: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    aliases: &'a [String],
    doc: &'a str,
    example: &'a str,
    location: String,
}

pub(super) fn steps<A: Application>(
    application: &A,
    arguments: &StepsArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let nameless = !arguments.manifest.is_there();
    let project = if nameless {
        application.general()
    } else {
        application.load(&arguments.manifest.path())
    };
    let project = project.map_err(Halt::invalid)?;
    let vocabulary = project
        .vocabulary()
        .compile()
        .map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    if let Some(directory) = &arguments.glue {
        let path = glue::write(directory, &vocabulary)?;
        surroundings.say(&format!(
            "{}: {} phrases; name it in the editor's setting `cucumber.glue`\n",
            path.display(),
            vocabulary.steps().len()
        ));
        return Ok(Exit::Passed);
    }
    let words: Vec<String> = arguments
        .words
        .iter()
        .map(|word| word.to_lowercase())
        .collect();
    let steps: Vec<&Step<_>> = vocabulary.steps().iter().collect();
    let steps: Vec<&Step<_>> = steps
        .into_iter()
        .filter(|step| says(step, &words))
        .collect();
    let text = if arguments.json {
        let entries: Vec<Entry<'_>> = steps.into_iter().map(entry).collect();
        let text = serde_json::to_string_pretty(&entries);
        text.map_err(|error| Halt::broken(miette::miette!("{error}")))? + "\n"
    } else {
        let mut text = list(&steps);
        let mut found = !steps.is_empty();
        // Without a manifest the names are nobody's.
        let named = vocabulary.names().filter(|_| !nameless);
        for (kind, names) in named {
            let doc = |name: &str| vocabulary.doc_of(kind, name).unwrap_or_default().to_owned();
            let fits = |name: &String| {
                let text = format!("{name} {}", doc(name)).to_lowercase();
                words.iter().all(|word| text.contains(word))
            };
            let fitting: Vec<&String> = names.iter().filter(|name| fits(name)).collect();
            if words.is_empty() || !fitting.is_empty() {
                found = true;
                text += &shown(kind, &fitting, doc);
            }
        }
        if !found {
            let words = arguments.words.join(" ");
            let help = "`rehearse steps` lists all phrases";
            return Err(Halt::invalid(miette::miette!(
                help = help,
                "no phrase and no name has `{words}`"
            )));
        }
        if words.is_empty() {
            text += OWN_PARAMETERS;
            if nameless {
                text += "\nThere is no manifest here or above, which would give the names that stand in braces.\n";
            }
        }
        text
    };
    surroundings
        .out
        .write_all(text.as_bytes())
        .map_err(|error| Halt::output(&error))?;
    Ok(Exit::Passed)
}

/// Names of one kind: in one line, or each with what it means.
fn shown(kind: &str, names: &[&String], doc: impl Fn(&str) -> String) -> String {
    if names.iter().all(|name| doc(name).is_empty()) {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        return format!("{{{kind}}}: {}\n", names.join(", "));
    }
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let lines = names.iter().map(|name| {
        let line = format!("    {name:width$}  {}", doc(name));
        format!("{}\n", line.trim_end())
    });
    format!("{{{kind}}}:\n{}", lines.collect::<String>())
}

const OWN_PARAMETERS: &str = "\
{duration}: 2s, 150 ms, 2 seconds
{signal}: SIGKILL, SIGTERM, SIGSTOP …
{message}: M3
{messages}: M1; M1 to M5; M1, M2 and M4
{whose}: messages, each counted for itself; each message; any message, counted together
{times}: every time; once; the first time; the first 3 times; on time 2
{int}: 3   {float}: 0.5   {word}: anything without a blank, or in quotes   {string}: \"in quotes\"
";

fn entry<W>(step: &Step<W>) -> Entry<'_> {
    Entry {
        group: &step.group,
        kinds: std::iter::once(step.kind)
            .chain(step.also.iter().copied())
            .collect(),
        expression: &step.expression,
        aliases: &step.aliases,
        doc: &step.doc,
        example: &step.example,
        location: format!("{}:{}", step.location.file(), step.location.line()),
    }
}

/// Whether all of these words stand somewhere in a phrase or in what is said of it.
fn says<W>(step: &Step<W>, words: &[String]) -> bool {
    let texts = [&step.expression, &step.doc, &step.example, &step.group];
    let texts = texts.into_iter().chain(&step.aliases).chain(&step.synonyms);
    let texts: Vec<String> = texts.map(|text| text.to_lowercase()).collect();
    words
        .iter()
        .all(|word| texts.iter().any(|text| text.contains(word)))
}

/// The phrases under their headings; headings and phrases in the order of the packs.
fn list<W>(steps: &[&Step<W>]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for step in steps {
        if !groups.contains(&step.group.as_str()) {
            groups.push(&step.group);
        }
    }
    let mut text = String::new();
    for group in groups {
        let _ = writeln!(text, "{group}");
        for step in steps.iter().filter(|step| step.group == group) {
            let also: Vec<String> = step
                .also
                .iter()
                .map(|kind| format!(" (or {kind})"))
                .collect();
            let _ = writeln!(text, "  {}{} {}", step.kind, also.concat(), step.expression);
            for line in step.doc.lines() {
                let _ = writeln!(text, "      {line}");
            }
            for (number, line) in step.example.lines().enumerate() {
                let head = if number == 0 { "e.g. " } else { "     " };
                let _ = writeln!(text, "      {head}{line}");
            }
        }
        text.push('\n');
    }
    text
}
