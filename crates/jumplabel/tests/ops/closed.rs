//! Operations of which each backend has a template: they are in place on every instruction set that can have one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jumplabel::{Error, WriterKind, for_each_mode_site, ops, set_writer};
use jumplabel_testing::scenario::{passes, rounds};

/// Whether these operations are in place.
const IN_PLACE: bool = cfg!(jumplabel_in_place);

ops! {
    /// The ways of changing numbers.
    static NUMBERS: Numbers = { Add, Keep, Twice, Less };

    /// Changes the first number by the second.
    fn change(inout number: u64, by: u64) -> u64 {
        Add => add, x86_64 unsafe { "{{disp32}} lea {number}, [{number} + {by} + 0]" }, aarch64 unsafe { "add {number}, {number}, {by}" },
            riscv64 unsafe { "add {number}, {number}, {by}" };
        Keep => nothing;
        Twice => twice, x86_64 unsafe { "lea {number}, [{number} + {by} * 2]" }, aarch64 unsafe { "add {number}, {number}, {by}, lsl #1" },
            riscv64 unsafe { "add {number}, {number}, {by}\nadd {number}, {number}, {by}" };
        Less => less, x86_64 unsafe { "sub {number}, {by}" }, aarch64 unsafe { "sub {number}, {number}, {by}" }, riscv64 unsafe { "sub {number}, {number}, {by}" };
    }

    /// Stores the number at the place, or after it.
    ///
    /// # Safety
    /// `place` is two numbers.
    unsafe fn put(place: *mut u64, number: u64) {
        Add => put_first, x86_64 unsafe { "{{disp32}} mov [{place} + 0], {number}" }, aarch64 unsafe { "str {number}, [{place}]" },
            riscv64 unsafe { "sd {number}, ({place})" };
        Keep => nothing;
        Twice => put_both, x86_64 unsafe { "mov [{place}], {number}\nmov [{place} + 8], {number}" }, aarch64 unsafe { "stp {number}, {number}, [{place}]" },
            riscv64 unsafe { "sd {number}, ({place})\nsd {number}, 8({place})" };
        Less => put_second, x86_64 unsafe { "mov [{place} + 8], {number}" }, aarch64 unsafe { "str {number}, [{place}, #8]" }, riscv64 unsafe { "sd {number}, 8({place})" };
    }

    /// Another number.
    fn near(number: u64) -> u64 {
        Add => one_more, x86_64 unsafe { "{{disp32}} lea {ret}, [{number} + 1]" }, aarch64 unsafe { "add {ret}, {number}, #1" }, riscv64 unsafe { "addi {ret}, {number}, 1" };
        Keep => same, x86_64 unsafe { "mov {ret}, {number}" }, aarch64 unsafe { "mov {ret}, {number}" }, riscv64 unsafe { "mv {ret}, {number}" };
        Twice => two_more, x86_64 unsafe { "lea {ret}, [{number} + 2]" }, aarch64 unsafe { "add {ret}, {number}, #2" }, riscv64 unsafe { "addi {ret}, {number}, 2" };
        Less => one_less, x86_64 unsafe { "lea {ret}, [{number} - 1]" }, aarch64 unsafe { "sub {ret}, {number}, #1" }, riscv64 unsafe { "addi {ret}, {number}, -1" };
    }

    /// Natively, this does nothing.
    fn double(inout number: u64) -> u64 {
        Add => nothing;
        Keep => nothing;
        Twice => twice_of, x86_64 unsafe { "add {number}, {number}" }, aarch64 unsafe { "add {number}, {number}, {number}" }, riscv64 unsafe { "add {number}, {number}, {number}" };
        Less => nothing;
    }
}

extern "C" fn add(number: u64, by: u64) -> u64 {
    number.wrapping_add(by)
}
extern "C" fn twice(number: u64, by: u64) -> u64 {
    number.wrapping_add(by).wrapping_add(by)
}
extern "C" fn less(number: u64, by: u64) -> u64 {
    number.wrapping_sub(by)
}
unsafe extern "C" fn put_first(place: *mut u64, number: u64) {
    // SAFETY: by the contract.
    unsafe { place.write(number) }
}
unsafe extern "C" fn put_second(place: *mut u64, number: u64) {
    // SAFETY: by the contract.
    unsafe { place.add(1).write(number) }
}
unsafe extern "C" fn put_both(place: *mut u64, number: u64) {
    // SAFETY: by the contract.
    unsafe { (put_first(place, number), put_second(place, number)) };
}
extern "C" fn one_more(number: u64) -> u64 {
    number + 1
}
extern "C" fn same(number: u64) -> u64 {
    number
}
extern "C" fn two_more(number: u64) -> u64 {
    number + 2
}
extern "C" fn one_less(number: u64) -> u64 {
    number - 1
}
extern "C" fn twice_of(number: u64) -> u64 {
    number * 2
}

ops! {
    /// A table of an operation that cannot be in place.
    static STACK: Stack = { Native, Other };

    /// Reads a number on the stack.
    fn on_stack(at: u64) -> u64 {
        Native => one_more, x86_64 unsafe { "mov {ret}, [rsp + {at} - 8]" }, aarch64 unsafe { "ldr {ret}, [sp]" }, riscv64 unsafe { "ld {ret}, 0(sp)" };
        Other => one_less, x86_64 unsafe { "mov {ret}, {at}" }, aarch64 unsafe { "mov {ret}, {at}" }, riscv64 unsafe { "mv {ret}, {at}" };
    }
}

#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no sites")]
fn unfit() {
    passes(|| {
        let outcome = STACK.set(Stack::Other);
        if IN_PLACE {
            assert_eq!((outcome, STACK.query()), (Err(Error::UnfitOp { op: "on_stack" }), Stack::Native));
        }
        std::hint::black_box(on_stack(1));
    });
}

/// The results of the operations for some numbers. A function of its own gives the operations other registers.
#[inline(never)]
fn all(number: u64) -> [u64; 5] {
    let mut place = [7, 7];
    // SAFETY: two numbers.
    unsafe { put(place.as_mut_ptr(), number + 1) };
    [change(number, 100), near(change(number, 3)), double(number), place[0], place[1]]
}

/// The results for 1,000, by each backend.
const EACH: [(Numbers, [u64; 5]); 4] = [
    (Numbers::Add, [1_100, 1_004, 1_000, 1_001, 7]),
    (Numbers::Keep, [1_000, 1_000, 1_000, 7, 7]),
    (Numbers::Twice, [1_200, 1_008, 2_000, 1_001, 1_001]),
    (Numbers::Less, [900, 996, 1_000, 7, 1_001]),
];

#[test]
fn each_backend() {
    passes(|| {
        assert_eq!((all(1_000), NUMBERS.query()), (EACH[0].1, Numbers::Add));
        for (from, _) in EACH {
            for (to, expected) in EACH {
                NUMBERS.set(from).unwrap();
                let outcome = NUMBERS.set(to).unwrap();
                assert_eq!((all(1_000), change(5, 1), NUMBERS.query()), (expected, [6, 5, 7, 4][to as usize], to));
                assert_eq!(
                    outcome.sites > 0,
                    from != to && cfg!(jumplabel_trampolines),
                    "{from:?} -> {to:?}: {outcome:?}"
                );
            }
        }
    });
}

/// There are as many sites as operations in the text, and no call takes their place.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no sites")]
fn in_place() {
    passes(|| {
        let mut sites = 0;
        for_each_mode_site(NUMBERS.raw().mode(), |_| sites += 1).unwrap();
        assert_eq!(sites >= 6, IN_PLACE, "{sites}");
        std::hint::black_box((all(1), change(1, 1)));
    });
}

/// Each operation is old or new, wherever the threads are. No writer but `remap` can do this.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "no sites")]
fn under_running_threads() {
    passes(|| {
        let (stop, wrong) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let found = change(std::hint::black_box(1_000), 100);
                        if ![1_100, 1_000, 1_200, 900].contains(&found) {
                            wrong.store(found, Ordering::Relaxed);
                        }
                    }
                });
            }
            if IN_PLACE {
                set_writer(Some(WriterKind::Mprotect));
                assert!(matches!(NUMBERS.set(Numbers::Less), Err(Error::MultiThreaded { .. })));
                assert_eq!((all(1_000), NUMBERS.query()), (EACH[0].1, Numbers::Add));
                set_writer(None);
            }
            for round in 0..rounds(200) {
                let (backend, expected) = EACH[(round + 1) % EACH.len()];
                let outcome = NUMBERS.set(backend).unwrap();
                assert_eq!(all(1_000), expected);
                assert!(!IN_PLACE || outcome.writer == Some(WriterKind::Remap), "{outcome:?}");
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(wrong.into_inner(), 0);
    });
}
