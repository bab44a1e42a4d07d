//! A table of operations: in place on x86-64, static calls elsewhere.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Relaxed, SeqCst},
};

use jumplabel::{Error, Outcome, ops};

ops! {
    /// How events are counted.
    pub static COUNTER: Counting = { Plain, Twice, Silent, Closed };

    /// Counts one event.
    ///
    /// # Safety
    /// `counter` is a number.
    unsafe fn count(counter: *const AtomicU32) {
        Plain => plain, x86_64 unsafe { "{{disp32}} lock inc dword ptr [{counter}]" };
        Twice => twice;
        Silent => nothing;
        Closed => three, x86_64 unsafe { "lock add dword ptr [{counter}], 3" };
    }
}

/// Whether the native form was called: where it is in place, nobody does that.
static CALLED: AtomicBool = AtomicBool::new(false);
const IN_PLACE: bool = cfg!(target_arch = "x86_64");
/// In [`counted`], and in [`seen`].
const SITES: usize = 2;

fn add(counter: *const AtomicU32, number: u32) {
    // SAFETY: what the callers count with.
    unsafe { &*counter }.fetch_add(number, Relaxed);
}
unsafe extern "C" fn plain(counter: *const AtomicU32) {
    CALLED.store(true, SeqCst);
    add(counter, 1);
}
unsafe extern "C" fn twice(counter: *const AtomicU32) {
    add(counter, 2);
}
unsafe extern "C" fn three(counter: *const AtomicU32) {
    add(counter, 3);
}

#[inline(never)]
fn counted() -> u32 {
    let counter = AtomicU32::new(0);
    // SAFETY: a number.
    unsafe { count(&counter) };
    counter.into_inner()
}

/// What the other CPU runs: whether an event counts twice.
#[inline(always)]
pub fn seen() -> bool {
    let counter = AtomicU32::new(0);
    // SAFETY: a number.
    unsafe { count(&counter) };
    counter.into_inner() == 2
}

/// All backends, one after the other, and back to the native one.
pub fn run() -> Result<(), Error> {
    for (backend, number) in [
        (Counting::Twice, 2),
        (Counting::Silent, 0),
        (Counting::Closed, 3),
        (Counting::Plain, 1),
        (Counting::Silent, 0),
    ] {
        changed(COUNTER.set(backend)?);
        CALLED.store(false, SeqCst);
        assert!(counted() == number && COUNTER.query() == backend);
        assert!(CALLED.load(SeqCst) == (backend == Counting::Plain && !IN_PLACE));
    }
    changed(COUNTER.native()?);
    assert!(counted() == 1 && COUNTER.native()?.sites == 0);
    Ok(())
}

/// While the other CPU runs [`seen`], or not.
pub fn set(on: bool) -> Result<(), Error> {
    changed(if on { COUNTER.set(Counting::Twice) } else { COUNTER.native() }?);
    Ok(())
}

/// From one backend to the other, or back.
pub fn toggle() {
    set(COUNTER.query() == Counting::Plain).unwrap();
}

/// Every change is of all sites. Where operations are calls, there may be one for all.
fn changed(Outcome { sites, .. }: Outcome) {
    assert!(sites == SITES || !IN_PLACE && sites > 0, "{sites} sites");
}
