//! Where a process listens, read from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nix::unistd::Pid;

use super::procfs;

/// `TCP_LISTEN` of the kernel.
const LISTENS: &str = "0A";

/// The addresses on which a process or its offspring takes TCP connections.
pub fn listening(root: Pid) -> BTreeSet<SocketAddr> {
    let mut own: BTreeSet<String> = BTreeSet::new();
    for pid in procfs::tree(root) {
        let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        let targets = open
            .flatten()
            .filter_map(|it| fs::read_link(it.path()).ok());
        own.extend(targets.filter_map(|target| {
            let inode = target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?;
            Some(inode.to_owned())
        }));
    }
    // Of its own network namespace.
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{root}/net/{table}"));
    let tables = tables
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    let found = tables.flat_map(|table| listed(&table));
    found
        .filter(|(_, inode)| own.contains(inode))
        .map(|(address, _)| address)
        .collect()
}

/// The listening sockets of a table of the kernel, each with its inode.
fn listed(table: &str) -> Vec<(SocketAddr, String)> {
    let lines = table.lines().skip(1);
    lines
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next()?;
            let state = fields.nth(1)?;
            let inode = fields.nth(5)?;
            let (ip, port) = local.split_once(':')?;
            let port = u16::from_str_radix(port, 16).ok()?;
            (state == LISTENS).then_some(())?;
            Some((SocketAddr::new(ip_of(ip)?, port), inode.to_owned()))
        })
        .collect()
}

/// The kernel writes each word of an address in the byte order of the machine.
fn ip_of(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok();
    if text.len() == 8 {
        return Some(IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())));
    }
    let mut bytes = [0; 16];
    for (part, at) in bytes.chunks_exact_mut(4).zip([0, 8, 16, 24]) {
        part.copy_from_slice(&word(at)?.to_ne_bytes());
    }
    Some(IpAddr::V6(Ipv6Addr::from(bytes)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_process_is_found_to_listen_where_it_does() {
        let four = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = listening(Pid::this());
        assert!(found.contains(&four.local_addr().unwrap()), "{found:?}");
        if let Ok(six) = TcpListener::bind("[::1]:0") {
            let found = listening(Pid::this());
            assert!(found.contains(&six.local_addr().unwrap()), "{found:?}");
        }
    }
}
