//! One tapped connection after its start: round trip after round trip.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};

use super::copy::{CopyIn, Within};
use super::frame::{self, HEADER, Malformed};
use super::round_trip::{Progress, RoundTrip, Session};
use super::segment::{Cutter, End, Segment};
use crate::protocol::queue::QueueEffect;
use crate::protocol::table::Watch;
use crate::tap::wire::{self, Side, Stopped, ended};
use crate::tap::{
    After, Before, Call, ConnectionContext, Discard, Extent, Reply, Request, Side as Boundary,
};

/// An answer larger than this is passed on while it still comes in. Its last part, with
/// the last command tag and `ReadyForQuery`, is held all the same.
const LARGEST_HELD: usize = 8 << 20;

/// How much a client may send ahead. Beyond, its bytes wait in its socket, and the tap
/// learns that it left only when it reads again.
const LARGEST_AHEAD: usize = 16 << 20;

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum Ending {
    /// The client left.
    Client(String),
    /// The client said that it would leave.
    Terminated,
    /// The tap is being closed.
    Closing,
    /// The dependency ended the connection.
    Upstream(String),
    /// The director wants it so.
    Discarded(Discard),
    /// The gate is closed, and the client may not notice.
    GateClosed,
    /// The client does not speak the protocol.
    Malformed(Malformed),
}

impl From<Stopped> for Ending {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::GateClosed => Self::GateClosed,
            Stopped::Client(reason) => Self::Client(reason),
            Stopped::Closing => Self::Closing,
        }
    }
}

impl From<Malformed> for Ending {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A round trip that was forwarded and whose answer is not whole, or not yet told of.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// Nothing when nothing is executed.
    pub(super) call: Option<Arc<Call>>,
    pub(super) round_trip: RoundTrip,
}

/// A tapped connection.
pub(super) struct Connection {
    pub(super) context: ConnectionContext,
    pub(super) client: Side,
    pub(super) upstream: Side,
    pub(super) session: Session,
    pub(super) outstanding: Option<Outstanding>,
    pub(super) watch: Arc<Watch>,
    /// How much of the upstream's buffer belongs to frames that were looked at.
    scanned: usize,
    cutter: Cutter,
    copy: CopyIn,
}

impl Connection {
    pub(super) fn new(
        context: ConnectionContext,
        client: Side,
        upstream: Side,
        watch: Arc<Watch>,
    ) -> Self {
        Self {
            context,
            client,
            upstream,
            session: Session::default(),
            outstanding: None,
            watch,
            scanned: 0,
            cutter: Cutter::default(),
            copy: CopyIn::default(),
        }
    }

    /// Passes round trips on until the connection ends.
    pub(super) async fn run(&mut self) -> Result<(), Ending> {
        loop {
            while let Some(segment) = self.next_segment().await? {
                self.exchange(&segment).await?;
                self.copy.end();
            }
            self.relay_asynchronous().await?;
            tokio::select! {
                biased;
                read = self.client.fill() => match read {
                    Ok(0) => return Err(Ending::Client("closed its connection".to_owned())),
                    Ok(_) => {}
                    Err(error) => {
                        return Err(Ending::Client(format!("lost its connection: {error}")));
                    }
                },
                read = self.upstream.fill() => if let Some(reason) = ended(read) {
                    return Err(self.upstream_ended(reason).await);
                },
                () = self.context.closing.cancelled() => return Err(Ending::Closing),
            }
        }
    }

    async fn next_segment(&mut self) -> Result<Option<Segment>, Ending> {
        if self.cutter.is_between_segments() && self.pass_rows_on().await? {
            return Ok(None);
        }
        Ok(self.cutter.cut(&mut self.client.buffer)?)
    }

    /// Passes on what the dependency sends while no round trip is under way.
    async fn relay_asynchronous(&mut self) -> Result<(), Ending> {
        while let Some((tag, body)) = self.next_frame()? {
            if tag == b'S' {
                self.session.parameter(&self.upstream.buffer[body]);
            }
        }
        self.deliver().await
    }

    /// Steps over the next whole frame of the dependency: its tag and where its body is.
    pub(super) fn next_frame(&mut self) -> Result<Option<(u8, std::ops::Range<usize>)>, Ending> {
        let start = self.scanned;
        match frame::first(&self.upstream.buffer[start..], frame::from_server) {
            Ok(Some((tag, length))) => {
                self.scanned += length;
                Ok(Some((tag, start + HEADER..self.scanned)))
            }
            Ok(None) => Ok(None),
            Err(malformed) => Err(not_postgres(&malformed)),
        }
    }

    /// One round trip from its request to its answer.
    async fn exchange(&mut self, segment: &Segment) -> Result<(), Ending> {
        let round_trip = RoundTrip::begin(segment, &mut self.session)?;
        let call = round_trip.request(&self.session).map(|request| {
            Arc::new(Call {
                id: self.context.tap.director.next_call(),
                author: self.context.tap.author.clone(),
                dependency: self.context.tap.dependency.clone(),
                connection: self.context.id,
                request: Request::Postgres(request),
            })
        });
        if let Some(call) = &call {
            match self.held_before(call).await? {
                Before::Forward | Before::ForwardTwice | Before::ForwardInstead(_) => {}
                Before::ForwardAgain(_) => {
                    let reason = "a database connection repeats no call";
                    self.context.tap.director.misbehaved(call, Err(reason));
                }
                Before::TakeBack => return self.take_back(segment, round_trip, call).await,
                Before::AnswerFirst(later) => {
                    return self.answer_first(segment, round_trip, call, later).await;
                }
                Before::Spoil => return self.spoil(segment, round_trip, call).await,
                Before::Discard(discard) => return Err(Ending::Discarded(discard)),
                Before::Answer(Reply::Postgres(reply)) => {
                    self.session.names.undo_from(0);
                    return self.answer(round_trip, &reply).await;
                }
                // Another protocol's reply says nothing that this client would understand.
                Before::Answer(_) => return Err(Ending::Discarded(Discard::Close)),
            }
        }
        self.pass_on(segment, segment.bytes.clone(), round_trip, call)
            .await
    }

    /// Forwards a round trip and delivers what is answered.
    pub(super) async fn pass_on(
        &mut self,
        segment: &Segment,
        bytes: Bytes,
        round_trip: RoundTrip,
        call: Option<Arc<Call>>,
    ) -> Result<(), Ending> {
        self.send(bytes, round_trip, call).await?;
        if let Some(reason) = self.client.left.take() {
            return Err(Ending::Client(reason));
        }
        if segment.end == End::Terminate {
            self.outstanding = None;
            return Err(Ending::Terminated);
        }
        self.receive().await?;
        let Some(Outstanding {
            call,
            mut round_trip,
        }) = self.outstanding.take()
        else {
            return Ok(());
        };
        if let Some(call) = call {
            let mut reply = round_trip.reply();
            reply.effects = tell(&self.watch, &self.context, &call, &mut round_trip).await;
            let reply = Reply::Postgres(reply);
            match self.held_after(&call, reply).await? {
                After::Deliver => {}
                After::Discard(discard) => return Err(Ending::Discarded(discard)),
                After::Replace(Reply::Postgres(reply)) => {
                    return self.replace(&round_trip, &reply).await;
                }
                After::Replace(_) => return Err(Ending::Discarded(Discard::Close)),
            }
        }
        self.deliver().await
    }

    async fn held_before(&mut self, call: &Arc<Call>) -> Result<Before, Ending> {
        let decided = wire::decided(call, &self.context, &mut self.client, LARGEST_AHEAD);
        decided.await.map_err(Ending::from)
    }

    pub(super) async fn held_after(
        &mut self,
        call: &Arc<Call>,
        reply: Reply,
    ) -> Result<After, Ending> {
        let director = &self.context.tap.director;
        let decision = director.after(Arc::clone(call), Arc::new(reply), true);
        let ending = tokio::select! {
            biased;
            decision = decision => return Ok(decision),
            reason = self.client.gone(LARGEST_AHEAD) => Ending::Client(reason),
            () = self.context.closing.cancelled() => Ending::Closing,
        };
        director.abandoned(call, Boundary::After);
        Err(ending)
    }

    /// Forwards a round trip, which is outstanding from then on.
    pub(super) async fn send(
        &mut self,
        bytes: Bytes,
        round_trip: RoundTrip,
        call: Option<Arc<Call>>,
    ) -> Result<(), Ending> {
        round_trip.forwarded(&mut self.session);
        if let Some(call) = &call {
            self.watch.sending(call);
        }
        self.outstanding = Some(Outstanding {
            call: call.clone(),
            round_trip,
        });
        let (extent, ending) = self.forward(&bytes).await;
        if let Some(call) = call {
            if extent == Extent::Nothing {
                self.watch.forget(call.id);
            }
            self.context.tap.director.forwarded(&call, extent);
        }
        if extent == Extent::Nothing {
            self.outstanding = None;
        }
        ending.map_or(Ok(()), Err)
    }

    /// Writes to the dependency through the gate.
    pub(super) async fn forward(&mut self, bytes: &[u8]) -> (Extent, Option<Ending>) {
        let (context, upstream) = (&self.context, &mut self.upstream);
        let passing = wire::pass(bytes, context, upstream, &mut self.client, LARGEST_AHEAD);
        let (extent, stopped) = passing.await;
        (extent, stopped.map(Ending::from))
    }

    /// Reads until the outstanding answer is whole; it is then the scanned part of the
    /// upstream's buffer.
    pub(super) async fn receive(&mut self) -> Result<(), Ending> {
        loop {
            match self.scan().await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(Ending::Upstream(reason)) => return Err(self.broken(reason).await),
                Err(ending) => return Err(ending),
            }
            let copying = self.pass_rows_on().await?;
            tokio::select! {
                biased;
                read = self.upstream.fill() => if let Some(reason) = ended(read) {
                    return Err(self.broken(reason).await);
                },
                left = left(&mut self.client, copying) => if let Some(reason) = left {
                    return Err(Ending::Client(reason));
                },
                () = self.context.closing.cancelled() => return Err(Ending::Closing),
            }
        }
    }

    /// Looks at the frames that came in. True once the outstanding answer is whole.
    async fn scan(&mut self) -> Result<bool, Ending> {
        loop {
            if self
                .outstanding
                .as_ref()
                .is_none_or(|it| it.round_trip.is_whole())
            {
                return Ok(true);
            }
            let Some((tag, body)) = self.next_frame()? else {
                return Ok(false);
            };
            let Some(outstanding) = &mut self.outstanding else {
                return Ok(true);
            };
            let progress = outstanding
                .round_trip
                .frame(tag, &self.upstream.buffer[body], &mut self.session)
                .map_err(|malformed| not_postgres(&malformed))?;
            match progress {
                Progress::Whole => return Ok(true),
                Progress::CopyIn => {
                    // The client sends its rows only when it has seen this.
                    self.copy.begin();
                    self.deliver().await?;
                }
                Progress::More if matches!(tag, b'D' | b'd') && self.scanned > LARGEST_HELD => {
                    self.deliver().await?;
                }
                Progress::More => {}
            }
        }
    }

    /// Passes the rows of a COPY on. False while no more of them are to come.
    async fn pass_rows_on(&mut self) -> Result<bool, Ending> {
        loop {
            let taken = match &mut self.outstanding {
                Some(Outstanding { round_trip, .. }) => {
                    let within = Within {
                        end: round_trip.end,
                        failed: round_trip.error().is_some(),
                    };
                    let row = |bytes: &[u8]| round_trip.copying(bytes);
                    self.copy.take(&mut self.client.buffer, Some(within), row)
                }
                None => self.copy.take(&mut self.client.buffer, None, |_| {}),
            };
            let Some(piece) = taken? else {
                return Ok(self.copy.is_open());
            };
            if let (true, Some(outstanding)) = (piece.synced, &mut self.outstanding) {
                outstanding.round_trip.synced();
            }
            // More may come in meanwhile, which nothing but this loop would look at.
            if let (_, Some(ending)) = self.forward(&piece.bytes).await {
                return Err(ending);
            }
            if piece.terminated {
                return Err(Ending::Terminated);
            }
        }
    }

    /// The dependency ended the connection in the middle of a round trip.
    async fn broken(&mut self, reason: String) -> Ending {
        let Some(Outstanding {
            call, round_trip, ..
        }) = self.outstanding.take()
        else {
            return self.upstream_ended(reason).await;
        };
        let reason = match round_trip.error() {
            Some(error) => format!("{reason} ({} {})", error.code, error.message),
            None => reason,
        };
        if let Some(call) = call {
            match self
                .held_after(
                    &call,
                    Reply::Broken {
                        reason: reason.clone(),
                    },
                )
                .await
            {
                Ok(After::Deliver) => {}
                Ok(After::Discard(discard)) => return Ending::Discarded(discard),
                Ok(After::Replace(reply)) => {
                    self.upstream.buffer.clear();
                    if let Reply::Postgres(crate::tap::PgReply {
                        error: Some(error), ..
                    }) = reply
                    {
                        frame::put_error(&mut self.upstream.buffer, "FATAL", &error);
                    }
                }
                Err(ending) => return ending,
            }
        }
        self.upstream_ended(reason).await
    }

    /// Delivers the dependency's last bytes.
    pub(super) async fn upstream_ended(&mut self, reason: String) -> Ending {
        self.scanned = self.upstream.buffer.len();
        match self.deliver().await {
            Ok(()) => Ending::Upstream(reason),
            Err(ending) => ending,
        }
    }

    /// Delivers the scanned part of the upstream's buffer.
    pub(super) async fn deliver(&mut self) -> Result<(), Ending> {
        if self.scanned == 0 {
            return Ok(());
        }
        let delivered = tokio::select! {
            biased;
            written = wire::write(&self.client.stream, &self.upstream.buffer[..self.scanned]) => {
                written.map_err(|error| Ending::Client(format!("lost its connection: {error}")))
            }
            () = self.context.closing.cancelled() => Err(Ending::Closing),
        };
        self.upstream.buffer.advance(self.scanned);
        self.scanned = 0;
        delivered
    }

    /// Gives up what was looked at and not delivered.
    pub(super) fn forget_scanned(&mut self) {
        self.upstream.buffer.advance(self.scanned);
        self.scanned = 0;
    }

    /// The part that was looked at, which is delivered no more.
    pub(super) fn take_scanned(&mut self) -> BytesMut {
        self.upstream
            .buffer
            .split_to(std::mem::take(&mut self.scanned))
    }

    /// Delivers `answer` in place of the scanned part, of which only what belongs to no
    /// round trip is kept.
    pub(super) async fn deliver_instead(&mut self, answer: &[u8]) -> Result<(), Ending> {
        let mut bytes = frame::asynchronous(&self.upstream.buffer[..self.scanned]);
        bytes.extend_from_slice(answer);
        let rest = self.upstream.buffer.split_off(self.scanned);
        self.upstream.buffer = BytesMut::from(bytes.as_slice());
        self.scanned = self.upstream.buffer.len();
        self.upstream.buffer.unsplit(rest);
        self.deliver().await
    }
}

/// What a call that was answered did to tables that are queues; what others did is told for
/// them.
pub(super) async fn tell(
    watch: &Watch,
    context: &ConnectionContext,
    call: &Arc<Call>,
    round_trip: &mut RoundTrip,
) -> Vec<QueueEffect> {
    if !watch.is_needed() {
        return Vec::new();
    }
    let mut own = Vec::new();
    for (by, effects) in watch.answered(call, round_trip.seen()).await {
        if by.id == call.id {
            own.extend(effects);
        } else {
            context.tap.director.queue_effects(&by, &effects);
        }
    }
    own
}

/// Waits until the client has left, or, with `copying`, until it has sent something.
async fn left(client: &mut Side, copying: bool) -> Option<String> {
    if copying {
        ended(client.fill().await)
    } else {
        Some(client.gone(LARGEST_AHEAD).await)
    }
}

fn not_postgres(malformed: &Malformed) -> Ending {
    Ending::Upstream(format!("does not speak PostgreSQL: {malformed}"))
}
