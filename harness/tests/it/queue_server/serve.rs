//! `rehearse serve queue`, without the process around it.

use clap::Parser;
use rehearsal::cli::serve_queue;

use super::client::sdk;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    serve: serve_queue::ServeQueue,
}

#[tokio::test]
async fn it_tells_its_address_and_serves_until_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let command = Command::parse_from(["rehearse", "--port", "0", "--data", data]);
    let (said, hear) = tokio::sync::oneshot::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(serve_queue::run(
        command.serve,
        |line| said.send(line.to_owned()).unwrap(),
        async {
            let _ = stopped.await;
        },
    ));
    let line = hear.await.unwrap();
    let endpoint = line.strip_prefix("queue server ready: ").unwrap();
    let listed = sdk(endpoint).list_queues().send().await.unwrap();
    assert!(listed.queue_urls().is_empty());
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(sdk(endpoint).list_queues().send().await.is_err());
}
