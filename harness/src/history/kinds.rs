//! Kinds of calls: what all calls of one shape have in common stands in a history once.

use std::collections::HashMap;

use super::{Event, Shared, Text, Words};
use crate::shape::Shape;

/// What the calls of one kind have in common.
#[derive(Debug)]
struct Kind {
    number: u64,
    shape: Shared<Shape>,
    actions: Words,
    summary: Text,
    statements: Option<Text>,
}

/// The kinds of a history that is being written.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    known: HashMap<Shape, Vec<Kind>>,
    count: u64,
}

/// What a call shares with its kind.
pub(super) struct Common {
    /// The kind's own entry, if it is new: it goes before the call's.
    pub(super) new: Option<Event>,
    /// Whether its statements are those that stand with the kind.
    pub(super) statements: bool,
    /// Whether its summary is.
    pub(super) summary: bool,
}

impl Kinds {
    /// Lets a call share what it has in common with its kind; nothing, if it has none.
    pub(super) fn share(&mut self, call: &mut Event, statements: Option<&str>) -> Option<Common> {
        let Event::Called {
            summary,
            actions,
            shape: Some(shape),
            kind,
            ..
        } = call
        else {
            return None;
        };
        if !self.known.contains_key(&**shape) {
            self.known.insert((**shape).clone(), Vec::new());
        }
        let of_shape = self.known.get_mut(&**shape)?;
        let mut new = None;
        let place = of_shape.iter().position(|known| known.actions == *actions);
        let place = place.unwrap_or_else(|| {
            self.count += 1;
            let known = Kind {
                number: self.count,
                shape: shape.clone(),
                actions: actions.clone(),
                summary: summary.clone(),
                statements: statements.map(Text::from),
            };
            new = Some(known.entry());
            of_shape.push(known);
            of_shape.len() - 1
        });
        let known = &of_shape[place];
        *kind = Some(known.number);
        *shape = known.shape.clone();
        *actions = known.actions.clone();
        let is_alike = *summary == known.summary;
        if is_alike {
            *summary = known.summary.clone();
        }
        Some(Common {
            new,
            statements: known.statements.as_deref() == statements,
            summary: is_alike,
        })
    }
}

impl Kind {
    fn entry(&self) -> Event {
        Event::Kind {
            kind: self.number,
            summary: self.summary.clone(),
            actions: self.actions.clone(),
            shape: self.shape.clone(),
            statements: self.statements.clone(),
        }
    }
}

/// The kinds of a history that is read back, by their number.
#[derive(Debug, Default)]
pub(super) struct Told(HashMap<u64, (Text, Words, Shared<Shape>)>);

impl Told {
    /// Learns a kind, or gives a call back what was written with its kind. False: nobody
    /// told of its kind before.
    pub(super) fn restore(&mut self, event: &mut Event) -> bool {
        match event {
            Event::Kind {
                kind,
                summary,
                actions,
                shape,
                ..
            } => {
                let common = (summary.clone(), actions.clone(), shape.clone());
                self.0.insert(*kind, common);
                true
            }
            Event::Called {
                kind: Some(kind),
                summary,
                actions,
                shape,
                ..
            } => {
                let Some((of_kind, words, common)) = self.0.get(kind) else {
                    return false;
                };
                if summary.is_empty() {
                    *summary = of_kind.clone();
                }
                *actions = words.clone();
                *shape = Some(common.clone());
                true
            }
            _ => true,
        }
    }
}
