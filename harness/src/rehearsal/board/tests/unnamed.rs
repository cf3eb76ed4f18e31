//! What could not be named is told at the end, once for each queue or route.

use serde_json::{Value, json};

use super::*;
use crate::stub::Performed;

impl Bench {
    /// The packer is handed this body under a `MessageId` of its own.
    async fn receives_body(&self, copy: &str, body: &str) {
        let message =
            json!({"MessageId": copy, "ReceiptHandle": format!("r-{copy}"), "Body": body});
        let call = self.receive(&self.packer);
        let _ = self.board.before(Arc::clone(&call)).await;
        let reply = Arc::new(sqs(json!({"Messages": [message]})));
        let _ = self.board.after(call, reply, true).await;
    }

    fn performs(&self, body: &Value, job: Option<&str>) {
        let Request::Http(request) = &self.post(body).request else {
            unreachable!("a post is HTTP");
        };
        let performed = Performed {
            route: None,
            sequence: 1,
            request: request.clone(),
            job: job.map(str::to_owned),
            others: Vec::new(),
            group: None,
            message: None,
            write: true,
            repeated: false,
            status: 202,
            stray: false,
        };
        let job = performed.job.clone();
        let request = "POST /parcels".to_owned();
        self.board
            .performed(&"carrier".into(), request, job, &performed);
    }

    fn doubts(&self) -> Vec<String> {
        self.board.doubt_unnamed();
        self.entries()
            .into_iter()
            .filter_map(|entry| match entry.event {
                Event::Doubt { reason } => Some(reason),
                _ => None,
            })
            .collect()
    }
}

#[tokio::test]
async fn deliveries_of_nobody_are_one_doubt_that_says_how_to_mend_it() {
    let bench = Bench::new().with(&["M1", "M2"]);
    for message in ["M1", "M2"] {
        let body = json!({"id": format!("job-{message}"), "secret": "hunter2"}).to_string();
        bench.receives_body(&format!("copy {message}"), &body).await;
    }
    let doubts = bench.doubts();
    let [doubt] = doubts.as_slice() else {
        panic!("{doubts:?}");
    };
    for part in [
        "`orders` of `queue` delivered 2 times",
        "packer-1",
        "`body: $.order`, where no known id stands",
        "write `queue: [{ body: $.id }]`",
        "\"job-M1\"",
    ] {
        assert!(doubt.contains(part), "no `{part}` in {doubt}");
    }
    assert!(!doubt.contains("hunter2"), "{doubt}");
}

#[tokio::test]
async fn a_delivery_of_nobody_without_any_known_id_is_a_doubt_too() {
    let bench = Bench::new().with(&["M1"]);
    bench.receives_body("m", "\u{1}not JSON").await;
    let doubts = bench.doubts();
    assert_eq!(doubts.len(), 1);
    assert!(doubts[0].contains("no id that is known stands in it anywhere"));
}

#[tokio::test]
async fn what_is_known_by_the_end_is_no_doubt() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .receives_body("own", &json!({"order": "job-M1"}).to_string())
        .await;
    bench.board.putting(&"M2".into(), "poison");
    bench.receives_body("foreign", "poison").await;
    bench.receives_body("late", "elsewhere").await;
    bench.board.put(&"M3".into(), "orders-7", "late");
    assert!(bench.doubts().is_empty(), "{:?}", bench.doubts());
}

#[tokio::test]
async fn a_write_that_does_not_say_whose_it_is_is_a_doubt() {
    let bench = Bench::new().with(&["M1"]);
    bench.performs(&json!({"order": "job-M1"}), Some("job-M1"));
    assert!(bench.doubts().is_empty());
    bench.performs(&json!({"number": 12}), Some("12"));
    assert!(
        bench.doubts().is_empty(),
        "a job of nobody is a broken promise, and no doubt"
    );
    bench.performs(&json!({"data": {"id": "job-M1"}}), None);
    let doubts = bench.doubts();
    assert_eq!(doubts.len(), 1);
    assert!(
        doubts[0].contains("write `job: { body: $.data.id }`"),
        "{doubts:?}"
    );
}

#[tokio::test]
async fn a_wire_on_which_no_call_is_recognised_though_ids_stand_in_them_is_a_doubt() {
    let bench = Bench::new().with(&["M1"]);
    bench.whole(&bench.post(&json!({"data": "job-M1"}))).await;
    let doubts = bench.doubts();
    assert_eq!(doubts.len(), 1);
    assert!(
        doubts[0].contains("write `carrier: [{ body: $.data }]`"),
        "{doubts:?}"
    );
    let bench = Bench::new().with(&["M1"]);
    bench.whole(&bench.post(&json!({"ping": 1}))).await;
    bench.whole(&bench.post(&json!({"order": "job-M1"}))).await;
    bench.whole(&bench.post(&json!({"data": "job-M1"}))).await;
    assert!(bench.doubts().is_empty());
}
