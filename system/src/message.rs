//! What the queue carries: the id of a job, and nothing else.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Deserialize, Serialize)]
struct Body {
    job_id: Uuid,
}

/// The body that asks for this job.
pub(crate) fn body(job: Uuid) -> String {
    serde_json::to_string(&Body { job_id: job }).expect("an id is JSON")
}

/// The job that a body asks for.
pub(crate) fn job(body: &str) -> Result<Uuid, serde_json::Error> {
    serde_json::from_str::<Body>(body).map(|body| body.job_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let id = Uuid::now_v7();
        assert_eq!(job(&body(id)).unwrap(), id);
    }

    #[test]
    fn only_an_object_with_a_job_id_is_decoded() {
        let deep = "[".repeat(100_000);
        let bad = [
            "",
            " \n",
            "hello",
            "[]",
            r#"{"job_id":7}"#,
            r#"{"job_id":"\ud800"}"#,
            &deep,
        ];
        for body in bad {
            assert!(job(body).is_err());
        }
    }
}
