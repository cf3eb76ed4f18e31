//! What can be told before anything runs: whether a redrive policy leaves room for the
//! attempts that the system allows, and whether ends can be counted by the system too.

use super::Plan;
use crate::fault::{Effect, Fault, Point, Times};
use crate::manifest::{Binding, DeadLetter, Manifest, Pattern, Protocol, Template};
use nix::sys::signal::Signal;

const NO_ENDS: &str = "the manifest names no end of a job (`terminal`), so nothing tells here \
    whether a message is lost: `rehearse explore` compares what is durable instead";

/// What cannot be judged, because the manifest does not say it.
pub(super) fn unjudged(manifest: &Manifest) -> Option<String> {
    manifest.terminal.is_empty().then(|| NO_ENDS.to_owned())
}

/// What a person should know who reads the verdict.
pub(super) fn warnings(manifest: &Manifest, plan: &Plan) -> Vec<String> {
    let mut warnings = lacking_room(manifest, plan);
    warnings.extend(manifest.unclaimed_ends());
    warnings
}

/// What the scenario's settings leave no room for.
fn lacking_room(manifest: &Manifest, plan: &Plan) -> Vec<String> {
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
                Protocol::Postgres { .. } | Protocol::Http { .. } | Protocol::Redis { .. } => None,
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
        (Effect::Signal(Signal::SIGTERM | Signal::SIGINT) | Effect::Reappear, _) => true,
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::fault::Whose;

    const GOOD: &str = include_str!("../../tests/manifests/good.yaml");

    /// A shop whose redrive policy allows as many receives as a scenario sets.
    fn shop(policy: &str) -> Manifest {
        let text = GOOD
            .replace(
                "      orders: {}",
                &format!("      orders: {{ dead_letter: {policy} }}\n      orders-dead: {{}}"),
            )
            .replace(
                "  attempt limit: { default: 3 }",
                "  attempt limit: { default: 3 }\n  most receives: { default: 10 }\n  setbacks: { default: 0 }",
            )
            .replace(
                "stages:\n",
                "stages:\n  received: { process: worker, after: { dependency: queue, action: ReceiveMessage } }\n",
            );
        Manifest::parse(Path::new("tests/manifests/rehearsal.yaml"), &text)
            .unwrap_or_else(|error| panic!("{}", error.plain()))
    }

    fn with_all() -> Manifest {
        shop(
            "{ queue: orders-dead, max_receives: \"${setting.most receives}\", \
             attempts: \"${setting.attempt limit}\", setbacks: \"${setting.setbacks}\" }",
        )
    }

    fn plan(settings: &[(&str, &str)]) -> Plan {
        let mut plan = Plan::default();
        plan.declare(&"M1".into(), "plain");
        for (setting, value) in settings {
            plan.set(setting, *value);
        }
        plan
    }

    fn armed(effect: Effect, stage: &str, times: Times) -> Plan {
        let mut plan = plan(&[("most receives", "5")]);
        let fault = Fault {
            effect,
            point: Point::stage(stage),
            whose: Whose::These(vec!["M1".into()]),
            times,
            may: false,
        };
        plan.arm(fault).unwrap();
        plan
    }

    #[test]
    fn the_attempts_and_their_hand_over_must_have_room() {
        let manifest = with_all();
        assert!(lacking_room(&manifest, &plan(&[])).is_empty());
        assert!(lacking_room(&manifest, &plan(&[("most receives", "4")])).is_empty());
        let told = lacking_room(&manifest, &plan(&[("most receives", "3")]));
        assert_eq!(
            told,
            [
                "maxReceiveCount is 3 on orders, but 3 attempts, their hand-over and 0 setbacks need \
              4: messages may reach orders-dead although nothing failed"
            ]
        );
        let told = lacking_room(&manifest, &plan(&[("attempt limit", "10")]));
        assert!(
            told[0].contains("10 attempts") && told[0].contains("need 11"),
            "{told:?}"
        );
    }

    #[test]
    fn setbacks_that_are_expected_need_room_too() {
        let settings = |setbacks| [("most receives", "6"), ("setbacks", setbacks)];
        assert!(lacking_room(&with_all(), &plan(&settings("2"))).is_empty());
        let told = lacking_room(&with_all(), &plan(&settings("3")));
        assert!(told[0].contains("3 setbacks need 7"), "{told:?}");
    }

    #[test]
    fn what_the_scenario_itself_does_is_counted() {
        let manifest = with_all();
        for (effect, stage) in [
            (Effect::Signal(Signal::SIGTERM), "packed"),
            (Effect::Signal(Signal::SIGINT), "packed"),
            (Effect::Reappear, "packed"),
            (Effect::LoseReply, "received"),
        ] {
            let told = |times| lacking_room(&manifest, &armed(effect.clone(), stage, times));
            assert!(told(Times::First(1)).is_empty(), "{effect}");
            assert!(
                told(Times::First(2))[0].contains("2 setbacks need 6"),
                "{effect}"
            );
            assert!(
                told(Times::Among([1, 3, 4].into()))[0].contains("3 setbacks"),
                "{effect}"
            );
            // How often it will be cannot be told.
            assert!(told(Times::Every).is_empty(), "{effect}");
        }
    }

    #[test]
    fn a_failed_attempt_is_no_setback() {
        for (effect, stage) in [
            (Effect::Signal(Signal::SIGKILL), "packed"),
            (Effect::LoseReply, "packed"),
            (Effect::LoseRequest, "received"),
            (Effect::Delay(Duration::from_secs(1)), "received"),
        ] {
            let plan = armed(effect.clone(), stage, Times::First(4));
            assert!(lacking_room(&with_all(), &plan).is_empty(), "{effect}");
        }
    }

    #[test]
    fn a_policy_that_names_no_attempts_is_not_judged() {
        let manifest = shop("{ queue: orders-dead, max_receives: 1 }");
        assert!(lacking_room(&manifest, &plan(&[])).is_empty());
        let figure = shop("{ queue: orders-dead, max_receives: 1, attempts: 1 }");
        assert!(lacking_room(&figure, &plan(&[]))[0].contains("need 2"));
    }
}
