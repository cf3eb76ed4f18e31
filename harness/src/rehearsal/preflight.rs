//! What can be told before anything runs: whether a redrive policy leaves room for the
//! attempts that the system allows.

use super::Plan;
use crate::fault::{Effect, Fault, Point, Times};
use crate::manifest::{Binding, DeadLetter, Manifest, Pattern, Protocol, Template};
use nix::sys::signal::Signal;

/// What the scenario's settings leave no room for.
pub(super) fn warnings(manifest: &Manifest, plan: &Plan) -> Vec<String> {
    let settings = plan.settings(manifest);
    let number = |template: &Template| -> Option<u64> {
        let rendered = template.render(&|name: &str| settings.get(name).cloned());
        rendered.ok()?.trim().parse().ok()
    };
    let queues =
        manifest
            .dependencies
            .values()
            .filter_map(|dependency| match &dependency.protocol {
                Protocol::Sqs { queues } => Some(queues),
                Protocol::Postgres | Protocol::Http { .. } => None,
            });
    let policies = queues
        .flatten()
        .filter_map(|(name, queue)| Some((name, queue.dead_letter.as_ref()?)));
    policies
        .filter_map(|(queue, policy)| {
            let DeadLetter {
                max_receives,
                attempts,
                setbacks,
                ..
            } = policy;
            let allowed = number(max_receives)?;
            let attempts = number(attempts.as_ref()?)?;
            let expected = setbacks.as_ref().and_then(number).unwrap_or_default();
            let ordered: u64 = plan
                .faults()
                .iter()
                .map(|fault| setbacks_of(manifest, fault))
                .sum();
            // The receive after the last attempt is the one that hands the message over.
            let needed = attempts + 1 + expected + ordered;
            (allowed < needed).then(|| {
                format!(
                    "maxReceiveCount is {allowed} on {queue}, but {attempts} attempts, their \
                     hand-over and {} setbacks need {needed}: messages may reach {} although \
                     nothing failed",
                    expected + ordered,
                    policy.queue
                )
            })
        })
        .collect()
}

/// How many receives of one message a fault uses up although no attempt fails.
fn setbacks_of(manifest: &Manifest, fault: &Fault) -> u64 {
    let uses_up = match (&fault.effect, &fault.point) {
        // A requested stop; a crash is a failed attempt.
        (Effect::Signal(Signal::SIGTERM | Signal::SIGINT), _) | (Effect::Reappear, _) => true,
        (Effect::LoseReply, Point::Stage { stage, .. }) => matches!(
            &manifest.stages[stage].binding,
            Binding::Boundary { pattern: Pattern::Action { action, .. }, .. }
                if action == "ReceiveMessage"
        ),
        _ => false,
    };
    match (uses_up, &fault.times) {
        (true, Times::First(_) | Times::Nth(_) | Times::Among(_)) => {
            u64::from(fault.times.expected())
        }
        // How often it will be cannot be told.
        (true, Times::Every) | (false, _) => 0,
    }
}
