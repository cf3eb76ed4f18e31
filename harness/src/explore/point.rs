//! Points: the calls of a system, before and after, and which of them are one to a process
//! that dies there.
//!
//! A process that dies leaves nothing but what is durable. Two boundaries between which
//! nothing became durable are therefore one point: after a call, and before the next;
//! before and after a call that changes nothing for good.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::effect::Strike;
use super::pairs;
use crate::fault::{Fault, Point as FaultPoint, Times, Whose};
use crate::ids::{Incarnation, MessageName, RoleName};
use crate::manifest::{DependencyProtocol, Manifest};
use crate::rehearsal::Site;
use crate::shape::{Asked, Shape, Wanted};
use crate::tap::Side;

/// One boundary of a call, as it can be found again in another rehearsal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Boundary {
    /// Whose call.
    pub process: RoleName,
    /// Which side of it.
    pub side: Side,
    /// What names it: a part of its shape.
    pub call: String,
    /// Which of the process's calls of that name, from 1.
    pub nth: u32,
    /// With which message; none: whichever, because the call names nobody.
    pub message: Option<MessageName>,
}

/// A boundary together with those that are the same to a process that dies there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The one that is tried.
    pub boundary: Boundary,
    /// The others.
    pub merged: Vec<Boundary>,
}

/// A point with what is done there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Where.
    pub class: Class,
    /// What.
    pub strike: Strike,
    /// Whether it strikes at every passage of the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every: bool,
    /// A second fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Box<Point>>,
}

/// All points of an exploration, in the order of processes and calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The points.
    pub points: Vec<Point>,
    /// How many boundaries the calls have that were found.
    pub boundaries: usize,
    /// How many pairs of faults there are; some of them stand at the end of the points.
    #[serde(default)]
    pub pairs: usize,
}

impl Boundary {
    /// Where a fault strikes.
    fn fault_point(&self) -> FaultPoint {
        FaultPoint::Call {
            role: self.process.clone(),
            instance: None,
            side: self.side,
            wanted: Wanted::parse(&self.call).expect("a shape is named by its own text"),
        }
    }

    /// `after "DeleteMessage" of M1`.
    pub fn place(&self) -> String {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        let whose = self
            .message
            .as_ref()
            .map_or_else(|| "any message".to_owned(), ToString::to_string);
        format!("{side} \"{}\" of {whose}{}", self.call, self.time())
    }

    fn time(&self) -> String {
        match self.nth {
            1 => String::new(),
            nth => format!(" (time {nth})"),
        }
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.process, self.place())
    }
}

impl Point {
    /// What names it in results: process, place and effect.
    pub fn key(&self) -> String {
        let every = if self.every { " every time" } else { "" };
        let own = format!("{} {}{every}", self.strike, self.class.boundary);
        match &self.then {
            None => own,
            Some(then) => format!("{own}, and {}", then.key()),
        }
    }

    /// Its own fault and the second one, if there is one, each for itself.
    pub fn parts(&self) -> Vec<Self> {
        let alone = |point: &Self| Self {
            then: None,
            ..point.clone()
        };
        std::iter::once(self)
            .chain(self.then.as_deref())
            .map(alone)
            .collect()
    }

    /// The faults that strike there; of a pair the second need not come to it.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = self.own_faults(false);
        if let Some(then) = &self.then {
            faults.extend(then.own_faults(true));
        }
        faults
    }

    fn own_faults(&self, may: bool) -> Vec<Fault> {
        let boundary = &self.class.boundary;
        let effects = self.strike.effects(self.protocol()).into_iter();
        effects
            .map(|effect| Fault {
                effect,
                point: boundary.fault_point(),
                whose: match &boundary.message {
                    Some(message) => Whose::These(vec![message.clone()]),
                    None => Whose::Any,
                },
                times: match boundary.nth {
                    _ if self.every => Times::Every,
                    1 => Times::First(1),
                    nth => Times::Nth(nth),
                },
                may,
            })
            .collect()
    }

    /// Which protocol the call speaks.
    pub fn protocol(&self) -> DependencyProtocol {
        Wanted::parse(&self.class.boundary.call)
            .expect("a shape is named by its own text")
            .protocol()
    }
}

/// What is asked of the search for points.
pub(super) struct Wish<'a> {
    pub(super) of: &'a MessageName,
    pub(super) processes: &'a [RoleName],
    pub(super) strikes: &'a [Strike],
    /// Whether each boundary is tried, also those that are the same to a dying process.
    pub(super) unmerged: bool,
    /// Whether faults strike at every passage.
    pub(super) every: bool,
    /// How many pairs of faults are tried, chosen by a seed; none: no pairs.
    pub(super) pairs: Option<(usize, u64)>,
}

impl Plan {
    /// Finds the points in what a rehearsal without faults showed.
    pub(super) fn of(manifest: &Manifest, survey: &[Site], wish: &Wish<'_>) -> Self {
        let mut plan = Self::default();
        for role in manifest.processes.keys() {
            if !wish.processes.is_empty() && !wish.processes.contains(role) {
                continue;
            }
            let calls = calls_of(role, survey, wish.of);
            plan.boundaries += calls.iter().map(Call::boundaries).sum::<usize>();
            for strike in wish.strikes {
                let classes = match (strike.ends_its_process(), wish.unmerged) {
                    _ if strike.gives_away() => in_hand(&calls),
                    (true, false) => merged(&calls),
                    (true, true) => each(&calls),
                    (false, _) => each_alive(&calls),
                };
                let suitable = classes.into_iter().filter(|class| {
                    let side = class.boundary.side;
                    // What strikes every passage of nobody in particular lets nothing begin.
                    strike.side().is_none_or(|only| only == side)
                        && (!wish.every || class.boundary.message.is_some())
                });
                let points = suitable.map(|class| Point {
                    class,
                    strike: *strike,
                    every: wish.every,
                    then: None,
                });
                plan.points
                    .extend(points.filter(|point| strike.suits(point.protocol())));
            }
        }
        if let Some((most, seed)) = wish.pairs {
            let all = pairs::of(&plan.points);
            plan.pairs = all.len();
            plan.points.extend(pairs::some(all, most, seed));
        }
        plan
    }

    /// How many boundaries the points of one effect stand for.
    pub fn covered(points: &[&Point]) -> usize {
        let alone = points.iter().filter(|point| point.then.is_none());
        alone.map(|point| 1 + point.class.merged.len()).sum()
    }
}

/// A call of a process, with its two boundaries.
struct Call {
    by: Incarnation,
    before: Option<Boundary>,
    after: Option<Boundary>,
    durable: bool,
    /// Whether it is part of the handling of the message.
    handles: bool,
    /// Whether it was made again: a poll, and no part of a start.
    again: bool,
    /// What it asks of a queue, if it does.
    action: Option<String>,
}

impl Call {
    fn boundaries(&self) -> usize {
        usize::from(self.before.is_some()) + usize::from(self.after.is_some())
    }
}

/// The calls of a process in their order: those of the message's handling, and of the
/// others each shape once.
fn calls_of(role: &RoleName, survey: &[Site], of: &MessageName) -> Vec<Call> {
    let own = survey.iter().filter(|site| site.incarnation.role == *role);
    let sites: Vec<&Site> = own.collect();
    let of_message = handling(&sites, of);
    let mut idle: BTreeSet<&Shape> = BTreeSet::new();
    let mut calls = Vec::new();
    for (index, site) in sites.iter().enumerate() {
        let handles = of_message.contains(&index);
        let messages = site.messages();
        let of_others = !messages.is_empty() && !messages.contains(of);
        if of_others {
            continue;
        }
        let is_known = sites
            .iter()
            .enumerate()
            .any(|(other, another)| of_message.contains(&other) && another.shape == site.shape);
        if !handles && (is_known || !idle.insert(&site.shape)) {
            continue;
        }
        let name = name_of(&site.shape, &sites);
        let again = sites
            .iter()
            .filter(|other| other.shape == site.shape)
            .count()
            > 1;
        let boundary = |side: Side| boundary(role, side, &name, index, &sites, of, &of_message);
        calls.push(Call {
            by: site.incarnation.clone(),
            before: boundary(Side::Before),
            after: site.after.as_ref().and_then(|_| boundary(Side::After)),
            durable: site.durable,
            handles,
            again,
            action: match &site.shape.asked {
                Asked::Action { action, .. } => Some(action.clone()),
                _ => None,
            },
        });
    }
    calls
}

/// Which calls handle the message: those that name it, and those of nobody that the same
/// incarnation makes between two of them.
fn handling(sites: &[&Site], of: &MessageName) -> BTreeSet<usize> {
    let mut spans: BTreeMap<&Incarnation, (usize, usize)> = BTreeMap::new();
    for (index, site) in sites.iter().enumerate() {
        if site.messages().contains(of) {
            let span = spans.entry(&site.incarnation).or_insert((index, index));
            span.1 = index;
        }
    }
    let within = |index: usize| {
        let (site, messages) = (sites[index], sites[index].messages());
        let span = spans.get(&site.incarnation);
        let between = span.is_some_and(|(first, last)| (*first..=*last).contains(&index));
        messages.contains(of) || (between && messages.is_empty())
    };
    (0..sites.len()).filter(|index| within(*index)).collect()
}

/// The shortest name of a shape that means no other shape of the process.
fn name_of(shape: &Shape, sites: &[&Site]) -> String {
    let names = shape.names();
    let whole = names.last().cloned().unwrap_or_default();
    let tells_apart = |name: &String| {
        Wanted::parse(name).is_ok_and(|wanted| {
            wanted.is(shape)
                && sites
                    .iter()
                    .all(|site| site.shape == *shape || !wanted.is(&site.shape))
        })
    };
    names.into_iter().find(tells_apart).unwrap_or(whole)
}

/// A boundary of the call at this place, numbered as the fault will count it.
fn boundary(
    role: &RoleName,
    side: Side,
    name: &str,
    index: usize,
    sites: &[&Site],
    of: &MessageName,
    handled: &BTreeSet<usize>,
) -> Option<Boundary> {
    let wanted = Wanted::parse(name).ok()?;
    if !wanted.is(&sites[index].shape) {
        return None;
    }
    let same = || {
        let named = sites
            .iter()
            .enumerate()
            .filter(|(_, other)| wanted.is(&other.shape));
        named.filter_map(|(at, other)| match side {
            Side::Before => Some((at, &other.before)),
            Side::After => Some((at, other.after.as_ref()?)),
        })
    };
    // Where some of them name nobody, a fault could not tell whose they are.
    let anonymous = same().any(|(_, messages)| messages.is_empty());
    let counted =
        same().filter(|(at, messages)| *at <= index && (anonymous || messages.contains(of)));
    let mut nth = u32::try_from(counted.count()).ok()?;
    let message = (!anonymous).then(|| of.clone());
    // How often it polls before the message comes is chance; the first poll is always there.
    if anonymous && is_poll(name, sites, handled) {
        nth = nth.min(1);
    }
    (nth > 0).then(|| Boundary {
        process: role.clone(),
        side,
        call: name.to_owned(),
        nth,
        message,
    })
}

/// Whether calls of this name are also made while no message is handled.
fn is_poll(name: &str, sites: &[&Site], handled: &BTreeSet<usize>) -> bool {
    let Ok(wanted) = Wanted::parse(name) else {
        return false;
    };
    let idle = |(index, site): (usize, &&Site)| !handled.contains(&index) && wanted.is(&site.shape);
    sites.iter().enumerate().any(idle)
}

fn each(calls: &[Call]) -> Vec<Class> {
    let boundaries = calls
        .iter()
        .flat_map(|call| call.before.iter().chain(&call.after));
    boundaries.map(|boundary| class(boundary.clone())).collect()
}

/// For what leaves the process alive: of polls the second is struck. A process that cannot
/// start may give up, and whoever started it starts it again.
fn each_alive(calls: &[Call]) -> Vec<Class> {
    let mut classes = Vec::new();
    for call in calls.iter().filter(|call| call.handles || call.again) {
        for boundary in call.before.iter().chain(&call.after) {
            let mut boundary = boundary.clone();
            if !call.handles && boundary.message.is_none() {
                boundary.nth = 2;
            }
            classes.push(class(boundary));
        }
    }
    classes
}

/// Calls of somebody who has the message of a queue in hand: behind its receive, up to its
/// deletion.
fn in_hand(calls: &[Call]) -> Vec<Class> {
    let mut classes = Vec::new();
    let mut has = false;
    for call in calls.iter().filter(|call| call.handles) {
        let action = call.action.as_deref().unwrap_or_default();
        // What leaves no trace may name nobody, and two instances make it at once.
        if has && call.durable {
            let known = call.before.iter().filter(|one| one.message.is_some());
            classes.extend(known.cloned().map(class));
        }
        match action {
            "ReceiveMessage" => has = true,
            "DeleteMessage" | "DeleteMessageBatch" => has = false,
            _ => {}
        }
    }
    classes
}

fn class(boundary: Boundary) -> Class {
    Class {
        boundary,
        merged: Vec::new(),
    }
}

/// Boundaries between which nothing became durable, together.
fn merged(calls: &[Call]) -> Vec<Class> {
    let mut classes = Vec::new();
    let mut open: BTreeMap<&Incarnation, Vec<Boundary>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.handles) {
        let group = open.entry(&call.by).or_default();
        group.extend(call.before.clone());
        if call.durable {
            classes.extend(represented(std::mem::take(group)));
        }
        group.extend(call.after.clone());
    }
    classes.extend(open.into_values().filter_map(represented));
    // Polls and timers of an idle process are one point each.
    for call in calls.iter().filter(|call| !call.handles) {
        let both = call.before.iter().chain(&call.after).cloned().collect();
        classes.extend(represented(both));
    }
    classes
}

/// The boundary that stands for its group: the first that tells whose it is.
fn represented(mut group: Vec<Boundary>) -> Option<Class> {
    if group.is_empty() {
        return None;
    }
    let named = group.iter().position(|boundary| boundary.message.is_some());
    let boundary = group.remove(named.unwrap_or(0));
    Some(Class {
        merged: group,
        ..class(boundary)
    })
}

#[cfg(test)]
mod tests;
