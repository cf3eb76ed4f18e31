//! The harness's own questions to a server. They go around the taps: the harness is no part
//! of the system.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;

use super::value::{Scanner, Value};
use crate::tap::wire::{Side, write};

/// How long a server on this machine may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to log in at a server, and where the rehearsal's keys are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: u32,
}

/// A connection of the harness's own.
pub(crate) struct Client {
    side: Side,
    scanner: Scanner,
}

/// A server could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It cannot be reached, or is silent.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It answered with an error.
    #[error("it answered {0}")]
    Refused(String),
}

impl Client {
    pub(crate) async fn open(address: SocketAddr, access: &Access) -> Result<Self, ClientError> {
        let stream = in_time(TcpStream::connect(address)).await?;
        stream.set_nodelay(true)?;
        let mut client = Self {
            side: Side::new(stream),
            scanner: Scanner::default(),
        };
        if let Some(password) = &access.password {
            let mut words = vec![&b"AUTH"[..]];
            words.extend(access.user.as_ref().map(String::as_bytes));
            words.push(password.as_bytes());
            client.ask(&words).await?;
        }
        if access.database > 0 {
            let database = access.database.to_string();
            client.ask(&[b"SELECT", database.as_bytes()]).await?;
        }
        Ok(client)
    }

    /// The port that it comes from.
    pub(crate) fn port(&self) -> Option<u16> {
        self.side.stream.local_addr().ok().map(|own| own.port())
    }

    pub(crate) async fn ask(&mut self, words: &[&[u8]]) -> Result<Value, ClientError> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        in_time(write(&self.side.stream, &request)).await?;
        let value = in_time(self.answer()).await?;
        match value.error() {
            Some(error) => Err(ClientError::Refused(error)),
            None => Ok(value),
        }
    }

    async fn answer(&mut self) -> io::Result<Value> {
        let strange = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            if !self.side.buffer.is_empty() {
                let found = self.scanner.frame(&self.side.buffer).map_err(strange)?;
                if let Some(length) = found {
                    let frame: Bytes = self.side.buffer.split_to(length).freeze();
                    return Value::read(&frame).map_err(strange);
                }
            }
            if self.side.fill().await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

async fn in_time<T>(doing: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    tokio::time::timeout(PATIENCE, doing).await.map_err(late)?
}
