//! A table of operations. Its operations are in place on x86-64, and static calls elsewhere.

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Relaxed, SeqCst},
};

use jumplabel::{Error, Outcome, ops};

ops! {
    /// The table with the operation `count`. Its backend decides how events are counted.
    pub static COUNTER: Counting = { Plain, Twice, Silent, Closed };

    /// Counts one event.
    ///
    /// # Safety
    /// `counter` points to a number.
    unsafe fn count(counter: *const AtomicU32) {
        Plain => plain, x86_64 unsafe { "{{disp32}} lock inc dword ptr [{counter}]" };
        Twice => twice;
        Silent => nothing;
        Closed => three, x86_64 unsafe { "lock add dword ptr [{counter}], 3" };
    }
}

/// True once the native form was called as a function, which must not happen if it is in place.
static CALLED: AtomicBool = AtomicBool::new(false);
const IN_PLACE: bool = cfg!(target_arch = "x86_64");
/// The number of call sites: one in [`counted`], one in [`seen`].
const SITES: usize = 2;

fn add(counter: *const AtomicU32, number: u32) {
    // SAFETY: the callers of `count` pass a pointer to a number.
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
    // SAFETY: the pointer leads to a number.
    unsafe { count(&counter) };
    counter.into_inner()
}

/// True if an event counts twice. The other CPU runs this.
#[inline(always)]
pub fn seen() -> bool {
    let counter = AtomicU32::new(0);
    // SAFETY: the pointer leads to a number.
    unsafe { count(&counter) };
    counter.into_inner() == 2
}

/// Sets each backend in turn, and then the native one again.
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

/// Sets the backend `Twice` or the native one. The other CPU may run [`seen`] meanwhile.
pub fn set(on: bool) -> Result<(), Error> {
    changed(if on { COUNTER.set(Counting::Twice) } else { COUNTER.native() }?);
    Ok(())
}

/// Changes from the native backend to the other one, or back.
pub fn toggle() {
    set(COUNTER.query() == Counting::Plain).unwrap();
}

/// Checks that all sites were changed. Operations that are static calls may share one site.
fn changed(Outcome { sites, .. }: Outcome) {
    assert!(sites == SITES || !IN_PLACE && sites > 0, "{sites} sites");
}
