//! What calls do to queues that tell nothing of receipts: lists, streams, sorted sets, tables.

use bytes::Bytes;

/// What a call did to a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueEffect {
    /// It took an element.
    Sent(Item),
    /// It handed an element over, by this receipt.
    Delivered(Item, String),
    /// An element is done with: the receipt of its latest delivery, if it had one.
    Deleted(Item, String),
    /// An element was given back.
    Released(String),
    /// Something was done to a queue of which no wire tells what.
    Unseen {
        /// The queue as the manifest names it.
        queue: String,
        /// The command.
        command: String,
    },
}

/// An element of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The queue's name at its dependency.
    pub queue: String,
    /// What it is called.
    pub copy: String,
    /// What it holds.
    pub text: Bytes,
    /// Its fields, in a stream.
    pub fields: Vec<(Bytes, Bytes)>,
    /// Its own id in its stream.
    pub entry: Option<Bytes>,
}
