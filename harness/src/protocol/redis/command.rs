//! Commands: how a client writes them, which keys they name, and what they do.

use bytes::Bytes;

use super::value::{Malformed, Scanner, Value};

/// How long a command in one line may be, as the server has it.
const LONGEST_INLINE: usize = 64 * 1024;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// In upper case: `LPUSH`.
    pub name: String,
    /// What follows the name.
    pub arguments: Vec<Bytes>,
}

/// Finds commands in what a client sends.
#[derive(Debug, Default)]
pub(super) struct Commands {
    scanner: Scanner,
}

/// What a client sent: its bytes, and the command; none where it asks for nothing.
pub(super) type Sent = (Bytes, Option<Command>);

impl Commands {
    /// Takes the first whole command off the buffer.
    pub(super) fn next(&mut self, buffer: &mut bytes::BytesMut) -> Result<Option<Sent>, Malformed> {
        match buffer.first() {
            None => Ok(None),
            Some(b'*') => {
                let Some(length) = self.scanner.frame(buffer)? else {
                    return Ok(None);
                };
                let bytes = buffer.split_to(length).freeze();
                let words: Option<Vec<Bytes>> = match Value::read(&bytes)? {
                    Value::List(items) => items.iter().map(|item| item.text().cloned()).collect(),
                    _ => Some(Vec::new()),
                };
                let command = Command::of(words.ok_or(Malformed::Command)?);
                Ok(Some((bytes, command)))
            }
            Some(0x16) => Err(Malformed::Tls),
            Some(_) => {
                let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
                    let long = buffer.len() > LONGEST_INLINE;
                    return if long { Err(Malformed::Line) } else { Ok(None) };
                };
                let bytes = buffer.split_to(end + 1).freeze();
                let command = Command::of(words(&bytes)?);
                Ok(Some((bytes, command)))
            }
        }
    }
}

/// The words of a command in one line.
fn words(line: &[u8]) -> Result<Vec<Bytes>, Malformed> {
    let mut words = Vec::new();
    let mut bytes = line.iter().copied().peekable();
    while let Some(&first) = bytes.peek() {
        if first.is_ascii_whitespace() {
            bytes.next();
            continue;
        }
        let (mut word, mut quote) = (Vec::new(), None);
        loop {
            match (quote, bytes.next()) {
                (None, None) => break,
                (None, Some(byte)) if byte.is_ascii_whitespace() => break,
                (None, Some(byte @ (b'"' | b'\''))) => quote = Some(byte),
                (Some(open), Some(byte)) if byte == open => quote = None,
                (Some(b'"'), Some(b'\\')) => word.extend(bytes.next()),
                (_, Some(byte)) => word.push(byte),
                (Some(_), None) => return Err(Malformed::Quotes),
            }
        }
        words.push(Bytes::from(word));
    }
    Ok(words)
}

/// Which arguments are keys.
enum Keys {
    None,
    First,
    /// The one behind the subcommand.
    Second,
    FirstTwo,
    All,
    /// All but the last, which is a time.
    AllButLast,
    /// Every second one.
    Pairs,
    /// As many as the argument at this place says, right behind it.
    Counted(usize),
    /// The first, and as many as the second says.
    Stored,
    /// Half of what follows `STREAMS`.
    Streams,
}

fn keys_of(name: &str) -> Keys {
    match name {
        "PING" | "ECHO" | "HELLO" | "AUTH" | "SELECT" | "CLIENT" | "CONFIG" | "INFO" | "MULTI"
        | "EXEC" | "DISCARD" | "UNWATCH" | "SUBSCRIBE" | "UNSUBSCRIBE" | "PSUBSCRIBE"
        | "PUNSUBSCRIBE" | "SSUBSCRIBE" | "SUNSUBSCRIBE" | "PUBLISH" | "SPUBLISH" | "PUBSUB"
        | "SCRIPT" | "FUNCTION" | "TIME" | "DBSIZE" | "FLUSHDB" | "FLUSHALL" | "KEYS" | "SCAN"
        | "RANDOMKEY" | "WAIT" | "WAITAOF" | "ROLE" | "LATENCY" | "COMMAND" | "SLOWLOG"
        | "QUIT" | "RESET" | "ACL" | "MODULE" | "CLUSTER" | "READONLY" | "READWRITE"
        | "LASTSAVE" | "SAVE" | "BGSAVE" | "BGREWRITEAOF" | "SHUTDOWN" | "SWAPDB" | "DEBUG" => {
            Keys::None
        }
        "DEL" | "UNLINK" | "EXISTS" | "TOUCH" | "MGET" | "WATCH" | "SDIFF" | "SINTER"
        | "SUNION" | "SDIFFSTORE" | "SINTERSTORE" | "SUNIONSTORE" | "PFCOUNT" | "PFMERGE" => {
            Keys::All
        }
        "RENAME" | "RENAMENX" | "RPOPLPUSH" | "BRPOPLPUSH" | "LMOVE" | "BLMOVE" | "SMOVE"
        | "COPY" | "ZRANGESTORE" | "LCS" | "GEOSEARCHSTORE" => Keys::FirstTwo,
        "BLPOP" | "BRPOP" | "BZPOPMIN" | "BZPOPMAX" => Keys::AllButLast,
        "MSET" | "MSETNX" => Keys::Pairs,
        "EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL" | "FCALL_RO" | "BLMPOP"
        | "BZMPOP" => Keys::Counted(1),
        "ZUNION" | "ZINTER" | "ZDIFF" | "SINTERCARD" | "ZINTERCARD" | "LMPOP" | "ZMPOP" => {
            Keys::Counted(0)
        }
        "ZUNIONSTORE" | "ZINTERSTORE" | "ZDIFFSTORE" => Keys::Stored,
        "XREAD" | "XREADGROUP" => Keys::Streams,
        "XGROUP" | "XINFO" | "OBJECT" | "MEMORY" | "BITOP" => Keys::Second,
        _ => Keys::First,
    }
}

/// Commands that change nothing, whatever they answer.
const READS: &[&str] = &[
    "PING",
    "ECHO",
    "HELLO",
    "AUTH",
    "SELECT",
    "CLIENT",
    "INFO",
    "MULTI",
    "EXEC",
    "DISCARD",
    "WATCH",
    "UNWATCH",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "PSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SSUBSCRIBE",
    "SUNSUBSCRIBE",
    "PUBLISH",
    "SPUBLISH",
    "PUBSUB",
    "SCRIPT",
    "TIME",
    "DBSIZE",
    "KEYS",
    "SCAN",
    "RANDOMKEY",
    "WAIT",
    "WAITAOF",
    "ROLE",
    "LATENCY",
    "COMMAND",
    "SLOWLOG",
    "QUIT",
    "RESET",
    "CLUSTER",
    "READONLY",
    "READWRITE",
    "LASTSAVE",
    "EXISTS",
    "TOUCH",
    "GET",
    "MGET",
    "STRLEN",
    "GETRANGE",
    "SUBSTR",
    "GETBIT",
    "BITCOUNT",
    "BITPOS",
    "TTL",
    "PTTL",
    "EXPIRETIME",
    "PEXPIRETIME",
    "TYPE",
    "LLEN",
    "LRANGE",
    "LINDEX",
    "LPOS",
    "HGET",
    "HMGET",
    "HGETALL",
    "HKEYS",
    "HVALS",
    "HLEN",
    "HEXISTS",
    "HSTRLEN",
    "HSCAN",
    "HRANDFIELD",
    "SMEMBERS",
    "SISMEMBER",
    "SMISMEMBER",
    "SCARD",
    "SRANDMEMBER",
    "SSCAN",
    "SDIFF",
    "SINTER",
    "SUNION",
    "SINTERCARD",
    "ZRANGE",
    "ZRANGEBYSCORE",
    "ZRANGEBYLEX",
    "ZREVRANGE",
    "ZREVRANGEBYSCORE",
    "ZREVRANGEBYLEX",
    "ZCARD",
    "ZCOUNT",
    "ZLEXCOUNT",
    "ZSCORE",
    "ZMSCORE",
    "ZRANK",
    "ZREVRANK",
    "ZSCAN",
    "ZRANDMEMBER",
    "ZUNION",
    "ZINTER",
    "ZDIFF",
    "ZINTERCARD",
    "XRANGE",
    "XREVRANGE",
    "XLEN",
    "XINFO",
    "XPENDING",
    "XREAD",
    "PFCOUNT",
    "DUMP",
    "OBJECT",
    "MEMORY",
    "EVAL_RO",
    "EVALSHA_RO",
    "FCALL_RO",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEOSEARCH",
    "LCS",
    "SORT_RO",
];

/// Commands whose nought says that they did nothing. Others answer a count of something
/// else: HSET and ZADD say nought of a member that they changed.
const NOUGHT_IS_NOTHING: &[&str] = &[
    "DEL",
    "UNLINK",
    "SETNX",
    "MSETNX",
    "HSETNX",
    "HDEL",
    "SADD",
    "SREM",
    "ZREM",
    "LREM",
    "LPUSHX",
    "RPUSHX",
    "EXPIRE",
    "PEXPIRE",
    "EXPIREAT",
    "PEXPIREAT",
    "PERSIST",
    "RENAMENX",
    "SMOVE",
    "MOVE",
    "COPY",
    "XACK",
    "XDEL",
    "XTRIM",
    "ZREMRANGEBYSCORE",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYLEX",
    "SDIFFSTORE",
    "SINTERSTORE",
    "SUNIONSTORE",
];

/// Commands that take elements of a list, a sorted set or a stream group: which they took
/// stands in their answer.
const RECEIVES: &[&str] = &[
    "LPOP",
    "RPOP",
    "BLPOP",
    "BRPOP",
    "LMPOP",
    "BLMPOP",
    "RPOPLPUSH",
    "BRPOPLPUSH",
    "LMOVE",
    "BLMOVE",
    "ZPOPMIN",
    "ZPOPMAX",
    "BZPOPMIN",
    "BZPOPMAX",
    "ZMPOP",
    "BZMPOP",
    "SPOP",
    "XREADGROUP",
    "XCLAIM",
    "XAUTOCLAIM",
];

/// Words that are commands of Redis and could be nothing else in a step of a feature.
const NAMES: &[&str] = &[
    "APPEND",
    "BITFIELD",
    "BITOP",
    "DECR",
    "DECRBY",
    "DEL",
    "UNLINK",
    "EVAL",
    "EVALSHA",
    "EXPIRE",
    "PEXPIRE",
    "EXPIREAT",
    "PEXPIREAT",
    "FCALL",
    "FLUSHALL",
    "FLUSHDB",
    "GETDEL",
    "GETEX",
    "GETSET",
    "HDEL",
    "HINCRBY",
    "HINCRBYFLOAT",
    "HMSET",
    "HSET",
    "HSETNX",
    "INCR",
    "INCRBY",
    "INCRBYFLOAT",
    "LINSERT",
    "LPUSH",
    "LPUSHX",
    "LREM",
    "LSET",
    "LTRIM",
    "MSET",
    "MSETNX",
    "PERSIST",
    "PFADD",
    "PSETEX",
    "PUBLISH",
    "RENAME",
    "RENAMENX",
    "RESTORE",
    "RPUSH",
    "RPUSHX",
    "SADD",
    "SDIFFSTORE",
    "SET",
    "SETEX",
    "SETNX",
    "SETRANGE",
    "SINTERSTORE",
    "SMOVE",
    "SPUBLISH",
    "SREM",
    "SUNIONSTORE",
    "XACK",
    "XADD",
    "XDEL",
    "XGROUP",
    "XTRIM",
    "ZADD",
    "ZINCRBY",
    "ZREM",
    "ZREMRANGEBYLEX",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYSCORE",
    "ZRANGESTORE",
    "ZUNIONSTORE",
    "ZINTERSTORE",
    "CONFIG",
    "BRPOPLPUSH",
];

/// Whether a word is the name of a command that a person can mean.
pub(crate) fn is_known(name: &str) -> bool {
    [NAMES, RECEIVES, READS, NOUGHT_IS_NOTHING]
        .iter()
        .any(|names| names.contains(&name))
}

/// The names of all commands that are known.
pub(crate) fn known() -> Vec<&'static str> {
    let mut names: Vec<&str> = [NAMES, RECEIVES, READS, NOUGHT_IS_NOTHING].concat();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a command takes elements from where they wait.
pub(crate) fn is_receive(name: &str) -> bool {
    RECEIVES.contains(&name)
}

impl Command {
    fn of(words: Vec<Bytes>) -> Option<Self> {
        let mut words = words.into_iter();
        let name = words.next()?;
        Some(Self {
            name: String::from_utf8_lossy(&name).to_ascii_uppercase(),
            arguments: words.collect(),
        })
    }

    /// A command of the harness's own, or of a test.
    pub fn new(words: &[&[u8]]) -> Self {
        let words = words.iter().map(|word| Bytes::copy_from_slice(word));
        Self::of(words.collect()).expect("a command has a name")
    }

    /// An argument in upper case: an option or a subcommand.
    pub(super) fn word(&self, place: usize) -> Option<String> {
        let argument = self.arguments.get(place)?;
        Some(String::from_utf8_lossy(argument).to_ascii_uppercase())
    }

    /// Where the argument stands that is this option.
    pub(super) fn option(&self, option: &str) -> Option<usize> {
        let is = |argument: &Bytes| argument.eq_ignore_ascii_case(option.as_bytes());
        self.arguments.iter().position(is)
    }

    fn key_places(&self) -> Vec<usize> {
        let count = self.arguments.len();
        let counted = |at: usize| {
            let number = self.arguments.get(at).and_then(|text| number(text));
            let number = number.unwrap_or(0).min(count.saturating_sub(at + 1));
            at + 1..at + 1 + number
        };
        let places: Vec<usize> = match keys_of(&self.name) {
            Keys::None => Vec::new(),
            Keys::First => vec![0],
            Keys::Second => vec![1],
            Keys::FirstTwo => vec![0, 1],
            Keys::All => (0..count).collect(),
            Keys::AllButLast => (0..count.saturating_sub(1)).collect(),
            Keys::Pairs => (0..count).step_by(2).collect(),
            Keys::Counted(at) => counted(at).collect(),
            Keys::Stored => std::iter::once(0).chain(counted(1)).collect(),
            Keys::Streams => {
                let from = self.option("STREAMS").map_or(count, |at| at + 1);
                (from..from + count.saturating_sub(from) / 2).collect()
            }
        };
        places.into_iter().filter(|at| *at < count).collect()
    }

    /// The keys that it names.
    pub fn keys(&self) -> Vec<&Bytes> {
        let places = self.key_places().into_iter();
        places.map(|at| &self.arguments[at]).collect()
    }

    /// What it carries beside its keys.
    pub fn values(&self) -> Vec<&Bytes> {
        let keys = self.key_places();
        let arguments = self.arguments.iter().enumerate();
        arguments
            .filter(|(at, _)| !keys.contains(at))
            .map(|(_, argument)| argument)
            .collect()
    }

    /// Whether it changes nothing, whatever it answers.
    pub fn is_read(&self) -> bool {
        READS.contains(&self.name.as_str())
    }

    /// Whether it takes elements: what it is about stands in its answer.
    pub fn is_receive(&self) -> bool {
        is_receive(&self.name)
    }

    /// Whether it did something, or told something, by its answer.
    pub fn took_effect(&self, answer: &Value) -> bool {
        match answer {
            Value::Error(_) => false,
            answer if answer.is_nothing() => self.is_read(),
            Value::Integer(0) => !NOUGHT_IS_NOTHING.contains(&self.name.as_str()),
            _ => true,
        }
    }

    /// Whether it changed something for good.
    pub fn wrote(&self, answer: &Value) -> bool {
        !self.is_read() && self.took_effect(answer)
    }
}

pub(super) fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::*;

    use super::*;

    fn command(line: &str) -> Command {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        Command::new(&words)
    }

    fn keys(line: &str) -> Vec<String> {
        let command = command(line);
        let keys = command.keys().into_iter();
        keys.map(|key| String::from_utf8_lossy(key).into_owned())
            .collect()
    }

    #[test]
    fn keys_stand_where_each_command_has_them() {
        assert_eq!(keys("LPUSH jobs a b"), ["jobs"]);
        assert_eq!(keys("BLPOP a b 0"), ["a", "b"]);
        assert_eq!(keys("LMOVE a b LEFT RIGHT"), ["a", "b"]);
        assert_eq!(keys("EVALSHA abc 2 a b c"), ["a", "b"]);
        assert_eq!(keys("EVAL script 0 c"), [""; 0]);
        assert_eq!(keys("EVAL script 9 c"), ["c"]);
        assert_eq!(
            keys("XREADGROUP GROUP g c COUNT 1 BLOCK 0 STREAMS s t > >"),
            ["s", "t"]
        );
        assert_eq!(keys("ZUNIONSTORE d 2 a b WEIGHTS 1 2"), ["d", "a", "b"]);
        assert_eq!(keys("MSET a 1 b 2"), ["a", "b"]);
        assert_eq!(keys("XGROUP CREATE s g $"), ["s"]);
        assert_eq!(keys("PUBLISH channel text"), [""; 0]);
        assert_eq!(keys("DEL"), [""; 0]);
        assert_eq!(command("lpush jobs a").name, "LPUSH");
        let values: Vec<&[u8]> = vec![b"1", b"2"];
        assert_eq!(command("MSET a 1 b 2").values(), values);
    }

    #[test]
    fn an_answer_says_whether_something_was_done() {
        let did = |line: &str, answer: Value| command(line).wrote(&answer);
        assert!(did("SETNX a b", Value::Integer(1)));
        assert!(!did("SETNX a b", Value::Integer(0)));
        assert!(did("HSET a b c", Value::Integer(0)), "it changed a field");
        assert!(!did("SET a b NX", Value::Null));
        assert!(!did("LPOP a", Value::Null));
        assert!(!did("GET a", Value::Text(Bytes::from_static(b"b"))));
        assert!(!did("LPUSH a b", Value::Error(Bytes::from_static(b"OOM"))));
        assert!(command("GET a").took_effect(&Value::Null));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn commands_are_found_however_they_are_split(
            all in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..5), 1..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut bytes = Vec::new();
            for words in &all {
                bytes.extend(format!("*{}\r\n", words.len()).into_bytes());
                for word in words {
                    bytes.extend(format!("${}\r\n", word.len()).into_bytes());
                    bytes.extend(word);
                    bytes.extend(b"\r\n");
                }
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut commands, mut buffer) = (Commands::default(), BytesMut::new());
            let (mut seen, mut found, mut from) = (Vec::new(), 0, 0);
            for cut in cuts {
                buffer.extend_from_slice(&bytes[from..cut]);
                from = cut;
                while let Some((raw, command)) = commands.next(&mut buffer).unwrap() {
                    seen.extend_from_slice(&raw);
                    let words: Vec<&[u8]> = all[found].iter().map(Vec::as_slice).collect();
                    prop_assert_eq!(command.unwrap(), Command::new(&words));
                    found += 1;
                }
            }
            prop_assert_eq!(found, all.len());
            prop_assert_eq!(seen, bytes, "no byte is changed");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]

        #[test]
        fn no_bytes_make_reading_panic(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "[*$0-9a-cA-Z \"'\\\\\r\n]{0,40}".prop_map(String::into_bytes),
            ],
        ) {
            let mut buffer = BytesMut::from(bytes.as_slice());
            let mut commands = Commands::default();
            while let Ok(Some((_, command))) = commands.next(&mut buffer) {
                if let Some(command) = command {
                    let _ = (command.keys(), command.values());
                }
            }
        }
    }

    #[test]
    fn a_command_in_one_line_is_read_as_the_server_does() {
        let mut buffer = BytesMut::from(&b"set a \"b \\\"c\"\r\n\r\nPING\n"[..]);
        let mut commands = Commands::default();
        let (_, first) = commands.next(&mut buffer).unwrap().unwrap();
        assert_eq!(first.unwrap(), Command::new(&[b"SET", b"a", b"b \"c"]));
        assert_eq!(commands.next(&mut buffer).unwrap().unwrap().1, None);
        assert_eq!(
            commands.next(&mut buffer).unwrap().unwrap().1.unwrap().name,
            "PING"
        );
        let mut open = BytesMut::from(&b"set \"a\r\n"[..]);
        assert_eq!(commands.next(&mut open), Err(Malformed::Quotes));
    }
}
