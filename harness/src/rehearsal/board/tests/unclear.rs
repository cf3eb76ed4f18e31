//! A system that is quicker than its answer to the client: nothing waits, what passed is
//! named as soon as ids are known, and faults strike whom it can only be.

use super::*;
use crate::ids::MessageName;

impl Bench {
    /// Messages that are being submitted and that nobody was told of.
    fn submitting(self, messages: &[&str]) -> Self {
        for message in messages {
            let name: MessageName = (*message).into();
            self.board.declare(&name, None, &[message]);
            self.board.submitting(&name);
        }
        self
    }

    fn accepted(&self, message: &str) {
        let job = format!("job-{message}");
        self.board.accepted(&message.into(), &job);
    }

    fn kills(&self, stage: &str, message: &str) {
        let times = Times::First(1);
        self.board
            .arm(fault(Signal::SIGKILL, stage, Some(message), times));
    }

    /// The system writes its job down, beside the message's name.
    async fn writes_down(&self, message: &str) {
        let job = format!("job-{message}");
        let sql = "insert into orders values ($1, $2, $3)";
        let call = self.statement(sql, &[&job, message, "pending"]);
        let _ = self.whole(&call).await;
    }

    async fn tries(&self, id: &str) -> After {
        let call = self.insert("tries", id);
        let _ = self.before(&call).await;
        self.board
            .after(Arc::clone(&call), success(&call), true)
            .await
    }

    fn unclear_doubts(&self) -> Vec<String> {
        self.board.doubt_unclear();
        let doubt = |entry: Entry| match entry.event {
            Event::Doubt { reason } => Some(reason),
            _ => None,
        };
        self.entries().into_iter().filter_map(doubt).collect()
    }

    /// Of each delivery and deletion whose it is.
    fn at_the_queue(&self) -> Vec<Option<String>> {
        let of = |entry: Entry| match entry.event {
            Event::Delivered { message, .. } | Event::Deleted { message, .. } => Some(message),
            _ => None,
        };
        let all = self.entries().into_iter().filter_map(of);
        all.map(|message| message.map(|message| message.to_string()))
            .collect()
    }
}

#[tokio::test]
async fn a_passage_is_recorded_at_once_and_named_when_the_client_is_told() {
    let bench = Bench::new().submitting(&["M1", "M2"]);
    assert!(matches!(bench.tries("job-M2").await, After::Deliver));
    assert_eq!(bench.passages(), [passed("tried", None)]);
    bench.accepted("M2");
    assert_eq!(bench.passages(), [passed("tried", Some("M2"))]);
    let read = crate::history::read(bench.board.history().path());
    // The first entry is none of a whole history here.
    assert!(read.is_err());
    bench.accepted("M1");
    assert_eq!(bench.passages(), [passed("tried", Some("M2"))]);
    assert_eq!(bench.unclear_doubts(), [""; 0]);
}

#[tokio::test]
async fn what_a_queue_tells_is_named_later() {
    let bench = Bench::new().submitting(&["M1", "M2"]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let delete = bench.action(
        &bench.packer,
        "DeleteMessage",
        json!({"ReceiptHandle": "receipt-M1"}),
    );
    let _ = bench.whole(&delete).await;
    assert_eq!(bench.at_the_queue(), [None, None]);
    bench.accepted("M1");
    let m1 = Some("M1".to_owned());
    assert_eq!(bench.at_the_queue(), [m1.clone(), m1]);
    assert_eq!(
        bench.board.delivered_body(&"M1".into()).as_deref(),
        Some(r#"{"order":"job-M1"}"#)
    );
}

#[tokio::test]
async fn a_fault_strikes_whom_the_company_of_an_id_tells() {
    let bench = Bench::new().submitting(&["M1", "M2"]);
    bench.kills("tried", "M2");
    bench.writes_down("M1").await;
    bench.writes_down("M2").await;
    assert!(matches!(bench.tries("job-M1").await, After::Deliver));
    assert!(matches!(bench.tries("job-M2").await, After::Discard(_)));
    bench.accepted("M1");
    bench.accepted("M2");
    assert_eq!(bench.unclear_doubts(), [""; 0]);
    assert_eq!(bench.asked(), [Signal::SIGKILL]);
}

#[tokio::test]
async fn a_fault_strikes_the_only_one_that_is_not_told() {
    let bench = Bench::new().with(&["M2"]).submitting(&["M1"]);
    bench.kills("tried", "M1");
    assert!(matches!(bench.tries("job-M2").await, After::Deliver));
    assert!(matches!(bench.tries("job-M1").await, After::Discard(_)));
    bench.accepted("M1");
    assert_eq!(bench.unclear_doubts(), [""; 0]);
}

#[tokio::test]
async fn whoever_was_struck_in_another_s_stead_is_a_doubt() {
    let bench = Bench::new().submitting(&["M1"]);
    bench.kills("tried", "M1");
    assert!(matches!(bench.tries("job-M2").await, After::Discard(_)));
    bench.accepted("M1");
    let bench = bench.submitting(&["M2"]);
    bench.accepted("M2");
    let doubts = bench.unclear_doubts();
    assert!(doubts[0].contains("taken for M1 and was M2"), "{doubts:?}");
}

#[tokio::test]
async fn whoever_was_struck_and_is_never_told_is_a_doubt() {
    let bench = Bench::new().submitting(&["M1"]);
    bench.kills("tried", "M1");
    let _ = bench.tries("job-of-nobody").await;
    bench.board.refused(&"M1".into(), "503");
    let doubts = bench.unclear_doubts();
    assert!(
        doubts[0].contains("no id in it was ever told"),
        "{doubts:?}"
    );
}

#[tokio::test]
async fn a_fault_that_could_not_tell_in_time_has_missed() {
    let bench = Bench::new().submitting(&["M1", "M2"]);
    bench.kills("tried", "M2");
    assert!(matches!(bench.tries("job-M2").await, After::Deliver));
    assert_eq!(bench.unclear_doubts().len(), 1, "as long as nobody is told");
    let bench = Bench::new().submitting(&["M1", "M2"]);
    bench.kills("tried", "M2");
    let _ = bench.tries("job-M1").await;
    let _ = bench.tries("job-M2").await;
    bench.accepted("M1");
    assert_eq!(bench.fault_entries(), ["stage", "stage"]);
    bench.accepted("M2");
    assert_eq!(bench.fault_entries(), ["stage", "stage", "missed"]);
    assert_eq!(bench.unclear_doubts(), [""; 0]);
}

#[tokio::test]
async fn a_statement_of_several_rows_is_named_row_by_row() {
    let bench = Bench::new().with(&["M1"]).submitting(&["M2", "M3"]);
    let call = bench.statement("insert into tries values ($1), ($2)", &["job-M1", "job-M3"]);
    let _ = bench.before(&call).await;
    let mut durable = call.request.clone();
    if let Request::Postgres(request) = &mut durable {
        request.statements[0].wrote = Some(2);
    }
    let call = bench.call(&bench.packer, "database", durable);
    let _ = bench.whole(&call).await;
    assert_eq!(bench.passages(), [passed("tried", Some("M1"))]);
    bench.accepted("M2");
    assert_eq!(bench.passages(), [passed("tried", Some("M1"))]);
    bench.accepted("M3");
    let both = [passed("tried", Some("M1")), passed("tried", Some("M3"))];
    assert_eq!(bench.passages(), both);
}

#[tokio::test]
async fn a_guess_by_what_is_in_hand_is_put_right() {
    let bench = Bench::new().with(&["M1"]).submitting(&["M2"]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let _ = bench.tries("job-M2").await;
    let tried = |bench: &Bench| bench.passages().last().cloned().unwrap();
    assert_eq!(tried(&bench), passed("tried", Some("M1")));
    bench.accepted("M2");
    assert_eq!(tried(&bench), passed("tried", Some("M2")));
}

#[tokio::test]
async fn a_death_with_what_is_named_later_was_announced() {
    let bench = Bench::new();
    bench.board.history().append(Event::Declared {
        message: "M1".into(),
        kind: "deadly".to_owned(),
        kills: Some("packer".to_owned()),
        content: crate::history::Blob::of(b"plain"),
    });
    bench.board.submitting(&"M1".into());
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    bench.board.exited(&bench.packer, Some(1), None, None);
    bench.accepted("M1");
    let entries = bench.entries();
    let exited = entries.iter().find_map(|entry| match &entry.event {
        Event::Exited { cause, in_hand, .. } => Some((*cause, in_hand.clone())),
        _ => None,
    });
    assert_eq!(exited, Some((DeathCause::Announced, vec!["M1".into()])));
}

#[tokio::test]
async fn a_client_that_got_no_answer_has_the_job_that_stood_beside_its_message() {
    let bench = Bench::new().submitting(&["M1", "M2"]);
    bench.writes_down("M1").await;
    bench.board.refused(&"M1".into(), "503");
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    assert_eq!(bench.at_the_queue(), [Some("M1".to_owned())]);
}

#[tokio::test]
async fn another_id_of_whom_a_passage_named_already_tells_of_no_other_passage() {
    let bench = Bench::new().with(&["M1"]);
    bench.board.declare(&"M2".into(), None, &["M2"]);
    bench.board.submitting(&"M2".into());
    let mut one = statement(
        "insert into tries values ($1, $2)",
        &["job-M1", "another-of-M1"],
    );
    one.wrote = Some(2);
    let request = Request::Postgres(PgRequest {
        statements: vec![one],
        transaction: Vec::new(),
        commits: true,
        elsewhere: None,
    });
    let call = bench.call(&bench.packer, "database", request);
    let _ = bench.whole(&call).await;
    bench.board.learn_alias("another-of-M1", &"M1".into());
    let entries = bench.entries();
    let is = |wanted: fn(&Event) -> bool| entries.iter().filter(|one| wanted(&one.event)).count();
    assert_eq!(is(|event| matches!(event, Event::Unclear { .. })), 1);
    assert_eq!(is(|event| matches!(event, Event::Named { .. })), 0);
}
