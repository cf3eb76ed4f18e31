//! One side of a tapped connection: a socket and what was read from it.

use std::io;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Room that is made for one read.
const READ: usize = 32 * 1024;

/// A socket with a read buffer. Reading and writing borrow different parts of it, so
/// that one never has to wait for the other.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: BytesMut,
}

impl Side {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: BytesMut::with_capacity(READ),
        }
    }

    /// Reads what is there, and waits if nothing is. Zero at the end of the stream.
    /// Dropping the future loses nothing.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        fill(&self.stream, &mut self.buffer).await
    }

    /// Reads on until the other end is gone, and says how it went. Stops reading, and
    /// waits for ever, once `limit` bytes are buffered.
    pub(crate) async fn gone(&mut self, limit: usize) -> String {
        loop {
            if self.buffer.len() >= limit {
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
