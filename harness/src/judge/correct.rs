//! Random histories of a correct system: deaths at any stage, duplicates, hand-overs,
//! replays, messages side by side. No judge may convict one of them, and every judge
//! must see through one from which something essential was taken or told twice.

use proptest::prelude::*;

use super::story::{MANIFEST, Story, packer};
use super::{Evidence, judge};
use crate::history::{Attribution, DeathCause, Entry, Event, Text};
use crate::ids::{Author, CallId, ConnectionId};

/// What becomes of one delivery.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// The packer dies right after the receive.
    DiesFirst,
    /// It dies after its try was recorded.
    DiesTrying,
    /// It dies after the outside write.
    DiesAfterWrite,
    /// It dies between the end and the deletion.
    DiesBeforeDeletion,
    /// It goes through.
    Succeeds,
    /// It is put aside.
    PutAside,
}

/// What is still to happen to one message, in order.
#[derive(Clone, Debug)]
struct Course {
    fates: Vec<Fate>,
    /// The publisher crashed between acceptance and mark.
    sent_twice: bool,
    /// An operator asks for another series after it was put aside.
    replayed: bool,
}

fn course() -> impl Strategy<Value = Course> {
    let fate = prop_oneof![
        Just(Fate::DiesFirst),
        Just(Fate::DiesTrying),
        Just(Fate::DiesAfterWrite),
        Just(Fate::DiesBeforeDeletion),
        Just(Fate::Succeeds),
        Just(Fate::PutAside),
    ];
    let fates = prop::collection::vec(fate, 1..5);
    (fates, any::<bool>(), any::<bool>()).prop_map(|(fates, sent_twice, replayed)| Course {
        fates,
        sent_twice,
        replayed,
    })
}

/// One message in a correct system.
struct Job {
    name: String,
    wrote: bool,
    ended: bool,
}

impl Job {
    /// What a correct system does with this course, event by event.
    fn told(course: &Course, number: u64) -> Vec<Event> {
        let name = &format!("M{number}");
        let mut job = Self {
            name: name.to_owned(),
            wrote: false,
            ended: false,
        };
        let mut story = Story::new().calling_from(1_000 * number).accepted(name);
        let mut copies = vec!["first"];
        if course.sent_twice {
            copies.push("twin");
        }
        for copy in &copies {
            story = story.sent(name, &job.copy(copy));
        }
        for fate in &course.fates {
            if !job.ended {
                story = job.delivery(story, *fate, "first");
            }
        }
        if !job.ended {
            story = job.delivery(story, Fate::Succeeds, "first");
        }
        // Whatever copy is left meets a finished job and is deleted without a try.
        for copy in copies {
            let copy = job.copy(copy);
            if !deleted(&story, &copy) {
                story = story.delivered(name, &copy).deleted(name, &copy);
            }
        }
        if course.replayed && put_aside(&story) {
            job.ended = false;
            let again = job.copy("again");
            story = story.passed("tried-again", name).sent(name, &again);
            story = job.delivery(story, Fate::Succeeds, "again");
        }
        story.events()[1..].to_vec()
    }

    fn copy(&self, which: &str) -> String {
        format!("{which}-copy-of-{}", self.name)
    }

    fn delivery(&mut self, story: Story, fate: Fate, which: &str) -> Story {
        let (name, copy) = (self.name.clone(), self.copy(which));
        let dies = |story: Story| story.exited(DeathCause::Ordered, &[&name]);
        let story = story.delivered(&name, &copy);
        if matches!(fate, Fate::DiesFirst) {
            return dies(story);
        }
        let story = story.passed("tried", &name);
        match fate {
            Fate::DiesFirst | Fate::DiesTrying => return dies(story),
            Fate::PutAside => {
                self.ended = true;
                return story.passed("put-aside", &name).deleted(&name, &copy);
            }
            Fate::DiesAfterWrite | Fate::DiesBeforeDeletion | Fate::Succeeds => {}
        }
        let story = if self.wrote {
            story
        } else {
            story.wrote(&name)
        };
        self.wrote = true;
        if matches!(fate, Fate::DiesAfterWrite) {
            return dies(story);
        }
        self.ended = true;
        let story = story.passed("shipped", &name);
        if matches!(fate, Fate::DiesBeforeDeletion) {
            return dies(story);
        }
        story.deleted(&name, &copy)
    }
}

fn deleted(story: &Story, copy: &str) -> bool {
    story
        .events()
        .iter()
        .any(|event| matches!(event, Event::Deleted { message_id: Some(of), .. } if of == copy))
}

fn put_aside(story: &Story) -> bool {
    story
        .events()
        .iter()
        .any(|event| matches!(event, Event::Stage { stage, .. } if stage.as_str() == "put-aside"))
}

/// Several messages side by side: each keeps its own order, the picks mix them.
fn mixed(courses: &[Course], picks: &[prop::sample::Index]) -> Story {
    let mut waiting: Vec<std::vec::IntoIter<Event>> = (1..)
        .zip(courses)
        .map(|(number, course)| Job::told(course, number).into_iter())
        .collect();
    let mut story = Story::new().called(&packer(1), "ReceiveMessage orders");
    let mut picks = picks.iter().cycle();
    while !waiting.is_empty() {
        let next = picks.next().map_or(0, |pick| pick.index(waiting.len()));
        match waiting[next].next() {
            Some(event) => story = story.then(event),
            None => drop(waiting.remove(next)),
        }
    }
    story.quiet()
}

/// Places, from 1, of the events that fit.
fn places(story: &Story, fits: impl Fn(&Event) -> bool) -> Vec<usize> {
    (1..)
        .zip(story.events())
        .filter(|(_, event)| fits(event))
        .map(|(place, _)| place)
        .collect()
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Stage { stage, .. } if matches!(stage.as_str(), "shipped" | "put-aside"))
}

fn is_write(event: &Event) -> bool {
    matches!(event, Event::Performed { .. })
}

proptest! {
    #[test]
    fn a_correct_history_is_never_convicted(
        courses in prop::collection::vec(course(), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let story = mixed(&courses, &picks);
        let judgement = story.judged();
        prop_assert!(judgement.violations.is_empty(), "{:?}", judgement.violations);
        prop_assert!(judgement.errors.is_empty());
    }

    #[test]
    fn an_end_left_out_is_convicted(
        courses in prop::collection::vec(course(), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        which in any::<prop::sample::Index>(),
    ) {
        let story = mixed(&courses, &picks);
        let ends = places(&story, is_end);
        let broken = story.without(*which.get(&ends));
        prop_assert!(!broken.broken_rules().is_empty());
    }

    #[test]
    fn an_end_told_twice_is_convicted(
        courses in prop::collection::vec(course(), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        which in any::<prop::sample::Index>(),
    ) {
        let story = mixed(&courses, &picks);
        let ends = places(&story, is_end);
        let broken = story.twice(*which.get(&ends));
        prop_assert!(broken.broken_rules().contains(&"one end for each series"));
    }

    #[test]
    fn a_write_told_twice_or_left_out_is_convicted(
        courses in prop::collection::vec(course(), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        which in any::<prop::sample::Index>(),
    ) {
        let story = mixed(&courses, &picks);
        let writes = places(&story, is_write);
        prop_assume!(!writes.is_empty());
        let place = *which.get(&writes);
        prop_assert!(story.twice(place).broken_rules().contains(&"the outside write happens once"));
        let Event::Performed { message, .. } = &story.events()[place - 1] else { unreachable!() };
        let shipped = story.events().iter().any(|event| matches!(
            event,
            Event::Stage { stage, message: of, .. } if stage.as_str() == "shipped" && of == message
        ));
        if shipped {
            prop_assert!(!story.without(place).broken_rules().is_empty());
        }
    }

    #[test]
    fn a_try_left_out_is_convicted_where_it_was_the_only_one(
        courses in prop::collection::vec(course(), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let story = mixed(&courses, &picks);
        let tries_of = |name: &str| places(&story, |event| matches!(
            event,
            Event::Stage { stage, message: Some(of), .. } if stage.as_str() == "tried" && of.as_str() == name
        ));
        for shipped in places(&story, |event| matches!(event, Event::Stage { stage, .. } if stage.as_str() == "shipped")) {
            let Event::Stage { message: Some(message), .. } = &story.events()[shipped - 1] else { unreachable!() };
            if let [only] = tries_of(message.as_str())[..] {
                prop_assert!(story.without(only).broken_rules().contains(&"stages in their order"));
            }
        }
    }

    #[test]
    fn what_memory_drops_changes_no_judgement(
        courses in prop::collection::vec(course(), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        which in any::<prop::sample::Index>(),
        calls in prop::collection::vec(any::<(prop::sample::Index, bool, bool)>(), 0..30),
    ) {
        let story = mixed(&courses, &picks);
        let ends = places(&story, is_end);
        for story in [story.without(*which.get(&ends)), story] {
            let whole = with_calls(&story, &calls);
            let mut kept = whole.clone();
            crate::history::thin(&mut kept);
            let manifest = &*MANIFEST;
            let judged = |entries: &[Entry]| judge(Evidence { manifest, entries });
            let (all, few) = (judged(&whole), judged(&kept));
            prop_assert_eq!(all.verdict, few.verdict);
            prop_assert_eq!(all.violations, few.violations);
            prop_assert_eq!(all.errors, few.errors);
            prop_assert_eq!(all.unproven, few.unproven);
        }
    }
}

/// A story with ordinary calls between its events, about a message or not, that wrote
/// something or not.
fn with_calls(story: &Story, calls: &[(prop::sample::Index, bool, bool)]) -> Vec<Entry> {
    let mut events = story.events().to_vec();
    for (number, (place, named, wrote)) in (1_000_000..).zip(calls) {
        let call = CallId(number);
        let (from, to) = (place.index(events.len() - 1) + 1, events.len());
        let replied = Event::Replied {
            call,
            summary: Text::default(),
            status: None,
            wrote: *wrote,
            deliverable: true,
            ok: true,
            content: None,
        };
        events.insert(from + (to - from) / 2, replied);
        let called = Event::Called {
            call,
            connection: ConnectionId(1),
            author: Author::Process(packer(1)),
            dependency: "database".into(),
            kind: None,
            summary: Text::default(),
            actions: vec!["update orders set".to_owned()].into(),
            shape: None,
            messages: named.then(|| "M1".into()).into_iter().collect(),
            attribution: if *named {
                Attribution::Id
            } else {
                Attribution::None
            },
            receipts: Vec::new(),
            content: None,
        };
        events.insert(from, called);
    }
    (1..)
        .zip(events)
        .map(|(seq, event)| Entry {
            seq,
            at_us: seq,
            event,
        })
        .collect()
}
