//! Shapes of commands of Redis: `LPUSH jobs`, `HSET job:{}`.

use super::path::{self, ID};
use crate::protocol::redis::{RedisRequest, is_known};

/// Between the commands of a transaction.
const SEPARATOR: char = ';';

/// The commands of a request, each with its keys without ids.
pub(super) fn shapes(request: &RedisRequest) -> Vec<String> {
    let commands = request.commands.iter().map(|command| {
        let keys = command.keys().into_iter();
        let keys = keys.map(|key| without_ids(&String::from_utf8_lossy(key)));
        let words = std::iter::once(command.name.clone()).chain(keys);
        words.collect::<Vec<_>>().join(" ")
    });
    commands.collect()
}

/// A key with `{}` in place of each part that looks like an id.
fn without_ids(key: &str) -> String {
    let parts = key.split(':').map(|part| match part {
        part if path::is_id(part) => ID,
        part => part,
    });
    let key: Vec<&str> = parts.collect();
    key.join(":").replace(char::is_whitespace, "_")
}

/// Texts that name it, shortest first.
pub(super) fn names(commands: &[String]) -> Vec<String> {
    let writes = commands.last().into_iter();
    writes
        .filter_map(|command| command.split(' ').next())
        .map(str::to_owned)
        .collect()
}

/// Whether a text names commands of Redis, in capitals, with at most a few keys.
pub(super) fn are_commands(written: &str) -> bool {
    written.split(SEPARATOR).all(|one| {
        let words: Vec<&str> = one.split_whitespace().collect();
        match words.as_slice() {
            // `GET /parcels` is a request.
            [_, key, ..] if key.starts_with('/') || *key == "*" => false,
            // SQL has these words too, and goes on with more.
            ["SET" | "COPY" | "MOVE" | "SELECT" | "EXISTS", rest @ ..] => {
                is_known(words[0]) && rest.len() == 1 && words[0] != "SELECT"
            }
            ["GET"] | [] => false,
            [name, ..] => is_known(name),
        }
    })
}

/// What a person wrote, ids taken out of keys.
pub(super) fn wanted(written: &str) -> Vec<String> {
    let commands = written.split(SEPARATOR).map(|one| {
        let mut words = one.split_whitespace();
        let name = words.next().map(str::to_owned);
        let keys = words.map(without_ids);
        name.into_iter().chain(keys).collect::<Vec<_>>().join(" ")
    });
    commands.collect()
}

/// Whether all that is wanted was made.
pub(super) fn are(wanted: &[String], made: &[String]) -> bool {
    wanted.iter().all(|wanted| {
        made.iter().any(|made| {
            let (mut wanted, mut made) = (wanted.split(' '), made.split(' '));
            wanted.next() == made.next()
                && wanted.all(|key| made.next().is_some_and(|other| same(key, other)))
        })
    })
}

/// Whether two keys without ids are the same: what is an id may be seen on one side only.
fn same(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) =
        (one.split(':').collect(), other.split(':').collect());
    one.len() == other.len()
        && one
            .iter()
            .zip(&other)
            .all(|(one, other)| one == other || *one == ID || *other == ID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::redis::Command;

    #[test]
    fn a_shape_has_keys_without_ids() {
        let request = RedisRequest {
            commands: vec![
                Command::new(&[b"lpush", b"jobs", b"7"]),
                Command::new(&[b"HSET", b"job:7", b"state", b"new"]),
            ],
            transaction: true,
        };
        let shapes = shapes(&request);
        assert_eq!(shapes, ["LPUSH jobs", "HSET job:{}"]);
        for written in [
            "LPUSH",
            "LPUSH jobs",
            "HSET job:M1",
            "LPUSH jobs; HSET job:{}",
            "HSET job:{job}",
        ] {
            assert!(are_commands(written), "{written}");
            assert!(are(&wanted(written), &shapes), "{written}");
        }
        assert!(!are(&wanted("LPUSH other"), &shapes));
        assert!(!are(&wanted("LPUSH jobs; DEL job:1"), &shapes));
    }

    #[test]
    fn other_protocols_keep_their_words() {
        for written in [
            "GET /parcels",
            "update parcels",
            "DeleteMessage",
            "COPY parcels FROM stdin",
            "SET a = 1",
            "SELECT 1",
            "DELETE FROM jobs",
            "insert into jobs",
        ] {
            assert!(!are_commands(written), "{written}");
        }
    }
}
