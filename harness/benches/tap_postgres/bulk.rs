//! Rows by the million: `COPY` both ways and inserts of many rows, with what they leave in
//! memory.

use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use sqlx::PgConnection;

/// How much one `COPY` carries, in MiB; another number stands in `COPY_MIB`.
const COPY_MIB: usize = 256;
const ROWS: usize = 1_000;
const INSERTS: usize = 100;

pub(crate) async fn measure(direct: &mut PgConnection, tapped: &mut PgConnection) {
    let wanted = std::env::var("COPY_MIB").ok();
    let mib = wanted.and_then(|mib| mib.parse().ok()).unwrap_or(COPY_MIB);
    run(direct, "CREATE UNLOGGED TABLE loaded (line text)").await;
    let before = resident();
    for (way, into) in [("COPY in", true), ("COPY out", false)] {
        let alone = copy(direct, into, mib).await;
        let through = copy(tapped, into, mib).await;
        println!(
            "{way:<9} {mib} MiB: {:>6.0} MiB/s direct, {:>6.0} tapped; the process grew by {} MiB",
            rate(mib, alone),
            rate(mib, through),
            resident().saturating_sub(before) / 1024
        );
    }
    let (alone, through) = (insert(direct).await, insert(tapped).await);
    println!(
        "inserts of {ROWS} rows: {:>8.0} rows/s direct, {:>8.0} tapped",
        rate(ROWS * INSERTS, alone),
        rate(ROWS * INSERTS, through)
    );
    run(direct, "DROP TABLE loaded").await;
}

async fn run(connection: &mut PgConnection, statement: &'static str) {
    sqlx::raw_sql(statement).execute(connection).await.unwrap();
}

async fn copy(connection: &mut PgConnection, into: bool, mib: usize) -> Duration {
    if into {
        run(connection, "TRUNCATE loaded").await;
    }
    let begun = Instant::now();
    if into {
        let line = std::iter::repeat_n(b'x', 1023).chain([b'\n']);
        let piece: Vec<u8> = (0..64).flat_map(|_| line.clone()).collect();
        let mut copying = connection
            .copy_in_raw("COPY loaded FROM STDIN")
            .await
            .unwrap();
        for _ in 0..mib * 16 {
            copying.send(piece.as_slice()).await.unwrap();
        }
        let rows = copying.finish().await.unwrap();
        assert_eq!(rows, (mib * 1024) as u64);
    } else {
        let mut rows = connection
            .copy_out_raw("COPY loaded TO STDOUT")
            .await
            .unwrap();
        let mut bytes = 0;
        while let Some(piece) = rows.try_next().await.unwrap() {
            bytes += piece.len();
        }
        assert_eq!(bytes, mib * 1024 * 1024);
    }
    begun.elapsed()
}

async fn insert(connection: &mut PgConnection) -> Duration {
    run(connection, "TRUNCATE loaded").await;
    let lines: Vec<String> = (0..ROWS).map(|row| format!("line {row}")).collect();
    let begun = Instant::now();
    for _ in 0..INSERTS {
        sqlx::query("INSERT INTO loaded SELECT * FROM unnest($1::text[])")
            .bind(&lines)
            .execute(&mut *connection)
            .await
            .unwrap();
    }
    begun.elapsed()
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// The largest resident set of this process so far, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = line.and_then(|line| line.split_whitespace().next());
    words.and_then(|count| count.parse().ok()).unwrap_or(0)
}
