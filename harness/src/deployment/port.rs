//! Ports for processes that listen.
//!
//! A port that the kernel would hand out by itself (for `bind(0)` or an outgoing
//! connection) may be gone between the look and the process's own bind. These come from
//! below that range, so only a program that asks for exactly this port can take it.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::sync::PoisonError;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// The lowest port given out.
const LOWEST: u16 = 12_000;
/// Where the kernel's own range begins unless it says otherwise.
const EPHEMERAL: u16 = 32_768;

static NEXT: Mutex<Option<u16>> = Mutex::new(None);

/// A loopback port that nobody listens on, different each time until all were given out.
///
/// # Errors
/// When every port of the range is in use.
pub fn free_port() -> io::Result<u16> {
    let highest = ephemeral_start().saturating_sub(1).max(LOWEST + 1);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    // Different harnesses on one machine begin at different places.
    let start = next.unwrap_or_else(|| StdRng::from_os_rng().random_range(LOWEST..=highest));
    let mut port = start;
    loop {
        let following = if port >= highest { LOWEST } else { port + 1 };
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            *next = Some(following);
            return Ok(port);
        }
        port = following;
        if port == start {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                format!("every port from {LOWEST} to {highest} is in use"),
            ));
        }
    }
}

fn ephemeral_start() -> u16 {
    fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_whitespace().next()?.parse().ok())
        .unwrap_or(EPHEMERAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_lie_below_those_that_the_kernel_gives_out() {
        let (first, second) = (free_port().unwrap(), free_port().unwrap());
        assert_ne!(first, second);
        assert!(first < ephemeral_start() && first >= LOWEST);
    }
}
