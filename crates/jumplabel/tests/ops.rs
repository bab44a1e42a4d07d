//! Tables of operations.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::ops;

ops! {
    /// How events are counted.
    pub static COUNTER: Counting = { Plain, Silent, Twice, Closed, Slow { init: began, thread_start: started, thread_exit: ended } };

    /// Counts one event.
    ///
    /// # Safety
    /// `counter` is a number.
    pub unsafe fn count(counter: *const u32) {
        Plain => plain, x86_64 "{{disp32}} lock inc dword ptr [{counter}]";
        Silent => nothing;
        Twice => twice;
        Closed => plain, x86_64 "lock add dword ptr [{counter}], 3";
        Slow => slow, x86_64 "lock add dword ptr [{counter}], 100\njs {call}f" else call;
    }

    /// A value as others see it.
    fn make(inout value: u64, more: u64) -> u64 {
        Plain => nothing;
        Silent => nothing;
        Twice => double;
        Closed => sum, x86_64 "lea {value}, [{value} + {more}]";
        Slow => sum;
    }

    /// The sum of six numbers.
    fn six(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
        Plain => six_plain, x86_64 "{{disp32}} lea {ret}, [{a} + 1]";
        Silent => six_sum;
        Twice => six_plain;
        Closed => six_sum;
        Slow => six_sum;
    }

    /// Never in place.
    fn called(a: u32) -> u32 {
        Plain => called_plain;
        Silent => called_silent;
        Twice => called_silent;
        Closed => called_silent;
        Slow => called_silent;
    }
}

thread_local! {
    static HOOKS: Cell<[u32; 3]> = const { Cell::new([0; 3]) };
}

fn note(which: usize) {
    let mut hooks = HOOKS.get();
    hooks[which] += 1;
    HOOKS.set(hooks);
}

fn began() {
    note(0);
}
fn started() {
    note(1);
}
fn ended() {
    note(2);
}

fn number(counter: *const u32) -> &'static AtomicU32 {
    unsafe { &*counter.cast() }
}
unsafe extern "C" fn plain(counter: *const u32) {
    number(counter).fetch_add(1, Ordering::Relaxed);
}
unsafe extern "C" fn twice(counter: *const u32) {
    number(counter).fetch_add(2, Ordering::Relaxed);
}
unsafe extern "C" fn slow(counter: *const u32) {
    number(counter).store(1000, Ordering::Relaxed);
}
extern "C" fn double(value: u64, _: u64) -> u64 {
    value * 2
}
extern "C" fn sum(value: u64, more: u64) -> u64 {
    value + more
}
extern "C" fn six_plain(a: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    a + 1
}
extern "C" fn six_sum(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    a + 10 * b + 100 * c + 1_000 * d + 10_000 * e + 100_000 * f
}
extern "C" fn called_plain(a: u32) -> u32 {
    a
}
extern "C" fn called_silent(a: u32) -> u32 {
    a + 7
}

#[inline(never)]
fn counted(from: u32) -> u32 {
    let counter = from;
    unsafe { count(&raw const counter) };
    unsafe { (&raw const counter).read_volatile() }
}

#[test]
fn each_backend() {
    let all = || (counted(5), make(5, 2), six(1, 2, 3, 4, 5, 6), called(1));
    assert_eq!(all(), (6, 5, 2, 1));
    assert_eq!(COUNTER.query(), Counting::Plain);
    for _ in 0..2 {
        for (backend, expected) in [
            (Counting::Silent, (5, 5, 654_321, 8)),
            (Counting::Twice, (7, 10, 2, 8)),
            (Counting::Closed, (if cfg!(all(jumplabel_sites, target_arch = "x86_64")) { 8 } else { 6 }, 7, 654_321, 8)),
            (Counting::Plain, (6, 5, 2, 1)),
        ] {
            let outcome = COUNTER.set(backend).unwrap();
            println!("{outcome:?}");
            assert_eq!((all(), COUNTER.query()), (expected, backend));
        }
    }
}
