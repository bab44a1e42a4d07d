//! Tables of operations.

#[path = "ops/closed.rs"]
mod closed;
#[cfg(all(target_arch = "x86_64", jumplabel_in_place, not(jumplabel_dylib)))]
#[path = "ops/states.rs"]
mod states;
#[cfg(all(target_arch = "x86_64", jumplabel_in_place, not(jumplabel_dylib)))]
#[path = "ops/stubs.rs"]
mod stubs;
#[cfg(all(target_arch = "x86_64", jumplabel_in_place))]
#[path = "ops/threads.rs"]
mod threads;

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::{Error, ops};
use jumplabel_testing::scenario::passes;

/// Whether operations are in place.
const IN_PLACE: bool = cfg!(all(jumplabel_in_place, target_arch = "x86_64"));

ops! {
    /// The ways of counting events.
    pub static COUNTER: Counting = { Plain, Silent, Twice, Closed, Slow { init: began, thread_start: started, thread_exit: ended } };

    /// Counts one event.
    ///
    /// # Safety
    /// `counter` is a number.
    pub unsafe fn count(counter: *const u32) {
        Plain => plain, x86_64 unsafe { "{{disp32}} lock inc dword ptr [{counter}]" };
        Silent => nothing;
        Twice => twice;
        Closed => plain, x86_64 unsafe { "lock add dword ptr [{counter}], 3" };
        Slow => slow, x86_64 unsafe { "lock add dword ptr [{counter}], 100\njs {call}f" } else call;
    }

    /// The value as others see it.
    fn make(inout count: u64, key: u64) -> u64 {
        Plain => nothing;
        Silent => nothing;
        Twice => double;
        Closed => sum, x86_64 unsafe { "lea {count}, [{count} + {key}]" };
        Slow => sum;
    }

    /// The sum of six numbers.
    fn six(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
        Plain => six_plain, x86_64 unsafe { "{{disp32}} lea {ret}, [{a} + 1]" };
        Silent => six_sum;
        Twice => six_plain;
        Closed => six_sum;
        Slow => six_sum;
    }

    /// An operation that is never in place.
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

fn number<'a>(counter: *const u32) -> &'a AtomicU32 {
    // SAFETY: what the callers count with.
    unsafe { &*counter.cast() }
}
unsafe extern "C" fn plain(counter: *const u32) {
    number(counter).fetch_add(1, Ordering::Relaxed);
}
unsafe extern "C" fn twice(counter: *const u32) {
    number(counter).fetch_add(2, Ordering::Relaxed);
    #[cfg(all(target_arch = "x86_64", not(windows)))]
    // SAFETY: writes registers that a C function may write.
    unsafe {
        std::arch::asm!(
            "pcmpeqd xmm0, xmm0",
            "pcmpeqd xmm1, xmm1",
            "pcmpeqd xmm8, xmm8",
            "pcmpeqd xmm15, xmm15",
            "xor eax, eax",
            "xor ecx, ecx",
            "xor edx, edx",
            "xor esi, esi",
            "xor edi, edi",
            "xor r8d, r8d",
            "xor r9d, r9d",
            "xor r10d, r10d",
            "xor r11d, r11d",
            clobber_abi("C"),
            options(nomem, nostack),
        );
    }
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

/// The result of `count` for a number that nobody else knows: the number lies in the red zone.
#[inline(never)]
fn counted(from: u32) -> u32 {
    let counter = from;
    // SAFETY: a number; read as what the assembler may have written.
    unsafe {
        count(&raw const counter);
        (&raw const counter).read_volatile()
    }
}

/// The results of all operations with the present backend.
fn all() -> (u32, u64, u64, u32) {
    (counted(5), make(5, 2), six(1, 2, 3, 4, 5, 6), called(1))
}

const EACH: [(Counting, (u32, u64, u64, u32)); 5] = [
    (Counting::Plain, (6, 5, 2, 1)),
    (Counting::Silent, (5, 5, 654_321, 8)),
    (Counting::Twice, (7, 10, 2, 8)),
    (Counting::Closed, (if IN_PLACE { 8 } else { 6 }, 7, 654_321, 8)),
    (Counting::Slow, (if IN_PLACE { 105 } else { 1000 }, 7, 654_321, 8)),
];

/// Each backend after each other one.
#[test]
fn each_backend() {
    passes(|| {
        assert_eq!((all(), COUNTER.query()), (EACH[0].1, Counting::Plain));
        for (from, _) in EACH {
            for (to, expected) in EACH {
                COUNTER.set(from).unwrap();
                let outcome = COUNTER.set(to).unwrap();
                assert_eq!((all(), COUNTER.query()), (expected, to));
                assert_eq!(
                    outcome.sites > 0,
                    from != to && cfg!(jumplabel_trampolines),
                    "{from:?} -> {to:?}: {outcome:?}"
                );
            }
        }
        COUNTER.native().unwrap();
        assert_eq!((all(), format!("{COUNTER:?}")), (EACH[0].1, "Ops(Plain)".into()));
    });
}

/// A closed arm that goes on in the open one.
#[test]
fn slow_way() {
    passes(|| {
        COUNTER.set(Counting::Slow).unwrap();
        assert_eq!(counted(u32::MAX - 200), 1000);
    });
}

#[test]
fn hooks() {
    passes(|| {
        COUNTER.set(Counting::Twice).unwrap();
        drop(COUNTER.thread());
        assert_eq!(HOOKS.get(), [0, 0, 0]);
        COUNTER.set(Counting::Slow).unwrap();
        assert_eq!(HOOKS.get(), [1, 0, 0]);
        let thread = COUNTER.thread();
        assert_eq!(HOOKS.get(), [1, 1, 0]);
        drop(thread);
        assert_eq!(HOOKS.get(), [1, 1, 1]);
    });
}

#[test]
fn sealed() {
    passes(|| {
        COUNTER.set(Counting::Twice).unwrap();
        COUNTER.seal().unwrap();
        assert_eq!(COUNTER.set(Counting::Plain), Err(Error::Sealed));
        assert!(COUNTER.is_sealed() && all() == EACH[2].1);
        assert_eq!(COUNTER.set(Counting::Twice).unwrap().sites, 0);
    });
}

/// A table is listed as the mode that it is.
#[test]
fn listed() {
    passes(|| {
        COUNTER.set(Counting::Silent).unwrap();
        let mut found = Vec::new();
        jumplabel::for_each_mode(|info| found.push(info.to_string())).unwrap();
        // The mode cannot be set alone, without the table's calls.
        assert_eq!(COUNTER.raw().mode().set(2), Err(Error::IsTable));
        assert_eq!((COUNTER.raw().mode().is_table(), all()), (true, EACH[1].1));
        assert!(found.iter().any(|info| info == "ops::COUNTER = 1 of 5"), "{found:?}");
    });
}
