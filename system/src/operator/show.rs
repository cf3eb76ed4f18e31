//! `operator show`: one record with all that a decision needs.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{OperatorError, print_json};
use crate::store::Store;
use crate::store::operator::{Record, Refusal};

/// Prints the latest record of `subject`. Content is base64 in JSON, byte for byte; for
/// people it is shown as text as far as it is text.
pub(super) async fn show(store: &Store, subject: &str, json: bool) -> Result<(), OperatorError> {
    let Some(record) = store.record(subject).await? else {
        return Err(OperatorError::Refused {
            subject: subject.to_owned(),
            refusal: Refusal::NotInQuarantine,
        });
    };
    if json {
        return print_json(&whole(&record));
    }
    let summary = &record.summary;
    let mut out = io::stdout().lock();
    if let Some(job) = summary.job_id {
        writeln!(out, "job         {job}")?;
    }
    writeln!(out, "message     {}", summary.message_id)?;
    writeln!(out, "label       {}", summary.label)?;
    writeln!(
        out,
        "failed      {} attempts, the last at {}",
        summary.counted,
        or_dash(summary.last_stage.as_deref())
    )?;
    writeln!(out, "cause       {}", or_dash(summary.cause.as_deref()))?;
    writeln!(
        out,
        "resolution  {}",
        or_dash(summary.resolution.as_deref())
    )?;
    writeln!(
        out,
        "diagnostics {}",
        or_dash(record.diagnostics.as_deref())
    )?;
    for attempt in record.attempts.as_array().into_iter().flatten() {
        writeln!(out, "attempt     {}", line(attempt))?;
    }
    for evidence in record.evidence.as_array().into_iter().flatten() {
        writeln!(out, "evidence    {}", line(evidence))?;
    }
    writeln!(
        out,
        "content     {} bytes of {}\n{}",
        record.content.len(),
        or_dash(record.media_type.as_deref()),
        String::from_utf8_lossy(&record.content).escape_debug(),
    )?;
    Ok(())
}

fn whole(record: &Record) -> Value {
    let mut value = json!({
        "content_base64": STANDARD.encode(&record.content),
        "body_base64": STANDARD.encode(&record.body),
        "media_type": record.media_type,
        "diagnostics": record.diagnostics,
        "checked": record.checked,
        "attempts": record.attempts,
        "evidence": record.evidence,
    });
    if let (Value::Object(all), Ok(Value::Object(summary))) =
        (&mut value, serde_json::to_value(&record.summary))
    {
        all.extend(summary);
    }
    value
}

/// The members of an object that say something, on one line.
fn line(object: &Value) -> String {
    let members = object.as_object().into_iter().flatten();
    let said = members.filter(|(name, value)| !value.is_null() && *name != "job_id");
    let words: Vec<String> = said
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    words.join(" ")
}

fn or_dash(text: Option<&str>) -> &str {
    text.filter(|text| !text.is_empty()).unwrap_or("-")
}
