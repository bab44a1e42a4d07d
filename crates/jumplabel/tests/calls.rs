//! Static calls: what they lead to, and to whom.

use jumplabel::{Batch, Error, for_each_call, static_call, static_key};

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

/// By any signature: what is returned in memory, floats, `unsafe`, C.
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

/// A function that returns its argument plus `add`, as far away as the system maps: out of reach of a direct jump.
#[cfg(all(target_arch = "x86_64", jumplabel_trampolines))]
fn far(add: u8) -> fn(u64) -> u64 {
    let code = [0x48, 0x8d, 0x47, add, 0xc3]; // lea rax, [rdi + add]; ret
    // SAFETY: the code of a function of that type.
    unsafe { jumplabel_testing::far::function(far as *const (), &code, add) }
}

/// There and back, by way of the slot.
#[test]
#[cfg(all(target_arch = "x86_64", jumplabel_trampolines))]
fn out_of_reach() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    let (ten, twenty) = (far(10), far(20));
    assert_eq!(HOOK.update(ten).unwrap().sites, 1);
    assert_eq!(HOOK(1), 11);
    assert_eq!(HOOK.update(twenty).unwrap().sites, 0); // the slot alone
    assert_eq!(HOOK(1), 21);
    assert!(std::ptr::fn_addr_eq(HOOK.query(), twenty));
    for (target, result) in [(second as fn(u64) -> u64, 101), (ten, 11), (first, 2), (twenty, 21), (first, 2)] {
        assert_eq!(HOOK.update(target).unwrap().sites, 1);
        assert_eq!(HOOK(1), result);
    }
}

/// While it is updated, every call goes to the old target or to the new one.
#[test]
#[cfg(all(target_arch = "x86_64", jumplabel_trampolines))]
fn under_running_threads() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    /// What calls may return: two bytes.
    static LEGAL: AtomicU64 = AtomicU64::new(0x0202);
    static STOP: AtomicU64 = AtomicU64::new(0);
    let targets = [first as fn(u64) -> u64, second, far(30), far(40)];
    let results = targets.map(|target| target(1));
    let calls: u64 = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut calls = 0;
                    while STOP.load(Ordering::Relaxed) == 0 {
                        let before = LEGAL.load(Ordering::SeqCst);
                        let result = HOOK(1);
                        let after = LEGAL.load(Ordering::SeqCst);
                        let legal = [before, before >> 8, after, after >> 8].map(|legal| legal & 0xff);
                        assert!(legal.contains(&result), "{result} is none of {legal:?}");
                        calls += 1;
                    }
                    calls
                })
            })
            .collect();
        let mut now = 0;
        for number in 0..20_000_usize {
            let next = number * 7 / 3 % 4;
            LEGAL.store(results[now] << 8 | results[next], Ordering::SeqCst);
            HOOK.update(targets[next]).unwrap();
            now = next;
            LEGAL.store(results[now] << 8 | results[now], Ordering::SeqCst);
        }
        STOP.store(1, Ordering::Relaxed);
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    assert!(calls > 0);
    println!("{calls} calls");
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

/// Without the type, by its address.
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
    fn ignore(_: u64) {}
    // SAFETY: its default.
    unsafe { HOOK.raw().update(0) }.unwrap();
    assert_eq!(HOOK(1), 2);
}

/// To where it leads, nothing is to do, and a seal forbids nothing: to its default, too, by whatever name.
#[test]
#[cfg_attr(miri, ignore = "a function has another address each time that it is named")]
fn to_the_same() {
    static_call! { static HOOK: fn(u64) -> u64 = first; static OTHER: fn(u64) -> u64 = first; }
    assert_eq!(HOOK.update(first).unwrap().sites, 0);
    HOOK.seal().unwrap();
    assert_eq!(HOOK.update(first).map(|outcome| outcome.sites), Ok(0));
    assert_eq!(HOOK.reset().map(|outcome| outcome.sites), Ok(0));
    assert_eq!((HOOK.update(second), HOOK(1)), (Err(Error::Sealed), 2));
    OTHER.update(second).unwrap();
    OTHER.update(first).unwrap();
    OTHER.seal().unwrap();
    assert_eq!(OTHER.reset().map(|outcome| outcome.sites), Ok(0));
    assert_eq!(OTHER.update(first).map(|outcome| outcome.sites), Ok(0));
    assert_eq!((OTHER(1), OTHER.reset().map(|outcome| outcome.writer)), (2, Ok(None)));
}

/// Where no code is, and back: nothing has changed.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(not(jumplabel_trampolines), ignore = "a platform without sites does not know where code is")]
fn not_code() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    if jumplabel_testing::scenario::emulator().is_some() {
        return println!("skipped: the map of an emulator's program does not say what is code");
    }
    let data = 7_u64;
    let unmapped = 0x10_0000_usize;
    for address in [&raw const data as usize, unmapped] {
        // SAFETY: it is never called.
        assert_eq!(unsafe { HOOK.raw().update(address) }, Err(Error::NotCode { address }));
        assert_eq!(HOOK(1), 2);
    }
    // Code of an object without a table, and code that was mapped by hand.
    static_call! { static LENGTH: unsafe extern "C" fn(*const libc::c_char) -> usize = nothing; }
    unsafe extern "C" fn nothing(_: *const libc::c_char) -> usize {
        0
    }
    LENGTH.update(libc::strlen).unwrap();
    // SAFETY: as the function's type asks for.
    assert_eq!(unsafe { LENGTH(c"four".as_ptr()) }, 4);
}

/// To its own trampoline, where it would go round for ever.
#[test]
#[cfg_attr(not(jumplabel_trampolines), ignore = "there is none")]
fn to_itself() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    let address = *HOOK as *const () as usize;
    for (target, result) in [(first as fn(u64) -> u64, 2), (second, 101)] {
        HOOK.update(target).unwrap();
        assert_eq!(HOOK.update(*HOOK), Err(Error::Circular { address }));
        assert_eq!(HOOK(1), result);
    }
}

/// Together with keys: both, or, if one is refused, neither.
#[test]
fn in_a_batch() {
    static_key! { static KEY: false; static SEALED: false; }
    static_call! {
        static HOOK: fn(u64) -> u64 = first;
        static MAYBE: Option<fn(u64)> = None;
    }
    let outcome = Batch::new().enable(&KEY).set(&HOOK, second).set(&MAYBE, Some(|_| ())).commit().unwrap();
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

mod listed {
    use super::*;

    static_call! { static HERE: fn(u64) -> u64 = first; }
    const LINE: u32 = line!() - 1;

    /// What is listed of calls, and that keys are not among them.
    #[test]
    #[cfg_attr(target_family = "wasm", ignore = "without constructors nothing is listed")]
    fn calls() {
        let find = |name: &str| {
            let mut found = None;
            for_each_call(|call| {
                if call.path == format!("{}::{name}", module_path!()) {
                    found = Some(call);
                }
            })
            .unwrap();
            found.unwrap()
        };
        let info = find("HERE");
        assert_eq!((info.module, info.file, info.line, info.target), (module_path!(), file!(), LINE, None));
        assert_eq!((HERE(1), info.sites), (2, SITES));
        assert!(std::ptr::eq(info.call, HERE.raw()));
        assert_eq!(format!("{info}"), format!("{}::HERE -> default", module_path!()));
        HERE.update(second).unwrap();
        let info = find("HERE");
        assert_eq!(info.target, Some(second as *const () as usize));
        let shown = format!("{info:?}");
        assert!(shown.contains(&format!("HERE@{}:{LINE}:", file!())) && shown.contains(" -> 0x"), "{shown}");
        let mut keys = 0;
        jumplabel::for_each_key(|key| keys += usize::from(key.path.ends_with("::HERE"))).unwrap();
        assert_eq!(keys, 0);
    }

    /// A function that the loader knows has its name.
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", jumplabel_trampolines, not(target_feature = "crt-static")))]
    fn by_symbol() {
        static_call! { static FREE: unsafe extern "C" fn(*mut libc::c_void) = ignore; }
        unsafe extern "C" fn ignore(_: *mut libc::c_void) {}
        FREE.update(libc::free).unwrap();
        // SAFETY: as the function's type asks for.
        unsafe { FREE(std::ptr::null_mut()) };
        let mut shown = Vec::new();
        for_each_call(|call| shown.push(format!("{call}"))).unwrap();
        let named = |line: &&String| line.contains("FREE") && line.ends_with("free)");
        assert_eq!(shown.iter().filter(named).count(), 1, "{shown:?}");
    }
}

/// A jump that lies across two pages would be torn in a process that is copied page by page.
#[test]
#[cfg(all(jumplabel_trampolines, target_arch = "x86_64"))]
fn in_one_page() {
    macro_rules! calls {
        ($($name:ident)*) => {{
            static_call! { $(static $name: fn(u64) -> u64 = first;)* }
            [$((*$name as *const () as usize, $name(1))),*]
        }};
    }
    for (trampoline, _) in calls!(A B C D E F G) {
        // SAFETY: the bytes of a function that is longer.
        let bytes = unsafe { *(trampoline as *const [u8; 5]) };
        assert_eq!((trampoline % 16, bytes), (0, [0xf3, 0x0f, 0x1e, 0xfa, 0xe9]));
    }
}
