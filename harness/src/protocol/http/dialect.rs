//! What a protocol on top of HTTP makes of requests and replies.

use super::message::{RequestMessage, ResponseMessage};
use crate::tap::{Call, Reply, Request};

/// A request that is not passed on.
pub(crate) struct Refusal {
    /// What the client gets.
    pub(crate) response: Box<ResponseMessage>,
    /// Why, for the record.
    pub(crate) reason: String,
}

/// A protocol on top of HTTP.
pub(crate) trait Dialect: Send + Sync + 'static {
    /// Whether a long body may be passed on as it comes.
    fn may_stream(&self) -> bool {
        false
    }

    /// What a request asks for. May alter what the dependency gets.
    fn request(&self, message: &mut RequestMessage) -> Result<Request, Refusal>;

    /// What a response says. May alter what the client gets.
    fn reply(&self, call: &Call, message: &mut ResponseMessage) -> Reply;

    /// A director's reply in the protocol's form; nothing if it is no reply but a
    /// broken connection.
    fn answer(&self, reply: &Reply) -> Option<ResponseMessage>;
}

/// HTTP and nothing on top.
pub(crate) struct Plain;

impl Dialect for Plain {
    fn may_stream(&self) -> bool {
        true
    }

    fn request(&self, message: &mut RequestMessage) -> Result<Request, Refusal> {
        Ok(Request::Http(message.recorded()))
    }

    fn reply(&self, _: &Call, message: &mut ResponseMessage) -> Reply {
        Reply::Http(message.recorded())
    }

    fn answer(&self, reply: &Reply) -> Option<ResponseMessage> {
        match reply {
            Reply::Http(reply) => Some(ResponseMessage::from_recorded(reply)),
            Reply::Sqs(_) | Reply::Postgres(_) | Reply::Redis(_) | Reply::Broken { .. } => None,
        }
    }
}
