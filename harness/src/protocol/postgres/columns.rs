//! What the rows of an answer consist of, and the values in them.

use std::sync::Arc;

use super::frame::{Body, Malformed, lossy};
use super::message::{Format, Value};
use super::value;
use crate::protocol::table::Returned;
use crate::tap::Bind;

/// The columns of a statement's rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns(Arc<[Column]>);

#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    oid: u32,
    format: Format,
}

impl Columns {
    /// What a `RowDescription` says.
    pub(super) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut body = Body::new(b'T', body);
        let count = body.u16("the count of columns")?;
        let column = |_| {
            let name = lossy(body.text("a column's name")?);
            body.bytes(6, "a column's place")?;
            let oid = body.u32("a column's type")?;
            body.bytes(6, "a column's size")?;
            let format = match body.u16("a column's format")? {
                0 => Format::Text,
                _ => Format::Binary,
            };
            Ok(Column { name, oid, format })
        };
        (0..count).map(column).collect::<Result<_, _>>().map(Self)
    }

    /// The same columns in the formats that a client asked for: none is text for all, one
    /// holds for all.
    pub(super) fn in_formats(&self, formats: &[Format]) -> Self {
        let of = |at: usize| match formats {
            [] => Format::Text,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(Format::Text),
        };
        let columns = self.0.iter().enumerate();
        let columns = columns.map(|(at, column)| Column {
            format: of(at),
            ..column.clone()
        });
        Self(columns.collect())
    }

    /// Adds the values of a `DataRow` that can be read.
    pub(super) fn values(&self, body: &[u8], into: &mut Returned) -> Result<(), Malformed> {
        let mut body = Body::new(b'D', body);
        let count = body.u16("the count of values")?;
        for at in 0..usize::from(count) {
            let length = body.u32("a value's length")?;
            if length == u32::MAX {
                continue;
            }
            let bytes = body.bytes(length as usize, "a value")?;
            let Some(column) = self.0.get(at) else {
                continue;
            };
            let value = Value {
                format: column.format,
                bytes: Some(bytes),
            };
            if let Bind::Text(text) = value::read(column.oid, value) {
                into.push(&column.name, text);
            }
        }
        Ok(())
    }
}
