//! Compares the cost of a flip with the cost of the system calls that it needs.

use std::ffi::c_void;
use std::time::Instant;

use jumplabel::{for_each_site, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::passes;

use crate::imports;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    safe fn GetCurrentProcess() -> isize;
    fn FlushInstructionCache(process: isize, address: *const c_void, bytes: usize) -> i32;
    safe fn FlushProcessWriteBuffers();
}

const EXECUTE_READ: u32 = 0x20;
const EXECUTE_READWRITE: u32 = 0x40;

static_key! { static KEY: false; }

#[inline(never)]
fn check() -> bool {
    static_branch_unlikely!(KEY)
}

/// Counts the calls of each function of Windows in a flip, and says what each buys (docs/benchmarks.md has their times).
#[test]
fn the_calls_of_a_flip() {
    passes(|| {
        KEY.enable().unwrap();
        KEY.disable().unwrap();
        imports::install();
        let change = [
            ("VirtualProtect", 2),           // Pages that can be written; the protection that they had.
            ("VirtualQuery", 1),             // Whether the site can be read and is code; its protection.
            ("FlushInstructionCache", 1),    // The store is seen.
            ("FlushProcessWriteBuffers", 1), // Other threads serialise.
            ("QueryPerformanceCounter", 2),  // `Outcome::time`.
            ("GetCurrentThreadId", 1),       // The owner of the lock.
            ("GetCurrentProcess", 1),        // An argument of FlushInstructionCache.
        ];
        for _ in 0..2 {
            assert_eq!(imports::of(|| KEY.enable().unwrap()), change);
            // Nothing is to be changed, so nothing is opened.
            assert_eq!(imports::of(|| KEY.enable().unwrap()), [change[1], change[4], change[5]]);
            assert_eq!(imports::of(|| KEY.disable().unwrap()), change);
        }
        assert!(!check());
    });
}

fn duration(body: impl FnOnce()) -> f64 {
    let start = Instant::now();
    body();
    start.elapsed().as_secs_f64()
}

/// Compares a flip, which is not the first one of its site, with the system calls and the store that it makes, made without the library. The two take
/// turns. The ratio is the median of many short rounds, so a busy machine changes it little.
#[test]
fn a_flip_beside_its_system_calls() {
    passes(|| {
        KEY.enable().unwrap();
        let mut site = 0;
        for_each_site(&KEY, |one| site = one.address).unwrap();
        const ROUNDS: usize = 1001;
        const EACH: usize = 20;
        let round = |_| {
            let bare = duration(|| {
                for _ in 0..EACH {
                    let mut old = 0;
                    // SAFETY: the address is that of a site of this test. Nobody runs it meanwhile, and it gets the byte that it has.
                    unsafe {
                        assert_ne!(VirtualProtect(site as *mut c_void, 1, EXECUTE_READWRITE, &raw mut old), 0);
                        (site as *mut u8).write_volatile((site as *const u8).read_volatile());
                        FlushInstructionCache(GetCurrentProcess(), site as *const c_void, 1);
                        FlushProcessWriteBuffers();
                        assert_ne!(VirtualProtect(site as *mut c_void, 1, EXECUTE_READ, &raw mut old), 0);
                    }
                }
            });
            let flip = duration(|| {
                for number in 0..EACH {
                    if number % 2 == 0 { KEY.disable() } else { KEY.enable() }.unwrap();
                }
            });
            [flip / bare, flip, bare]
        };
        let rounds = (0..ROUNDS).map(round).collect::<Vec<_>>();
        let median = |of: usize| {
            let mut all = rounds.iter().map(|round| round[of]).collect::<Vec<_>>();
            all.sort_by(f64::total_cmp);
            all[ROUNDS / 2]
        };
        assert!(check());
        let (ratio, [flip, bare]) = (median(0), [1, 2].map(|of| median(of) / EACH as f64 * 1e6));
        println!("a flip: {flip:.2} us, bare: {bare:.2} us, {ratio:.3} times (medians)");
        assert!(ratio < if cfg!(debug_assertions) { 4.0 } else { 1.5 }, "{ratio}");
    });
}
