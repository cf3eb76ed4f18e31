//! How the server is set up, and why.

use super::installation::Version;

/// `postgresql.conf`.
///
/// What a client was told is durable must survive a SIGKILL of the server, though not
/// of the machine: hence no `fsync`, but `synchronous_commit` and full pages (a write of
/// two memory pages can be cut in the middle by SIGKILL).
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "'127.0.0.1'"),
    ("unix_socket_directories", "''"),
    ("password_encryption", "'scram-sha-256'"),
    ("max_connections", "600"),
    ("max_prepared_transactions", "50"),
    ("shared_buffers", "'64MB'"),
    // Its segments would outlive a killed server in /dev/shm; files in the data
    // directory go with it.
    ("dynamic_shared_memory_type", "mmap"),
    ("fsync", "off"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_wal_size", "'256MB'"),
    ("checkpoint_timeout", "'1h'"),
    // Sessions of a killed client that waits for a lock: without it their statement
    // still takes effect once the lock is free.
    ("client_connection_check_interval", "'100ms'"),
    // Sessions of a client that was stopped for good.
    ("idle_in_transaction_session_timeout", "'60s'"),
    // Would take locks at times that no scenario ordered.
    ("autovacuum", "off"),
    ("jit", "off"),
    ("logging_collector", "off"),
    ("log_checkpoints", "off"),
    // Who came: `visitors` reads it.
    ("log_connections", "on"),
    ("log_line_prefix", "'%m [%p] '"),
    ("timezone", "'UTC'"),
    ("log_timezone", "'UTC'"),
    ("lc_messages", "'C'"),
];

/// Who may connect: whoever knows the password, from this machine.
pub(super) const HBA: &str = "host all all 127.0.0.1/32 scram-sha-256\n";

/// The file's content.
pub(super) fn file(version: &Version) -> String {
    let head = format!("# Written by rehearse for Postgres {version}.\n");
    SETTINGS.iter().fold(head, |file, (name, value)| {
        format!("{file}{name} = {value}\n")
    })
}
