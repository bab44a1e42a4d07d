//! Updates while threads call, while processes are forked, and from signal handlers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jumplabel::{Error, set_writer, static_call};
use jumplabel_testing::scenario::{emulator, fork, passes, reap, rounds};
use jumplabel_testing::writers;

use super::{Function, HOOK, clone, one, targets, two};

/// The results that callers may get: `number << 16 | before << 8 | after`, as in the torture.
static PROMISE: AtomicU64 = AtomicU64::new(0x0101);

/// Calls until told to stop. Every result is one that was promised. Returns the number of calls.
fn call_on(stop: &AtomicBool) -> u64 {
    let mut calls = 0;
    while !stop.load(Ordering::Relaxed) {
        let before = PROMISE.load(Ordering::SeqCst);
        let result = HOOK(0);
        let after = PROMISE.load(Ordering::SeqCst);
        let legal = [before & 0xff, before >> 8 & 0xff];
        assert!(before != after || legal.contains(&result), "{result} while {before:#x} was promised");
        calls += 1;
    }
    calls
}

/// Updates the call this many times, round all targets, and tells callers before each.
fn update_often(updates: u64) {
    let targets = targets();
    let mut now = targets[0];
    for number in 1..=updates {
        let next = targets[(number * 7 / 3 % 4) as usize];
        PROMISE.store(number << 16 | now.0 << 8 | next.0, Ordering::SeqCst);
        HOOK.update(next.1).unwrap();
        PROMISE.store(number << 16 | next.0 << 8 | next.0, Ordering::SeqCst);
        now = next;
    }
}

/// 30,000 updates, or JUMPLABEL_UPDATES, while two threads call. An emulator takes milliseconds for each.
#[test]
fn many_updates_under_running_threads() {
    passes(|| {
        let number = if emulator().is_some() { 300 } else { rounds(30_000) as u64 };
        let updates = std::env::var("JUMPLABEL_UPDATES").map_or(number, |number| number.parse().unwrap());
        let stop = AtomicBool::new(false);
        let calls: u64 = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..2).map(|_| scope.spawn(|| call_on(&stop))).collect();
            update_often(updates);
            stop.store(true, Ordering::Relaxed);
            callers.into_iter().map(|caller| caller.join().unwrap()).sum()
        });
        println!("{updates} updates, {calls} calls");
        assert!(calls > 0);
    });
}

/// Processes made by `fork` while another thread updates: the call is whole, and can be updated.
#[test]
fn forks_while_another_thread_updates() {
    if emulator().is_some() {
        return println!("skipped: an emulator cannot do that");
    }
    passes(|| {
        let stop = AtomicBool::new(false);
        let targets = targets();
        std::thread::scope(|scope| {
            let updater = scope.spawn(|| {
                let mut updates = 0;
                while !stop.load(Ordering::Relaxed) {
                    set_writer(writers::turn(updates / 4));
                    HOOK.update(targets[updates % 4].1).unwrap();
                    updates += 1;
                }
                updates
            });
            for number in 0..rounds(200) {
                let body = || {
                    (1..=4).contains(&HOOK(0))
                        && targets.iter().all(|&(number, target)| HOOK.update(target).is_ok() && HOOK(0) == number)
                };
                reap(if number % 2 == 0 { fork(body) } else { clone(body) });
            }
            stop.store(true, Ordering::Relaxed);
            assert!(updater.join().unwrap() > 0);
        });
    });
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
static_call! { static HANDLERS: Function = one; }

/// Calls what others update, and updates a call of its own and theirs.
extern "C" fn handler(_signal: i32) {
    let handled = HANDLED.fetch_add(1, Ordering::SeqCst);
    let right = (1..=4).contains(&HOOK(0));
    let own = HANDLERS.update(if handled.is_multiple_of(2) { two } else { one });
    let others = HOOK.update(two);
    if !right || [own, others].iter().any(|result| !matches!(result, Ok(_) | Err(Error::Reentrant))) {
        WRONG.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn signals_that_call_and_update() {
    passes(|| {
        let targets = targets();
        // SAFETY: a handler that updates, which is what is tested.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        }
        let stop = AtomicBool::new(false);
        // SAFETY: this thread.
        let here = unsafe { libc::pthread_self() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let handled = HANDLED.load(Ordering::SeqCst);
                    // SAFETY: a signal with a handler, to a thread that waits for this one.
                    unsafe { libc::pthread_kill(here, libc::SIGUSR1) };
                    while HANDLED.load(Ordering::SeqCst) == handled && !stop.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut updates = 0;
            let handlers = if emulator().is_some() { 20 } else { rounds(500) as u64 };
            while HANDLED.load(Ordering::SeqCst) < handlers {
                set_writer(writers::turn(updates / 4));
                HOOK.update(targets[updates % 4].1).unwrap();
                updates += 1;
            }
            stop.store(true, Ordering::Relaxed);
            println!("{updates} updates");
        });
        assert_eq!(WRONG.load(Ordering::SeqCst), 0);
        assert!([1, 2].contains(&HANDLERS(0)));
    });
}
