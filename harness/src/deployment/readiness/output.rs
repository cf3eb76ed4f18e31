//! Ready when a line of its output contains a text.

use super::condition::Condition;
use crate::deployment::child::Child;

/// Holds when a whole line of the process's output contains `text`.
pub fn output(child: &Child, text: &str) -> Condition {
    let (logs, text) = (child.logs().clone(), text.to_owned());
    Condition::new(
        format!("a line with `{text}` in its output"),
        |seen| async move {
            if let Err(error) = logs.line_containing(&text).await {
                seen.note(format!("a log that cannot be read: {error}"));
                std::future::pending::<()>().await;
            }
        },
    )
}
