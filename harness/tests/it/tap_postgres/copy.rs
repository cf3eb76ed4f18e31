//! COPY: rows pass both ways, however many they are.

use super::raw;
use super::recorder::LONG;
use super::stage::Stage;

#[tokio::test]
async fn the_rows_of_a_copy_pass_both_ways() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut tapped = stage.tapped().await;
    let mut copy = tapped.copy_in_raw("COPY t (id) FROM STDIN").await.unwrap();
    copy.send(&b"1\n2\n"[..]).await.unwrap();
    assert_eq!(copy.finish().await.unwrap(), 2);
    assert_eq!(stage.recorder.durable(), ["COPY t (id) FROM STDIN"]);
    let mut copy = tapped.copy_in_raw("COPY t (id) FROM STDIN").await.unwrap();
    copy.send(&b"not a number\n"[..]).await.unwrap();
    copy.finish().await.unwrap_err();
    let out = {
        use futures::TryStreamExt;
        let out = tapped.copy_out_raw("COPY t (id) TO STDOUT").await.unwrap();
        out.try_collect::<Vec<_>>().await.unwrap().concat()
    };
    assert_eq!(out, b"1\n2\n");
    // In the extended protocol the server ignores the Sync that came before the rows.
    let mut raw = stage.raw().await;
    let copy = "COPY t (id) FROM STDIN";
    raw.send(
        &[
            raw::parse("", copy),
            raw::bind("", &[]),
            raw::execute(),
            raw::sync(),
        ]
        .concat(),
    )
    .await;
    assert_eq!(raw.tags_until(b'G').await, "12G");
    let rows = [raw::frame(b'd', b"7\n"), raw::frame(b'c', b""), raw::sync()].concat();
    raw.send(&[rows, raw::query("SELECT 1")].concat()).await;
    assert_eq!(raw.tags_until(b'Z').await, "CZ");
    assert_eq!(raw.tags_until(b'Z').await, "TDCZ");
    assert_eq!(stage.rows().await, [1, 2, 7]);
}

/// More than a tap lets a client send ahead, and more than it takes in one go.
const MUCH: usize = 24 << 20;

/// Rows of `width` bytes in frames of `length`, which end anywhere in a row.
fn rows(width: usize, length: usize) -> Vec<u8> {
    let row: Vec<u8> = (1..width).map(|_| b'x').chain([b'\n']).collect();
    let text: Vec<u8> = row
        .iter()
        .copied()
        .cycle()
        .take(MUCH / width * width)
        .collect();
    text.chunks(length)
        .flat_map(|part| raw::frame(b'd', part))
        .collect()
}

#[tokio::test]
async fn a_long_copy_ends_however_its_frames_are_cut() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.query("CREATE TABLE long (line text)").await;
    for (width, length) in [
        (100, 8191),
        (1000, 3 << 20),
        (9 << 20, 64),
        (5000, usize::MAX),
    ] {
        let length = length.min(MUCH);
        raw.send(&raw::query("COPY long FROM STDIN")).await;
        assert_eq!(raw.tags_until(b'G').await, "G");
        let rows = [rows(width, length), raw::frame(b'c', b"")].concat();
        tokio::time::timeout(LONG, raw.send(&rows)).await.unwrap();
        assert_eq!(raw.tags_until(b'Z').await, "CZ");
        raw.send(&raw::query("COPY long TO STDOUT")).await;
        let out = raw.until(b'Z').await;
        let copied = out.iter().filter(|message| message.0 == b'd').count();
        assert_eq!(
            copied,
            MUCH / width,
            "rows of {width} in frames of {length}"
        );
        raw.query("TRUNCATE long").await;
    }
}

#[tokio::test]
async fn rows_that_the_server_refused_are_no_part_of_what_follows() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.send(&raw::query("COPY t (id) FROM STDIN")).await;
    raw.tags_until(b'G').await;
    let bad = raw::frame(b'd', b"not a number\n");
    // The rest of the second frame and two more come when the round trip is over.
    let begun = raw::frame(b'd', b"4\n5\n");
    raw.send(&[&bad[..], &begun[..7]].concat()).await;
    assert_eq!(raw.tags_until(b'Z').await, "EZ");
    raw.send(&begun[7..]).await;
    raw.send(&rows(500, 4096)).await;
    raw.send(&raw::frame(b'c', b"")).await;
    assert_eq!(raw.query("INSERT INTO t VALUES (1)").await, (None, 'I'));
    assert_eq!(stage.rows().await, [1]);
    assert_eq!(stage.recorder.durable(), ["INSERT INTO t VALUES (1)"]);
}

#[tokio::test]
async fn a_sync_after_the_rows_of_a_flushed_copy_ends_its_transaction() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    let copy = "COPY t (id) FROM STDIN";
    let begun = [
        raw::parse("", copy),
        raw::bind("", &[]),
        raw::execute(),
        raw::flush(),
    ];
    raw.send(&begun.concat()).await;
    assert_eq!(raw.tags_until(b'G').await, "12G");
    let rows = [raw::frame(b'd', b"7\n"), raw::frame(b'c', b""), raw::sync()];
    raw.send(&rows.concat()).await;
    assert_eq!(raw.tags_until(b'Z').await, "CZ");
    assert_eq!(stage.recorder.durable(), [copy]);
}
