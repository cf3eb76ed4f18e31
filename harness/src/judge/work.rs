//! How many entries the judges looked at: judging must stay linear.

#[cfg(test)]
thread_local! {
    static ENTRIES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// One more entry was read.
#[inline]
pub(super) fn note() {
    #[cfg(test)]
    ENTRIES.set(ENTRIES.get() + 1);
}

/// How many entries were read by this thread while this ran.
#[cfg(test)]
pub(super) fn during(run: impl FnOnce()) -> usize {
    let before = ENTRIES.get();
    run();
    ENTRIES.get() - before
}
