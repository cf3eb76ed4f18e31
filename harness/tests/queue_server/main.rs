//! The embedded queue server as its clients meet it: through the SDK, through bare
//! sockets, and across a kill.

mod admin;
mod client;
mod journal;
mod leaving;
mod sdk;
mod serve;
mod wire;
