//! Panics and their places, and futures that must not last for ever.

use std::any::Any;
use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::sync::Once;
use std::time::Duration;

use futures::FutureExt as _;

use super::super::interrupt::Interrupt;

thread_local! {
    /// The panics on this thread since it began to watch for them, with their places.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Makes threads that run scenarios keep their panics for the report instead of
/// printing them. Other threads' panics go where they went before. Calling it again
/// does nothing.
pub fn keep_places_of_panics() {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let text = payload(panic.payload());
            let place = panic
                .location()
                .map_or_else(String::new, |place| format!(" ({place})"));
            let kept = PANICS.try_with(|panics| {
                let Ok(mut panics) = panics.try_borrow_mut() else {
                    return false;
                };
                panics.as_mut().is_some_and(|panics| {
                    panics.push(format!("{text}{place}"));
                    true
                })
            });
            if !kept.unwrap_or(false) {
                before(panic);
            }
        }));
    });
}

/// Runs something while panics on this thread are kept, and returns them.
pub(super) fn watching<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    PANICS.set(Some(Vec::new()));
    let result = run();
    (result, PANICS.take().unwrap_or_default())
}

/// The panics kept since the last call.
pub(super) fn panics() -> Vec<String> {
    PANICS.with_borrow_mut(|panics| panics.as_mut().map(std::mem::take).unwrap_or_default())
}

fn payload(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// A panic in words: its own place if one was kept, or at least its message.
pub(super) fn describe(panic: &(dyn Any + Send), kept: &[String], what: &str) -> String {
    let text = kept.last().cloned().unwrap_or_else(|| payload(panic));
    format!("the harness panicked in {what}: {text}")
}

/// How a guarded future ended.
pub(super) enum Ended<T> {
    /// By itself.
    Well(T),
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
    /// Its time was over.
    TooLate,
    /// The run is being interrupted.
    Interrupted,
}

/// Awaits a future, but not beyond a limit, a panic, or an interrupt.
pub(super) async fn guarded<T>(
    future: impl Future<Output = T>,
    limit: Duration,
    interrupted: impl Future<Output = ()>,
) -> Ended<T> {
    let future = AssertUnwindSafe(future).catch_unwind();
    tokio::select! {
        biased;
        result = future => match result {
            Ok(value) => Ended::Well(value),
            Err(panic) => Ended::Panicked(panic),
        },
        () = interrupted => Ended::Interrupted,
        () = tokio::time::sleep(limit) => Ended::TooLate,
    }
}

/// How long something that watches the interrupt itself may take to end.
pub(super) const COURTESY: Duration = Duration::from_secs(2);

/// Waits for the end of the time in which something may still end by itself after an
/// interrupt. An urgent one gives none.
pub(super) async fn ended(interrupt: &Interrupt) {
    interrupt.raised().await;
    tokio::select! {
        () = interrupt.urgent() => {}
        () = tokio::time::sleep(COURTESY) => {}
    }
}
