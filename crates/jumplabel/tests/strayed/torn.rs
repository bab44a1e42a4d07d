//! Sites that lie on two pages, of which one is given back: they then hold the beginning of one instruction and the end of another.
//!
//! Of static calls, no such site can be. Of a switch it can, but without optimisation its arms are so near that one byte differs.
#![cfg(target_arch = "x86_64")] // where a site can lie on two pages

use std::arch::asm;

use jumplabel::{Error, Outcome, RawKey, static_branch_unlikely, static_key, verify};
use jumplabel_testing::scenario::passes;

use super::each;

const PAGE: usize = 4096;

/// The instructions after this begin `$bytes` bytes before the end of a page.
macro_rules! before_the_end_of_a_page {
    ($bytes:expr) => {
        // SAFETY: instructions that do nothing.
        unsafe { asm!(".balign 4096", ".skip 4096 - {}, 0x90", const $bytes, options(nomem, nostack, preserves_flags)) }
    };
}

/// An array of instances of a function, of which one begins at the end of a page, and each other one a byte earlier.
macro_rules! instances {
    ($function:ident) => {
        instances!($function: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    ($function:ident: $($bytes:literal)*) => { [$($function::<$bytes>),*] };
}

/// Gives back one of the two pages on which the site of a function lies, for each function where a site does, and each of the pages.
/// Then `bring_back` must change as many sites as `expected` says for the two. Returns for how many functions that was done.
fn torn<T>(
    functions: &[fn() -> T],
    flip: &dyn Fn(),
    bring_back: &dyn Fn() -> Result<Outcome, Error>,
    expected: [usize; 2],
    is_right: &dyn Fn(T) -> bool,
) -> usize {
    let mut torn = 0;
    for function in functions {
        let start = *function as usize & !(PAGE - 1);
        // SAFETY: this program's code, after which there is more of it.
        let code = || unsafe { std::slice::from_raw_parts(start as *const u8, 3 * PAGE) }.to_vec();
        flip();
        let flipped = code();
        give_back(start, 3);
        let in_file = code();
        flip();
        let differs = |at: usize| flipped[at] != in_file[at];
        let Some(second) = [PAGE, 2 * PAGE].into_iter().find(|&page| differs(page - 1) && differs(page)) else {
            continue;
        };
        torn += 1;
        let repaired = [second - PAGE, second].map(|page| {
            flip();
            give_back(start + page, 1);
            let sites = bring_back().unwrap().sites;
            assert!(is_right(function()));
            sites
        });
        assert_eq!(repaired, expected);
    }
    torn
}

fn give_back(start: usize, pages: usize) {
    // SAFETY: private pages of a file, which they are read from again; nobody flips meanwhile.
    assert_eq!(unsafe { libc::madvise(start as *mut libc::c_void, pages * PAGE, libc::MADV_DONTNEED) }, 0);
}

/// Tears the sites of `key` while it is on, and while it is off. Each change of the key, and `verify`, brings them back.
fn key_is_torn(functions: &[fn() -> bool], key: &RawKey, on: &dyn Fn(), off: &dyn Fn()) {
    each(|_| {
        assert!(torn(functions, on, &|| key.enable(), [1, 1], &|on| on) >= 2);
        assert!(torn(functions, on, &|| key.disable(), [functions.len(); 2], &|on| !on) >= 2);
        assert!(torn(functions, on, &verify, [1, 1], &|on| on) >= 2);
        // If the first byte is left, the site falls through, whatever the other bytes are.
        assert!(torn(functions, off, &|| key.disable(), [1, 0], &|on| !on) >= 2);
        assert!(torn(functions, off, &verify, [1, 0], &|on| !on) >= 2);
    });
}

#[test]
fn keys() {
    static_key! { static KEY: false; }
    #[inline(never)]
    fn check<const BYTES: usize>() -> bool {
        before_the_end_of_a_page!(BYTES);
        static_branch_unlikely!(KEY)
    }
    passes(|| {
        // To what falls through, but is not the file's nop.
        let off = || assert!(KEY.enable().is_ok() && KEY.disable().is_ok());
        key_is_torn(&instances!(check), KEY.raw(), &|| assert!(KEY.enable().is_ok()), &off);
    });
}

/// A jump to a stub that loads and one to an arm differ in several bytes.
#[test]
fn keys_that_load() {
    static_key! { static KEY: false, or_load; }
    #[inline(never)]
    fn check<const BYTES: usize>() -> bool {
        before_the_end_of_a_page!(BYTES);
        let on = static_branch_unlikely!(KEY);
        if std::hint::black_box(false) {
            // SAFETY: never executed.
            unsafe { asm!(".skip 70000") };
        }
        on
    }
    passes(|| {
        let off = || assert!(KEY.enable().is_ok() && KEY.disable().is_ok());
        let on = || assert!(KEY.disable().is_ok() && KEY.enable().is_ok());
        key_is_torn(&instances!(check), KEY.raw(), &on, &off);
    });
}

/// Instructions of the program, of seven bytes.
#[cfg(not(jumplabel_dylib))]
#[test]
fn operations() {
    use jumplabel::ops;
    use jumplabel_testing::scenario::{fork, reap};

    const SUMS: [u64; 2] = [0x0101_0101, 0x0202_0202];
    extern "C" fn plain(x: u64) -> u64 {
        x + SUMS[0]
    }
    extern "C" fn other(x: u64) -> u64 {
        x + SUMS[1]
    }
    ops! {
        static ADDER: Adding = { Plain, Closed };
        fn add(inout x: u64) -> u64 {
            Plain => plain, x86_64 unsafe { "lea {x}, [{x} + 0x01010101]" };
            Closed => other, x86_64 unsafe { "lea {x}, [{x} + 0x02020202]" };
        }
    }
    #[inline(never)]
    fn sum<const BYTES: usize>() -> u64 {
        before_the_end_of_a_page!(BYTES);
        add(0)
    }
    passes(|| {
        reap(fork(|| {
            let functions = instances!(sum);
            let closed = || assert!(ADDER.set(Adding::Closed).is_ok());
            each(|_| {
                assert!(torn(&functions, &closed, &|| ADDER.set(Adding::Closed), [1, 1], &|sum| sum == SUMS[1]) >= 1);
                assert!(torn(&functions, &closed, &verify, [1, 1], &|sum| sum == SUMS[1]) >= 1);
                ADDER.native().unwrap();
            });
            true
        }));
    });
}
