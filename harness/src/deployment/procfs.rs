//! What `/proc` says about processes that are not our children: the only way to find
//! those that left their group, and to tell a process from a later one with its pid.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// When a process started, in clock ticks since the machine did. With the pid it names
/// one process of this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StartTime(pub u64);

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, `T` (stopped), `Z` (dead, not reaped) …
    pub state: char,
    /// Its parent.
    pub parent: Pid,
    /// Its process group.
    pub group: Pid,
    /// When it started.
    pub started: StartTime,
}

impl Stat {
    /// Stopped, by a signal or by whoever traces it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// Dead, though its parent has not asked for its status yet.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// What is known of a process, if there is one with this pid.
pub fn stat(pid: Pid) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(line: &str) -> Option<Stat> {
    // The command's name stands in parentheses and may hold blanks and parentheses.
    let fields: Vec<&str> = line
        .get(line.rfind(')')? + 1..)?
        .split_ascii_whitespace()
        .collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
        group: Pid::from_raw(fields.get(2)?.parse().ok()?),
        started: StartTime(fields.get(19)?.parse().ok()?),
    })
}

/// Whether the kernel throws a signal for a process away: as process 1 of a namespace it
/// gets SIGKILL, SIGSTOP and what it handles.
pub fn ignores(pid: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    ignores_by_status(&status, signal)
}

/// Whether this process was started to ignore a signal, as under `nohup`.
pub fn was_told_to_ignore(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    has(&status, "SigIgn", signal).unwrap_or(false)
}

fn ignores_by_status(status: &str, signal: Signal) -> bool {
    // Its number here, and in each namespace below.
    let mut numbers = field(status, "NSpid")
        .unwrap_or_default()
        .split_whitespace();
    let is_first = numbers.next().is_some() && numbers.next_back() == Some("1");
    let always = [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGCONT].contains(&signal);
    is_first && !always && has(status, "SigCgt", signal) == Some(false)
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// Whether a set of signals has this one; none if there is no such set.
fn has(status: &str, set: &str, signal: Signal) -> Option<bool> {
    let mask = u64::from_str_radix(field(status, set)?.trim(), 16).ok()?;
    Some(mask >> (signal as i32 - 1) & 1 == 1)
}

/// Whether this very process still runs (a dead one that nobody reaped does not).
pub fn is_running(pid: Pid, started: StartTime) -> bool {
    stat(pid).is_some_and(|stat| stat.started == started && !stat.is_dead())
}

/// Every process that can be seen now.
pub fn processes() -> Vec<(Pid, Stat)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?);
            Some((pid, stat(pid)?))
        })
        .collect()
}

/// Whether a process was started with this variable in its environment. What may not
/// be read does not have it.
pub fn has_variable(pid: Pid, name: &str, value: &str) -> bool {
    let expected = format!("{name}={value}");
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == expected.as_bytes())
    })
}

/// The directory a process works in.
pub fn directory(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The file a process executes.
pub fn program(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// A process and everything below it, parents first.
pub fn tree(root: Pid) -> Vec<Pid> {
    let all = processes();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        tree.extend(
            all.iter()
                .filter(|(_, stat)| stat.parent == parent)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    tree
}

/// Which start of the machine this is; start times of another one mean nothing.
pub fn boot() -> io::Result<String> {
    Ok(
        fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id"))?
            .trim()
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_1_of_a_namespace_gets_only_what_it_handles() {
        let (abort, terminate, kill) = (Signal::SIGABRT, Signal::SIGTERM, Signal::SIGKILL);
        let first = "Name:\tworker\nNSpid:\t4711\t1\nSigCgt:\t0000000000004000\n";
        assert!(ignores_by_status(first, abort));
        assert!(!ignores_by_status(first, terminate));
        assert!(!ignores_by_status(first, kill));
        for other in ["NSpid:\t4711\t7", "NSpid:\t1", "NSpid:\t4711"] {
            let other = first.replace("NSpid:\t4711\t1", other);
            assert!(!ignores_by_status(&other, abort), "{other}");
        }
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let line = "42 (a) b (c) S 7 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.state, 'S');
        assert_eq!(stat.parent, Pid::from_raw(7));
        assert_eq!(stat.group, Pid::from_raw(40));
        assert_eq!(stat.started, StartTime(987_654));
    }

    #[test]
    fn this_process_is_running_since_its_own_start_only() {
        let own = Pid::this();
        let started = stat(own).unwrap().started;
        assert!(is_running(own, started));
        assert!(!is_running(own, StartTime(started.0 + 1)));
    }
}
