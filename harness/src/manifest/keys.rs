//! Every key that may stand in a manifest, table by table. The readers take their keys
//! from here, and a test holds `docs/manifest.md` against it.

use super::suggestion::nearest;

/// The keys of one kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    /// What the table is, as messages and the reference call it.
    pub(super) table: &'static str,
    /// All it may hold.
    pub(super) keys: &'static [&'static str],
}

impl Keys {
    /// The key that was probably meant by one that there is not.
    pub(super) fn meant(self, written: &str) -> Option<&'static str> {
        let known = || self.keys.iter().copied();
        let nearest = nearest(written, known())?;
        known().find(|key| *key == nearest && *key != written)
    }
}

macro_rules! tables {
    ($($name:ident: $table:literal = $($key:literal)*;)*) => {
        $(pub(super) const $name: Keys = Keys { table: $table, keys: &[$($key),*] };)*

        /// Every table.
        pub(super) const ALL: &[Keys] = &[$($name),*];
    };
}

tables! {
    ROOT: "manifest" = "version" "name" "build" "prepare" "dependencies" "processes"
        "settings" "messages" "stages" "totals" "terminal" "replay" "order" "resting" "attempts" "operator"
        "observations" "background" "consumption" "findings" "explore" "defects" "limits" "driver" "profiles";
    COMMAND: "command" = "command" "environment";
    DEPENDENCY: "dependency" = "protocol" "provide" "process" "url" "image" "port"
        "environment" "allow_external" "queues" "routes";
    QUEUE: "queue" = "attributes" "dead_letter" "consumed";
    REDIS_QUEUE: "queue of Redis" = "list" "stream" "sorted_set" "group" "processing" "claim"
        "dead_letter";
    TABLE_QUEUE: "queue of PostgreSQL" = "uses" "table" "id" "where" "waiting" "in_hand" "due" "claim"
        "calls" "put" "expire" "dead_letter";
    DEAD_LETTER: "dead_letter" = "queue" "max_receives" "attempts" "setbacks";
    ROUTE: "route" = "on" "write" "store" "job" "group" "idempotency" "reply" "replies";
    IDEMPOTENCY: "idempotency" = "header";
    REPLY: "reply" = "status" "body";
    REPLY_BODY: "reply body" = "text";
    PLACE: "place" = "body" "header" "attribute" "path" "key";
    SETTING: "setting" = "default" "doc";
    PROCESS: "process" = "command" "environment" "instances" "listens" "ready" "restart"
        "consumes" "ready_within" "stop_within" "memory" "container";
    RESTART: "restart" = "after";
    CONTAINER: "container" = "image" "cpus" "address";
    READY: "ready" = "http" "call" "output";
    CALL: "call" = "dependency" "statement" "transaction" "row" "becomes" "action" "queue" "request"
        "command" "key";
    BACKGROUND: "background" = "process" "dependency" "statement" "transaction" "row" "becomes" "action"
        "queue" "request" "command" "key" "backlog" "settle";
    BACKLOG: "backlog" = "dependency" "query" "command" "environment" "process" "request" "json";
    CONSUMPTION: "consumption" = "process" "mode" "ownerless" "in_hand" "normal" "rests" "paused" "resumed" "stopped"
        "probes";
    MESSAGES: "messages" = "submit" "recognise" "kinds";
    SUBMIT: "submit" = "process" "queue" "request" "headers" "body" "job" "durable";
    BIND: "bind" = "statement" "bind";
    KIND: "kind" = "content" "type" "kills";
    STAGE: "stage" = "process" "before" "after" "checkpoint" "capture" "makes" "fleet" "doc";
    CAPTURE: "capture" = "statement" "bind" "body" "header" "attribute" "path" "key";
    TOTAL: "total" = "witness" "claim" "labels" "always";
    WITNESS: "witness" = "add" "subtract" "distinct" "by";
    CLAIM: "claim" = "dependency" "query";
    TERMINAL: "terminal" = "stage" "requires_write" "observation" "reads";
    ORDER: "order" = "stage" "after";
    ATTEMPTS: "attempts" = "started" "exhausted";
    EXHAUSTED: "exhausted" = "end" "by" "label" "limit" "counted" "content" "last_stage";
    OBSERVATION: "observation" = "dependency" "query" "operator" "path" "base64" "process"
        "request" "json";
    PROFILE: "profile" = "tags" "name" "shard" "order" "jobs" "fail_fast" "repeat" "report" "keep"
        "reports" "real_time" "driver" "seed" "verbose" "quiet" "color";
    FINDINGS: "findings" = "two_owners" "redelivery" "finished_dead_letter";
    EXPLORE: "explore" = "allowed" "ignore";
    DEFECTS: "defects" = "build" "environment" "file" "named";
    DEFECT: "defect" = "what" "rules" "environment" "build" "prepares" "scenarios";
    LIMITS: "limits" = "step" "scenario" "quiet" "linger" "hidden" "build";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_explains_every_key_of_every_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manifest.md");
        let reference = std::fs::read_to_string(path).unwrap();
        for keys in ALL {
            let heading = format!(": `{}`", keys.table);
            let section = reference
                .split("\n## ")
                .find(|section| {
                    section
                        .lines()
                        .next()
                        .is_some_and(|line| line.ends_with(&heading))
                })
                .unwrap_or_else(|| panic!("docs/manifest.md has no section {heading}"));
            for key in keys.keys {
                assert!(
                    section
                        .lines()
                        .any(|line| line.starts_with(&format!("| `{key}` |"))),
                    "docs/manifest.md does not explain `{key}` in {heading}"
                );
            }
        }
    }
}
