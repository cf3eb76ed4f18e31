//! Values of variables: addresses of what processes talk to become placeholders.

use indexmap::IndexMap;

use super::draft::{Dependency, Kind};

/// What is known of the system by the names that its addresses have.
#[derive(Default)]
pub(super) struct Known {
    /// Dependencies by the hosts that they have.
    pub(super) hosts: IndexMap<String, Dependency>,
    /// Processes by the same.
    pub(super) processes: Vec<String>,
}

/// What a value became.
pub(super) enum Became {
    /// A value for the manifest.
    Value(String),
    /// It names a service that nobody knew: it has to be a dependency of this name.
    Outside(String),
}

impl Known {
    /// What stands in the place of a value of a variable.
    pub(super) fn value(&mut self, variable: &str, value: &str) -> Became {
        let kept = || Became::Value(value.replace('$', "$$"));
        if let Some(url) = Address::read(value) {
            return self.address(variable, value, &url).unwrap_or_else(kept);
        }
        let upper = variable.to_uppercase();
        if let Some(dependency) = self.hosts.get(value) {
            let wants_name = upper.contains("NAME");
            if !wants_name {
                return Became::Value(format!("${{{}.host}}", dependency.name));
            }
        }
        if self.processes.iter().any(|process| process == value) && upper.contains("HOST") {
            return Became::Value(format!("${{process.{value}.host}}"));
        }
        self.part(&upper, value).unwrap_or_else(kept)
    }

    fn address(&mut self, variable: &str, value: &str, url: &Address<'_>) -> Option<Became> {
        if let Some(dependency) = self.hosts.get_mut(url.host) {
            let name = dependency.name.clone();
            if let Kind::Sqs(queues) = &mut dependency.kind {
                let queue = url.path.rsplit('/').next().unwrap_or_default();
                if queue.is_empty() {
                    return Some(Became::Value(format!("${{{name}.url}}")));
                }
                note(queues, queue);
                return Some(Became::Value(format!("${{{name}.{queue}.url}}")));
            }
            let rest = match dependency.kind {
                Kind::Outside => url.path.trim_end_matches('/'),
                _ => "",
            };
            return Some(Became::Value(format!("${{{name}.url}}{rest}")));
        }
        if self.processes.iter().any(|process| process == url.host) {
            let path = url.path;
            return Some(Became::Value(format!(
                "http://${{process.{}.address}}{path}",
                url.host
            )));
        }
        let own = ["localhost", "127.0.0.1", "0.0.0.0", "::"].contains(&url.host);
        let amazon = url.host.ends_with("amazonaws.com");
        if amazon && url.host.contains("sqs") {
            let queue = url.path.rsplit('/').next().unwrap_or_default().to_owned();
            let found = self.hosts.values_mut().find_map(|one| match &mut one.kind {
                Kind::Sqs(queues) => Some((one.name.clone(), queues)),
                _ => None,
            });
            let (name, queues) = found?;
            note(queues, &queue);
            return Some(Became::Value(format!("${{{name}.{queue}.url}}")));
        }
        let http = value.starts_with("http://") || value.starts_with("https://");
        (http && !own && !amazon).then(|| Became::Outside(outside_name(variable, url.host)))
    }

    /// The parts of an address that stand in variables of their own: `PGUSER`, `DB_PORT`,
    /// `QUEUE_NAME`.
    fn part(&mut self, variable: &str, value: &str) -> Option<Became> {
        let is_database = ["PG", "POSTGRES", "DB_", "DATABASE_"]
            .iter()
            .any(|word| variable.contains(word));
        let of = |kind: fn(&Kind) -> bool| {
            let mut found = self.hosts.values().filter(|one| kind(&one.kind));
            found.next().map(|one| one.name.clone())
        };
        if is_database {
            let database = of(|kind| matches!(kind, Kind::Postgres))?;
            let part = match variable {
                _ if variable.ends_with("HOST") => "host",
                _ if variable.ends_with("PORT") => "port",
                _ if variable.ends_with("USER") || variable.ends_with("USERNAME") => "user",
                _ if variable.ends_with("PASSWORD") => "password",
                _ if variable.ends_with("DATABASE")
                    || variable.ends_with("NAME")
                    || variable.ends_with("_DB") =>
                {
                    "name"
                }
                _ => return None,
            };
            return Some(Became::Value(format!("${{{database}.{part}}}")));
        }
        if variable.contains("REDIS") && variable.ends_with("PORT") {
            let redis = of(|kind| matches!(kind, Kind::Redis(_)))?;
            return Some(Became::Value(format!("${{{redis}.port}}")));
        }
        let queue = variable.contains("QUEUE") && !value.is_empty();
        let is_name = value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            && value.starts_with(|c: char| c.is_ascii_alphabetic());
        if queue && is_name && (variable.ends_with("NAME") || variable.ends_with("QUEUE")) {
            let found = self.hosts.values_mut().find_map(|one| match &mut one.kind {
                Kind::Sqs(queues) => Some((one.name.clone(), queues)),
                _ => None,
            });
            let (name, queues) = found?;
            note(queues, value);
            return Some(Became::Value(format!("${{{name}.{value}.name}}")));
        }
        None
    }
}

/// Notes a queue that is named.
pub(super) fn note(queues: &mut Vec<String>, queue: &str) {
    if !queues.iter().any(|known| known == queue) {
        queues.push(queue.to_owned());
    }
}

/// What a service outside is called: by its variable, else by its host.
pub(super) fn outside_name(variable: &str, host: &str) -> String {
    let lower = variable.to_lowercase();
    let ends = [
        "_base_url",
        "_api_url",
        "_service_url",
        "_endpoint",
        "_url",
        "_address",
        "_uri",
    ];
    let stem = ends.iter().find_map(|end| lower.strip_suffix(end));
    let name = stem.unwrap_or_else(|| host.split('.').next().unwrap_or(host));
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let name = name.trim_matches('-').to_owned();
    match name.as_str() {
        "" | "root" | "port" | "listen" | "process" | "setting" | "message" | "argument"
        | "checkpoint" | "client" => format!("{name}service"),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => format!("service-{name}"),
        _ => name,
    }
}

/// An address in parts.
pub(super) struct Address<'t> {
    pub(super) host: &'t str,
    pub(super) port: Option<&'t str>,
    pub(super) path: &'t str,
}

impl<'t> Address<'t> {
    /// Reads `scheme://user:password@host:port/path`, or `host:port`.
    pub(super) fn read(value: &'t str) -> Option<Self> {
        let Some((_, rest)) = value.split_once("://") else {
            let (host, port) = value.split_once(':')?;
            let digits = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
            return (digits && !host.is_empty()).then_some(Self {
                host,
                port: Some(port),
                path: "",
            });
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        Some(Self { host, port, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let dependency = |name: &str, kind| Dependency {
            name: name.to_owned(),
            kind,
            image: None,
            why: None,
        };
        Known {
            hosts: IndexMap::from([
                ("db".to_owned(), dependency("db", Kind::Postgres)),
                ("aws".to_owned(), dependency("queue", Kind::Sqs(Vec::new()))),
                (
                    "cache".to_owned(),
                    dependency("cache", Kind::Redis(Vec::new())),
                ),
            ]),
            processes: vec!["api".to_owned()],
        }
    }

    #[test]
    fn addresses_of_what_is_known_become_placeholders() {
        let mut known = known();
        for (variable, value, became) in [
            ("DATABASE_URL", "postgres://a:b@db:5432/app", "${db.url}"),
            (
                "QUEUE_URL",
                "http://aws:4566/000000000000/orders",
                "${queue.orders.url}",
            ),
            ("AWS_ENDPOINT_URL", "http://aws:4566", "${queue.url}"),
            ("ORDERS_QUEUE_NAME", "orders", "${queue.orders.name}"),
            ("REDIS_URL", "redis://cache:6379/0", "${cache.url}"),
            ("PGHOST", "db", "${db.host}"),
            ("PGPASSWORD", "secret", "${db.password}"),
            (
                "API",
                "http://api:8080/v1",
                "http://${process.api.address}/v1",
            ),
            ("PRICE", "5$", "5$$"),
        ] {
            let Became::Value(value) = known.value(variable, value) else {
                panic!("{variable}")
            };
            assert_eq!(value, became);
        }
        let outside = known.value("PARTNER_URL", "https://api.partner.example/v2");
        assert!(matches!(outside, Became::Outside(name) if name == "partner"));
        let Kind::Sqs(queues) = &known.hosts["aws"].kind else {
            panic!()
        };
        assert_eq!(queues, &["orders"]);
    }
}
