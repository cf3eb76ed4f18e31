//! However bytes are cut the calls are the same, and nothing makes a tap hang or panic.

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use crate::tap_http::Stand;
use crate::tap_http::witness::soon;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[derive(Clone, Debug)]
struct Sent {
    path: String,
    body: Vec<u8>,
    chunks: Option<usize>,
}

impl Sent {
    fn wire(&self) -> Vec<u8> {
        let mut wire = format!("POST {} HTTP/1.1\r\nhost: h\r\n", self.path).into_bytes();
        match self.chunks {
            None => {
                wire.extend(format!("content-length: {}\r\n\r\n", self.body.len()).into_bytes());
                wire.extend(&self.body);
            }
            Some(size) => {
                wire.extend(b"transfer-encoding: chunked\r\n\r\n");
                for chunk in self.body.chunks(size) {
                    wire.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                    wire.extend(chunk);
                    wire.extend(b"\r\n");
                }
                wire.extend(b"0\r\n\r\n");
            }
        }
        wire
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    (
        "/[a-z]{0,9}",
        vec(any::<u8>(), 0..300),
        proptest::option::of(1_usize..50),
    )
        .prop_map(|(path, body, chunks)| Sent { path, body, chunks })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn calls_do_not_depend_on_how_their_bytes_are_cut(
        requests in vec(sent(), 1..4),
        cuts in vec(1_usize..60, 1..40),
    ) {
        runtime().block_on(async {
            let stand = Stand::new().await;
            let client = stand.client().await;
            let wire: Vec<u8> = requests.iter().flat_map(Sent::wire).collect();
            let (_reader, mut writer) = client.stream.into_split();
            let sending = tokio::spawn(async move {
                let mut rest = wire.as_slice();
                for cut in cuts.iter().cycle() {
                    let (now, later) = rest.split_at((*cut).min(rest.len()));
                    writer.write_all(now).await.unwrap();
                    tokio::task::yield_now().await;
                    rest = later;
                    if rest.is_empty() {
                        break;
                    }
                }
                writer
            });
            let mut peer = stand.dependency.accept().await;
            for request in &requests {
                let (head, body) = peer.message().await;
                assert!(head.starts_with(&format!("POST {} ", request.path)));
                assert_eq!(body, request.body);
                peer.send("HTTP/1.1 204 No Content\r\n\r\n").await;
            }
            let _writer = soon(sending).await.unwrap();
            stand.witness.told_times("after", requests.len()).await;
            let recorded: Vec<(String, Vec<u8>)> = stand
                .witness
                .requests()
                .into_iter()
                .map(|request| (request.path, request.body.to_vec()))
                .collect();
            let expected: Vec<(String, Vec<u8>)> =
                requests.into_iter().map(|request| (request.path, request.body)).collect();
            assert_eq!(recorded, expected);
        });
    }

    #[test]
    fn garbage_from_a_client_neither_hangs_nor_panics(
        start in prop_oneof![Just(""), Just("GET / HTTP/1.1\r\n"), Just("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")],
        garbage in vec(any::<u8>(), 0..400),
    ) {
        runtime().block_on(async {
            let stand = Stand::new().await;
            let mut client = stand.client().await;
            // The tap may refuse before all is sent.
            let _ = client.stream.write_all(start.as_bytes()).await;
            let _ = client.stream.write_all(&garbage).await;
            let _ = client.stream.shutdown().await;
            // By chance it can be a call; then the dependency just closes.
            let accepting = async { loop { drop(stand.dependency.accept().await) } };
            tokio::select! {
                rest = client.rest() => drop(rest),
                () = accepting => unreachable!(),
            }
            drop(client);
            stand.witness.told("disconnected").await;
        });
    }

    #[test]
    fn garbage_from_a_dependency_neither_hangs_nor_panics(
        start in prop_oneof![Just(""), Just("HTTP/1.1 200 OK\r\n"), Just("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")],
        garbage in vec(any::<u8>(), 0..400),
    ) {
        runtime().block_on(async {
            let stand = Stand::new().await;
            let mut client = stand.client().await;
            client.send(crate::tap_http::GET).await;
            let mut peer = stand.dependency.accept().await;
            peer.message().await;
            let _ = peer.stream.write_all(start.as_bytes()).await;
            let _ = peer.stream.write_all(&garbage).await;
            drop(peer);
            let _ = client.rest().await;
            drop(client);
            stand.witness.told("disconnected").await;
            assert_eq!(stand.witness.replies().len(), 1);
        });
    }
}
