//! Guards of keys: what they give back, and when; and that two of one key wait for each other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use jumplabel::{Error, static_branch_unlikely, static_key};
#[cfg(all(target_os = "linux", not(miri)))]
use jumplabel_testing::scenario;

#[test]
fn the_state_comes_back() {
    static_key! { static OFF: false; static ON: true; }
    for on in [true, false] {
        let guards = (OFF.scoped(on).unwrap(), ON.scoped(on).unwrap());
        assert!(static_branch_unlikely!(OFF) == on && static_branch_unlikely!(ON) == on);
        drop(guards);
        assert!(!static_branch_unlikely!(OFF) && static_branch_unlikely!(ON));
    }
    assert_eq!(OFF.scoped(true).unwrap().restore().unwrap().sites, if cfg!(jumplabel_sites) { 2 } else { 0 });
    assert!(!OFF.is_enabled());
}

#[test]
fn a_panic_gives_it_back() {
    static_key! { static KEY: false; }
    let panicked = thread::spawn(|| {
        let _guard = KEY.scoped(true).unwrap();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(panicked.join().is_err() && !KEY.is_enabled());
    drop(KEY.scoped(true).unwrap());
}

#[test]
fn refusals_leave_no_guard() {
    static_key! { static COUNTED: false; static SEALED: false; static TWICE: false; }
    COUNTED.inc().unwrap();
    COUNTED.inc().unwrap();
    assert_eq!(COUNTED.scoped(false).unwrap_err(), Error::Counted { count: 2 });
    COUNTED.dec().unwrap();
    drop(COUNTED.scoped(false).unwrap());
    assert_eq!(COUNTED.count(), 1);
    SEALED.seal().unwrap();
    assert_eq!(SEALED.scoped(true).unwrap_err(), Error::Sealed);
    drop(SEALED.scoped(false).unwrap());
    let first = TWICE.scoped(true).unwrap();
    let refused = TWICE.scoped(false).unwrap_err();
    assert!(refused == Error::Reentrant && refused.to_string().contains("guard of the key"), "{refused}");
    assert!(TWICE.is_enabled());
    drop(first);
    assert!(!TWICE.is_enabled());
}

/// Threads that want different states of one key; each finds its own for as long as it looks. Without the guards, `found` differs.
#[test]
fn guards_of_one_key_wait_for_each_other() {
    static_key! { static KEY: false; }
    let (rounds, others) = if cfg!(miri) { (3, 2) } else { (200, 4) };
    let inside = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..others {
            let inside = &inside;
            scope.spawn(move || {
                for round in 0..rounds {
                    let on = (number + round) % 2 == 0;
                    let guard = KEY.scoped(on).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    thread::yield_now();
                    let found = static_branch_unlikely!(KEY);
                    assert_eq!(found, on);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    drop(guard);
                }
            });
        }
    });
    assert!(!KEY.is_enabled());
}

/// A child of fork waits neither for a guard of another thread of its parent, nor for a thread that had the list of guards when the process was forked.
/// (Twin: in the parent, the same guards are waited for: `guards_of_one_key_wait_for_each_other`.)
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn a_child_waits_for_no_thread_of_its_parent() {
    use allocating::{FORKED, IN_LIST};
    static_key! { static HELD: false; static ADDED: false; static OWN: false; }
    scenario::passes(|| {
        let mut own = Some(OWN.scoped(true).unwrap());
        let holder = thread::spawn(|| {
            let guard = HELD.scoped(true).unwrap();
            IN_LIST.with(|hold| hold.set(true));
            // The list has room for four guards, and grows at the fifth.
            let more = OTHERS.each_ref().map(|key| key.scoped(true).unwrap());
            drop((guard, more));
        });
        allocating::wait_until_list_is_held();
        let child = scenario::fork(|| {
            let held = HELD.scoped(false).unwrap();
            assert!(!static_branch_unlikely!(HELD));
            drop(held);
            drop(ADDED.scoped(true).unwrap());
            drop(own.take());
            HELD.is_enabled() && !OWN.is_enabled()
        });
        FORKED.store(true, Ordering::Release);
        scenario::reap(child);
        holder.join().unwrap();
        assert!(OWN.is_enabled() && !HELD.is_enabled() && OTHERS.iter().all(|key| !key.is_enabled()));
    });
}

#[cfg(all(target_os = "linux", not(miri)))]
static_key! { static OTHERS: [false; 4]; }

/// An allocator that stops one thread in the middle of an allocation, until the process was forked.
#[cfg(all(target_os = "linux", not(miri)))]
mod allocating {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    thread_local! { pub static IN_LIST: Cell<bool> = const { Cell::new(false) } }
    static HELD: AtomicBool = AtomicBool::new(false);
    pub static FORKED: AtomicBool = AtomicBool::new(false);

    pub fn wait_until_list_is_held() {
        while !HELD.load(Ordering::Acquire) {
            thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    fn stop() {
        if IN_LIST.get() {
            HELD.store(true, Ordering::Release);
            while !FORKED.load(Ordering::Acquire) {
                thread::yield_now();
            }
        }
    }

    struct Stopping;

    #[global_allocator]
    static ALLOCATOR: Stopping = Stopping;

    // SAFETY: the system's allocator does the work.
    unsafe impl GlobalAlloc for Stopping {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            stop();
            // SAFETY: the caller keeps the conditions.
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: the caller keeps the conditions.
            unsafe { System.dealloc(memory, layout) };
        }
        unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            stop();
            // SAFETY: the caller keeps the conditions.
            unsafe { System.realloc(memory, layout, size) }
        }
    }
}
