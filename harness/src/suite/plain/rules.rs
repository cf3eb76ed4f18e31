//! What plain sentences mean: a pattern, and the lines to write instead. What stands behind
//! a `!` is remarked. Read from above: the first that fits is taken.
//!
//! In patterns `<D>` is a dependency, `<P>` a process, `<M>` messages, `<n>` a figure, `<t>` a
//! duration, `<S>` what may be a stage, `<E>` an end, `<at>` a moment of a message, `<rows>`
//! from when and until when. In answers `{D}` is what the manifest calls it.

use crate::gherkin::StepKind::{self, Given, Then, When};

pub(super) type Rule = (&'static [StepKind], &'static str, &'static str);

/// Pieces of patterns, each with its name. A later one may stand in an earlier one.
const PIECES: [(&str, &str); 8] = [
    (
        "<rows>",
        r"(?: for (?:about |some |at least )?<t>)?(?: (?P<side>until|while|when|during|as soon as|once|after|before|from)(?: it| is| the)* (?:<S> (?:of |on |for )?<M>|<M2> (?:is |was |has |been |being |passed |gets |reaches |reached )*<S2>))?",
    ),
    (
        "<at>",
        r"(?P<side>every time|each time|whenever|while|whilst|during|when|as|at|in|on|in the middle of|(?:just |right |shortly |immediately )?before|(?:just |right |shortly |immediately )?after|once)(?: it| is| it's| has| was| the| of| still)* (?:<S> (?:of |on |for |with )?<M>|<M2> (?:is |was |has |been |being |gets |passed |reaches )*<S2>)(?P<every>,? every time|,? always|,? each time)?",
    ),
    (
        "<dying>",
        r"(?:crashe?s?|dies?|exits?|fails?|goes down|is (?:killed|terminated|crashed|stopped hard|SIGKILLed|shot)|gets killed|panics?|segfaults?|is OOM[- ]killed|runs out of memory)(?: <n> times?)?",
    ),
    (
        "<down>",
        r"(?:(?:is|goes|becomes|was|stays) (?:down|unavailable|offline|unreachable|away|gone|dead|inaccessible|not (?:available|reachable|there|up))|goes away|disappears|fails|breaks down|has an outage|cannot be reached|is not (?:available|reachable|there|up)|refuses(?: all| every| new)? connections?|drops out|cannot be connected to)",
    ),
    (
        "<silent>",
        r"(?:times out|does not (?:respond|answer|reply|react)(?: any ?more| at all)?|stops (?:responding|answering|replying)|never (?:responds|answers|replies)|is (?:unresponsive|silent|not responding)|gives no (?:answer|reply|response)|drops (?:all |every )?(?:packets|requests?))",
    ),
    (
        "<well>",
        r"(?:comes? back(?: up| online| again)?|recovers?|is (?:back|up|available|reachable|restored|online|there|well|healthy|responsive|repaired)(?: again| up| online| up again)?|heals?|becomes (?:available|reachable)(?: again)?|returns(?: to normal)?|works again|responds again|answers again|goes up(?: again)?)",
    ),
    (
        "<slow>",
        r"(?:is (?:very |really |too )?(?:slow|slowed down|laggy|delayed|overloaded|under load)(?: to (?:respond|answer))?|responds slowly|answers slowly|slows down|has (?:high |a high )?latency|lags|becomes slow|gets slow)",
    ),
    (
        "<dlq>",
        r"(?:the |a |its )?(?:dead[- ]?letters?(?:[- ]queue)?|DLQ)",
    ),
];

/// What one noun or figure looks like, by its letter. A digit behind it, where a pattern has
/// several: what they stand for is the same.
const ATOMS: [(&str, &str, &str); 7] = [
    ("D", "(?:the |our |an? )?", r"[\w-]+(?: [\w-]+)?"),
    ("P", "(?:the |our |an? |all |both |every )?", r"[\w-]+"),
    ("S", "", r"[a-z][\w-]*"),
    ("E", "", r"[a-z][a-z -]*?"),
    ("n", "", r"\d+"),
    ("t", "", r"\d+(?:\.\d+)?(?:ms|s|m|h)"),
    ("M", "", r"M\d+(?: to M\d+)?(?:, M\d+)*(?: and M\d+)?"),
];

/// A pattern without names of pieces.
pub(super) fn spelled_out(pattern: &str) -> String {
    let mut spelled = pattern.to_owned();
    for (name, piece) in PIECES {
        spelled = spelled.replace(name, piece);
    }
    // A group that a pattern names itself is no piece.
    spelled = spelled.replace("(?P<", "(?P@");
    for (name, article, form) in ATOMS {
        for digit in ["", "2", "3"] {
            let group = format!("{article}(?P@{name}{digit}>{form})");
            spelled = spelled.replace(&format!("<{name}{digit}>"), &group);
        }
    }
    spelled.replace("(?P@", "(?P<")
}

const ANY: &[StepKind] = &[];
const LOST: &str = "!that nothing is lost is judged in every scenario, without being asked";
const TWICE: &str = "!that nothing ends twice, and that no outside write is repeated, is judged in every scenario, without being asked";

pub(super) const RULES: &[Rule] = &[
    // What every scenario is judged by.
    (
        ANY,
        r"(?:no|none of the|not 1|not a single) (?:messages?|jobs?|data)? ?(?:is|are|gets?|was|were|goes|has been) (?:ever )?(?:lost|missing|forgotten|dropped)",
        LOST,
    ),
    (
        ANY,
        r"(?:nothing|none|no (?:message|job)s?) (?:is|was|gets|went|goes|disappears?|vanishes) ?(?:ever )?(?:lost|missing|forgotten|dropped)?",
        LOST,
    ),
    (
        ANY,
        r"<M> (?:is not|is never|was never|never gets|does not get|are not) (?:lost|missing|dropped|forgotten)",
        LOST,
    ),
    (
        ANY,
        r"(?:nothing|none|no (?:message|job)s?|no [\w-]+) (?:is|was|are|were|gets|has been) (?:ever )?\w+ (?:2 times|again|more than 1 time|repeatedly)",
        TWICE,
    ),
    (
        ANY,
        r"(?:there (?:is|are) )?no (?:duplicates?|double \w+|repeated \w+|duplicate \w+)(?: .*)?",
        TWICE,
    ),
    (
        ANY,
        r"(?:every|each|all(?: the)?|no) (?:messages?|jobs?) (?:is|are|was|were) \w+ (?:1 time|at most 1 time|2 times)",
        TWICE,
    ),
    (
        ANY,
        r"<M> (?:is|was|are|were) (?:not|never) (?P<verb>\w+) (?:2 times|again|more than 1 time|repeatedly)",
        "{M} ended as {E}\n!that nothing ends twice, and that no outside write is repeated, is judged in every scenario, without being asked",
    ),
    (
        ANY,
        r"<M> (?:is|was|are|were) (?P<E>processed|handled|completed|done|executed|performed|finished) (?:1 time|at most 1 time)",
        "{M} ended as {E}\n!that it ends once, and that no outside write is repeated, is judged in every scenario, without being asked",
    ),
    // Faults at a moment of a message.
    (
        ANY,
        r"<P> <dying> (?P<side>(?:just |right |shortly )?before)(?: it| is| the)* (?:delet|acknowledg|ack)\w* (?:of )?<M>",
        "the {P} is killed before {calls} of {M} once",
    ),
    (
        ANY,
        r"<P> <dying> (?P<side>(?:just |right |shortly )?after)(?: it| has| is| the)* (?:delet|acknowledg|ack)\w* (?:of )?<M>",
        "the {P} is killed after {calls} of {M} once",
    ),
    (
        ANY,
        r"<P> <dying> <at>",
        "the {P} is killed at {S} of {M} {times}",
    ),
    (
        ANY,
        r"(?:kill|crash) <P>(?: <n> times?)? <at>",
        "the {P} is killed at {S} of {M} {times}",
    ),
    (
        ANY,
        r"<M> (?:kills|crashes) <P>(?: <n> times?)?",
        "{M} carries a {kind} content\n!a kind of content that the manifest says `kills:` of dies by itself; without one, the process is killed at a stage",
    ),
    (
        ANY,
        r"<P> (?:receives|gets|is sent|is hit by|is sent a) (?:a |the )?(?:signal )?(?P<SIG>SIG[A-Z]+) <at>",
        "the {P} gets {SIG} at {S} of {M} {times}",
    ),
    (
        ANY,
        r"<P> (?:is restarted|restarts|is stopped|stops|is shut down|shuts down|is redeployed) <at>",
        "the {P} gets SIGTERM at {S} of {M} {times}",
    ),
    (
        ANY,
        r"<P> (?:is (?:paused|frozen|suspended)|hangs|freezes|gets stuck|is stuck) <at>",
        "the {P} gets SIGSTOP at {S} of {M} {times}",
    ),
    (
        ANY,
        r"<P> (?:waits|is held|is blocked|blocks) <at>",
        "the {P} is held at {S} of {M} {times}",
    ),
    (
        ANY,
        r"<P> (?:loses|lost) (?:its |the )?connection(?: to .*)? <at>",
        "the {P} loses the reply at {S} of {M} {times}",
    ),
    // Connections and networks.
    (
        ANY,
        r"(?:the )?(?:network|connections?|link|wire) (?:between|from) <P> (?:and|to) (?:the )?(?P<D>[\w-]+) (?:is|are|gets|goes) (?:cut|lost|down|broken|interrupted|partitioned|gone|dropped)<rows>",
        "the {D} swallows everything\n| of | {P} |\n{rows}",
    ),
    (
        ANY,
        r"<P> (?:cannot reach|loses|is cut off from|is partitioned from|is disconnected from) (?:its |the )?(?:connection to )?(?:the )?(?P<D>[\w-]+)<rows>",
        "the {D} swallows everything\n| of | {P} |\n{rows}",
    ),
    (
        ANY,
        r"(?:the |all )?connections? (?:to|with|of) <D> (?:is|are|gets|get) (?:lost|cut|broken|reset|dropped|closed|interrupted)<rows>",
        "the {D} resets connections\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:resets|drops|closes|loses|cuts|breaks) (?:its |the |all |every )*connections?<rows>",
        "the {D} resets connections\n{rows}",
    ),
    // A dependency is ill.
    (
        ANY,
        r"<D> <down><rows>",
        "the {D} refuses connections\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:is (?:restarted|rebooted|bounced)|restarts|reboots)<rows>",
        "the {D} dies\n{rows}\n| until | 2s |",
    ),
    (
        ANY,
        r"(?:restart|reboot|bounce) (?:the )?<D>",
        "the {D} dies\n| until | 2s |",
    ),
    (
        ANY,
        r"<D> (?:crashes|dies|is killed|is terminated|is shut down)<rows>",
        "the {D} dies\n{rows}",
    ),
    (
        ANY,
        r"(?:kill|crash|take down|shut down|stop) (?:the )?<D><rows>",
        "the {D} dies\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:freezes|is frozen|is paused|is suspended|is stopped)<rows>",
        "the {D} freezes\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:hangs|is stuck|is blocked|blocks|gets stuck)<rows>",
        "the {D} hangs\n{rows}",
    ),
    (
        ANY,
        r"<D> <silent><rows>",
        "the {D} swallows everything\n{rows}",
    ),
    (
        ANY,
        r"<D> <slow><rows>",
        "the {process} is delayed by 2s at {stage} of any message every time\n!for all calls at once: `the {dependency} hangs`, with `| until | 5s |` below it",
    ),
    (
        ANY,
        r"<D> (?:takes|needs|answers after|responds after|responds in|is delayed by|is slow by) <t>(?: to (?:answer|respond|reply))?",
        "the {process} is delayed by {t} at {stage} of any message every time\n!for all calls at once: `the {dependency} hangs`, with `| until | 5s |` below it",
    ),
    (
        ANY,
        r"<D> (?:returns|answers|responds|replies|fails|throws|gives)(?: with)?(?: an?| the)?(?: HTTP)?(?: status| code| error| response)* (?P<code>[1-5]\d\d)(?: errors?)?<rows>",
        "the {D} answers {code}\n{rows}",
    ),
    (
        ANY,
        r#"<D> (?:returns|answers|responds|replies|fails|throws|gives)(?: with)?(?: an?| the)?(?: error)? "(?P<quoted>[^"]+)"<rows>"#,
        "the {D} answers \"{quoted}\"\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:returns|answers|responds|replies|fails|throws|gives|has)(?: with)?(?: an?| the| only)?(?: internal| server| temporary| transient| HTTP)* (?:errors?|failures?|exceptions?)<rows>",
        "the {D} answers {error}\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:is (?:failing|broken|faulty|out of order)|throttles|is throttled|rate[- ]limits|is rate[- ]limited|rejects (?:all |every )?(?:requests?|calls?))(?: us)?<rows>",
        "the {D} answers {error}\n{rows}",
    ),
    (
        ANY,
        r"<D> (?:is in read[- ]only mode|rejects (?:all |every )?writes?|becomes read[- ]only|fails over|goes read[- ]only|is readonly)<rows>",
        "the {D} is read-only\n{rows}",
    ),
    (ANY, r"<D> <well>", "the {D} is well again"),
    (
        ANY,
        r"<D> <well> after <t>",
        "the {D} refuses connections\n| until | {t} |\n!how long an outage lasts stands in its own table",
    ),
    (
        ANY,
        r"<D> (?:returns|answers|responds|replies|throws|gives)(?: with)?(?: an?| the)?(?: HTTP)?(?: status| code| error| response)* (?P<code>[1-5]\d\d)(?: errors?)? (?:for|of|to) <M>",
        "the {D} answers {code}\n| for | {M} |",
    ),
    (
        ANY,
        r"<D> (?:never answers|does not answer|does not respond to|never responds to|ignores) <M>",
        "the {D} swallows everything\n| for | {M} |",
    ),
    (
        ANY,
        r"<D> (?:fails|errors)(?: the first)? <n> times?(?: for <M>)",
        "the {D} answers {error}\n| for | {M} |\n| until | {n} calls |",
    ),
    (
        ANY,
        r"<D> (?:fails|errors)(?: the first)? <n> times?",
        "the {D} answers {error}\n| until | {n} calls |",
    ),
    (
        ANY,
        r"(?:the outage|the failure|everything|the problem) (?:of <D> )?(?:is over|ends|is back|recovers|is well again|comes back)",
        "the {dependency} is well again\n!faults at stages end by `all faults are over`",
    ),
    // Processes, now.
    (
        ANY,
        r"<P> (?:is |gets )?(?:down|stopped|offline|unavailable|shut down|shuts down|goes down|is down|is shut down)(?: for <t>)?",
        "the {P} is stopped\n!nothing waits by the clock: let it be down while other things happen, then write `the {process} is started`",
    ),
    (
        ANY,
        r"<P> (?:crashes|dies|is killed|is terminated|gets killed|is crashed|exits|fails|panics|is SIGKILLed|is OOM[- ]killed|runs out of memory)",
        "the {P} is killed",
    ),
    (ANY, r"(?:kill|crash) <P>", "the {P} is killed"),
    (
        ANY,
        r"(?:restart|bounce|reboot|redeploy) <P>",
        "the {P} is restarted",
    ),
    (
        ANY,
        r"<P> (?:is (?:rebooted|bounced|redeployed)|reboots|is restarted|restarts)(?: after .*)?",
        "the {P} is restarted",
    ),
    (ANY, r"(?:stop|shut down) <P>", "the {P} is stopped"),
    (ANY, r"(?:start|boot) <P>", "the {P} is started"),
    (ANY, r"<P> <well>", "the {P} is started"),
    (
        ANY,
        r"<P> (?:is (?:paused|frozen|suspended)|hangs|freezes|gets stuck|is stuck)(?: for <t>)?",
        "the {P} gets SIGSTOP\n!it stands until `the {process} goes on`",
    ),
    (
        ANY,
        r"(?:pause|freeze|suspend) <P>",
        "the {P} gets SIGSTOP\n!it stands until `the {process} goes on`",
    ),
    (
        ANY,
        r"<P> (?:is (?:resumed|continued|unpaused|unfrozen)|resumes|continues)",
        "the {P} goes on",
    ),
    (
        ANY,
        r"<P> (?:receives|gets|is sent|is hit by) (?:a |the )?(?:signal )?(?P<SIG>SIG[A-Z]+)",
        "the {P} gets {SIG}",
    ),
    // Declared messages and instances.
    (
        &[Given],
        r"(?:there (?:is|are) )?<n> (?:\w+ )?(?:messages?|jobs?|tasks?|orders?)(?: (?:is|are|in|to be) .*)?",
        "the messages {last}",
    ),
    (
        &[Given],
        r"(?:there is )?an? (?:message|job|task)(?: .*)?",
        "the messages M1",
    ),
    (
        &[Given],
        r"(?:there (?:is|are) |the )?<M>",
        "the messages {M}",
    ),
    (
        ANY,
        r"(?:there (?:is|are) )?<n> (?:running )?(?:instances? of )?<P>(?: (?:run|is running|are running|is up|are up|exist|is started|are started))?",
        "{n} instances of the {P} run",
    ),
    (
        ANY,
        r"<P> (?:runs|is running) (?:in )?<n> (?:instances|times|copies)",
        "{n} instances of the {P} run",
    ),
    (
        &[Given, When],
        r"<M> (?:is|are|has|have|contains?|carry|carries|holds?) (?:an? |the )?(?P<K>[\w-]+)(?: (?:message|content|body|payload|job|pill)s?)?",
        "{M} carries a {K} content",
    ),
    (
        &[Given, When],
        r"<M> (?:is|are|has|have|contains?|carry|carries|holds?) (?:an? |the )?[\w-]+ (?:message|content|body|payload|job|pill)s?",
        "{M} carries a {kind} content",
    ),
    (
        ANY,
        r"(?:<P> )?(?:submits?|sends?|publish(?:es)?|enqueues?|posts?|puts?) (?:all|all the|the|every|all of the|these)(?: declared)? messages?(?: .*)?",
        "all messages are submitted",
    ),
    (
        &[Given, When],
        r"(?:all|the|all the|all of the|every) messages? (?:is|are|gets?|were|was) (?:sent|published|enqueued|posted|queued|delivered to the \w+)(?: .*)?",
        "all messages are submitted",
    ),
    (
        ANY,
        r"(?:(?:the )?(?:client|user|customer|producer) )?(?:submits?|sends?|publish(?:es)?|enqueues?|posts?) <M> (?:again|2 times)",
        "the client submits {M} again",
    ),
    (
        &[Given, When],
        r"<M> (?:is|are|was) (?:submitted|sent|published|enqueued|posted) (?:again|2 times)",
        "the client submits {M} again",
    ),
    (
        ANY,
        r"(?:(?:the )?(?:client|user|customer|producer|api) )?(?:submits?|sends?|publish(?:es)?|enqueues?|posts?) <M>(?: to .*)?",
        "{M} is submitted",
    ),
    (
        &[Given, When],
        r"<M> (?:is|are|was|gets) (?:sent|published|enqueued|posted|put (?:in|on|into) the \w+)",
        "{M} is submitted",
    ),
    // Waiting.
    (
        ANY,
        r"(?:wait |sleep )(?:for )?(?:about )?(?:<t>|\d+)|<t2> pass(?:es)?|nothing happens for <t3>",
        "everything is quiet\n!nothing waits by the clock: wait for what happens, as in `M1 has passed {stage}`",
    ),
    (
        ANY,
        r"(?:wait )?(?:until |till |for )?(?:everything|all|all (?:the )?work|it|the system|processing|all processing) (?:is|has|to be|becomes?)? ?(?:done|finished|complete|completed|processed|settled|idle|over|handled|finishes|quiesced)",
        "everything is quiet",
    ),
    (
        &[Given, When],
        r"(?:wait )?(?:until |till |for )?(?:all|all the|the|every) messages? (?:is|are|have been|to be|has been) (?:processed|done|handled|finished|completed|consumed)",
        "everything is quiet",
    ),
    (
        &[Given, When],
        r"(?:wait )?(?:until |till |for )<M> (?:is|has|was|to be|reaches|has reached|is in|passes)(?: being| been| passed)* <S>",
        "{M} has passed {S}",
    ),
    (
        &[Given, When],
        r"<M> (?:is being|is now being|reaches|has reached|is in|starts|passes) <S>",
        "{M} has passed {S}",
    ),
    // Deliveries.
    (
        ANY,
        r"(?:the )?(?:visibility(?: timeout| time-out)?|lease|lock) (?:of|on|for) <M> (?:ends|expires|runs out|elapses|times out|is over)",
        "the visibility of {M} ends",
    ),
    (
        ANY,
        r"<M> (?:becomes|is) visible again",
        "the visibility of {M} ends",
    ),
    (
        &[Given, When],
        r"<M> (?:is|are|gets|was) (?:delivered|received) (?:again|2 times|a second time)|<M2> (?:is|gets) (?:redelivered|retried)(?: 1 time)?",
        "the visibility of {M} ends",
    ),
    (
        &[Given, When],
        r"(?:the )?(?:queue|broker|[\w-]+) (?:redelivers|delivers) <M>(?: again| 2 times)?",
        "the visibility of {M} ends",
    ),
    (
        &[Then],
        r"<M> (?:is|are|gets|was|were) (?:delivered|received|consumed) again|<M2> (?:is|gets|was|were) redelivered(?: 1 time)?",
        "{M} was received 2 times",
    ),
    (
        &[Then],
        r"<M> (?:is|are|gets|was|were) (?:redelivered|re-delivered|received again) <n> (?:more )?times?",
        "{M} was received {n+1} times",
    ),
    (
        &[Then],
        r"<M> (?:is|are|gets|was|were) (?:delivered|received|consumed|picked up) <n> times?",
        "{M} was received {n} times",
    ),
    (
        &[Then],
        r"<M> (?:is|are|gets|was|were) (?:retried|re-tried|tried again) <n> (?:more )?times?",
        "{M} has {n+1} {attempts}",
    ),
    (
        &[Then],
        r"(?:<M> (?:is|are|gets|was|were) (?:attempted|tried|started|processed|executed|run)|there (?:is|are|were) <n2> attempts? (?:of|for|at) <M2>) ?<n>? ?(?:times?|attempts?)?",
        "{M} has {n} {attempts}",
    ),
    (
        &[Then],
        r"<M> (?:has|had|took|needed|needs) <n> (?:attempts?|tries|retries)(?: started)?",
        "{M} has {n} {attempts}",
    ),
    (
        &[Then],
        r"<M> (?:is|was|are|were) (?:sent|published|enqueued) <n> times?",
        "{M} was sent {n} times",
    ),
    (
        &[Then],
        r"<M> (?:is|was|are|were) (?:not|never) (?:delivered|received|consumed|picked up)",
        "{M} was received 0 times",
    ),
    // Where messages end.
    (
        &[Then],
        r"<M> (?:is|was|are|were|gets|got|has been) (?:lost|missing|dropped|forgotten)",
        LOST,
    ),
    (
        &[Then],
        r"<M> (?:is|are|was|were|remains?|stays?)(?: still| left)* (?:in|on) (?:the )?[\w-]*(?: )?queue",
        "the totals are\n| left in queue | 1 |",
    ),
    (
        &[Then],
        r"<dlq> (?:contains?|has|holds?) <M>",
        "the totals are\n| dead letters | 1 |",
    ),
    (&[Then], r"<M> (?P<E>fails|fail|failed)", "{M} ended as {E}"),
    (
        ANY,
        r"<M> (?:is|was|are|were|goes|went|ends up|ended up|lands|landed|is moved|is sent|was moved)(?: in| to| into| on)? <dlq>|<M2> (?:is|was|gets) dead[- ]?lettered",
        "the totals are\n| dead letters | 1 |",
    ),
    (
        ANY,
        r"<dlq> (?:is|are|stays|remains) empty|(?:nothing|no messages?) (?:is|are|lies|goes|went)?(?: in| to| into)? ?<dlq>|there (?:is|are) no dead[- ]letters?",
        "the totals are\n| dead letters | 0 |",
    ),
    (
        ANY,
        r"<dlq> (?:contains?|has|holds?) <n> (?:messages?|jobs?|entries|entry)|there (?:is|are) <n2> (?:messages? in <dlq>|dead[- ]letters?)|<n3> messages? (?:is|are)(?: in| on)? <dlq>",
        "the totals are\n| dead letters | {n} |",
    ),
    (
        &[Then],
        r"(?:the )?[\w-]*(?: )?queue (?:is|stays) empty|(?:nothing|no messages?) (?:is|are|remains?|stays?)(?: left)?(?: in| on)? (?:the )?[\w-]*(?: )?queue",
        "the totals are\n| left in queue | 0 |",
    ),
    (
        &[Then],
        r"(?:the )?[\w-]*(?: )?queue (?:contains?|has|holds?) <n> (?:messages?|jobs?|entries|entry)|(?:there (?:is|are) )?<n2> messages? (?:is |are |remain |left )*(?:in|on) (?:the )?[\w-]*(?: )?queue",
        "the totals are\n| left in queue | {n} |",
    ),
    (
        &[Then],
        r"(?:all|the|all the|every|all (?:the )?other|the other|the others?|both) (?:messages?|jobs?|ones)? ?(?:is|are|was|were|gets?|ends? (?:up )?as) <E>",
        "M1 to M5 ended as {E}\n!name the messages that are meant",
    ),
    (
        &[Then],
        r"(?:there (?:is|are) )?<n> <E> (?:messages?|jobs?)|<n2> (?:messages?|jobs?|of them) (?:is|are|was|were|ended as|end as) <E2>",
        "the totals are\n| {T} | {n} |",
    ),
    (
        &[Then],
        r"<M> (?:is not|are not|is never|was never|never gets|does not get|never ends as) <E>",
        "{M} never passed {never}",
    ),
    (
        &[Then],
        r"<M> (?:is|are|was|were|gets|got|has|have|ends(?: up)? as|ended(?: up)? as|ends up|ended up)(?: been)? (?:successfully )?<E>",
        "{M} ended as {E}",
    ),
    (
        &[Then],
        r"<M> (?:succeeds?|succeeded|completes?|finishe[sd])(?: successfully)?",
        "{M} ended as {success}",
    ),
    // Figures of services and processes.
    (
        &[Then],
        r"<D> (?:is|was|has) (?:not|never)(?: been)? (?:called|asked|requested|invoked|contacted)",
        "the totals are\n| outside requests | 0 |",
    ),
    (
        &[Then],
        r"(?:there (?:is|are|were) )?<n> outside (?:requests?|calls?)(?: (?:is|are|was|were) (?:made|sent|seen))?",
        "the totals are\n| outside requests | {n} |",
    ),
    (
        &[Then],
        r"(?:<P>|no process|nothing) (?:did not|does not|never|is not) ?(?:crash|crashes|crashed|die|dies|died|fail|exit)",
        "!that no process dies unasked is judged in every scenario, without being asked",
    ),
    (
        &[Then],
        r"<D> (?:is|was|gets|got|receives?|received|has received|sees|saw) ?(?:called|asked|requested|invoked|contacted)? ?<n> (?:times?|requests?|calls?) (?:for|of|by|about) <M>",
        "{M} has {n} outside requests",
    ),
    (
        &[Then],
        r"<D> (?:is|was|gets|got|receives?|received|has received|sees|saw) ?(?:called|asked|requested|invoked|contacted)? ?<n> (?:times?|requests?|calls?)",
        "the totals are\n| outside requests | {n} |",
    ),
    (
        &[Then],
        r"<P> (?:is|was|has been) (?:restarted|re-started) <n> times?|<P2> restart(?:s|ed) <n2> times?",
        "the {P} was started {n+1} times",
    ),
    (
        &[Then],
        r"<P> (?:is|was|has been|gets) started <n> times?",
        "the {P} was started {n} times",
    ),
    (
        &[Then],
        r"<P> (?:is|was|has been|gets|got) killed <n> times?",
        "the {P} was killed {n} times",
    ),
    (
        &[Then],
        r"<P> (?:died|dies|crashed|crashes|has crashed|has died|failed|exited) <n> times?",
        "the {P} died {n} times by itself",
    ),
    (
        &[Then],
        r"<P> (?:exits|exit|ends|ended|terminates|terminated|exited|returns|returned) with (?:exit )?(?:code|status) (?P<code>\d+)",
        "the {P} exited with code {code}",
    ),
    (
        &[Then],
        r#"<P> (?:logs|log|prints|printed|writes|wrote|outputs|has logged) "(?P<quoted>[^"]*)"(?: .*)?"#,
        "the {P} logged \"{quoted}\"",
    ),
    (
        &[Then],
        r#"the logs? of <P> (?:contains?|has|have|shows?) "(?P<quoted>[^"]*)""#,
        "the {P} logged \"{quoted}\"",
    ),
    // Operators.
    (
        ANY,
        r"(?:the |an? )?(?:operator|admin|person) (?P<C>[\w-]+) <M>",
        "the operator runs {C} for {M}",
    ),
    (
        ANY,
        r"(?P<C>[\w-]+) <M>|<M2> (?:is|was|are) (?P<C2>[\w-]+)(?: by (?:the |an? )?operator)?",
        "the operator runs {C} for {M}",
    ),
    (
        ANY,
        r"(?:the |an? )?(?:operator|admin|person) (?P<C>[\w-]+)(?: .*)?",
        "the operator runs {C}",
    ),
];
