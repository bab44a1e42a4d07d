//! The jump of a trampoline: near and far targets, under threads, and where it lies. On x86-64.

use jumplabel::static_call;
use jumplabel_testing::far;

use super::{first, second};

/// A function that returns its argument plus `add`, as far away as the system maps: out of reach of a direct jump.
fn far(add: u8) -> fn(u64) -> u64 {
    // SAFETY: the code of a function of C's type, whose arguments and result are those of this one.
    unsafe { far::function(first as *const (), &far::adds(add), add) }
}

/// A call is led to a target out of reach and back, through the slot.
#[test]
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

/// While the call is updated, each use of it goes to the old target or to the new one.
#[test]
fn under_running_threads() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    /// The results that calls may return now, in two bytes.
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

/// A jump that lies across two pages would be torn in a process that is copied page by page.
#[test]
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
