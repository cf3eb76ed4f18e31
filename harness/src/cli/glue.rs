//! The phrases as glue of the cucumber language server: it reads step definitions and
//! parameter types out of a TypeScript file that never runs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::Halt;
use crate::gherkin::Compiled;

/// The file in the directory.
const FILE: &str = "rehearse.steps.ts";
/// Parameters that every cucumber has.
const BUILT_IN: [&str; 4] = ["int", "float", "word", "string"];

/// Writes the glue, and says where.
pub(super) fn write<W>(directory: &Path, vocabulary: &Compiled<W>) -> Result<PathBuf, Halt> {
    let path = directory.join(FILE);
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text(vocabulary)));
    written.map_err(|error| {
        Halt::broken(miette::miette!(
            "cannot write `{}`: {error}",
            path.display()
        ))
    })?;
    Ok(path)
}

fn text<W>(vocabulary: &Compiled<W>) -> String {
    let mut text = "\
// Written by `rehearse steps --glue`: for the cucumber language server alone, it never runs.
import { Given, Then, When, defineParameterType } from '@cucumber/cucumber'

"
    .to_owned();
    for (kind, pattern) in vocabulary.parameters() {
        if BUILT_IN.contains(&kind.as_str()) {
            continue;
        }
        let pattern = pattern.replace('/', "\\/");
        let _ = writeln!(
            text,
            "defineParameterType({{ name: {}, regexp: /{pattern}/ }})",
            quoted(&kind)
        );
    }
    text.push('\n');
    for step in vocabulary.steps() {
        for line in step.doc.lines() {
            let _ = writeln!(text, "// {line}");
        }
        let kinds = std::iter::once(step.kind).chain(step.also.iter().copied());
        for kind in kinds {
            for expression in std::iter::once(&step.expression).chain(&step.aliases) {
                let _ = writeln!(text, "{kind}({}, () => {{}})", quoted(expression));
            }
        }
    }
    text
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
