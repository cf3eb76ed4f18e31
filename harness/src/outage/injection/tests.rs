use super::*;
use crate::ids::{Author, CallId, ConnectionId};
use crate::judge::story::MANIFEST;
use crate::outage::Part;
use crate::tap::{HttpRequest, Reply, Request};

fn outages() -> (tempfile::TempDir, Outages) {
    let (directory, outages) = outages_before_the_start();
    outages.start_clocks();
    (directory, outages)
}

fn outages_before_the_start() -> (tempfile::TempDir, Outages) {
    let directory = tempfile::tempdir().unwrap();
    let history = History::begin(directory.path(), Vec::new()).unwrap();
    let outages = Outages::new(Arc::new(MANIFEST.clone()), Arc::new(history));
    for message in ["M1", "M2", "M3", "M4", "M5", "M6"] {
        outages.declare(&message.into());
    }
    (directory, outages)
}

fn outage(way: Way, part: Part, from: Option<Moment>, until: Option<Moment>) -> Outage {
    Outage {
        dependency: "carrier".into(),
        way,
        part,
        from,
        until: until.into_iter().collect(),
        may: false,
    }
}

fn call(number: u64, by: u32) -> Call {
    Call {
        id: CallId(number),
        author: Author::Process(packer(by)),
        dependency: "carrier".into(),
        connection: ConnectionId(number),
        request: Request::Http(HttpRequest {
            method: "POST".to_owned(),
            path: "/parcels".to_owned(),
            query: None,
            headers: Vec::new(),
            body: bytes::Bytes::new(),
            is_cut: false,
        }),
    }
}

fn packer(instance: u32) -> Incarnation {
    Incarnation {
        role: "packer".into(),
        instance,
        start: 1,
    }
}

fn answers(outages: &Outages, call: &Call, message: &str) -> bool {
    let messages = BTreeSet::from([MessageName::new(message)]);
    matches!(outages.before(call, &messages), Treatment::Answer(Reply::Http(reply)) if reply.status == 503)
}

fn ill() -> Way {
    Way::Answers(ErrorReply::Status(503))
}

#[tokio::test]
async fn one_message_in_three_is_every_third_that_was_declared() {
    let (_directory, outages) = outages();
    let part = Part {
        one_in: Some(3),
        ..Part::default()
    };
    let _ill = outages
        .arm(FaultId(1), outage(ill(), part, None, None))
        .await;
    let ill: Vec<&str> = ["M1", "M2", "M3", "M4", "M5", "M6"]
        .into_iter()
        .filter(|message| answers(&outages, &call(1, 1), message))
        .collect();
    assert_eq!(ill, ["M3", "M6"]);
}

#[tokio::test]
async fn it_ends_after_so_many_calls_and_when_its_injection_is_dropped() {
    let (_directory, outages) = outages();
    let twice = outage(ill(), Part::default(), None, Some(Moment::Calls(2)));
    let _twice = outages.arm(FaultId(1), twice).await;
    let answered = |outages: &Outages| {
        (1..=3)
            .filter(|one| answers(outages, &call(*one, 1), "M1"))
            .count()
    };
    assert_eq!(answered(&outages), 2);
    let lasting = outages
        .arm(FaultId(2), outage(ill(), Part::default(), None, None))
        .await;
    assert_eq!(answered(&outages), 3);
    drop(lasting);
    assert_eq!(answered(&outages), 0);
}

#[tokio::test]
async fn it_begins_with_a_passage_and_concerns_who_passed() {
    let (_directory, outages) = outages();
    let part = Part {
        of_passer: true,
        ..Part::default()
    };
    let from = Moment::Passed {
        stage: "tried".into(),
        message: Some("M2".into()),
        times: 1,
    };
    let _ill = outages
        .arm(FaultId(1), outage(ill(), part, Some(from), None))
        .await;
    let (tried, first, second) = ("tried".into(), "M1".into(), "M2".into());
    outages.passed(&tried, Some(&first), &packer(1)).await;
    assert!(!answers(&outages, &call(1, 2), "M2"));
    outages.passed(&tried, Some(&second), &packer(2)).await;
    assert!(answers(&outages, &call(2, 2), "M2"));
    assert!(!answers(&outages, &call(3, 1), "M2"));
}

#[tokio::test]
async fn what_hangs_goes_on_when_it_is_over() {
    let (_directory, outages) = outages();
    let hanging = outages
        .arm(FaultId(1), outage(Way::Hangs, Part::default(), None, None))
        .await;
    let Treatment::Wait(over) = outages.before(&call(1, 1), &BTreeSet::new()) else {
        panic!("it does not hang");
    };
    let waiting = tokio::spawn(over);
    hanging.heal().await;
    waiting.await.unwrap();
    let after = outages.before(&call(1, 1), &BTreeSet::new());
    assert!(matches!(after, Treatment::Forward));
}

#[tokio::test]
async fn a_reply_that_comes_after_the_write_is_dropped() {
    let (_directory, outages) = outages();
    let way = Way::PerformsAndCloses;
    let _ill = outages
        .arm(FaultId(1), outage(way, Part::default(), None, None))
        .await;
    let call = call(1, 1);
    assert!(matches!(
        outages.before(&call, &BTreeSet::new()),
        Treatment::Forward
    ));
    assert!(matches!(
        outages.after(&call),
        Some(Aftermath::Discard(Discard::Close))
    ));
    assert!(outages.after(&call).is_none());
}

#[tokio::test]
async fn time_counts_once_the_system_is_ready() {
    let (_directory, outages) = outages_before_the_start();
    let second = Some(Moment::Time(std::time::Duration::from_millis(30)));
    let on = outages
        .arm(
            FaultId(1),
            outage(Way::Hangs, Part::default(), None, second.clone()),
        )
        .await;
    let waiting = outages
        .arm(FaultId(2), outage(ill(), Part::default(), second, None))
        .await;
    tokio::time::sleep(std::time::Duration::from_millis(90)).await;
    assert_eq!(
        outages.in_force().len(),
        1,
        "the start takes as long as it takes"
    );
    outages.start_clocks();
    // The one ends, the other begins.
    in_force(&outages, &["carrier answers 503, from 30ms"]).await;
    drop((on, waiting));
}

#[tokio::test]
async fn an_outage_that_strikes_before_the_system_is_ready_counts_from_there() {
    let (_directory, outages) = outages_before_the_start();
    let second = Some(Moment::Time(std::time::Duration::from_millis(30)));
    let on = outages
        .arm(FaultId(1), outage(ill(), Part::default(), None, second))
        .await;
    assert!(answers(&outages, &call(1, 1), "M1"));
    // A start that waits for it can go on.
    in_force(&outages, &[]).await;
    drop(on);
}

#[tokio::test]
async fn an_outage_that_may_need_not_land() {
    let (_directory, outages) = outages_before_the_start();
    let may = Outage {
        may: true,
        ..outage(ill(), Part::default(), None, None)
    };
    let on = outages.arm(FaultId(1), may).await;
    let expected = outages
        .0
        .history
        .entries()
        .into_iter()
        .find_map(|entry| match entry.event {
            Event::Armed { expected, .. } => Some(expected),
            _ => None,
        });
    assert_eq!(expected, Some(0));
    drop(on);
}

/// Resolves once exactly these outages are on.
async fn in_force(outages: &Outages, wanted: &[&str]) {
    let mut changed = outages.0.changed.subscribe();
    while outages.in_force() != wanted {
        changed.changed().await.expect("the outages are alive");
    }
}
