//! A real Postgres server, started from whatever installation can be found.
//!
//! ```text
//! Search ─▶ Installation ─▶ template data directory (made once per version)
//!                                    │ copied
//!                                    ▼
//!                  Server: loopback, password, its own PID namespace where allowed
//!                                    │ CREATE DATABASE … TEMPLATE
//!                                    ▼
//!                              one database per rehearsal
//! ```

mod account;
mod administration;
mod copy;
mod error;
mod fetch;
mod home;
mod installation;
mod search;
mod server;
mod settings;
mod template;
mod visitors;

pub use error::DatabaseError;
pub use home::usual_bases;
pub use installation::{Installation, Origin, Version};
pub use search::Search;
pub use server::{Server, ServerOptions};
pub use template::remove_templates;
pub use visitors::Visitor;

/// Gets a line for the terminal when something happens that takes long.
pub type Tell = std::sync::Arc<dyn Fn(&str) + Send + Sync>;
