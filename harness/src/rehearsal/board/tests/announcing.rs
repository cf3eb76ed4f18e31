//! What is announced and is no stage: answered, told once, and never silent.

use super::*;

fn doubts(bench: &Bench) -> Vec<String> {
    bench
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Doubt { reason } => Some(reason),
            _ => None,
        })
        .collect()
}

async fn refused(bench: &Bench, call: &Arc<Call>) -> String {
    match bench.before(call).await {
        Before::Answer(Reply::Http(reply)) => {
            assert_eq!(reply.status, 404);
            String::from_utf8(reply.body.to_vec()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_misspelt_stage_is_refused_with_the_one_that_was_meant() {
    let bench = Bench::new().with(&["M1"]);
    let told = refused(&bench, &bench.announcement("weighting")).await;
    let expected = "the packer announced the stage `weighting`, which the manifest does not know: \
                    did you mean `weighing`?";
    assert_eq!(told.trim_end(), expected);
    assert_eq!(doubts(&bench), [expected]);
    assert!(bench.passages().is_empty());
    // A system may announce it with every message.
    refused(&bench, &bench.announcement("weighting")).await;
    assert_eq!(doubts(&bench).len(), 1);
    refused(&bench, &bench.announcement("wrapping")).await;
    assert_eq!(
        doubts(&bench)[1],
        "the packer announced the stage `wrapping`, which the manifest does not know; it announces weighing"
    );
}

#[tokio::test]
async fn a_stage_that_is_passed_by_a_call_cannot_be_announced() {
    let bench = Bench::new().with(&["M1"]);
    refused(&bench, &bench.announcement("shipped")).await;
    assert!(doubts(&bench)[0].contains("`shipped`, which is passed by a call"));
}

#[tokio::test]
async fn a_stage_of_another_process_cannot_be_announced() {
    let bench = Bench::new().with(&["M1"]);
    let shop = Incarnation {
        role: "shop".into(),
        ..packer(1)
    };
    bench.board.register(&shop, &Arc::default());
    let request = bench.announcement("weighing").request.clone();
    let call = bench.call(&shop, checkpoint::DEPENDENCY, request);
    refused(&bench, &call).await;
    assert_eq!(
        doubts(&bench),
        [
            "the shop announced the stage `weighing`, which only the packer may announce: add shop to \
          `process` of stage `weighing`"
        ]
    );
}

#[tokio::test]
async fn what_is_no_announcement_at_all_is_doubted_too() {
    let bench = Bench::new();
    let author = Author::Process(packer(1));
    bench
        .board
        .misannounced(&author, "a stage was announced with a wrong token");
    assert_eq!(
        doubts(&bench),
        ["the packer announced no stage: a stage was announced with a wrong token"]
    );
}
