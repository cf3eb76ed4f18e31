//! How a connection starts: requests for encryption, cancellation, authentication.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use tokio::net::TcpStream;

use super::connection::{Connection, Ending};
use super::ending::refuse;
use super::frame::{self, Body, Malformed, lossy};
use super::shared::Shared;
use crate::sql::of_search_path;
use crate::tap::wire::{self, Side, ended};
use crate::tap::{ConnectionContext, Extent};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// The server's own bound on a startup packet.
const LONGEST: usize = 10_000;

/// The cancellation keys of one tap's connections, as the dependency gave them.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys(Arc<Mutex<HashSet<Bytes>>>);

impl Keys {
    fn add(&self, key: Bytes) -> Key {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.clone());
        Key {
            keys: self.clone(),
            key,
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(key)
    }
}

/// A key, for as long as its connection lives.
pub(super) struct Key {
    keys: Keys,
    key: Bytes,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.keys
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.key);
    }
}

/// What a client opens a connection for.
enum Opening {
    /// The whole startup packet.
    Session(Bytes),
    /// The key of the connection whose statement is to be cancelled.
    Cancel { packet: Bytes, key: Bytes },
}

/// Handles one client connection from its first byte to the end of both sides.
pub(super) async fn serve(
    client: TcpStream,
    context: ConnectionContext,
    keys: Keys,
    shared: Shared,
) -> String {
    let mut client = Side::new(client);
    let opening = tokio::select! {
        opening = open(&mut client) => opening,
        () = context.closing.cancelled() => return "the tap was closed".to_owned(),
    };
    let startup = match opening {
        Ok(Opening::Session(startup)) => startup,
        Ok(Opening::Cancel { packet, key }) => {
            return cancel(&context, &keys, &packet, &key).await;
        }
        Err(Ending::Client(reason)) => return format!("the client {reason}"),
        Err(Ending::Malformed(malformed)) => {
            refuse(&mut client, &malformed).await;
            drain(&mut client, &context).await;
            return format!("the client was refused: {malformed}");
        }
        Err(_) => return "the client left".to_owned(),
    };
    if context.tap.gate.is_closed() {
        drain(&mut client, &context).await;
        return "the gate was closed".to_owned();
    }
    let upstream = tokio::select! {
        connected = context.tap.connect() => connected,
        reason = client.gone(usize::MAX) => return format!("the client {reason}"),
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
    let mut connection =
        Connection::new(context, client, Side::new(upstream), shared.watch.clone());
    connection.session.reads_rows = shared.watch.is_needed();
    connection.session.elsewhere = shared.elsewhere(database(&startup[8..]));
    connection
        .session
        .transaction
        .begin_session(schema(&startup[8..]));
    connection.session.prepared = shared.prepared;
    let mut key = None;
    let ending = match connection.authenticate(&startup, &keys, &mut key).await {
        Ok(()) => connection.run().await,
        Err(ending) => Err(ending),
    };
    drop(key);
    match ending {
        Ok(()) => "the client left".to_owned(),
        Err(ending) => connection.end(ending).await,
    }
}

/// Reads on until the client has gone or the tap is closed.
async fn drain(client: &mut Side, context: &ConnectionContext) {
    tokio::select! {
        () = client.drained() => {}
        () = context.closing.cancelled() => {}
    }
}

/// Reads startup packets up to one that says what the connection is for.
async fn open(client: &mut Side) -> Result<Opening, Ending> {
    loop {
        let packet = loop {
            if let Some(packet) = startup_packet(&client.buffer)? {
                break client.buffer.split_to(packet).freeze();
            }
            if let Some(reason) = ended(client.fill().await) {
                return Err(Ending::Client(reason));
            }
        };
        match (&packet[4..]).get_u32() {
            SSL_REQUEST | GSS_REQUEST => wire::write(&client.stream, b"N")
                .await
                .map_err(|error| Ending::Client(format!("lost its connection: {error}")))?,
            CANCEL_REQUEST => {
                return Ok(Opening::Cancel {
                    key: packet.slice(8..),
                    packet,
                });
            }
            version => {
                check(version, &packet[8..])?;
                return Ok(Opening::Session(packet));
            }
        }
    }
}

/// The length of the startup packet at the start of `bytes`, once it is there.
fn startup_packet(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(length) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if !(8..=LONGEST).contains(&length) {
        return Err(Malformed::Startup(length));
    }
    Ok((bytes.len() >= length).then_some(length))
}

/// Refuses what a tap cannot pass on.
fn check(version: u32, parameters: &[u8]) -> Result<(), Malformed> {
    let [a, b, c, d] = version.to_be_bytes();
    let (major, minor) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    if major != 3 {
        return Err(Malformed::Version { major, minor });
    }
    let mut parameters = Body::new(b'0', parameters);
    while let (Ok(name), Ok(value)) = (
        parameters.text("a parameter's name"),
        parameters.text("a parameter's value"),
    ) {
        let off = [&b"false"[..], b"off", b"no", b"0"];
        if name == b"replication" && !off.iter().any(|off| value.eq_ignore_ascii_case(off)) {
            return Err(Malformed::Replication);
        }
    }
    Ok(())
}

/// The database that a startup packet asks for: by default it is named like the user.
fn database(parameters: &[u8]) -> Option<String> {
    let mut parameters = Body::new(b'0', parameters);
    let mut user = None;
    while let (Ok(name), Ok(value)) = (
        parameters.text("a parameter's name"),
        parameters.text("a parameter's value"),
    ) {
        match name {
            b"database" if !value.is_empty() => return Some(lossy(value)),
            b"user" => user = Some(lossy(value)),
            _ => {}
        }
    }
    user
}

/// The schema that a startup packet has tables looked for in first.
fn schema(parameters: &[u8]) -> Option<String> {
    let mut parameters = Body::new(b'0', parameters);
    let mut path = None;
    while let (Ok(name), Ok(value)) = (
        parameters.text("a parameter's name"),
        parameters.text("a parameter's value"),
    ) {
        match name {
            b"search_path" => path = Some(lossy(value)),
            b"options" => path = path.or_else(|| search_path_of(&lossy(value))),
            _ => {}
        }
    }
    of_search_path(&path?)
}

/// The search path in options as `postgres` takes them: `-c search_path=shop,public`.
fn search_path_of(options: &str) -> Option<String> {
    let (_, setting) = options.rsplit_once("search_path=")?;
    let mut path = String::new();
    let mut signs = setting.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => path.extend(signs.next()),
            ' ' => break,
            sign => path.push(sign),
        }
    }
    Some(path)
}

/// Passes a cancellation on if it is for one of this tap's own connections.
async fn cancel(context: &ConnectionContext, keys: &Keys, packet: &[u8], key: &[u8]) -> String {
    if !keys.contains(key) {
        return "a cancellation for no connection of this tap".to_owned();
    }
    if context.tap.gate.is_closed() {
        return "a cancellation at a closed gate".to_owned();
    }
    let upstream = match context.tap.connect().await {
        Ok(upstream) => upstream,
        Err(error) => return format!("the dependency could not be reached: {error}"),
    };
    let forwarded = context
        .tap
        .gate
        .forward(wire::write(&upstream, packet))
        .await;
    let mut upstream = Side::new(upstream);
    upstream.finish().await;
    // The server closes once it has signalled the other connection.
    upstream.drained().await;
    match forwarded {
        Ok(Extent::Whole) => "a cancellation was passed on".to_owned(),
        Ok(_) => "a cancellation at a closed gate".to_owned(),
        Err(error) => format!("a cancellation was lost: {error}"),
    }
}

impl Connection {
    /// Passes the start of a session on until the dependency is ready for queries. Passwords
    /// and proofs go by unread.
    async fn authenticate(
        &mut self,
        startup: &[u8],
        keys: &Keys,
        key: &mut Option<Key>,
    ) -> Result<(), Ending> {
        if let (_, Some(ending)) = self.forward(startup).await {
            return Err(ending);
        }
        loop {
            let mut ready = false;
            while let (false, Some((tag, body))) = (ready, self.next_frame()?) {
                let body = &self.upstream.buffer[body];
                match tag {
                    b'K' => {
                        if let Some(pid) = body.first_chunk::<4>() {
                            let pid = i32::from_be_bytes(*pid);
                            self.watch.serves(self.context.id, pid);
                        }
                        *key = Some(keys.add(Bytes::copy_from_slice(body)));
                    }
                    b'S' => self.session.parameter(body),
                    b'Z' => ready = true,
                    _ => {}
                }
            }
            self.deliver().await?;
            if ready {
                return Ok(());
            }
            while let Some((b'p', length)) = frame::first(&self.client.buffer, frame::from_client)?
            {
                let password = self.client.buffer.split_to(length);
                if let (_, Some(ending)) = self.forward(&password).await {
                    return Err(ending);
                }
            }
            tokio::select! {
                read = self.client.fill() => if let Some(reason) = ended(read) {
                    return Err(Ending::Client(reason));
                },
                read = self.upstream.fill() => if let Some(reason) = ended(read) {
                    return Err(self.upstream_ended(reason).await);
                },
                () = self.context.closing.cancelled() => return Err(Ending::Closing),
            }
        }
    }
}
