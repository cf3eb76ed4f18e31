//! A client that speaks the protocol byte by byte.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::recorder::LONG;

/// One message: tag and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(pub u8, pub Vec<u8>);

pub struct Raw {
    pub stream: TcpStream,
    /// Process id and secret, for a cancellation.
    pub key: Vec<u8>,
}

pub fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

pub fn query(sql: &str) -> Vec<u8> {
    frame(b'Q', &[sql.as_bytes(), b"\0"].concat())
}

pub fn parse(name: &str, sql: &str) -> Vec<u8> {
    frame(
        b'P',
        &[name.as_bytes(), b"\0", sql.as_bytes(), b"\0\0\0"].concat(),
    )
}

/// Text values only.
pub fn bind(statement: &str, values: &[&str]) -> Vec<u8> {
    let mut body = [b"\0", statement.as_bytes(), b"\0\0\0"].concat();
    body.extend(u16::try_from(values.len()).unwrap().to_be_bytes());
    for value in values {
        body.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    body.extend([0, 0]);
    frame(b'B', &body)
}

pub fn execute() -> Vec<u8> {
    frame(b'E', &[0, 0, 0, 0, 0])
}

pub fn sync() -> Vec<u8> {
    frame(b'S', &[])
}

pub fn flush() -> Vec<u8> {
    frame(b'H', &[])
}

pub fn startup(parameters: &[&str]) -> Vec<u8> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for parameter in parameters {
        body.extend_from_slice(parameter.as_bytes());
        body.push(0);
    }
    body.push(0);
    packet(&body)
}

pub fn packet(body: &[u8]) -> Vec<u8> {
    [
        &u32::try_from(body.len() + 4).unwrap().to_be_bytes()[..],
        body,
    ]
    .concat()
}

impl Raw {
    pub async fn open(address: SocketAddr) -> Self {
        Self {
            stream: TcpStream::connect(address).await.unwrap(),
            key: Vec::new(),
        }
    }

    /// A session in `database` of the role that needs no password.
    pub async fn session(address: SocketAddr, database: &str) -> Self {
        let mut raw = Self::open(address).await;
        raw.send(&startup(&["user", "raw", "database", database]))
            .await;
        for Message(tag, body) in raw.until(b'Z').await {
            if tag == b'K' {
                raw.key = body;
            }
        }
        raw
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next message, or nothing when the connection has ended.
    pub async fn next(&mut self) -> Option<Message> {
        let mut header = [0; 5];
        tokio::time::timeout(LONG, self.stream.read_exact(&mut header))
            .await
            .expect("a message or an end")
            .ok()?;
        let length = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(Message(header[0], body))
    }

    /// All messages up to one of this tag.
    pub async fn until(&mut self, tag: u8) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.next().await.expect("the connection goes on");
            let last = message.0 == tag;
            messages.push(message);
            if last {
                return messages;
            }
        }
    }

    /// The tags of all messages up to one of this tag.
    pub async fn tags_until(&mut self, tag: u8) -> String {
        let messages = self.until(tag).await;
        messages
            .into_iter()
            .map(|Message(tag, _)| char::from(tag))
            .collect()
    }

    /// Sends a simple query and returns the SQLSTATE of its error, if any, and the status.
    pub async fn query(&mut self, sql: &str) -> (Option<String>, char) {
        self.send(&query(sql)).await;
        self.answer().await
    }

    pub async fn answer(&mut self) -> (Option<String>, char) {
        let messages = self.until(b'Z').await;
        let error = messages
            .iter()
            .find(|message| message.0 == b'E')
            .map(sqlstate);
        (error, char::from(messages.last().unwrap().1[0]))
    }
}

pub fn sqlstate(Message(_, body): &Message) -> String {
    let fields = body.split(|byte| *byte == 0);
    let code = fields
        .filter_map(|field| field.split_first())
        .find(|(key, _)| **key == b'C');
    String::from_utf8(code.unwrap().1.to_vec()).unwrap()
}
