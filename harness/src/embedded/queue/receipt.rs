//! Receipt handles: which delivery of which message of which queue, in a form
//! that a made-up string does not pass for.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// One delivery of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// The queue's number, never reused.
    pub(crate) queue: u64,
    /// The message's number in that queue, never reused.
    pub(crate) message: u64,
    /// Which receive of that message.
    pub(crate) receive: u32,
}

const BYTES: usize = 28;

impl Receipt {
    fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.queue.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.message.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.receive.to_be_bytes());
        let check = checksum(&bytes[..20]);
        bytes[20..].copy_from_slice(&check.to_be_bytes());
        bytes
    }

    /// Reads a handle that this server wrote.
    pub(crate) fn parse(handle: &str) -> Option<Self> {
        let bytes: [u8; BYTES] = URL_SAFE_NO_PAD.decode(handle).ok()?.try_into().ok()?;
        let receipt = Self {
            queue: u64::from_be_bytes(bytes[..8].try_into().ok()?),
            message: u64::from_be_bytes(bytes[8..16].try_into().ok()?),
            receive: u32::from_be_bytes(bytes[16..20].try_into().ok()?),
        };
        (receipt.bytes() == bytes).then_some(receipt)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.bytes()))
    }
}

/// FNV-1a. Handles guard against mistakes, not against attackers.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_survives_writing_and_reading() {
        let receipt = Receipt {
            queue: 7,
            message: u64::MAX,
            receive: 3,
        };
        assert_eq!(Receipt::parse(&receipt.to_string()), Some(receipt));
    }

    #[test]
    fn a_changed_or_made_up_handle_is_refused() {
        let handle = Receipt {
            queue: 1,
            message: 2,
            receive: 3,
        }
        .to_string();
        assert_eq!(Receipt::parse(&handle.replace('A', "B")), None);
        for garbage in ["", "garbage", "AAAA", &"A".repeat(38)] {
            assert_eq!(Receipt::parse(garbage), None, "{garbage}");
        }
    }
}
