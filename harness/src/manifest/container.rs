//! Reading what concerns containers: `container` of a process, and the image, port and
//! environment of a dependency.

use std::collections::BTreeMap;

use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::problem::ProtocolName;
use super::table::{Table, choice, named, number, scalar, text, wrong_type};
use super::{Address, Container, Provide};
use crate::deployment::Room;

/// Where PostgreSQL and `ElasticMQ` listen; our own images do the same.
const POSTGRES_PORT: u16 = 5432;
const SQS_PORT: u16 = 9324;
const REDIS_PORT: u16 = 6379;

/// `container` of a process.
pub(super) fn read_container<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: String,
) -> Option<Container> {
    let table = Table::read(cx, node, keys::CONTAINER, title)?;
    let image = table.text(cx, "image");
    let cpus = match table.get("cpus") {
        None => Some(None),
        Some(node) => read_processors(cx, node, table.what("cpus")).map(Some),
    };
    let address = match table.text(cx, "address") {
        None => None,
        Some(None) => Some(Address::Kept),
        Some(Some((written, span))) => {
            let what = table.what("address");
            choice(cx, span, what, written, &["kept", "fresh"]).map(|address| match address {
                "fresh" => Address::Fresh,
                _ => Address::Kept,
            })
        }
    };
    Some(Container {
        room: Room {
            image: image?.map(|(image, _)| image.to_owned()),
            cpus: cpus?,
        },
        address: address?,
    })
}

/// `provide: container` of a dependency.
pub(super) fn read_provided<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    protocol: ProtocolName,
) -> Option<Provide> {
    let image = match table.get("image") {
        // There is none of ours for a service that we do not know.
        None if matches!(protocol, ProtocolName::Http | ProtocolName::Redis) => {
            table.need(cx, "image").map(|_| None)
        }
        None => Some(None),
        Some(node) => text(cx, node, &table.what("image")).map(|image| Some(image.to_owned())),
    };
    let usual = match protocol {
        ProtocolName::Postgres => Some(POSTGRES_PORT),
        ProtocolName::Sqs => Some(SQS_PORT),
        ProtocolName::Redis => Some(REDIS_PORT),
        ProtocolName::Http => None,
    };
    let port = match (table.get("port"), usual) {
        (None, Some(usual)) => Some(usual),
        (None, None) => table.need(cx, "port").and(None),
        (Some(node), _) => number(cx, node, table.what("port"), (1, 65_535))
            .and_then(|port| u16::try_from(port).ok()),
    };
    let environment = match table.get("environment") {
        None => Some(BTreeMap::new()),
        Some(node) => read_plain_environment(cx, node, &table.what("environment")),
    };
    Some(Provide::Container {
        image: image?,
        port: port?,
        environment: environment?,
    })
}

pub(super) fn read_plain_environment<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
) -> Option<BTreeMap<String, String>> {
    let variables: Vec<_> = named(cx, node, title)?
        .into_iter()
        .map(|(name, _, value)| {
            let value = scalar(cx, value, &format!("`{name}` in {title}"))?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect();
    variables.into_iter().collect()
}

/// A size of memory in bytes: `256MiB`.
pub(super) fn read_size(cx: &mut Context<'_>, node: &Node, what: String) -> Option<u64> {
    let (Value::Text(written) | Value::Number(written)) = &node.value else {
        return wrong_type(cx, node, what, SIZE);
    };
    match parse_size(written) {
        Some(size) => Some(size),
        None => wrong_type(cx, node, what, SIZE),
    }
}

const SIZE: &str = "a size of memory like `256MiB` or `2GiB`";

fn parse_size(written: &str) -> Option<u64> {
    let (number, unit) = written.split_at(written.find(|c: char| !c.is_ascii_digit())?);
    let unit: u64 = match unit.trim_start() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)
        .filter(|size| *size > 0)
}

/// How many processors' time: `0.5`.
fn read_processors(cx: &mut Context<'_>, node: &Node, what: String) -> Option<f64> {
    let expected = "a number of processors like `0.5`";
    let Value::Number(written) = &node.value else {
        return wrong_type(cx, node, what, expected);
    };
    match written.parse::<f64>() {
        Ok(cpus) if (0.01..=1024.0).contains(&cpus) => Some(cpus),
        _ => wrong_type(cx, node, what, expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!(parse_size("256MiB"), Some(256 << 20));
        assert_eq!(parse_size("2 GiB"), Some(2 << 30));
        for wrong in ["256", "256M", "MiB", "0MiB", "1.5GiB", "99999999999GiB", ""] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }
}
