//! Bind values in text form: what the server itself would print with
//! `DateStyle = ISO` and `TimeZone = UTC`.

mod array;
mod number;
mod time;

use std::fmt::Write as _;

use bytes::Bytes;

use super::message::{Format, Value};
use crate::tap::Bind;

/// Type OIDs, which are the same in every server.
pub(in crate::protocol::postgres) mod oid {
    pub(in crate::protocol::postgres) const BOOL: u32 = 16;
    pub(in crate::protocol::postgres) const BYTEA: u32 = 17;
    pub(in crate::protocol::postgres) const CHAR: u32 = 18;
    pub(in crate::protocol::postgres) const NAME: u32 = 19;
    pub(in crate::protocol::postgres) const INT8: u32 = 20;
    pub(in crate::protocol::postgres) const INT2: u32 = 21;
    pub(in crate::protocol::postgres) const INT4: u32 = 23;
    pub(in crate::protocol::postgres) const TEXT: u32 = 25;
    pub(in crate::protocol::postgres) const OID: u32 = 26;
    pub(in crate::protocol::postgres) const JSON: u32 = 114;
    pub(in crate::protocol::postgres) const XML: u32 = 142;
    pub(in crate::protocol::postgres) const FLOAT4: u32 = 700;
    pub(in crate::protocol::postgres) const FLOAT8: u32 = 701;
    pub(in crate::protocol::postgres) const UNKNOWN: u32 = 705;
    pub(in crate::protocol::postgres) const BPCHAR: u32 = 1042;
    pub(in crate::protocol::postgres) const VARCHAR: u32 = 1043;
    pub(in crate::protocol::postgres) const DATE: u32 = 1082;
    pub(in crate::protocol::postgres) const TIME: u32 = 1083;
    pub(in crate::protocol::postgres) const TIMESTAMP: u32 = 1114;
    pub(in crate::protocol::postgres) const TIMESTAMPTZ: u32 = 1184;
    pub(in crate::protocol::postgres) const NUMERIC: u32 = 1700;
    pub(in crate::protocol::postgres) const UUID: u32 = 2950;
    pub(in crate::protocol::postgres) const JSONB: u32 = 3802;
    /// The array types of those above.
    pub(in crate::protocol::postgres) const ARRAYS: [u32; 22] = [
        143, 199, 1000, 1001, 1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1028,
        1115, 1182, 1183, 1185, 1231, 2951, 3807,
    ];
}

/// The value of a parameter of type `oid` (0: not declared and not asked for).
pub(super) fn read(oid: u32, value: Value<'_>) -> Bind {
    let Some(bytes) = value.bytes else {
        return Bind::Null;
    };
    let text = match value.format {
        Format::Text => from_text(oid, bytes),
        Format::Binary => from_binary(oid, bytes),
    };
    text.map_or_else(
        || Bind::Opaque {
            oid,
            bytes: Bytes::copy_from_slice(bytes),
        },
        Bind::Text,
    )
}

fn utf8(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(ToOwned::to_owned)
}

/// A value that a client sent as text is in a form that the server reads; those of a few
/// types are brought to the one form that the server prints.
fn from_text(oid: u32, bytes: &[u8]) -> Option<String> {
    let text = utf8(bytes)?;
    Some(match oid {
        oid::UUID => {
            let digits: Vec<u8> = bytes
                .iter()
                .copied()
                .filter(u8::is_ascii_alphanumeric)
                .collect();
            match digits.as_slice() {
                digits if digits.len() == 32 => uuid_of_digits(&digits.to_ascii_lowercase())?,
                _ => text,
            }
        }
        oid::BOOL => match text.trim().to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "on" | "1" => "t".to_owned(),
            "f" | "false" | "n" | "no" | "off" | "0" => "f".to_owned(),
            _ => text,
        },
        oid::BYTEA if text.starts_with("\\x") => text.to_ascii_lowercase(),
        _ => text,
    })
}

fn uuid_of_digits(digits: &[u8]) -> Option<String> {
    let digits = std::str::from_utf8(digits).ok()?;
    Some(
        [
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        ]
        .join("-"),
    )
}

/// Exactly `N` bytes.
fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn from_binary(oid: u32, bytes: &[u8]) -> Option<String> {
    Some(match oid {
        oid::BOOL => if fixed::<1>(bytes)? == [0] { "f" } else { "t" }.to_owned(),
        oid::INT2 => i16::from_be_bytes(fixed(bytes)?).to_string(),
        oid::INT4 => i32::from_be_bytes(fixed(bytes)?).to_string(),
        oid::INT8 => i64::from_be_bytes(fixed(bytes)?).to_string(),
        oid::OID => u32::from_be_bytes(fixed(bytes)?).to_string(),
        oid::FLOAT4 => number::float4(f32::from_be_bytes(fixed(bytes)?)),
        oid::FLOAT8 => number::float8(f64::from_be_bytes(fixed(bytes)?)),
        oid::NUMERIC => number::numeric(bytes)?,
        oid::CHAR
        | oid::NAME
        | oid::TEXT
        | oid::JSON
        | oid::XML
        | oid::UNKNOWN
        | oid::BPCHAR
        | oid::VARCHAR => utf8(bytes)?,
        oid::JSONB => match bytes {
            [1, json @ ..] => utf8(json)?,
            _ => return None,
        },
        oid::UUID => uuid_of_digits(hex(&fixed::<16>(bytes)?).as_bytes())?,
        oid::BYTEA => format!("\\x{}", hex(bytes)),
        oid::DATE => time::date(i32::from_be_bytes(fixed(bytes)?)),
        oid::TIME => time::time_of_day(i64::from_be_bytes(fixed(bytes)?))?,
        oid::TIMESTAMP => time::timestamp(i64::from_be_bytes(fixed(bytes)?), ""),
        oid::TIMESTAMPTZ => time::timestamp(i64::from_be_bytes(fixed(bytes)?), "+00"),
        _ if oid::ARRAYS.contains(&oid) => array::text(bytes)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn binary(oid: u32, bytes: &[u8]) -> Bind {
        read(
            oid,
            Value {
                format: Format::Binary,
                bytes: Some(bytes),
            },
        )
    }

    fn text(oid: u32, text: &str) -> Bind {
        read(
            oid,
            Value {
                format: Format::Text,
                bytes: Some(text.as_bytes()),
            },
        )
    }

    #[test]
    fn binary_values_read_as_the_server_prints_them() {
        for (oid, bytes, printed) in [
            (oid::BOOL, vec![1], "t"),
            (oid::INT2, vec![0xff, 0xfe], "-2"),
            (oid::INT4, vec![0, 0, 1, 0], "256"),
            (oid::INT8, 7_i64.to_be_bytes().to_vec(), "7"),
            (oid::TEXT, "grün".as_bytes().to_vec(), "grün"),
            (oid::JSONB, b"\x01{\"a\": 1}".to_vec(), "{\"a\": 1}"),
            (oid::BYTEA, vec![0xde, 0xad, 0], "\\xdead00"),
            (
                oid::UUID,
                (0..16).collect(),
                "00010203-0405-0607-0809-0a0b0c0d0e0f",
            ),
        ] {
            assert_eq!(binary(oid, &bytes), Bind::Text(printed.into()));
        }
    }

    #[test]
    fn what_is_not_known_keeps_type_and_bytes() {
        let bytes = Bytes::from_static(&[0, 1]);
        for oid in [0, 1186, 16_500, oid::INT4] {
            assert_eq!(
                binary(oid, &bytes),
                Bind::Opaque {
                    oid,
                    bytes: bytes.clone()
                }
            );
        }
        assert_eq!(text(0, "abc"), Bind::Text("abc".into()));
        assert_eq!(
            read(
                0,
                Value {
                    format: Format::Binary,
                    bytes: None
                }
            ),
            Bind::Null
        );
    }

    #[test]
    fn one_form_for_each_value_that_text_can_write_in_several() {
        let upper = "{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}";
        assert_eq!(
            text(oid::UUID, upper),
            Bind::Text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11".into())
        );
        assert_eq!(text(oid::BOOL, "TRUE"), Bind::Text("t".into()));
        assert_eq!(text(oid::BYTEA, "\\xAB"), Bind::Text("\\xab".into()));
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic(
            oid in prop_oneof![0_u32..4000, prop::sample::select(oid::ARRAYS.to_vec())],
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            binary: bool,
        ) {
            let format = if binary { Format::Binary } else { Format::Text };
            read(oid, Value { format, bytes: Some(&bytes) });
        }
    }
}
