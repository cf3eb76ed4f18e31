use super::super::value::Value;
use super::*;
use crate::ids::Incarnation;
use crate::protocol::redis::KeyPattern;

fn worker(start: u32) -> Author {
    Author::Process(Incarnation {
        role: "worker".into(),
        instance: 1,
        start,
    })
}

fn queue(kind: Kind, processing: &[&str]) -> RedisQueue {
    RedisQueue {
        kind,
        processing: processing
            .iter()
            .map(|key| KeyPattern::parse(key).unwrap())
            .collect(),
        dead_letter: None,
    }
}

fn list(key: &str, processing: &[&str]) -> RedisQueue {
    let key = key.to_owned();
    queue(Kind::List { key }, processing)
}

struct Told {
    view: View,
    calls: u64,
}

impl Told {
    fn of(queues: &[(&str, RedisQueue)]) -> Self {
        let queues = queues
            .iter()
            .map(|(name, queue)| ((*name).to_owned(), queue.clone()));
        Self {
            view: View::new(queues.collect()),
            calls: 0,
        }
    }

    fn requested(&mut self, lines: &[&str]) -> (CallId, RedisRequest) {
        self.calls += 1;
        let commands = lines.iter().map(|line| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            Command::new(&words)
        });
        let request = RedisRequest {
            commands: commands.collect(),
            transaction: lines.len() > 1,
        };
        (CallId(self.calls), request)
    }

    fn answered(
        &self,
        by: &Author,
        (call, request): &(CallId, RedisRequest),
        answers: Vec<Value>,
    ) -> Vec<String> {
        let reply = RedisReply {
            answers,
            ..RedisReply::default()
        };
        let effects = self
            .view
            .answered(by, (*call, ConnectionId(self.calls)), request, &reply);
        effects.iter().map(shown).collect()
    }

    /// A call, with its answers.
    fn does(&mut self, by: &Author, lines: &[&str], answers: Vec<Value>) -> Vec<String> {
        let asked = self.requested(lines);
        self.view.sending(by, asked.0, &asked.1);
        self.answered(by, &asked, answers)
    }

    fn one(&mut self, by: &Author, line: &str, answer: Value) -> Vec<String> {
        self.does(by, &[line], vec![answer])
    }
}

fn shown(effect: &QueueEffect) -> String {
    match effect {
        QueueEffect::Sent(item) => format!("{} got {}", item.queue, item.copy),
        QueueEffect::Delivered(item, receipt) => format!("{} gave {receipt}", item.queue),
        QueueEffect::Deleted(_, receipt) => format!("{receipt} is done"),
        QueueEffect::Released(receipt) => format!("{receipt} is back"),
        QueueEffect::Unseen { queue, command } => format!("{command} of {queue} is not seen"),
    }
}

fn text(text: &str) -> Value {
    Value::Text(Bytes::copy_from_slice(text.as_bytes()))
}

fn pair(one: &str, other: &str) -> Value {
    Value::List(vec![text(one), text(other)])
}

fn number(number: i64) -> Value {
    Value::Integer(number)
}

fn status(text: &'static str) -> Value {
    Value::Status(Bytes::from_static(text.as_bytes()))
}

const NONE: [&str; 0] = [];

#[test]
fn what_is_popped_without_a_second_list_is_done_at_once() {
    let mut told = Told::of(&[("jobs", list("jobs", &[]))]);
    let (client, one) = (Author::Client, worker(1));
    assert_eq!(
        told.one(&client, "LPUSH jobs a b", number(2)),
        ["jobs got jobs-1", "jobs got jobs-2"]
    );
    let popped = told.one(&one, "BRPOP jobs 0", pair("jobs", "a"));
    assert_eq!(popped, ["jobs gave jobs-1~1", "jobs-1~1 is done"]);
    assert_eq!(told.one(&one, "BRPOP jobs 1", Value::Null), NONE);
    assert_eq!(told.one(&one, "LPUSH other a", number(1)), NONE);
}

#[test]
fn a_second_list_keeps_an_element_until_it_is_removed_there() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing:*"]))]);
    let (one, two) = (worker(1), worker(2));
    told.one(&Author::Client, "LPUSH jobs a", number(1));
    let moved = told.one(&one, "BLMOVE jobs doing:1 RIGHT LEFT 0", text("a"));
    assert_eq!(moved, ["jobs gave jobs-1~1"]);
    // It dies; the next one puts it back, and takes it again.
    assert_eq!(told.view.orphaned("jobs-1~1"), Orphan::Stays);
    let back = told.one(&two, "LMOVE doing:1 jobs RIGHT LEFT", text("a"));
    assert_eq!(back, ["jobs-1~1 is back"]);
    assert_eq!(
        told.one(&two, "RPOPLPUSH jobs doing:2", text("a")),
        ["jobs gave jobs-1~2"]
    );
    assert_eq!(
        told.one(&two, "LREM doing:2 1 a", number(1)),
        ["jobs-1~2 is done"]
    );
    assert_eq!(told.one(&two, "LREM doing:2 1 a", number(0)), NONE);
}

#[test]
fn pushed_back_in_one_transaction_or_after_a_death_it_is_the_same_element() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"]))]);
    let (one, two) = (worker(1), worker(2));
    told.one(&Author::Client, "LPUSH jobs a", number(1));
    told.one(&one, "LMOVE jobs doing RIGHT LEFT", text("a"));
    let atomic = ["LREM doing 1 a", "RPUSH jobs a"];
    let back = told.does(&two, &atomic, vec![number(1), number(1)]);
    assert_eq!(back, ["jobs-1~1 is back"]);
    told.one(&one, "LMOVE jobs doing RIGHT LEFT", text("a"));
    // Somebody else's push, while its owner lives, is another element.
    assert_eq!(
        told.one(&two, "RPUSH jobs a", number(1)),
        ["jobs got jobs-2"]
    );
    told.view.orphaned("jobs-1~2");
    assert_eq!(
        told.one(&two, "RPUSH jobs a", number(1)),
        ["jobs-1~2 is back"]
    );
    assert_eq!(told.one(&two, "LREM doing 1 a", number(1)), NONE);
}

#[test]
fn a_pop_may_be_answered_before_the_push() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"]))]);
    let asked = told.requested(&["LPUSH jobs a"]);
    told.view.sending(&Author::Client, asked.0, &asked.1);
    let popped = told.one(&worker(1), "RPOPLPUSH jobs doing", text("a"));
    assert_eq!(popped, ["jobs gave jobs-1~1"]);
    assert_eq!(
        told.answered(&Author::Client, &asked, vec![number(1)]),
        ["jobs got jobs-1"]
    );
    assert_eq!(
        told.one(&worker(1), "LREM doing 0 a", number(1)),
        ["jobs-1~1 is done"]
    );
}

#[test]
fn a_pop_may_be_answered_before_the_move_that_gave_the_element_back() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing:*"]))]);
    let (one, two, reaper) = (worker(1), worker(2), Author::Client);
    told.one(&Author::Client, "LPUSH jobs a", number(1));
    told.one(&one, "RPOPLPUSH jobs doing:1", text("a"));
    told.view.orphaned("jobs-1~1");
    let asked = told.requested(&["LMOVE doing:1 jobs RIGHT LEFT"]);
    told.view.sending(&reaper, asked.0, &asked.1);
    let popped = told.one(&two, "BRPOPLPUSH jobs doing:2 1", text("a"));
    assert_eq!(popped, ["jobs gave jobs-1~2"]);
    assert_eq!(told.answered(&reaper, &asked, vec![text("a")]), NONE);
    let removed = told.one(&two, "LREM doing:2 1 a", number(1));
    assert_eq!(removed, ["jobs-1~2 is done"]);
    assert_eq!(told.view.waiting(&list("jobs", &[])), 0);
}

#[test]
fn a_pop_may_be_answered_before_the_move_from_another_queue() {
    let queues = [
        ("first", list("first", &[])),
        ("jobs", list("jobs", &["doing"])),
    ];
    let mut told = Told::of(&queues);
    told.one(&Author::Client, "LPUSH first a", number(1));
    let asked = told.requested(&["RPOPLPUSH first jobs"]);
    told.view.sending(&worker(1), asked.0, &asked.1);
    let popped = told.one(&worker(2), "BLMOVE jobs doing LEFT LEFT 1", text("a"));
    assert_eq!(popped, ["jobs gave first-1~1"]);
    let passed_on = told.answered(&worker(1), &asked, vec![text("a")]);
    assert_eq!(passed_on, ["jobs got first-1"]);
    assert_eq!(told.view.waiting(&queues[0].1), 0);
}

#[test]
fn what_was_moved_may_be_taken_away_before_the_move_is_answered() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"]))]);
    told.one(&Author::Client, "LPUSH jobs a", number(1));
    let asked = told.requested(&["BLMOVE jobs doing LEFT LEFT 1"]);
    told.view.sending(&worker(1), asked.0, &asked.1);
    let back = told.one(&worker(2), "LMOVE doing jobs RIGHT LEFT", text("a"));
    assert_eq!(back, NONE);
    assert_eq!(told.view.waiting(&list("jobs", &[])), 1);
    let popped = told.one(&worker(2), "LMOVE jobs doing LEFT LEFT", text("a"));
    assert_eq!(popped, ["jobs gave jobs-1~2"]);
    let late = told.answered(&worker(1), &asked, vec![text("a")]);
    assert_eq!(late, ["jobs gave jobs-1~1", "jobs-1~1 is back"]);
    let removed = told.one(&worker(2), "LREM doing 1 a", number(1));
    assert_eq!(removed, ["jobs-1~2 is done"]);
}

#[test]
fn a_push_that_failed_pushed_nothing() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"]))]);
    let failed = Value::Error(Bytes::from_static(b"OOM"));
    assert_eq!(told.one(&Author::Client, "LPUSH jobs a", failed), NONE);
    told.one(&Author::Client, "LPUSH jobs a", number(1));
    let popped = told.one(&worker(1), "RPOPLPUSH jobs doing", text("a"));
    assert_eq!(popped, ["jobs gave jobs-2~1"]);
}

#[test]
fn what_is_popped_and_kept_elsewhere_afterwards_is_lost_in_between() {
    let mut told = Told::of(&[("jobs", list("jobs", &["unacked"]))]);
    let body = r#"{"tag":"0190-ab","n":1}"#;
    let (one, two) = (worker(1), worker(2));
    for _ in 0..2 {
        told.one(&Author::Client, &format!("LPUSH jobs {body}"), number(1));
    }
    assert_eq!(
        told.one(&one, "BRPOP jobs 0", pair("jobs", body)),
        ["jobs gave jobs-1~1"]
    );
    assert_eq!(told.one(&one, "HSET unacked 0190-ab kept", number(1)), NONE);
    assert_eq!(
        told.one(&one, "HDEL unacked 0190-ab", number(1)),
        ["jobs-1~1 is done"]
    );
    told.one(&two, "BRPOP jobs 0", pair("jobs", body));
    assert!(matches!(told.view.orphaned("jobs-2~1"), Orphan::Lost(_)));
}

#[test]
fn who_asks_for_more_on_the_same_connection_has_kept_nothing() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"]))]);
    let one = worker(1);
    told.one(&Author::Client, "LPUSH jobs a", number(1));
    told.one(&one, "RPOP jobs", text("a"));
    let connection = ConnectionId(told.calls);
    let (call, request) = told.requested(&["BRPOP jobs 1"]);
    let reply = RedisReply {
        answers: vec![Value::Null],
        ..RedisReply::default()
    };
    let effects = told
        .view
        .answered(&one, (call, connection), &request, &reply);
    let effects: Vec<String> = effects.iter().map(shown).collect();
    assert_eq!(effects, ["jobs-1~1 is done"]);
}

#[test]
fn an_element_at_two_places_is_done_when_it_has_left_both() {
    let mut told = Told::of(&[("jobs", list("jobs", &["jobs:between", "wip"]))]);
    let one = worker(1);
    told.one(&Author::Client, "RPUSH jobs job-17", number(1));
    told.one(&one, "LMOVE jobs jobs:between LEFT RIGHT", text("job-17"));
    let begun = ["ZADD wip 9 job-17:try-1", "LREM jobs:between 1 job-17"];
    assert_eq!(told.does(&one, &begun, vec![number(1), number(1)]), NONE);
    assert_eq!(
        told.one(&one, "ZREM wip job-17:try-1", number(1)),
        ["jobs-1~1 is done"]
    );
}

#[test]
fn a_member_moves_from_a_set_of_delays_to_a_list() {
    let later = queue(
        Kind::Sorted {
            key: "later".to_owned(),
            claim: None,
        },
        &[],
    );
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"])), ("later", later)]);
    let one = worker(1);
    assert_eq!(
        told.one(&Author::Client, "ZADD later 5 a", number(1)),
        ["later got later-1"]
    );
    assert_eq!(told.one(&Author::Client, "ZADD later 6 a", number(0)), NONE);
    let moved = told.does(
        &one,
        &["ZREM later a", "LPUSH jobs a"],
        vec![number(1), number(1)],
    );
    assert_eq!(moved, ["jobs got later-1"]);
    assert_eq!(
        told.one(&one, "RPOPLPUSH jobs doing", text("a")),
        ["jobs gave later-1~1"]
    );
    // Taken out alone, it is in nobody's keys.
    told.one(&Author::Client, "ZADD later 5 b", number(1));
    let taken = told.one(&one, "ZREM later b", number(1));
    assert_eq!(taken, ["later gave later-2~1", "later-2~1 is done"]);
}

#[test]
fn a_claimed_member_stays_in_its_set_until_it_is_done() {
    let claim = Some(KeyPattern::parse("in-progress:{job}").unwrap());
    let key = "arq:queue".to_owned();
    let mut told = Told::of(&[("jobs", queue(Kind::Sorted { key, claim }, &[]))]);
    let (one, two) = (worker(1), worker(2));
    told.does(
        &Author::Client,
        &["PSETEX job:j1 9 x", "ZADD arq:queue 5 j1"],
        vec![status("OK"), number(1)],
    );
    let claimed = told.one(&one, "PSETEX in-progress:j1 9 1", status("OK"));
    assert_eq!(claimed, ["arq:queue gave arq:queue-1~1"]);
    let Orphan::Ask(words) = told.view.orphaned("arq:queue-1~1") else {
        panic!()
    };
    assert_eq!(words, ["DEL", "in-progress:j1"]);
    assert_eq!(
        told.one(&two, "PSETEX in-progress:j1 9 1", status("OK")),
        ["arq:queue gave arq:queue-1~2"]
    );
    assert_eq!(
        told.one(&two, "DEL in-progress:j1", number(1)),
        ["arq:queue-1~2 is back"]
    );
    told.one(&two, "PSETEX in-progress:j1 9 1", status("OK"));
    let done = ["DEL in-progress:j1", "ZREM arq:queue j1"];
    assert_eq!(
        told.does(&two, &done, vec![number(1), number(1)]),
        ["arq:queue-1~3 is done"]
    );
}

#[test]
fn an_entry_is_a_group_s_until_it_is_acknowledged() {
    let kind = Kind::Stream {
        key: "s".to_owned(),
        group: "g".to_owned(),
    };
    let mut told = Told::of(&[("events", queue(kind, &[]))]);
    let (one, two) = (worker(1), worker(2));
    assert_eq!(
        told.one(&Author::Client, "XADD s * job a", text("1-0")),
        ["s/g got s/1-0"]
    );
    let entry = Value::List(vec![text("1-0"), pair("job", "a")]);
    let read = Value::List(vec![Value::List(vec![
        text("s"),
        Value::List(vec![entry.clone()]),
    ])]);
    let line = "XREADGROUP GROUP g c BLOCK 0 STREAMS s >";
    assert_eq!(told.one(&one, line, read.clone()), ["s/g gave s/1-0~1"]);
    assert_eq!(
        told.one(&one, "XREADGROUP GROUP other c STREAMS s >", read),
        NONE
    );
    let Orphan::Ask(words) = told.view.orphaned("s/1-0~1") else {
        panic!()
    };
    assert_eq!(words[..6], ["XCLAIM", "s", "g", "c", "0", "1-0"]);
    let claimed = Value::List(vec![
        text("0-0"),
        Value::List(vec![entry]),
        Value::List(Vec::new()),
    ]);
    assert_eq!(
        told.one(&two, "XAUTOCLAIM s g d 0 0", claimed),
        ["s/g gave s/1-0~2"]
    );
    assert_eq!(told.one(&two, "XACK s other 1-0", number(1)), NONE);
    assert_eq!(
        told.one(&two, "XACK s g 1-0", number(1)),
        ["s/1-0~2 is done"]
    );
}

#[test]
fn a_range_of_scores_takes_its_members_away() {
    let mut told = Told::of(&[("jobs", list("jobs", &["wip"]))]);
    let one = worker(1);
    for job in ["job-1", "job-2"] {
        told.one(&Author::Client, &format!("RPUSH jobs {job}"), number(1));
        told.one(&one, "LPOP jobs", text(job));
    }
    told.one(&one, "ZADD wip 10 job-1 20 job-2", number(2));
    told.one(&one, "ZADD wip XX 30 job-2", number(0));
    let cleaned = told.one(&one, "ZREMRANGEBYSCORE wip -inf (30", number(1));
    assert_eq!(cleaned, ["jobs-1~1 is done"]);
    let cleaned = told.one(&one, "ZREMRANGEBYSCORE wip 0 30", number(1));
    assert_eq!(cleaned, ["jobs-2~1 is done"]);
}

#[test]
fn what_no_wire_tells_is_said() {
    let mut told = Told::of(&[("jobs", list("jobs", &["doing"]))]);
    let one = worker(1);
    assert_eq!(
        told.one(&one, "EVALSHA abc 1 jobs", number(1)),
        ["EVALSHA of jobs is not seen"]
    );
    assert_eq!(
        told.one(&one, "LTRIM doing 0 1", status("OK")),
        ["LTRIM of jobs is not seen"]
    );
    assert_eq!(
        told.one(&one, "FLUSHALL", status("OK")),
        ["FLUSHALL of jobs is not seen"]
    );
    assert_eq!(told.one(&one, "EVALSHA abc 1 other", number(1)), NONE);
    assert_eq!(told.one(&one, "EXPIRE jobs 5", number(1)), NONE);
    assert_eq!(
        told.one(&one, "LRANGE jobs 0 -1", Value::List(Vec::new())),
        NONE
    );
}
