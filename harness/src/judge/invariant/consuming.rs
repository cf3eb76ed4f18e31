//! Stories of consumers, for the tests of the rules about them.

use crate::history::Event;
use crate::ids::{CallId, Incarnation};
use crate::judge::story::{MANIFEST, Story};
use crate::manifest::{Claim, Consumption, Manifest, Template};

/// The stories' manifest, with consumers that `tried` pauses, `tried-again` lets go on and
/// `put-aside` stops.
pub(super) fn consuming() -> Manifest {
    let mut manifest = MANIFEST.clone();
    manifest.consumption = Some(Consumption {
        role: "packer".into(),
        mode: Claim {
            dependency: "database".into(),
            query: String::new(),
        },
        ownerless: None,
        in_hand: Template { parts: Vec::new() },
        normal: "open".to_owned(),
        rests: Vec::new(),
        paused: Some("tried".into()),
        resumed: vec!["tried-again".into()],
        stopped: Some("put-aside".into()),
        probes: 0,
    });
    manifest
}

pub(super) fn receives(story: Story, by: &Incarnation, at_most: u32) -> Story {
    story.then(Event::Receiving {
        call: CallId(99),
        incarnation: by.clone(),
        at_most,
        hides: None,
    })
}

pub(super) fn ended_in(story: Story, mode: &str, configured: u32) -> Story {
    story
        .then(Event::Consumption {
            mode: mode.to_owned(),
            configured: Some(configured),
        })
        .quiet()
}
