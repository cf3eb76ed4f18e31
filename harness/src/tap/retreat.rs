//! The end of a listener that resets nobody.
//!
//! Whoever the system greeted when a listener ends is reset, and that is no refusal: a
//! client cannot tell whether its request was read. So nobody new is greeted any more,
//! whoever is half greeted is greeted whole, and all of them are taken over first.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::time::Duration;

use socket2::{SockFilter, SockRef};
use tokio::net::TcpStream;

/// A packet filter (`socket(7)`, `SO_ATTACH_FILTER`) that drops what begins a handshake:
/// SYN without ACK, in byte 13 of the TCP header. Its sender sends it again.
const NOBODY_NEW: [SockFilter; 5] = [
    // Load the byte; keep SYN and ACK; SYN alone: drop all; else: keep all.
    SockFilter::new(0x30, 0, 0, 13),
    SockFilter::new(0x54, 0, 0, 0x12),
    SockFilter::new(0x15, 0, 1, 0x02),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];

/// How long a handshake may take to come to its end: on one machine it takes none, unless
/// the client is gone.
const HANDSHAKE: Duration = Duration::from_secs(1);

/// How the kernel writes the state of a half open connection.
const SYN_RECV: &str = "03";

/// Ends a listener and hands over everybody whom it greeted.
pub(super) async fn retreat(listener: TcpListener, mut take: impl FnMut(TcpStream)) {
    let address = listener.local_addr().ok();
    // Where no filter can be set, who comes at this very moment may be reset.
    if SockRef::from(&listener).attach_filter(&NOBODY_NEW).is_ok()
        && let Some(SocketAddr::V4(address)) = address
    {
        let whole = async {
            while any_half_open(address) {
                // The kernel tells nobody of the end of a handshake but by `accept`.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(HANDSHAKE, whole).await;
    }
    loop {
        let client = match listener.accept() {
            Ok((client, _)) => client,
            // This one left; others wait behind it.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) =>
            {
                continue;
            }
            Err(_) => return,
        };
        // It has its listener's filter if it came into being with it.
        let _ = SockRef::from(&client).detach_filter();
        if client.set_nonblocking(true).is_ok()
            && let Ok(client) = TcpStream::from_std(client)
        {
            take(client);
        }
    }
}

/// Whether a connection to this address is half open, as `proc(5)` lists them.
fn any_half_open(address: SocketAddrV4) -> bool {
    fs::read_to_string("/proc/self/net/tcp").is_ok_and(|table| lists_half_open(&table, address))
}

fn lists_half_open(table: &str, address: SocketAddrV4) -> bool {
    // The address is written as the number that its bytes are in memory.
    let number = u32::from_ne_bytes(address.ip().octets());
    let local = format!("{number:08X}:{:04X}", address.port());
    table.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        fields.next() == Some(local.as_str()) && fields.nth(1) == Some(SYN_RECV)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_open_connections_are_read_as_the_kernel_writes_them() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
            1: 0100007F:1F91 0100007F:A1B2 03 00000000:00000000\n   \
            2: 0100007F:1F90 0100007F:A1B3 01 00000000:00000000\n";
        let address = |port| SocketAddrV4::new([127, 0, 0, 1].into(), port);
        assert!(lists_half_open(table, address(0x1F91)));
        assert!(!lists_half_open(table, address(0x1F90)));
        assert!(!lists_half_open(table, address(0xA1B2)));
    }
}
