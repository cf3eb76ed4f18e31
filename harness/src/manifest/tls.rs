//! Encryption that a manifest asks for. The taps read what passes, so whoever stands
//! behind one speaks in the clear: what asks for more is refused, never passed over.

use super::Template;
use super::context::Context;
use super::problem::{Defect, ProtocolName};
use super::source::Span;

/// Parameters of PostgreSQL connections that ask for encryption, in the spellings of
/// libpq, sqlx, JDBC and Npgsql.
const PARAMETERS: &[&str] = &[
    "sslmode",
    "ssl-mode",
    "ssl_mode",
    "ssl",
    "usessl",
    "requiressl",
    "sslnegotiation",
    "sslrootcert",
    "ssl-root-cert",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
];
/// Parameters that only `require` turns on, and the values that leave the others off.
const ONLY_IF_REQUIRED: &[&str] = &["channel_binding", "gssencmode"];
const OFF: &[&str] = &["", "disable", "disabled", "false", "off", "no", "0", "none"];
/// Variables that libpq and what imitates it read by themselves.
const VARIABLES: &[(&str, &str)] = &[
    ("PGSSLMODE", "sslmode"),
    ("PGREQUIRESSL", "requiressl"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGGSSENCMODE", "gssencmode"),
];

/// The encryption that an external dependency's address asks for, as it is written there.
pub(super) fn asked_by_address(url: &reqwest::Url, protocol: ProtocolName) -> Option<String> {
    match protocol {
        ProtocolName::Sqs | ProtocolName::Http => {
            (url.scheme() == "https").then(|| "https://".to_owned())
        }
        ProtocolName::Redis => (url.scheme() == "rediss").then(|| "rediss://".to_owned()),
        ProtocolName::Postgres => first_on(
            url.query_pairs()
                .map(|(name, value)| (name.into(), value.into())),
        ),
    }
}

/// Reports the encryption that a text asks of the databases it names.
pub(super) fn check_text(cx: &mut Context<'_>, span: Span, written: &str, template: &Template) {
    let names_database = template.placeholders().any(|name| {
        let dependency = name.split_once('.');
        let found = dependency.and_then(|(name, _)| cx.names.dependencies.get(name));
        found.is_some_and(|found| found.protocol == Some(ProtocolName::Postgres))
    });
    let asked = first_on(parameters(written).into_iter())
        .filter(|asked| names_database || (asked.starts_with("sslmode=") && has_database(cx)));
    refuse(cx, span, asked);
}

/// Reports the encryption that a variable of this name asks for.
pub(super) fn check_variable(
    cx: &mut Context<'_>,
    span: Span,
    name: &str,
    value: &Template,
) -> Option<()> {
    let parameter = VARIABLES.iter().find(|(variable, _)| *variable == name);
    let Some((_, parameter)) = parameter.filter(|_| has_database(cx)) else {
        return Some(());
    };
    let value = value.to_string();
    let asked = is_on(parameter, &value).then(|| format!("{name}={value}"));
    refuse(cx, span, asked)
}

fn has_database(cx: &Context<'_>) -> bool {
    let mut dependencies = cx.names.dependencies.values();
    dependencies.any(|dependency| dependency.protocol == Some(ProtocolName::Postgres))
}

fn refuse(cx: &mut Context<'_>, span: Span, asked: Option<String>) -> Option<()> {
    let Some(asked) = asked else { return Some(()) };
    let span = cx.source.narrow(span, &asked);
    cx.report(span, Defect::Encryption { asked });
    None
}

/// The first parameter that asks for encryption.
fn first_on(mut parameters: impl Iterator<Item = (String, String)>) -> Option<String> {
    let (name, value) = parameters.find(|(name, value)| is_on(name, value))?;
    Some(format!("{name}={value}"))
}

fn is_on(name: &str, value: &str) -> bool {
    let (name, value) = (name.to_ascii_lowercase(), value.to_ascii_lowercase());
    if ONLY_IF_REQUIRED.contains(&name.as_str()) {
        return value == "require";
    }
    PARAMETERS.contains(&name.as_str()) && !OFF.contains(&value.as_str())
}

/// What is given as `name=value` in an address's query or a connection string.
fn parameters(text: &str) -> Vec<(String, String)> {
    let ends = |c: char| c.is_whitespace() || "?&;,\"'".contains(c);
    let spaced = text.replace(" =", "=").replace("= ", "=");
    let found = spaced.split(ends).filter_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        Some((decoded(name), decoded(value)))
    });
    let quoted = spaced.split_once("sslmode='").map(|(_, rest)| {
        let value = rest.split('\'').next().unwrap_or_default();
        ("sslmode".to_owned(), value.to_owned())
    });
    found.chain(quoted).collect()
}

/// Without the escapes of an address.
fn decoded(text: &str) -> String {
    let query = format!("http://x/?{text}");
    let parsed = reqwest::Url::parse(&query).ok();
    let pair = parsed.and_then(|url| Some(url.query_pairs().next()?.0.into_owned()));
    pair.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Option<String> {
        first_on(parameters(text).into_iter())
    }

    #[test]
    fn every_mode_but_disable_asks_for_encryption() {
        for mode in [
            "allow",
            "prefer",
            "require",
            "verify-ca",
            "verify-full",
            "${setting.tls}",
        ] {
            let expected = Some(format!("sslmode={mode}"));
            assert_eq!(
                asked(&format!("${{database.url}}?sslmode={mode}")),
                expected
            );
            assert_eq!(asked(&format!("host=h sslmode={mode} port=1")), expected);
        }
        assert_eq!(asked("${database.url}?sslmode=disable&x=1"), None);
        assert_eq!(asked("${database.url}?application_name=sslmode"), None);
    }

    #[test]
    fn other_spellings_are_understood() {
        for text in [
            "jdbc:${d.url}?a=b&ssl=true",
            "Host=h;SSL Mode=x;SSLMode=Require",
            "x?ssl-mode=require",
            "x?sslm%6fde=require",
            "x?ssl%2Dmode=require",
            "dbname=x sslmode = require",
            "dbname=x sslmode='require'",
            "x?channel_binding=require",
            "x?sslrootcert=/ca.pem",
        ] {
            assert!(asked(text).is_some(), "{text}");
        }
        for text in [
            "x?ssl=false",
            "x?channel_binding=prefer",
            "x?ssl=0",
            "x?sslcert=",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }
}
