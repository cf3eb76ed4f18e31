//! Who connected to a database, by the server's own log: even the shortest connection
//! stands there before it can do anything.

use std::collections::BTreeMap;

/// One connection that the server let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// Where it came from.
    pub port: u16,
    /// What it calls itself, if it does.
    pub application: Option<String>,
}

impl Visitor {
    /// The connections to one database, in the order of its server's log.
    pub fn all(log: &str, database: &str) -> Vec<Self> {
        let mut ports: BTreeMap<&str, u16> = BTreeMap::new();
        let mut visitors = Vec::new();
        for line in log.lines() {
            let Some((process, told)) = parts(line) else {
                continue;
            };
            if let Some(port) = told
                .strip_prefix("connection received: ")
                .and_then(|told| value(told, "port"))
            {
                if let Ok(port) = port.parse() {
                    ports.insert(process, port);
                }
            } else if let Some(told) = told.strip_prefix("connection authorized: ")
                && value(told, "database") == Some(database)
                && let Some(port) = ports.get(process)
            {
                visitors.push(Self {
                    port: *port,
                    application: value(told, "application_name").map(str::to_owned),
                });
            }
        }
        visitors
    }
}

/// The process and the message of a line: `2026-11-30 06:12:00.000 UTC [42] LOG:  …`.
fn parts(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(" [")?;
    let (process, rest) = rest.split_once("] LOG:  ")?;
    Some((process, rest))
}

/// `name=value` among words.
fn value<'t>(told: &'t str, name: &str) -> Option<&'t str> {
    told.split(' ')
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-11-30 06:12:00.000 UTC [41] LOG:  connection received: host=127.0.0.1 port=40001
2026-11-30 06:12:00.000 UTC [42] LOG:  connection received: host=127.0.0.1 port=40002
2026-11-30 06:12:00.001 UTC [42] LOG:  connection authenticated: identity=\"postgres\" method=scram-sha-256 (pg_hba.conf:1)
2026-11-30 06:12:00.001 UTC [42] LOG:  connection authorized: user=postgres database=run-1-database application_name=rehearse
2026-11-30 06:12:00.002 UTC [41] LOG:  connection authorized: user=postgres database=run-1-database
2026-11-30 06:12:00.002 UTC [43] LOG:  connection received: host=127.0.0.1 port=40003
2026-11-30 06:12:00.003 UTC [43] LOG:  connection authorized: user=postgres database=run-2-database
2026-11-30 06:12:00.004 UTC [41] LOG:  connection received: host=127.0.0.1 port=40004
2026-11-30 06:12:00.004 UTC [41] LOG:  connection authorized: user=postgres database=run-1-database
";

    #[test]
    fn a_connection_s_port_is_found_by_its_process_also_when_the_number_comes_again() {
        let ports: Vec<u16> = Visitor::all(LOG, "run-1-database")
            .iter()
            .map(|visitor| visitor.port)
            .collect();
        assert_eq!(ports, [40002, 40001, 40004]);
    }

    #[test]
    fn the_application_s_name_is_told_where_it_was_given() {
        let visitors = Visitor::all(LOG, "run-1-database");
        assert_eq!(visitors[0].application.as_deref(), Some("rehearse"));
        assert_eq!(visitors[1].application, None);
    }

    #[test]
    fn other_databases_do_not_matter() {
        assert_eq!(Visitor::all(LOG, "run-2-database").len(), 1);
        assert_eq!(Visitor::all(LOG, "run-3-database"), []);
    }
}
