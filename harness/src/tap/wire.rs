//! One side of a tapped connection: a socket and what was read from it.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{Before, Call, ConnectionContext, Extent, Side as Boundary};

/// Room that is made for one read.
const READ: usize = 32 * 1024;

/// A socket with a read buffer. Reading and writing borrow different parts of it, so
/// that one never has to wait for the other.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: BytesMut,
    /// How the other end went away, where something that it sent goes on without it.
    pub(crate) left: Option<String>,
}

impl Side {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: BytesMut::with_capacity(READ),
            left: None,
        }
    }

    /// Reads what is there, and waits if nothing is. Zero at the end of the stream.
    /// Dropping the future loses nothing.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        fill(&self.stream, &mut self.buffer).await
    }

    /// Reads on until the other end is gone, and says how it went. Stops reading, and
    /// waits for ever, once `limit` bytes are buffered, or where that is known already.
    pub(crate) async fn gone(&mut self, limit: usize) -> String {
        loop {
            if self.buffer.len() >= limit || self.left.is_some() {
                std::future::pending::<()>().await;
            }
            match self.fill().await {
                Ok(0) => return "closed its connection".to_owned(),
                Ok(_) => {}
                Err(error) => return format!("lost its connection: {error}"),
            }
        }
    }

    /// Reads on until the other end is gone, and keeps nothing.
    pub(crate) async fn drained(&mut self) {
        loop {
            self.buffer.clear();
            if matches!(self.fill().await, Ok(0) | Err(_)) {
                return;
            }
        }
    }

    /// Tells the other end that nothing more comes. It may be gone already.
    pub(crate) async fn finish(&mut self) {
        let _ = self.stream.shutdown().await;
    }
}

/// See [`Side::fill`].
pub(crate) async fn fill(stream: &TcpStream, buffer: &mut BytesMut) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        buffer.reserve(READ);
        match stream.try_read_buf(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

/// Writes all of `bytes`.
pub(crate) async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How a stream ended, if this read was its end.
pub(crate) fn ended(read: io::Result<usize>) -> Option<String> {
    match read {
        Ok(0) => Some("closed its connection".to_owned()),
        Ok(_) => None,
        Err(error) => Some(format!("lost its connection: {error}")),
    }
}

/// Why not all was passed on to a dependency.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The gate is closed.
    GateClosed,
    /// The client left.
    Client(String),
    /// The tap is being closed.
    Closing,
}

/// What is decided on a call before its dependency gets it. A client that goes away takes a
/// call along that is held, but none that is late. Of the client no more than `ahead` is taken.
pub(crate) async fn decided(
    call: &Arc<Call>,
    context: &ConnectionContext,
    client: &mut Side,
    ahead: usize,
) -> Result<Before, Stopped> {
    let director = &context.tap.director;
    let mut decision = director.before(Arc::clone(call));
    let stopped = loop {
        tokio::select! {
            biased;
            decision = &mut decision => return Ok(decision),
            reason = client.gone(ahead) => {
                if !director.is_late(call) {
                    break Stopped::Client(reason);
                }
                client.left = Some(reason);
            }
            () = context.closing.cancelled() => break Stopped::Closing,
        }
    };
    director.abandoned(call, Boundary::Before);
    Err(stopped)
}

/// Writes to the dependency through the gate, and reads from it meanwhile: it may have to
/// be rid of an answer before it reads on. Of the client no more than `ahead` is taken.
pub(crate) async fn pass(
    bytes: &[u8],
    context: &ConnectionContext,
    upstream: &mut Side,
    client: &mut Side,
    ahead: usize,
) -> (Extent, Option<Stopped>) {
    let Side { stream, buffer, .. } = upstream;
    let stream = &*stream;
    let forwarding = context.tap.gate.forward(write(stream, bytes));
    tokio::pin!(forwarding);
    let mut reading = true;
    loop {
        tokio::select! {
            biased;
            written = &mut forwarding => return match written {
                Ok(Extent::Whole) => (Extent::Whole, None),
                Ok(extent) => (extent, Some(Stopped::GateClosed)),
                // The dependency has ended the connection. What it said before is
                // still to be read, and its end will be.
                Err(_) => (Extent::Partly, None),
            },
            read = fill(stream, buffer), if reading => reading = ended(read).is_none(),
            reason = client.gone(ahead) => {
                return (Extent::Partly, Some(Stopped::Client(reason)));
            }
            () = context.closing.cancelled() => return (Extent::Partly, Some(Stopped::Closing)),
        }
    }
}
