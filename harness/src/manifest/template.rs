//! Texts with placeholders: read when the manifest is loaded, filled in when a process
//! starts or a message is submitted.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::{Command, Template, TemplatePart};

/// Gives a placeholder's value, or none if the name means nothing where it stands.
pub type Lookup<'l> = dyn Fn(&str) -> Option<String> + 'l;

/// Why a text is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// `${name` without its brace.
    #[error("a `${{` is never closed")]
    Unclosed,
    /// `${}`
    #[error("a `${{}}` names nothing")]
    Empty,
    /// A dollar that is neither `$$` nor `${`.
    #[error("a single `$` stands for nothing")]
    LoneDollar,
}

/// A placeholder has no value where it is used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`${{{name}}}` has no value here")]
pub struct UnknownPlaceholder {
    /// The name between the braces.
    pub name: String,
}

/// A JSON body cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// A placeholder in it has no value.
    #[error(transparent)]
    Placeholder(#[from] UnknownPlaceholder),
    /// A string in it is no template. Never so in a manifest that was loaded.
    #[error("`{text}` in a JSON body: {fault}")]
    Template {
        /// The string.
        text: String,
        /// What is wrong with it.
        fault: TemplateFault,
    },
}

/// A command with every placeholder filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedCommand {
    /// Program first.
    pub words: Vec<String>,
    /// Environment beyond the allow-list.
    pub environment: BTreeMap<String, String>,
}

impl Template {
    /// A template without placeholders.
    pub fn literal(text: impl Into<String>) -> Self {
        Self {
            parts: vec![TemplatePart::Text(text.into())],
        }
    }

    /// Reads `…${name}…`; `$$` is a dollar.
    pub fn parse(text: &str) -> Result<Self, TemplateFault> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                literal.push('$');
                rest = after;
            } else if let Some(inside) = rest.strip_prefix('{') {
                let (name, after) = inside.split_once('}').ok_or(TemplateFault::Unclosed)?;
                let name = name.trim();
                if name.is_empty() {
                    return Err(TemplateFault::Empty);
                }
                if name.contains("${") {
                    return Err(TemplateFault::Unclosed);
                }
                if !literal.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
                }
                parts.push(TemplatePart::Placeholder(name.to_owned()));
                rest = after;
            } else {
                return Err(TemplateFault::LoneDollar);
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(TemplatePart::Text(literal));
        }
        Ok(Self { parts })
    }

    /// The names of its placeholders, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Placeholder(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// Fills every placeholder in.
    pub fn render(&self, lookup: &Lookup<'_>) -> Result<String, UnknownPlaceholder> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(literal) => text.push_str(literal),
                TemplatePart::Placeholder(name) => match lookup(name) {
                    Some(value) => text.push_str(&value),
                    None => return Err(UnknownPlaceholder { name: name.clone() }),
                },
            }
        }
        Ok(text)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => f.write_str(&text.replace('$', "$$"))?,
                TemplatePart::Placeholder(name) => write!(f, "${{{name}}}")?,
            }
        }
        Ok(())
    }
}

impl Command {
    /// The names of all placeholders in it and in its environment.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        let templates = self.words.iter().chain(self.environment.values());
        templates.flat_map(Template::placeholders)
    }

    /// Fills every placeholder in.
    pub fn render(&self, lookup: &Lookup<'_>) -> Result<RenderedCommand, UnknownPlaceholder> {
        Ok(RenderedCommand {
            words: self
                .words
                .iter()
                .map(|word| word.render(lookup))
                .collect::<Result<_, _>>()?,
            environment: render_table(&self.environment, lookup)?,
        })
    }
}

/// Fills the placeholders of named templates in: an environment, headers, attributes.
pub fn render_table(
    table: &BTreeMap<String, Template>,
    lookup: &Lookup<'_>,
) -> Result<BTreeMap<String, String>, UnknownPlaceholder> {
    table
        .iter()
        .map(|(name, value)| Ok((name.clone(), value.render(lookup)?)))
        .collect()
}

/// Fills the placeholders in the strings of a JSON value in.
pub fn render_json(value: &Value, lookup: &Lookup<'_>) -> Result<Value, BodyError> {
    Ok(match value {
        Value::String(text) => {
            let template = Template::parse(text).map_err(|fault| BodyError::Template {
                text: text.clone(),
                fault,
            })?;
            Value::String(template.render(lookup)?)
        }
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| render_json(item, lookup))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| Ok((name.clone(), render_json(member, lookup)?)))
                .collect::<Result<_, BodyError>>()?,
        ),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "port" => Some("8081".to_owned()),
            "setting.attempt limit" => Some("3".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn placeholders_are_filled_in_and_two_dollars_are_one() {
        let template = Template::parse("$$${port}/${setting.attempt limit}$$").unwrap();
        assert_eq!(template.render(&lookup).unwrap(), "$8081/3$");
        let names: Vec<_> = template.placeholders().collect();
        assert_eq!(names, ["port", "setting.attempt limit"]);
    }

    #[test]
    fn a_placeholder_without_a_value_is_named() {
        let error = Template::parse("${host}")
            .unwrap()
            .render(&lookup)
            .unwrap_err();
        assert_eq!(error.to_string(), "`${host}` has no value here");
    }

    #[test]
    fn faulty_templates_say_what_is_wrong() {
        assert_eq!(Template::parse("${port"), Err(TemplateFault::Unclosed));
        assert_eq!(Template::parse("${port ${x}"), Err(TemplateFault::Unclosed));
        assert_eq!(Template::parse("${ }"), Err(TemplateFault::Empty));
        assert_eq!(Template::parse("$HOME"), Err(TemplateFault::LoneDollar));
    }

    #[test]
    fn strings_anywhere_in_a_json_body_are_filled_in() {
        let body = json!({ "a": ["${port}", 1], "b": { "c": "x" }, "${port}": null });
        let rendered = render_json(&body, &lookup).unwrap();
        assert_eq!(
            rendered,
            json!({ "a": ["8081", 1], "b": { "c": "x" }, "${port}": null })
        );
        assert!(render_json(&json!("$"), &lookup).is_err());
    }

    proptest! {
        #[test]
        fn a_template_prints_as_it_is_read(text in "[a-z${} .]{0,30}") {
            if let Ok(template) = Template::parse(&text) {
                let printed = template.to_string();
                prop_assert_eq!(Template::parse(&printed).unwrap(), template);
            }
        }

        #[test]
        fn a_text_whose_dollars_are_doubled_renders_as_itself(text in "\\PC*") {
            let template = Template::parse(&text.replace('$', "$$")).unwrap();
            prop_assert_eq!(template.render(&|_| None).unwrap(), text);
        }
    }
}
