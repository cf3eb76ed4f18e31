//! One round trip: what a segment asks for, and how far its answer has come.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{BufMut, BytesMut};

use super::columns::Columns;
use super::copied::RowReader;
use super::frame::{self, Body, Malformed, lossy};
use super::message::{Message, Target};
use super::names::{Executed, Names};
use super::segment::{End, Segment};
use super::shared::Prepared;
use super::transaction::Transaction;
use super::value;
use crate::protocol::table::{Returned, Seen};
use crate::sql::{CopyFormat, Kind, split};
use crate::tap::{PgError, PgReply, PgRequest, Statement, TransactionStatus};

/// What one connection remembers from round trip to round trip.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) names: Names,
    pub(super) transaction: Transaction,
    /// The server skips everything up to the next Sync.
    pub(super) skipping: bool,
    /// Transactions that are prepared for a second phase.
    pub(super) prepared: Prepared,
    /// The database it is in, where that is not the declared one.
    pub(super) elsewhere: Option<String>,
    /// Whether the values of rows are of interest.
    pub(super) reads_rows: bool,
    /// `standard_conforming_strings` is off.
    backslashes: bool,
}

impl Session {
    /// Takes note of a `ParameterStatus`.
    pub(super) fn parameter(&mut self, body: &[u8]) {
        let mut body = Body::new(b'S', body);
        if let (Ok(b"standard_conforming_strings"), Ok(value)) =
            (body.text("the name"), body.text("the value"))
        {
            self.backslashes = value == b"off";
        }
    }
}

/// One message of a segment that the server answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Parse,
    Bind,
    Close,
    DescribeStatement(Vec<u8>),
    DescribePortal,
    Execute(Executed),
    /// A simple query with the statements that it executes.
    Query(VecDeque<Executed>),
    Function(Executed),
    Sync,
}

impl Step {
    /// The tag of the frame that completes it.
    fn answer(&self) -> u8 {
        match self {
            Self::Parse => b'1',
            Self::Bind => b'2',
            Self::Close => b'3',
            Self::DescribeStatement(_) => b't',
            Self::DescribePortal => b'n',
            Self::Execute(_) => b'C',
            Self::Query(_) => b'Q',
            Self::Function(_) => b'V',
            Self::Sync => b'Z',
        }
    }
}

/// Whether more of an answer is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// The server awaits the rows of a COPY from the client.
    CopyIn,
    Whole,
}

/// A segment on its way.
#[derive(Debug)]
pub(super) struct RoundTrip {
    pub(super) end: End,
    /// What is yet to be answered; the first is the step numbered `answered`.
    steps: VecDeque<Step>,
    answered: usize,
    /// The tags that a successful answer would begin its parts with.
    shape: Vec<u8>,
    tags: Vec<String>,
    error: Option<PgError>,
    durable: Vec<Statement>,
    status: Option<TransactionStatus>,
    /// The rows of the COPY that is under way.
    rows: Option<RowReader>,
    /// What the rows that come consist of.
    columns: Option<Columns>,
    returned: Returned,
    whole: bool,
}

impl RoundTrip {
    /// Resolves a segment's messages against the session.
    pub(super) fn begin(segment: &Segment, session: &mut Session) -> Result<Self, Malformed> {
        let names = &mut session.names;
        names.begin_segment();
        let mut steps = VecDeque::new();
        let mut shape = Vec::with_capacity(8);
        for message in segment.messages() {
            let message = message?;
            if session.skipping && message != Message::Sync {
                continue;
            }
            let step = steps.len();
            steps.push_back(match message {
                Message::Parse { name, sql, oids } => {
                    names.parse(step, name, sql, oids);
                    Step::Parse
                }
                Message::Bind {
                    portal,
                    statement,
                    values,
                    formats,
                } => {
                    names.bind(step, portal, statement, &values, formats);
                    Step::Bind
                }
                Message::Close { target, name } => {
                    names.close(step, target, name);
                    Step::Close
                }
                Message::Describe {
                    target: Target::Statement,
                    name,
                } => Step::DescribeStatement(name.to_vec()),
                Message::Describe {
                    target: Target::Portal,
                    ..
                } => Step::DescribePortal,
                Message::Execute { portal } => Step::Execute(names.executed(portal)),
                Message::Query { sql } => {
                    let text = String::from_utf8_lossy(sql);
                    let statements = split(&text, !session.backslashes);
                    Step::Query(names.simple(statements.into_iter()))
                }
                Message::Function { oid, values } => {
                    let binds = values.into_iter().map(|read| value::read(0, read));
                    let what = format!("(function {oid})");
                    Step::Function(Executed::unknown(what, binds.collect()))
                }
                Message::Sync => Step::Sync,
                Message::Other => continue,
            });
            shape.extend(steps.back().map(Step::answer));
        }
        // A Terminate is never answered, nor is anything that the server skips.
        let whole = steps.is_empty() || segment.end == End::Terminate;
        Ok(Self {
            end: segment.end,
            steps,
            answered: 0,
            shape,
            tags: Vec::new(),
            error: None,
            durable: Vec::new(),
            status: None,
            rows: None,
            columns: None,
            returned: Returned::default(),
            whole,
        })
    }

    /// An answer without rows that reports success with these command tags.
    pub(super) fn success(&self, reply: &PgReply) -> BytesMut {
        let mut answer = BytesMut::new();
        let mut tags = reply.tags.iter().map(String::as_str);
        let put_tag = |answer: &mut BytesMut, tag: &str| {
            frame::put(answer, b'C', |body| frame::put_text(body, tag));
        };
        for part in &self.shape {
            match part {
                b't' => {
                    frame::put(&mut answer, b't', |body| body.put_u16(0));
                    frame::put(&mut answer, b'n', |_| {});
                }
                b'C' => put_tag(&mut answer, tags.next().unwrap_or_default()),
                b'Q' => tags.by_ref().for_each(|tag| put_tag(&mut answer, tag)),
                b'V' => frame::put(&mut answer, b'V', |body| body.put_i32(-1)),
                b'Z' => {}
                tag => frame::put(&mut answer, *tag, |_| {}),
            }
        }
        if self.end != End::Flush {
            frame::put_ready(&mut answer, reply.status);
        }
        answer
    }

    /// What a director is asked about, unless nothing is executed.
    pub(super) fn request(&self, session: &Session) -> Option<PgRequest> {
        let transaction = &session.transaction;
        let ends = self.end != End::Flush;
        let statements: Vec<_> = self.executed().map(|it| it.statement.clone()).collect();
        let ends_implicit = self.end == End::Sync && transaction.awaits_sync() && !session.skipping;
        if (statements.is_empty() && !ends_implicit) || self.end == End::Terminate {
            return None;
        }
        let second_phase = self.executed().filter_map(|it| match &it.kind {
            Kind::CommitPrepared(name) => Some(session.prepared.get(name)),
            _ => None,
        });
        Some(PgRequest {
            statements,
            transaction: transaction
                .executed()
                .cloned()
                .chain(second_phase.flatten())
                .collect(),
            commits: transaction.commits(self.executed().map(|it| &it.kind), ends),
            elsewhere: session.elsewhere.clone(),
        })
    }

    /// It goes on up to a Sync, which was to be a round trip of its own.
    pub(super) fn synced(&mut self) {
        self.end = End::Sync;
        self.steps.push_back(Step::Sync);
    }

    /// Rows of the COPY that is under way go by.
    pub(super) fn copying(&mut self, rows: &[u8]) {
        if let Some(reader) = &mut self.rows {
            reader.push(rows);
        }
    }

    /// What it executes, in order.
    pub(super) fn executed(&self) -> impl Iterator<Item = &Executed> {
        self.steps.iter().flat_map(|step| match step {
            Step::Execute(executed) | Step::Function(executed) => {
                std::slice::from_ref(executed).iter().chain(&[])
            }
            Step::Query(statements) => {
                let (front, back) = statements.as_slices();
                front.iter().chain(back)
            }
            _ => [].iter().chain(&[]),
        })
    }

    /// The server is about to get it: a simple query takes the unnamed statement's place.
    pub(super) fn forwarded(&self, session: &mut Session) {
        if self.steps.iter().any(|step| matches!(step, Step::Query(_))) {
            session.names.simple_query();
        }
    }

    /// Whether no more of an answer is to come.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Takes note of one frame of the answer.
    pub(super) fn frame(
        &mut self,
        tag: u8,
        body: &[u8],
        session: &mut Session,
    ) -> Result<Progress, Malformed> {
        let progress = self.note(tag, body, session)?;
        self.whole |= progress == Progress::Whole;
        Ok(progress)
    }

    fn note(&mut self, tag: u8, body: &[u8], session: &mut Session) -> Result<Progress, Malformed> {
        if session.reads_rows {
            self.read_rows(tag, body, session)?;
        }
        match (tag, self.steps.front_mut()) {
            (b'D', Some(Step::Execute(executed))) => {
                executed.returned += 1;
                return Ok(Progress::More);
            }
            (b'D' | b'd' | b'A' | b'N', _) => return Ok(Progress::More),
            (b'S', _) => session.parameter(body),
            (b'1', Some(Step::Parse))
            | (b'2', Some(Step::Bind))
            | (b'3', Some(Step::Close))
            | (b'T' | b'n', Some(Step::DescribeStatement(_) | Step::DescribePortal))
            | (b'I' | b's', Some(Step::Execute(_))) => {
                let suspended = tag == b's';
                if let (Some(Step::Execute(executed)), true) = (self.advance(), suspended) {
                    session.transaction.suspended(executed);
                }
            }
            (b't', Some(Step::DescribeStatement(name))) => {
                let mut body = Body::new(tag, body);
                let count = body.u16("the count of types")?;
                let oids = (0..count)
                    .map(|_| body.u32("a type"))
                    .collect::<Result<_, Malformed>>()?;
                session.names.described(name, oids);
            }
            (b'C', _) => {
                let tag = lossy(Body::new(tag, body).text("the command tag")?);
                let executed = match self.steps.front_mut() {
                    Some(Step::Query(statements)) => statements.pop_front(),
                    Some(Step::Execute(_)) => match self.advance() {
                        Some(Step::Execute(executed)) => Some(executed),
                        _ => None,
                    },
                    _ => None,
                };
                if let Some(mut executed) = executed {
                    let rows = self.rows.take().map(RowReader::finish);
                    executed.statement.copied = rows.map(Arc::new);
                    self.completed(executed, &tag, session);
                }
                self.tags.push(tag);
            }
            (b'V', Some(Step::Function(executed))) => {
                let executed = executed.clone();
                self.completed(executed, "", session);
            }
            (b'G', step) => {
                let format = match step {
                    Some(Step::Execute(executed)) => copy_format(&executed.kind),
                    Some(Step::Query(statements)) => {
                        statements.front().and_then(|it| copy_format(&it.kind))
                    }
                    _ => None,
                };
                self.rows = format.map(RowReader::new);
                return Ok(Progress::CopyIn);
            }
            (b'W', _) => return Err(Malformed::Replication),
            (b'E', _) => return Ok(self.failed(frame::read_error(body), session)),
            (b'Z', _) => {
                let status = match Body::new(tag, body).byte("the status")? {
                    b'T' => TransactionStatus::Open,
                    b'E' => TransactionStatus::Failed,
                    _ => TransactionStatus::Idle,
                };
                self.steps.clear();
                self.status = Some(status);
                session.skipping = false;
                session
                    .transaction
                    .ready(status, self.error.is_some(), &mut self.durable);
                if status == TransactionStatus::Idle {
                    session.names.transaction_ended();
                }
                return Ok(Progress::Whole);
            }
            _ => {}
        }
        let whole = self.end == End::Flush && self.steps.is_empty();
        Ok(if whole {
            Progress::Whole
        } else {
            Progress::More
        })
    }

    /// Reads what rows consist of, and their values.
    fn read_rows(&mut self, tag: u8, body: &[u8], session: &mut Session) -> Result<(), Malformed> {
        match (tag, self.steps.front()) {
            (b'T', Some(Step::DescribeStatement(name))) => {
                session.names.described_rows(name, Columns::read(body)?);
            }
            (b'T', _) => self.columns = Some(Columns::read(body)?),
            (b'D', Some(Step::Execute(executed))) => {
                let columns = self.columns.as_ref().or(executed.columns.as_ref());
                if let Some(columns) = columns {
                    columns.values(body, &mut self.returned)?;
                }
            }
            (b'D', _) => {
                if let Some(columns) = &self.columns {
                    columns.values(body, &mut self.returned)?;
                }
            }
            (b'C' | b'n', _) => self.columns = None,
            _ => {}
        }
        Ok(())
    }

    /// What a watch over tables is told of its end.
    pub(super) fn seen(&mut self) -> Seen {
        let status = self.status.unwrap_or(TransactionStatus::Open);
        Seen {
            ended: status != TransactionStatus::Open || !self.durable.is_empty(),
            open: status == TransactionStatus::Open,
            returned: std::mem::take(&mut self.returned),
        }
    }

    fn advance(&mut self) -> Option<Step> {
        self.answered += 1;
        self.steps.pop_front()
    }

    fn completed(&mut self, executed: Executed, tag: &str, session: &mut Session) {
        session.names.completed(&executed);
        match &executed.kind {
            // A transaction that had failed is rolled back, as the tag says.
            Kind::PrepareTransaction(name) if tag != "ROLLBACK" => {
                session.prepared.put(name, session.transaction.prepared());
            }
            Kind::CommitPrepared(name) => self.durable.extend(session.prepared.take(name)),
            Kind::RollbackPrepared(name) => drop(session.prepared.take(name)),
            _ => {}
        }
        session
            .transaction
            .completed(executed, tag, &mut self.durable);
    }

    fn failed(&mut self, error: PgError, session: &mut Session) -> Progress {
        session.names.undo_from(self.answered);
        self.error.get_or_insert(error);
        // After an error the extended protocol skips up to the next Sync, whatever comes.
        let simple = matches!(self.steps.front(), Some(Step::Query(_) | Step::Function(_)));
        let has_sync = self.end == End::Sync;
        self.steps.clear();
        if simple || has_sync {
            Progress::More
        } else {
            session.skipping = true;
            Progress::Whole
        }
    }

    /// The error that was reported, if one was.
    pub(super) fn error(&self) -> Option<&PgError> {
        self.error.as_ref()
    }

    /// What is told of the answer once it is whole. Between Flush and Sync no status is
    /// reported: the transaction that Sync will end counts as open.
    pub(super) fn reply(&self) -> PgReply {
        let unreported = if self.error.is_some() {
            TransactionStatus::Failed
        } else {
            TransactionStatus::Open
        };
        PgReply {
            tags: self.tags.clone(),
            error: self.error.clone(),
            status: self.status.unwrap_or(unreported),
            durable: self.durable.clone(),
            effects: Vec::new(),
        }
    }
}

fn copy_format(kind: &Kind) -> Option<CopyFormat> {
    match kind {
        Kind::CopyIn(format) => Some(*format),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::segment::Cutter;
    use super::*;

    fn segments(mut bytes: BytesMut) -> Vec<Segment> {
        let mut cutter = Cutter::default();
        std::iter::from_fn(|| cutter.cut(&mut bytes).unwrap()).collect()
    }

    fn query(sql: &str) -> Segment {
        let mut bytes = BytesMut::new();
        frame::put(&mut bytes, b'Q', |body| frame::put_text(body, sql));
        segments(bytes).remove(0)
    }

    /// Plays a server's frames.
    fn play(round_trip: &mut RoundTrip, session: &mut Session, frames: &[(u8, &[u8])]) -> Progress {
        frames.iter().fold(Progress::More, |_, (tag, body)| {
            round_trip.frame(*tag, body, session).unwrap()
        })
    }

    #[test]
    fn an_answer_is_whole_at_ready_for_query_and_not_at_an_error() {
        let mut session = Session::default();
        let mut round_trip = RoundTrip::begin(&query("insert"), &mut session).unwrap();
        let error = b"SERROR\0C23505\0Mtaken\0\0";
        assert_eq!(
            play(&mut round_trip, &mut session, &[(b'E', error)]),
            Progress::More
        );
        assert!(!round_trip.is_whole());
        assert_eq!(
            play(&mut round_trip, &mut session, &[(b'Z', b"I")]),
            Progress::Whole
        );
        let reply = round_trip.reply();
        assert_eq!(reply.error.unwrap().code, "23505");
        assert!(reply.durable.is_empty());
    }

    #[test]
    fn a_tag_alone_makes_nothing_durable() {
        let mut session = Session::default();
        let mut round_trip = RoundTrip::begin(&query("insert"), &mut session).unwrap();
        play(&mut round_trip, &mut session, &[(b'C', b"INSERT 0 1\0")]);
        assert!(round_trip.reply().durable.is_empty());
        play(&mut round_trip, &mut session, &[(b'Z', b"I")]);
        assert_eq!(round_trip.reply().durable[0].sql, "insert".into());
    }

    #[test]
    fn strings_are_split_as_the_session_reads_them() {
        let mut session = Session::default();
        session.parameter(b"standard_conforming_strings\0off\0");
        let round_trip = RoundTrip::begin(&query(r"select '\';'"), &mut session).unwrap();
        assert_eq!(round_trip.executed().count(), 1);
    }

    proptest! {
        #[test]
        fn no_answer_makes_reading_panic(
            frames in prop::collection::vec(
                (
                    prop::sample::select(b"123ACDEGHIKNSTVZcdnst".to_vec()),
                    prop::collection::vec(any::<u8>(), 0..12),
                ),
                0..20,
            ),
            simple: bool,
        ) {
            let mut bytes = BytesMut::new();
            if simple {
                frame::put(&mut bytes, b'Q', |body| frame::put_text(body, "begin; a; commit; b"));
            } else {
                for (tag, body) in [
                    (b'P', &b"s\0commit\0\0\0"[..]),
                    (b'D', b"Ss\0"),
                    (b'B', b"\0s\0\0\0\0\0\0\0"),
                    (b'E', b"\0\0\0\0\0"),
                    (b'S', b""),
                ] {
                    frame::put(&mut bytes, tag, |into| into.put_slice(body));
                }
            }
            let mut session = Session::default();
            let segment = segments(bytes).remove(0);
            let mut round_trip = RoundTrip::begin(&segment, &mut session).unwrap();
            for (tag, body) in &frames {
                if matches!(round_trip.frame(*tag, body, &mut session), Ok(Progress::Whole)) {
                    break;
                }
            }
            let _ = (round_trip.reply(), round_trip.success(&round_trip.reply()));
        }
    }
}
