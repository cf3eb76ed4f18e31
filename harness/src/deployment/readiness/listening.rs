//! Ready when its port takes connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;

use super::condition::Condition;

/// Between two tries. A port that opens tells nobody.
const TICK: Duration = Duration::from_millis(5);
/// How long one try may take before the next.
const TRY: Duration = Duration::from_secs(2);

/// Holds when a connection to this address is made. It is closed at once.
pub fn listening(address: SocketAddr) -> Condition {
    Condition::new(
        format!("it to take connections at {address}"),
        |seen| async move {
            loop {
                match tokio::time::timeout(TRY, TcpStream::connect(address)).await {
                    Ok(Ok(_)) => return,
                    Ok(Err(error)) => seen.note(error.to_string()),
                    Err(_) => seen.note("no answer"),
                }
                tokio::time::sleep(TICK).await;
            }
        },
    )
}
