//! What a client's messages say.

use super::frame::{Body, Malformed};

/// One message of a client, borrowed from its bytes.
#[derive(Debug, PartialEq)]
pub(super) enum Message<'a> {
    Parse {
        name: &'a [u8],
        sql: &'a [u8],
        oids: Vec<u32>,
    },
    Bind {
        portal: &'a [u8],
        statement: &'a [u8],
        values: Vec<Value<'a>>,
        /// In which formats its rows are to come.
        formats: Vec<Format>,
    },
    Describe {
        target: Target,
        name: &'a [u8],
    },
    Execute {
        portal: &'a [u8],
    },
    Close {
        target: Target,
        name: &'a [u8],
    },
    Query {
        sql: &'a [u8],
    },
    Function {
        oid: u32,
        values: Vec<Value<'a>>,
    },
    Sync,
    /// Nothing that a round trip depends on.
    Other,
}

/// What Describe and Close speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Statement,
    Portal,
}

/// A value as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value<'a> {
    pub(super) format: Format,
    /// Nothing for NULL.
    pub(super) bytes: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Binary,
}

impl<'a> Message<'a> {
    pub(super) fn read(tag: u8, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut body = Body::new(tag, body);
        Ok(match tag {
            b'P' => {
                let name = body.text("the statement's name")?;
                let sql = body.text("the statement's text")?;
                let count = body.u16("the count of types")?;
                let oids = (0..count)
                    .map(|_| body.u32("a type"))
                    .collect::<Result<_, Malformed>>()?;
                Self::Parse { name, sql, oids }
            }
            b'B' => {
                let portal = body.text("the portal's name")?;
                let statement = body.text("the statement's name")?;
                Self::Bind {
                    portal,
                    statement,
                    values: values(&mut body)?,
                    formats: formats(&mut body)?,
                }
            }
            b'D' => Self::Describe {
                target: target(&mut body)?,
                name: body.text("a name")?,
            },
            b'C' => Self::Close {
                target: target(&mut body)?,
                name: body.text("a name")?,
            },
            b'E' => Self::Execute {
                portal: body.text("the portal's name")?,
            },
            b'Q' => Self::Query {
                sql: body.text("the query's text")?,
            },
            b'F' => Self::Function {
                oid: body.u32("the function")?,
                values: values(&mut body)?,
            },
            b'S' => Self::Sync,
            _ => Self::Other,
        })
    }
}

fn target(body: &mut Body<'_>) -> Result<Target, Malformed> {
    // The server refuses any other letter; what the tap takes it for is then without effect.
    Ok(if body.byte("the target")? == b'S' {
        Target::Statement
    } else {
        Target::Portal
    })
}

fn formats(body: &mut Body<'_>) -> Result<Vec<Format>, Malformed> {
    let count = body.u16("the count of formats")?;
    let format = |_| {
        let code = body.u16("a format")?;
        Ok(if code == 0 {
            Format::Text
        } else {
            Format::Binary
        })
    };
    (0..count).map(format).collect()
}

fn values<'a>(body: &mut Body<'a>) -> Result<Vec<Value<'a>>, Malformed> {
    let formats = formats(body)?;
    let count = usize::from(body.u16("the count of values")?);
    (0..count)
        .map(|position| {
            // No format means text for all, one format holds for all.
            let format = match formats.as_slice() {
                [] => Format::Text,
                [all] => *all,
                each => each.get(position).copied().unwrap_or(Format::Text),
            };
            let length = body.u32("a value's length")?;
            let bytes = match length {
                u32::MAX => None,
                length => Some(body.bytes(length as usize, "a value")?),
            };
            Ok(Value { format, bytes })
        })
        .collect()
}
