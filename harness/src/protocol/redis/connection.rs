//! One tapped connection: command after command, each with its answer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;

use super::call::{RedisReply, RedisRequest};
use super::command::{Command, Commands};
use super::session::{Class, Session};
use super::value::{Malformed, Scanner, Value};
use super::view::View;
use crate::tap::wire::{self, Side, Stopped, ended};
use crate::tap::{
    After, Before, Call, ConnectionContext, Director, Discard, Extent, Reply, Request,
    Side as Boundary,
};

/// How much a client may send ahead. Beyond, its bytes wait in its socket, and the tap
/// learns that it left only when it reads again.
const LARGEST_AHEAD: usize = 16 << 20;

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum Ending {
    /// The client left.
    Client(String),
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

/// A tapped connection.
pub(super) struct Connection {
    pub(super) context: ConnectionContext,
    pub(super) client: Side,
    pub(super) upstream: Side,
    pub(super) session: Session,
    pub(super) scanner: Scanner,
    /// A call that was forwarded, and whose answer was not seen yet.
    pub(super) outstanding: Option<Arc<Call>>,
    pub(super) view: Arc<View>,
    commands: Commands,
}

/// Serves one connection to its end on both sides; returns the reason of the end.
pub(super) async fn serve(
    client: TcpStream,
    context: ConnectionContext,
    view: Arc<View>,
) -> String {
    let mut client = Side::new(client);
    if context.tap.gate.is_closed() {
        tokio::select! {
            () = client.drained() => {}
            () = context.closing.cancelled() => {}
        }
        return "the gate was closed".to_owned();
    }
    let upstream = tokio::select! {
        connected = TcpStream::connect(context.tap.upstream) => connected,
        reason = client.gone(LARGEST_AHEAD) => return format!("the client {reason}"),
        () = context.closing.cancelled() => return "the tap was closed".to_owned(),
    };
    let upstream = match upstream {
        Ok(upstream) => upstream,
        Err(error) => {
            // As near to a refused connection as an accepted one can come.
            let _ = client.stream.set_zero_linger();
            return format!("the dependency could not be reached: {error}");
        }
    };
    let _ = upstream.set_nodelay(true);
    if let Ok(local) = upstream.local_addr() {
        context.tap.director.reached(&context.tap.dependency, local);
    }
    let mut connection = Connection {
        context,
        client,
        upstream: Side::new(upstream),
        session: Session::default(),
        scanner: Scanner::default(),
        outstanding: None,
        view,
        commands: Commands::default(),
    };
    match connection.run().await {
        Ok(never) => match never {},
        Err(ending) => connection.end(ending).await,
    }
}

impl Connection {
    fn director(&self) -> &dyn Director {
        self.context.tap.director.as_ref()
    }

    async fn run(&mut self) -> Result<std::convert::Infallible, Ending> {
        loop {
            loop {
                let next = self.commands.next(&mut self.client.buffer);
                let Some((sent, command)) = next.map_err(Ending::Malformed)? else {
                    break;
                };
                // What a dead process left in its socket is not a call any more.
                if self.context.tap.gate.is_closed() {
                    return Err(Ending::GateClosed);
                }
                match command {
                    Some(command) => self.exchange(sent, command).await?,
                    None => self.forward(&sent).await?,
                }
            }
            // What comes without being asked for.
            while let Some((frame, value)) = self.next_frame()? {
                self.session.takes_push(&value);
                self.deliver(&frame).await?;
            }
            tokio::select! {
                biased;
                read = self.client.fill() => if let Some(reason) = ended(read) {
                    return Err(Ending::Client(reason));
                },
                read = self.upstream.fill() => if let Some(reason) = ended(read) {
                    return Err(Ending::Upstream(reason));
                },
                () = self.context.closing.cancelled() => return Err(Ending::Closing),
            }
        }
    }

    async fn exchange(&mut self, sent: Bytes, command: Command) -> Result<(), Ending> {
        match self.session.class(&command) {
            Class::Call(request) => {
                let transaction = request.transaction;
                let done = self.call(&sent, request).await;
                if transaction {
                    self.session.close_transaction();
                }
                done
            }
            Class::Aside => {
                self.forward(&sent).await?;
                let (frame, value) = self.answer().await?;
                self.session.answered(&command, &sent, &value);
                self.deliver(&frame).await
            }
            Class::Subscription => {
                self.session.subscribing(&command);
                self.forward(&sent).await
            }
            Class::Refused(reason) => {
                let refusal = RedisReply::failed(format!("ERR {reason}"));
                self.tell(&refusal).await
            }
        }
    }

    async fn call(&mut self, sent: &Bytes, request: RedisRequest) -> Result<(), Ending> {
        let transaction = request.transaction;
        let call = Arc::new(Call {
            id: self.director().next_call(),
            author: self.context.tap.author.clone(),
            dependency: self.context.tap.dependency.clone(),
            connection: self.context.id,
            request: Request::Redis(request),
        });
        match self.held_before(&call).await? {
            Before::Forward | Before::ForwardInstead(_) => {}
            Before::ForwardAgain(_) | Before::TakeBack | Before::AnswerFirst(_) | Before::Spoil => {
                let reason = "no call of Redis misbehaves so";
                self.director().misbehaved(&call, Err(reason));
            }
            Before::ForwardTwice => self.first_of_two(&call, sent, transaction).await?,
            Before::Discard(how) => return Err(Ending::Discarded(how)),
            Before::Answer(Reply::Redis(reply)) => {
                if transaction {
                    self.drop_transaction().await?;
                }
                return self.tell(&reply).await;
            }
            // Another protocol's reply says nothing that this client would understand.
            Before::Answer(_) => return Err(Ending::Discarded(Discard::Close)),
        }
        self.send(&call, sent).await?;
        if let Some(reason) = self.client.left.take() {
            return Err(Ending::Client(reason));
        }
        let (frame, value) = self.outcome().await?;
        let reply = reply_to(&call, value, &self.view);
        match self.held_after(&call, reply).await? {
            After::Deliver => self.deliver(&frame).await,
            After::Discard(how) => Err(Ending::Discarded(how)),
            After::Replace(Reply::Redis(reply)) => self.tell(&reply).await,
            After::Replace(_) => Err(Ending::Discarded(Discard::Close)),
        }
    }

    /// The copy of a call that nobody hears of.
    async fn first_of_two(
        &mut self,
        call: &Arc<Call>,
        sent: &Bytes,
        transaction: bool,
    ) -> Result<(), Ending> {
        self.send(call, sent).await?;
        let (_, value) = self.outcome().await?;
        let reply = Arc::new(reply_to(call, value, &self.view));
        self.director().after(Arc::clone(call), reply, false).await;
        if transaction {
            let (again, answers) = self.session.once_more();
            self.forward(&again).await?;
            for _ in 0..answers {
                self.answer().await?;
            }
        }
        Ok(())
    }

    /// A transaction that is not to be executed: the dependency forgets it too.
    async fn drop_transaction(&mut self) -> Result<(), Ending> {
        self.forward(b"*1\r\n$7\r\nDISCARD\r\n").await?;
        self.answer().await.map(|_| ())
    }

    async fn held_before(&mut self, call: &Arc<Call>) -> Result<Before, Ending> {
        let decided = wire::decided(call, &self.context, &mut self.client, LARGEST_AHEAD);
        decided.await.map_err(Ending::from)
    }

    async fn held_after(&mut self, call: &Arc<Call>, reply: Reply) -> Result<After, Ending> {
        let director = Arc::clone(&self.context.tap.director);
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

    /// Forwards a call, which is outstanding from then on.
    async fn send(&mut self, call: &Arc<Call>, sent: &[u8]) -> Result<(), Ending> {
        self.outstanding = Some(Arc::clone(call));
        if let Request::Redis(request) = &call.request {
            self.view.sending(&call.author, call.id, request);
        }
        let (extent, ending) = self.pass(sent).await;
        self.director().forwarded(call, extent);
        if extent == Extent::Nothing {
            self.view.unsent(call.id);
            self.outstanding = None;
        }
        ending.map_or(Ok(()), Err)
    }

    async fn forward(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        self.pass(bytes).await.1.map_or(Ok(()), Err)
    }

    /// Writes to the dependency through the gate.
    async fn pass(&mut self, bytes: &[u8]) -> (Extent, Option<Ending>) {
        let (context, upstream) = (&self.context, &mut self.upstream);
        let passing = wire::pass(bytes, context, upstream, &mut self.client, LARGEST_AHEAD);
        let (extent, stopped) = passing.await;
        (extent, stopped.map(Ending::from))
    }

    /// The answer to the outstanding call.
    async fn outcome(&mut self) -> Result<(Bytes, Value), Ending> {
        match self.answer().await {
            Ok(answer) => {
                self.outstanding = None;
                Ok(answer)
            }
            Err(Ending::Upstream(reason)) => Err(self.broken(reason).await),
            Err(ending) => Err(ending),
        }
    }

    /// Reads until an answer is whole. What is pushed meanwhile goes on.
    async fn answer(&mut self) -> Result<(Bytes, Value), Ending> {
        loop {
            while let Some((frame, value)) = self.next_frame()? {
                if !self.session.takes_push(&value) {
                    return Ok((frame, value));
                }
                self.deliver(&frame).await?;
            }
            tokio::select! {
                biased;
                read = self.upstream.fill() => if let Some(reason) = ended(read) {
                    return Err(Ending::Upstream(reason));
                },
                reason = self.client.gone(LARGEST_AHEAD) => return Err(Ending::Client(reason)),
                () = self.context.closing.cancelled() => return Err(Ending::Closing),
            }
        }
    }

    /// The dependency ended the connection while a call was outstanding.
    async fn broken(&mut self, reason: String) -> Ending {
        let Some(call) = self.outstanding.take() else {
            return Ending::Upstream(reason);
        };
        let broken = Reply::Broken {
            reason: reason.clone(),
        };
        match self.held_after(&call, broken).await {
            Ok(After::Deliver) => {}
            Ok(After::Discard(how)) => return Ending::Discarded(how),
            Ok(After::Replace(reply)) => {
                if let Reply::Redis(reply) = reply
                    && let Err(ending) = self.tell(&reply).await
                {
                    return ending;
                }
            }
            Err(ending) => return ending,
        }
        Ending::Upstream(reason)
    }

    fn next_frame(&mut self) -> Result<Option<(Bytes, Value)>, Ending> {
        next_frame(&mut self.upstream.buffer, &mut self.scanner)
    }

    /// Gives the client an answer of the harness's own.
    async fn tell(&mut self, reply: &RedisReply) -> Result<(), Ending> {
        match reply.written() {
            Some(bytes) => self.deliver(&bytes).await,
            None => Err(Ending::Discarded(Discard::Close)),
        }
    }

    async fn deliver(&mut self, frame: &[u8]) -> Result<(), Ending> {
        tokio::select! {
            biased;
            written = wire::write(&self.client.stream, frame) => {
                written.map_err(|error| Ending::Client(format!("lost its connection: {error}")))
            }
            () = self.context.closing.cancelled() => Err(Ending::Closing),
        }
    }
}

/// The next whole frame of the dependency.
pub(super) fn next_frame(
    buffer: &mut BytesMut,
    scanner: &mut Scanner,
) -> Result<Option<(Bytes, Value)>, Ending> {
    if buffer.is_empty() {
        return Ok(None);
    }
    let strange = |fault| Ending::Upstream(format!("does not speak RESP: {fault}"));
    let Some(length) = scanner.frame(buffer).map_err(strange)? else {
        return Ok(None);
    };
    let frame = buffer.split_to(length).freeze();
    let value = Value::read(&frame).map_err(strange)?;
    Ok(Some((frame, value)))
}

pub(super) fn reply_to(call: &Call, value: Value, view: &View) -> Reply {
    match &call.request {
        Request::Redis(request) => {
            let mut reply = RedisReply::of(request, value);
            reply.effects =
                view.answered(&call.author, (call.id, call.connection), request, &reply);
            Reply::Redis(reply)
        }
        _ => unreachable!("a tap makes calls of its own protocol"),
    }
}
