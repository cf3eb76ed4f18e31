//! The addresses of a network, given out one by one by the harness itself: the engine
//! would give the address of a process that is cut off to the next one.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

/// Those that nobody has.
#[derive(Debug)]
pub(super) struct Addresses {
    /// The next that nobody ever had.
    next: u32,
    /// The first that is not in the network, or means all of it.
    end: u32,
    /// This machine's own.
    gateway: Ipv4Addr,
    returned: VecDeque<Ipv4Addr>,
}

impl Addresses {
    /// Those of a range like `172.18.0.0/16`; none if it is no such range.
    pub(super) fn of(subnet: &str, gateway: IpAddr) -> Option<Self> {
        let IpAddr::V4(gateway) = gateway else {
            return None;
        };
        let (first, length) = subnet.split_once('/')?;
        let first = u32::from(first.parse::<Ipv4Addr>().ok()?);
        let length: u32 = length.parse().ok().filter(|length| *length <= 32)?;
        let last = first | u32::MAX.checked_shr(length).unwrap_or(0);
        Some(Self {
            next: first.saturating_add(1),
            end: last,
            gateway,
            returned: VecDeque::new(),
        })
    }

    /// One that nobody has; none if all are taken. What was given back comes last, so
    /// that nobody mistakes its next owner for the last.
    pub(super) fn take(&mut self) -> Option<Ipv4Addr> {
        if Ipv4Addr::from(self.next) == self.gateway {
            self.next += 1;
        }
        if self.next < self.end {
            self.next += 1;
            return Some(Ipv4Addr::from(self.next - 1));
        }
        self.returned.pop_front()
    }

    pub(super) fn give_back(&mut self, address: Ipv4Addr) {
        self.returned.push_back(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(subnet: &str, gateway: &str) -> Vec<String> {
        let mut addresses = Addresses::of(subnet, gateway.parse().unwrap()).unwrap();
        std::iter::from_fn(|| addresses.take())
            .map(|address| address.to_string())
            .collect()
    }

    #[test]
    fn each_address_but_the_first_the_gateways_and_the_last_is_given_out_once() {
        assert_eq!(
            all("10.1.2.8/29", "10.1.2.9"),
            [
                "10.1.2.10",
                "10.1.2.11",
                "10.1.2.12",
                "10.1.2.13",
                "10.1.2.14"
            ]
        );
        assert_eq!(all("10.0.0.0/30", "10.0.0.2"), ["10.0.0.1"]);
        assert_eq!(all("255.255.255.252/30", "255.255.255.254").len(), 1);
        assert_eq!(all("10.0.0.1/32", "10.0.0.1"), [""; 0]);
        assert_eq!(all("172.18.0.0/16", "172.18.0.1").len(), 65_533);
    }

    #[test]
    fn what_is_given_back_is_given_out_when_nothing_else_is_left() {
        let mut addresses = Addresses::of("10.0.0.0/29", "10.0.0.1".parse().unwrap()).unwrap();
        let first = addresses.take().unwrap();
        addresses.give_back(first);
        let rest: Vec<Ipv4Addr> = std::iter::from_fn(|| addresses.take()).collect();
        assert_eq!(rest.len(), 5);
        assert_eq!(rest.last(), Some(&first));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for subnet in ["", "10.0.0.0", "10.0.0.0/33", "fd00::/64", "10.0.0/8"] {
            assert!(Addresses::of(subnet, "10.0.0.1".parse().unwrap()).is_none());
        }
        assert!(Addresses::of("10.0.0.0/8", "fd00::1".parse().unwrap()).is_none());
    }
}
