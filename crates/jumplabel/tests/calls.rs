//! Static calls: their targets, and the callers that reach them.

#[path = "calls/hidden.rs"]
mod hidden;
#[path = "calls/listed.rs"]
mod listed;
#[cfg(all(target_arch = "x86_64", jumplabel_trampolines))]
#[path = "calls/reach.rs"]
mod reach;
#[path = "calls/refused.rs"]
mod refused;

use jumplabel::{Batch, Error, Lock, static_call, static_key};

/// Of a call.
const SITES: usize = cfg!(jumplabel_trampolines) as usize;

#[inline(never)]
fn first(x: u64) -> u64 {
    x + 1
}

#[inline(never)]
fn second(x: u64) -> u64 {
    x + 100
}

#[test]
fn leads_where_it_was_told() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    assert_eq!(HOOK(1), 2);
    assert!(std::ptr::fn_addr_eq(HOOK.query(), first as fn(u64) -> u64));
    let outcome = HOOK.update(second).unwrap();
    assert_eq!((HOOK(1), outcome.sites), (101, SITES));
    assert!(std::ptr::fn_addr_eq(HOOK.query(), second as fn(u64) -> u64));
    assert_eq!(HOOK.update(second).unwrap().sites, 0);
    assert_eq!(HOOK.update(first).unwrap().sites, SITES);
    assert_eq!(HOOK(1), 2);
    HOOK.seal().unwrap();
    assert_eq!(HOOK.update(first).unwrap().sites, 0);
    assert_eq!(HOOK.update(second), Err(Error::Sealed));
    assert_eq!(HOOK(1), 2);
}

/// Calls of any signature: a result in memory, floats, `unsafe`, C.
#[test]
fn signatures() {
    #[derive(Debug, PartialEq, Clone, Copy)]
    struct Big([u64; 20]);
    fn big(a: u64, b: f64, c: [u64; 9], d: &str) -> Big {
        let mut all = [a; 20];
        (all[1], all[2], all[3]) = (b as u64, c[8], d.len() as u64);
        Big(all)
    }
    fn bigger(a: u64, b: f64, c: [u64; 9], d: &str) -> Big {
        let mut big = big(a, b, c, d);
        big.0[19] = 7;
        big
    }
    static_call! {
        static BIG: fn(u64, f64, [u64; 9], &str) -> Big = big;
        static C: extern "C" fn(f32, f32) -> f32 = product;
        static UNSAFE: unsafe fn(*const u8) -> u8 = read;
        static GENERIC: fn(u8) -> u8 = std::convert::identity::<u8>;
    }
    extern "C" fn product(a: f32, b: f32) -> f32 {
        a * b
    }
    extern "C" fn sum(a: f32, b: f32) -> f32 {
        a + b
    }
    unsafe fn read(at: *const u8) -> u8 {
        // SAFETY: as the function's type asks for.
        unsafe { *at }
    }
    assert_eq!(BIG(9, 2.0, [3; 9], "four").0[..4], [9, 2, 3, 4]);
    BIG.update(bigger).unwrap();
    assert_eq!(BIG(9, 2.0, [3; 9], "four").0[19], 7);
    assert_eq!(C(2.0, 4.0), 8.0);
    C.update(sum).unwrap();
    assert_eq!(C(2.0, 4.0), 6.0);
    // SAFETY: as the function's type asks for.
    assert_eq!(unsafe { UNSAFE(&7) }, 7);
    assert_eq!(GENERIC(9), 9);
}

/// A panic in the target arrives, and what the caller holds is dropped.
#[test]
fn unwinding() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    fn calm(x: u32) -> u32 {
        x
    }
    fn boom(x: u32) -> u32 {
        panic!("boom {x}")
    }
    extern "C-unwind" fn calm_c(x: u32) -> u32 {
        x
    }
    extern "C-unwind" fn boom_c(x: u32) -> u32 {
        panic!("boom {x}")
    }
    static_call! {
        static MAYBE: fn(u32) -> u32 = calm;
        static MAYBE_C: extern "C-unwind" fn(u32) -> u32 = calm_c;
    }
    #[inline(never)]
    fn call(x: u32) -> u32 {
        let _held = Held;
        MAYBE(x) + MAYBE_C(x)
    }
    assert_eq!((call(1), DROPPED.load(Ordering::Relaxed)), (2, 1));
    MAYBE_C.update(boom_c).unwrap();
    assert!(std::panic::catch_unwind(|| call(1)).is_err());
    assert_eq!(DROPPED.load(Ordering::Relaxed), 2);
    MAYBE.update(boom).unwrap();
    assert!(std::panic::catch_unwind(|| call(1)).is_err());
    assert_eq!(DROPPED.load(Ordering::Relaxed), 3);
}

/// Two calls of one name in functions of their own, and one that a macro declares for each.
#[test]
fn names() {
    fn one() -> u32 {
        static_call! { static CALL: fn() -> u32 = value; }
        fn value() -> u32 {
            1
        }
        CALL()
    }
    macro_rules! made {
        ($name:ident, $value:literal) => {
            fn $name() -> u32 {
                static_call! { static CALL: fn() -> u32 = value; }
                fn value() -> u32 {
                    $value
                }
                CALL()
            }
        };
    }
    made!(two, 2);
    made!(three, 3);
    assert_eq!([one(), two(), three()], [1, 2, 3]);
}

/// A call that leads nowhere evaluates its arguments, and one that returns 0 needs no function.
#[test]
fn nowhere_and_zero() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SEEN: AtomicU32 = AtomicU32::new(0);
    static_call! {
        static MAYBE: Option<fn(u32, &str)> = None;
        /// Nothing.
        static C: Option<unsafe extern "C" fn(u32)> = None;
        static LEN: fn(&[u8]) -> usize = return 0;
        static POINTER: unsafe extern "C" fn(f64, u128) -> *const u8 = return 0;
    }
    fn see(what: u32, _: &str) {
        SEEN.store(what, Ordering::Relaxed);
    }
    let mut evaluated = 0;
    let mut next = || {
        evaluated += 1;
        evaluated
    };
    MAYBE(next(), "");
    // SAFETY: it leads nowhere.
    unsafe { C(next()) };
    assert!(MAYBE.query().is_none() && C.query().is_none() && SEEN.load(Ordering::Relaxed) == 0);
    assert_eq!(MAYBE.update(Some(see)).unwrap().sites, SITES);
    MAYBE(next(), "");
    assert!(MAYBE.query().is_some() && SEEN.load(Ordering::Relaxed) == 3);
    MAYBE.update(None).unwrap();
    MAYBE(next(), "");
    assert_eq!((SEEN.load(Ordering::Relaxed), evaluated), (3, 4));

    assert_eq!(LEN(b"abc"), 0);
    LEN.update(<[u8]>::len).unwrap();
    assert_eq!((LEN(b"abc"), LEN.query()(b"ab")), (3, 2));
    LEN.reset().unwrap();
    assert_eq!((LEN(b"abc"), LEN.query()(b"ab")), (0, 0));
    // SAFETY: it looks at nothing.
    assert!(unsafe { POINTER(1.0, 2) }.is_null());
}

/// Updates without the type, by address.
#[test]
fn by_address() {
    static_call! {
        static HOOK: fn(u64) -> u64 = first;
        static MAYBE: Option<fn(u64)> = None;
    }
    for (target, result) in [(second as fn(u64) -> u64, 101), (first, 2), (second, 101)] {
        // SAFETY: a function of its type.
        unsafe { HOOK.raw().update(target as *const () as usize) }.unwrap();
        assert_eq!((HOOK(1), HOOK.query()(1)), (result, result));
    }
    for address in [ignore as *const () as usize, 0] {
        // SAFETY: a function of its type, or its default.
        unsafe { MAYBE.raw().update(address) }.unwrap();
        MAYBE(1);
        assert_eq!(MAYBE.query().is_some(), address != 0);
    }
    // (Not empty: a linker that folds identical code would take it for the function that the call begins with.)
    fn ignore(x: u64) {
        std::hint::black_box(x);
    }
    // SAFETY: its default.
    unsafe { HOOK.raw().update(0) }.unwrap();
    assert_eq!(HOOK(1), 2);
}

/// An update by a caller that holds the lock. `update` refuses such a caller.
#[test]
fn under_the_lock() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    let mut lock = Lock::take().unwrap();
    assert_eq!(HOOK.update(second), Err(Error::Reentrant));
    assert_eq!(HOOK(1), 2);
    assert_eq!(HOOK.update_locked(second, &mut lock).unwrap().sites, SITES);
    assert_eq!(HOOK(1), 101);
    drop(lock);
    assert_eq!(HOOK.update(first).unwrap().sites, SITES);
}

/// A batch changes both calls and keys or, if one is refused, neither.
#[test]
fn in_a_batch() {
    static_key! { static KEY: false; static SEALED: false; }
    static_call! {
        static HOOK: fn(u64) -> u64 = first;
        static MAYBE: Option<fn(u64)> = None;
    }
    let heard = |x| _ = std::hint::black_box(x); // Not empty: see `ignore`, above.
    let outcome = Batch::new().enable(&KEY).set(&HOOK, second).set(&MAYBE, Some(heard)).commit().unwrap();
    assert_eq!(outcome.sites, 2 * SITES);
    MAYBE(1); // A call that nobody makes has no trampoline.
    assert!(KEY.is_enabled() && HOOK(1) == 101 && MAYBE.query().is_some());
    SEALED.seal().unwrap();
    let both = || Batch::new().set(&KEY, false).set(&HOOK, first);
    assert_eq!(both().enable(&SEALED).commit(), Err(Error::Sealed));
    assert!(KEY.is_enabled() && HOOK(1) == 101);
    // The last change wins.
    both().set(&HOOK, second).set(&MAYBE, None).commit().unwrap();
    assert!(!KEY.is_enabled() && HOOK(1) == 101 && MAYBE.query().is_none());
}
