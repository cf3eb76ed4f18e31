//! The JSON Schema of a manifest, for editors: the keys of each table as the readers take
//! them, with the words of the reference.

use serde_json::{Map, Value, json};

use super::keys::{ALL, Keys};
use super::reference::{entries, title};

/// The schema.
pub fn schema() -> Value {
    let definitions: Map<String, Value> = ALL
        .iter()
        .map(|keys| (name_of(keys.table), table(*keys)))
        .collect();
    let mut schema = definitions["manifest"].clone();
    let root = schema.as_object_mut().expect("a table is an object");
    root.insert(
        "$schema".to_owned(),
        json!("http://json-schema.org/draft-07/schema#"),
    );
    root.insert("title".to_owned(), json!("The manifest of a rehearsal"));
    root.insert("definitions".to_owned(), Value::Object(definitions));
    schema
}

/// A table's name as a part of a reference.
fn name_of(table: &str) -> String {
    table.replace(' ', "_")
}

fn table(keys: Keys) -> Value {
    let told = entries(keys.table);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for &key in keys.keys {
        let mut property = value(shape(keys.table, key));
        if let Some(entry) = told.iter().find(|entry| entry.key == key) {
            let words = match entry.default.as_str() {
                "" | "required" => entry.meaning.clone(),
                default => format!("{}\n\nDefault: {default}", entry.meaning),
            };
            if let Some(property) = property.as_object_mut() {
                property.insert("description".to_owned(), json!(words));
            }
            if entry.is_required() {
                required.push(key);
            }
        }
        properties.insert(key.to_owned(), property);
    }
    let mut table = json!({
        "type": "object",
        "description": title(keys.table).unwrap_or_default(),
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        table["required"] = json!(required);
    }
    table
}

/// A shape as a schema. `a|b` is either, `[a]` a list, `{a}` a table with free keys, `=a`
/// the word itself, `?` nothing; all else is the name of a kind of value or of a table.
fn value(shape: &str) -> Value {
    if let Some(inner) = enclosed(shape, '[', ']') {
        return json!({ "type": "array", "items": value(inner) });
    }
    if let Some(inner) = enclosed(shape, '{', '}') {
        return json!({ "type": "object", "additionalProperties": value(inner) });
    }
    let parts = alternatives(shape);
    if parts.len() > 1 {
        let words: Option<Vec<&str>> = parts.iter().map(|part| part.strip_prefix('=')).collect();
        return match words {
            Some(words) => json!({ "enum": words }),
            None => json!({ "anyOf": parts.into_iter().map(value).collect::<Vec<_>>() }),
        };
    }
    match shape {
        "text" => json!({ "type": "string" }),
        "number" => json!({ "type": "integer", "minimum": 0 }),
        "float" => json!({ "type": "number" }),
        "flag" => json!({ "type": "boolean" }),
        "scalar" => json!({ "type": ["string", "number", "boolean"] }),
        "duration" => json!({ "type": "string", "pattern": "^\\s*[0-9]+ ?(ms|s|m|h)\\s*$" }),
        "any" => json!({}),
        "?" => json!({ "type": "null" }),
        word if word.starts_with('=') => json!({ "const": word[1..] }),
        // The words beside a reference count for nothing in this draft, so it is wrapped.
        name => json!({ "allOf": [{ "$ref": format!("#/definitions/{}", name_of(name)) }] }),
    }
}

/// What stands between these signs, if they enclose the whole.
fn enclosed(shape: &str, open: char, close: char) -> Option<&str> {
    let inner = shape.strip_prefix(open)?.strip_suffix(close)?;
    (alternatives(shape).len() == 1).then_some(inner)
}

/// The alternatives of a shape: bars inside of lists and tables divide nothing.
fn alternatives(shape: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, sign) in shape.char_indices() {
        match sign {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&shape[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&shape[start..]);
    parts
}

/// What may stand under a key, beyond what its name says in every table.
#[expect(clippy::match_same_arms, reason = "it reads table by table")]
fn shape(table: &str, key: &str) -> &'static str {
    match (table, key) {
        ("manifest", "version") => "number|=1",
        ("manifest", "build" | "prepare") => "[text|[scalar]|command]",
        ("manifest", "dependencies") => "{dependency}",
        ("manifest", "processes") => "{process}",
        ("manifest", "settings") => "{setting}",
        ("manifest", "messages") => "messages",
        ("manifest", "stages") => "{stage}",
        ("manifest", "totals") => "{total}",
        ("manifest", "terminal") => "{terminal}",
        ("manifest", "order") => "[order]",
        ("manifest", "attempts") => "attempts",
        ("manifest", "operator") => "{command}",
        ("manifest", "observations") => "{observation}",
        ("manifest", "background") => "background|[background]",
        ("manifest", "consumption") => "consumption",
        ("manifest", "findings") => "findings",
        ("findings", _) => "=off|=warn|=fail",
        ("manifest", "explore") => "explore",
        ("manifest", "limits") => "limits",
        ("manifest", "defects") => "defects",
        ("defects", "named") => "{defect}",
        ("defects" | "defect", "build") => "[text|[scalar]|command]",
        ("defect", "rules") => "[scalar]",
        ("defect", "scenarios") => "[text]",
        ("manifest", "profiles") => "{profile}",
        ("dependency", "queues") => "{queue|queue of Redis|queue of PostgreSQL|?}",
        ("queue of Redis", "processing") | ("queue of PostgreSQL", "calls") => "text|[text]",
        ("dependency", "routes") => "[route]",
        ("dependency", "protocol") => "=postgres|=sqs|=http|=redis",
        ("dependency", "provide") => "=embedded|=container|=stub|=process|=external",
        ("dependency", "port") => "number",
        ("dead_letter", "max_receives" | "attempts" | "setbacks") | ("exhausted", "limit") => {
            "scalar"
        }
        ("queue", "dead_letter") => "dead_letter",
        ("queue", "attributes") | ("submit", "headers") | (_, "environment") => "{scalar}",
        ("route", "job" | "group") => "any",
        ("stage", "makes") => "any",
        ("submit", "job") => "place",
        ("route", "idempotency") => "idempotency",
        ("route", "reply") => "reply",
        ("route", "replies") => "[reply]",
        ("reply", "status") => "number",
        ("reply", "body") => "=empty|=message|reply body",
        ("setting", "default") | ("consumption", "in_hand") => "scalar",
        ("process", "instances") | ("bind" | "capture", "bind") | ("total", "always") => "number",
        ("process", "restart") => "=always|=never|restart",
        ("process", "consumes") => "text|[text]",
        ("restart", "after") | ("background", "settle") => "duration",
        ("process", "ready") => "=started|=listening|ready",
        ("process", "container") => "container",
        ("process", "memory") => "scalar",
        ("container", "cpus") => "float",
        ("container", "address") => "=kept|=fresh",
        ("call" | "background", "row") => "=added|=claimed|=released|=finished",
        ("ready", "call") | ("stage", "before" | "after") => "call",
        ("background", "backlog") => "backlog",
        ("total", "claim") | ("consumption", "mode" | "ownerless") => "claim",
        ("messages", "submit") => "submit",
        ("messages", "recognise") => "{=any-bind|=any-value|[place|bind]|place}",
        ("messages", "kinds") => "{kind}",
        ("submit", "body") => "any",
        ("stage", "process") => "text|[text]",
        ("stage", "capture") => "{capture}",
        ("total", "witness") => "witness",
        ("attempts", "exhausted") => "exhausted",
        ("consumption", "probes") => "number",
        ("limits", _) | ("process", "ready_within" | "stop_within") => "duration",
        ("profile", "tags" | "name" | "report") => "text|[text]",
        ("profile", "jobs" | "fail_fast" | "repeat" | "seed") => "number",
        ("profile", "color") => "=auto|=always|=never",
        (_, "driver") => "=processes|=containers",
        (_, "command") => "text|[scalar]",
        (
            _,
            "labels" | "resting" | "add" | "subtract" | "rests" | "resumed" | "allowed" | "ignore",
        ) => "[text]",
        (
            _,
            "allow_external" | "write" | "store" | "listens" | "fleet" | "distinct" | "base64"
            | "requires_write" | "prepares" | "real_time" | "verbose" | "quiet",
        ) => "flag",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Whether a value fits: as much of JSON Schema as the schema uses.
    fn fits(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            return fits(root, &root["definitions"][name], value);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            fits(root, part, value)?;
        }
        if let Some(parts) = schema["anyOf"].as_array() {
            let tried: Vec<_> = parts.iter().map(|part| fits(root, part, value)).collect();
            if tried.iter().all(Result::is_err) {
                return Err(format!("{value} is none of {tried:?}"));
            }
        }
        for (key, words) in [("enum", &schema["enum"]), ("const", &schema["const"])] {
            let known = match words {
                Value::Null => continue,
                Value::Array(words) if key == "enum" => words.contains(value),
                word => word == value,
            };
            if !known {
                return Err(format!("{value} is not {words}"));
            }
        }
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let is = |kind: &&str| match *kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            "integer" => value.is_i64() || value.is_u64(),
            _ => value.is_number(),
        };
        if !types.is_empty() && !types.iter().any(is) {
            return Err(format!("{value} is none of {types:?}"));
        }
        for item in value.as_array().into_iter().flatten() {
            fits(root, &schema["items"], item)?;
        }
        let empty = Map::new();
        let entries = value.as_object().unwrap_or(&empty);
        for (key, value) in entries {
            match (&schema["properties"][key], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => return Err(format!("no `{key}` here")),
                (Value::Null, rest) => fits(root, rest, value)?,
                (property, _) => fits(root, property, value)?,
            }
        }
        for key in schema["required"].as_array().into_iter().flatten() {
            if value.is_object() && !entries.contains_key(key.as_str().unwrap()) {
                return Err(format!("`{key}` is missing"));
            }
        }
        Ok(())
    }

    #[test]
    fn every_key_is_described_and_every_reference_leads_somewhere() {
        let schema = schema();
        for (name, table) in schema["definitions"].as_object().unwrap() {
            for (key, property) in table["properties"].as_object().unwrap() {
                let told = property["description"].as_str().unwrap_or_default();
                assert!(told.len() > 5, "{key} of {name}");
            }
        }
        let text = schema.to_string();
        for reference in text.split("\"#/definitions/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schema["definitions"][name].is_object(), "{name}");
        }
    }

    #[test]
    fn manifests_fit_the_schema_and_a_slip_of_the_pen_does_not() {
        let schema = schema();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in [
            "../rehearsal.yaml",
            "tests/manifests/good.yaml",
            "tests/python_system/rehearsal.yaml",
            "tests/fixtures/judge/rehearsal.yaml",
        ] {
            let text = std::fs::read_to_string(here.join(name)).unwrap();
            let value: Value = serde_yaml::from_str(&text).unwrap();
            assert_eq!(fits(&schema, &schema, &value), Ok(()), "{name}");
            let slip = text.replacen("\nprocesses:", "\nproceses:", 1);
            let value: Value = serde_yaml::from_str(&slip).unwrap();
            assert!(fits(&schema, &schema, &value).is_err(), "{name}");
        }
    }

    #[test]
    fn the_schema_that_editors_read_is_the_one_of_this_program() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manifest.schema.json");
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        if written != schema {
            std::fs::write(&path, &schema).unwrap();
            panic!("docs/manifest.schema.json was old; it is written anew: commit it");
        }
    }
}
