//! Tests of the table alone. They simulate events that a test of the whole library cannot cause at the right moment.

use super::*;

unsafe extern "C" fn nothing(_: *const RawChanged, _: *mut c_void) {}

fn register(notifiers: &Notifiers) -> u32 {
    // SAFETY: the function does nothing.
    unsafe { notifiers.register(0, nothing, null_mut()) }.unwrap()
}

/// Another thread, which searches for a free slot, has claimed this slot, and has not yet seen that a call runs in it.
#[test]
fn removed_while_somebody_claims_it() {
    let notifiers = Notifiers::new();
    let id = register(&notifiers);
    let slot = &notifiers.slots[id as usize % SLOTS];
    slot.running.store(1, Ordering::Relaxed);
    assert_eq!(notifiers.remove(id), 1);
    slot.id.store(CLAIMED, Ordering::Relaxed);
    assert_eq!(notifiers.remove(id), 1);
    slot.running.store(0, Ordering::Relaxed);
    assert_eq!(notifiers.remove(id), 0);
}

/// A registered function that simulates a fork during its call: it does what the handler in the child does. Then it simulates another thread of the
/// child that begins a call.
unsafe extern "C" fn forks(_: *const RawChanged, notifiers: *mut c_void) {
    // SAFETY: the test has registered this function with the address of its table, which lives until the end of the test.
    let notifiers = unsafe { &*notifiers.cast::<Notifiers>() };
    notifiers.forked();
    notifiers.slots[0].running.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn forked_in_a_call() {
    let notifiers = Notifiers::new();
    // SAFETY: the function may be called with the address of the table, which lives until the end of the test.
    unsafe { notifiers.register(0, forks, (&raw const notifiers).cast_mut().cast()) }.unwrap();
    // At the time of the fork, another thread is filling slot 7.
    notifiers.slots[7].id.store(CLAIMED, Ordering::Relaxed);
    notifiers.count.store(2, Ordering::Relaxed);
    notifiers.call(1, &[()], |()| RawChanged { key: null_mut(), mode: null_mut(), state: 1, by: 0, uid: 0 });
    assert_eq!([0, 7].map(|slot| notifiers.slots[slot].running.load(Ordering::Relaxed)), [1, 0]);
    assert_eq!((notifiers.slots[7].id.load(Ordering::Relaxed), notifiers.count.load(Ordering::Relaxed)), (0, 1));
    assert!(notifiers.callers.iter().all(|caller| caller.thread.load(Ordering::Relaxed) == 0));
}
