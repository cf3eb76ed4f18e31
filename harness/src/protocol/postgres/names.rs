//! What the names of a session stand for: prepared statements and portals.
//!
//! Names change when the client asks, so that the next message of the same segment
//! resolves them; what the server then refuses is taken back.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use super::columns::Columns;
use super::frame::lossy;
use super::message::{Format, Target, Value};
use super::value;
use crate::sql::{Cell, Kind, Sql, prepared_text};
use crate::tap::{Bind, Statement};

/// A statement that was parsed.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) sql: Sql,
    pub(super) kind: Kind,
    /// Known parameter types; 0 where the server was to infer one and was not asked.
    pub(super) oids: Vec<u32>,
    /// What its rows consist of, once the server has said it.
    columns: OnceLock<Columns>,
}

/// A statement with its values.
#[derive(Clone, Debug)]
struct Portal {
    prepared: Arc<Prepared>,
    binds: Vec<Bind>,
    /// In which formats its rows come.
    formats: Vec<Format>,
}

/// A statement about to be executed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Executed {
    pub(super) statement: Statement,
    pub(super) kind: Kind,
    /// The portal through which it is executed, perhaps in parts.
    pub(super) portal: Option<Vec<u8>>,
    /// Rows that it returned so far; a portal's tag counts those of its last part.
    pub(super) returned: u64,
    /// What its rows consist of, as far as it is known.
    pub(super) columns: Option<Columns>,
}

impl Prepared {
    fn of(text: &str, oids: Vec<u32>) -> Self {
        Self {
            sql: text.into(),
            kind: Kind::of(text),
            oids,
            columns: OnceLock::new(),
        }
    }

    /// What a statement `PREPARE name AS …` prepares.
    fn by(statement: &Sql) -> Self {
        Self::of(
            prepared_text(statement.written()).unwrap_or_default(),
            Vec::new(),
        )
    }
}

impl Executed {
    pub(super) fn new(statement: Statement, kind: Kind) -> Self {
        Self {
            statement,
            kind,
            portal: None,
            returned: 0,
            columns: None,
        }
    }

    /// What the tap cannot name.
    pub(super) fn unknown(what: String, binds: Vec<Bind>) -> Self {
        Self::new(Statement::new(what, binds), Kind::Plain)
    }

    /// What `EXECUTE` executes: the prepared statement with these arguments.
    fn of(&self, prepared: &Prepared, arguments: &[Cell]) -> Self {
        let binds = arguments
            .iter()
            .map(|argument| match argument {
                Cell::Literal(text) => Bind::Text(text.clone()),
                Cell::Parameter(number) => {
                    let bind = number
                        .checked_sub(1)
                        .and_then(|at| self.statement.binds.get(at));
                    bind.cloned().unwrap_or(Bind::Null)
                }
                Cell::Other => Bind::Null,
            })
            .collect();
        Self {
            statement: Statement::new(prepared.sql.clone(), binds),
            kind: prepared.kind.clone(),
            portal: self.portal.clone(),
            returned: 0,
            columns: None,
        }
    }
}

/// The names of one session.
#[derive(Debug, Default)]
pub(super) struct Names {
    statements: HashMap<Vec<u8>, Arc<Prepared>>,
    portals: HashMap<Vec<u8>, Arc<Portal>>,
    /// How to take back what the present segment changed, with the step that did.
    undo: Vec<(usize, Undo)>,
}

#[derive(Debug)]
enum Undo {
    Statement(Vec<u8>, Option<Arc<Prepared>>),
    Portal(Vec<u8>, Option<Arc<Portal>>),
}

impl Names {
    /// What was changed so far stays, whatever becomes of the next segment.
    pub(super) fn begin_segment(&mut self) {
        self.undo.clear();
    }

    /// Takes back what this segment's steps changed, from `step` on.
    pub(super) fn undo_from(&mut self, step: usize) {
        while let Some((_, undo)) = self.undo.pop_if(|(changed_by, _)| *changed_by >= step) {
            match undo {
                Undo::Statement(name, before) => {
                    set(&mut self.statements, name, before);
                }
                Undo::Portal(name, before) => {
                    set(&mut self.portals, name, before);
                }
            }
        }
    }

    pub(super) fn parse(&mut self, step: usize, name: &[u8], text: &[u8], oids: Vec<u32>) {
        let text = String::from_utf8_lossy(text);
        let prepared = Prepared::of(&text, oids);
        self.put_statement(step, name, Some(Arc::new(prepared)));
    }

    pub(super) fn bind(
        &mut self,
        step: usize,
        portal: &[u8],
        statement: &[u8],
        values: &[Value<'_>],
        formats: Vec<Format>,
    ) {
        let prepared = self.statements.get(statement).map_or_else(
            || {
                // The server refuses it, unless the name was made in a way that no tap sees.
                let sql = format!("(statement `{}`)", lossy(statement)).into();
                Arc::new(Prepared {
                    sql,
                    kind: Kind::Plain,
                    oids: Vec::new(),
                    columns: OnceLock::new(),
                })
            },
            Arc::clone,
        );
        let binds = values
            .iter()
            .enumerate()
            .map(|(position, read)| {
                value::read(prepared.oids.get(position).copied().unwrap_or(0), *read)
            })
            .collect();
        self.put_portal(
            step,
            portal,
            Some(Arc::new(Portal {
                prepared,
                binds,
                formats,
            })),
        );
    }

    /// The server said what the rows of a statement consist of.
    pub(super) fn described_rows(&self, name: &[u8], columns: Columns) {
        if let Some(prepared) = self.statements.get(name) {
            // Once said it holds for as long as the statement.
            let _ = prepared.columns.set(columns);
        }
    }

    pub(super) fn close(&mut self, step: usize, target: Target, name: &[u8]) {
        match target {
            Target::Statement => self.put_statement(step, name, None),
            Target::Portal => self.put_portal(step, name, None),
        }
    }

    /// What executing a portal executes.
    pub(super) fn executed(&self, portal: &[u8]) -> Executed {
        let Some(Portal {
            prepared,
            binds,
            formats,
        }) = self.portals.get(portal).map(Arc::as_ref)
        else {
            // A cursor that SQL opened, or a name that the server will refuse.
            return Executed::unknown(format!("(portal `{}`)", lossy(portal)), Vec::new());
        };
        let executed = Executed {
            statement: Statement::new(prepared.sql.clone(), binds.clone()),
            kind: prepared.kind.clone(),
            portal: Some(portal.to_vec()),
            returned: 0,
            columns: prepared
                .columns
                .get()
                .map(|columns| columns.in_formats(formats)),
        };
        self.resolved(executed, &HashMap::new())
    }

    /// What the statements of a simple query execute: one may prepare what the next executes.
    pub(super) fn simple<'a>(
        &self,
        statements: impl Iterator<Item = &'a str>,
    ) -> VecDeque<Executed> {
        let mut prepared = HashMap::new();
        statements
            .map(|sql| {
                let executed = Executed::new(Statement::new(sql, Vec::new()), Kind::of(sql));
                if let Kind::Prepare { name } = &executed.kind {
                    prepared.insert(name.clone(), Prepared::by(&executed.statement.sql));
                }
                self.resolved(executed, &prepared)
            })
            .collect()
    }

    fn resolved(&self, executed: Executed, here: &HashMap<String, Prepared>) -> Executed {
        let Kind::Execute { name, arguments } = &executed.kind else {
            return executed;
        };
        let known = self.statements.get(name.as_bytes()).map(Arc::as_ref);
        match here.get(name).or(known) {
            Some(prepared) => executed.of(prepared, arguments),
            None => executed,
        }
    }

    /// The server told a statement's parameter types.
    pub(super) fn described(&mut self, statement: &[u8], oids: Vec<u32>) {
        if let Some(prepared) = self.statements.get_mut(statement) {
            Arc::make_mut(prepared).oids = oids;
        }
    }

    /// A simple query takes the place of the unnamed statement and portal.
    pub(super) fn simple_query(&mut self) {
        self.statements.remove(&b""[..]);
        self.portals.remove(&b""[..]);
    }

    /// No portal outlives its transaction.
    pub(super) fn transaction_ended(&mut self) {
        self.portals.clear();
    }

    /// A statement was executed that may change names by itself.
    pub(super) fn completed(&mut self, executed: &Executed) {
        match &executed.kind {
            Kind::Prepare { name } => {
                let prepared = Prepared::by(&executed.statement.sql);
                self.statements
                    .insert(name.clone().into_bytes(), Arc::new(prepared));
            }
            Kind::Deallocate(name) => {
                self.statements.remove(name.as_bytes());
            }
            Kind::DeallocateAll => self.statements.clear(),
            Kind::DiscardAll => {
                self.statements.clear();
                self.portals.clear();
            }
            _ => {}
        }
    }

    fn put_statement(&mut self, step: usize, name: &[u8], prepared: Option<Arc<Prepared>>) {
        let before = set(&mut self.statements, name.to_vec(), prepared);
        self.undo
            .push((step, Undo::Statement(name.to_vec(), before)));
    }

    fn put_portal(&mut self, step: usize, name: &[u8], portal: Option<Arc<Portal>>) {
        let before = set(&mut self.portals, name.to_vec(), portal);
        self.undo.push((step, Undo::Portal(name.to_vec(), before)));
    }
}

fn set<T>(map: &mut HashMap<Vec<u8>, T>, name: Vec<u8>, value: Option<T>) -> Option<T> {
    match value {
        Some(value) => map.insert(name, value),
        None => map.remove(&name),
    }
}
