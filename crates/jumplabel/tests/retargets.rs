//! Static calls led elsewhere at bad moments: at each step of an update the call is made, the process is copied, or the system refuses;
//! under running threads; from signal handlers; from the target itself.
#![cfg(all(target_os = "linux", target_arch = "x86_64", jumplabel_trampolines))]
#![allow(clippy::redundant_closure, reason = "a scenario is found by the name of its closure")]

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use jumplabel::text::{Write, Writer};
use jumplabel::{Batch, Errno, Error, set_writer, static_call, static_key};
use jumplabel_testing::scenario::{Scenario, end, fork, passes, reap, rounds};
use jumplabel_testing::twin::{Twin, install};
use jumplabel_testing::writers;

type Function = extern "C" fn(u64) -> u64;

extern "C" fn one(x: u64) -> u64 {
    x + 1
}

/// So far from `one` that the displacements differ in several bytes.
#[unsafe(link_section = ".text_of_two")]
extern "C" fn two(x: u64) -> u64 {
    x + 2
}

static_call! { static HOOK: Function = one; }
static_key! { static KEY: false; }

/// Adds `number`, out of reach of a direct jump.
fn far(number: u8) -> Function {
    let code = [0x48, 0x8d, 0x47, number, 0xc3]; // lea rax, [rdi + number]; ret
    // SAFETY: the code of a function of that type.
    unsafe { jumplabel_testing::far::function(one as *const (), &code, number) }
}

/// Two in reach, two out of it; each adds its number.
fn targets() -> [(u64, Function); 4] {
    [(1, one), (2, two), (3, far(3)), (4, far(4))]
}

/// Each target after each other one.
fn changes() -> Vec<[(u64, Function); 2]> {
    let all = targets();
    let pairs = all.iter().flat_map(|&from| all.map(|to| [from, to]));
    pairs.filter(|[from, to]| from.0 != to.0).collect()
}

/// The bytes of the trampoline.
fn bytes() -> [u8; 15] {
    // SAFETY: the trampoline, which is that long.
    unsafe { (*HOOK as *const () as *const [u8; 15]).read_volatile() }
}

/// What happens at the moments of an update: before and after each write, and after each core sync.
struct AtMoments;

/// The moments that are still to pass until [`ACT`]; below 0, none.
static MOMENTS: AtomicI64 = AtomicI64::new(-1);
static ACT: AtomicUsize = AtomicUsize::new(0);
const CALL: usize = 1;
const CLONE: usize = 2;
const REFUSE_WRITE: usize = 3;
const REFUSE_SYNC: usize = 4;
/// Which results are legal: old, new.
static LEGAL: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Whether a write was refused, so that what this writer writes is the way back; and whether the twin drops that.
static REFUSED: AtomicBool = AtomicBool::new(false);
static DROPS_UNDO: AtomicBool = AtomicBool::new(false);

fn is_legal(result: u64) -> bool {
    LEGAL.iter().any(|legal| legal.load(Ordering::Relaxed) == result)
}

/// Whether this is the moment to act.
fn now(act: usize) -> bool {
    ACT.load(Ordering::Relaxed) == act && MOMENTS.fetch_sub(1, Ordering::Relaxed) == 0
}

fn moment() {
    if ACT.load(Ordering::Relaxed) == CALL {
        let result = HOOK(0);
        assert!(is_legal(result), "a call in mid-update went to {result}");
        SEEN.fetch_or(1 << result, Ordering::Relaxed);
    }
    if now(CLONE) {
        reap(clone(|| {
            let whole = is_legal(HOOK(0));
            let elsewhere = [(2, two as Function), (1, one)].into_iter().all(|(number, target)| {
                Batch::new().enable(&KEY).set(&HOOK, target).commit().is_ok() && HOOK(0) == number && KEY.is_enabled()
            });
            whole && elsewhere
        }));
    }
}

/// A copy of the process without the handlers of `fork`.
fn clone(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: as fork, on a copy of this stack.
    match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
        0 => end(body),
        child => child as i32,
    }
}

impl Twin for AtMoments {
    fn begin(&self) {
        REFUSED.store(false, Ordering::Relaxed);
    }
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Errno)> {
        moment();
        if now(REFUSE_WRITE) {
            REFUSED.store(true, Ordering::Relaxed);
            return Err((0, Errno(libc::EPERM)));
        }
        if REFUSED.load(Ordering::Relaxed) && DROPS_UNDO.load(Ordering::Relaxed) {
            return Ok(());
        }
        writes.iter().for_each(|write| note(if write.bytes().len() == 1 { OPCODE } else { TAIL }));
        // SAFETY: passed on.
        let result = unsafe { writer.write(writes) };
        moment();
        result
    }
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Errno> {
        if now(REFUSE_SYNC) {
            return Err(Errno(libc::EPERM));
        }
        note(CORE_SYNC);
        let result = writer.sync();
        moment();
        result
    }
}

/// What was done, as the digits of a number.
static EVENTS: AtomicU64 = AtomicU64::new(0);
const OPCODE: u64 = 1;
const TAIL: u64 = 2;
const CORE_SYNC: u64 = 9;

fn note(event: u64) {
    EVENTS.store(EVENTS.load(Ordering::Relaxed) % 1_000_000 * 10 + event, Ordering::Relaxed);
}

/// A core sync follows each step, and what is behind the opcode changes while that is another one: hardly a processor shows what
/// becomes of it otherwise.
#[test]
fn steps_and_core_syncs() {
    passes(|| {
        install(AtMoments);
        let [one, two, three, four] = targets();
        // Out of reach, the jump keeps where it led: it comes back in one step, or elsewhere in two.
        let changes = [
            ([one, two], 19_29_19),
            ([two, three], 19),
            ([three, four], 0),
            ([four, two], 19),
            ([two, two], 0),
            ([two, three], 19),
            ([three, one], 29_19),
        ];
        for writer in writers::all() {
            set_writer(writer);
            HOOK.update(two.1).unwrap();
            HOOK.update(one.1).unwrap();
            for ([from, to], expected) in changes {
                assert!(std::ptr::fn_addr_eq(HOOK.query(), from.1));
                EVENTS.store(0, Ordering::Relaxed);
                HOOK.update(to.1).unwrap();
                assert_eq!(EVENTS.load(Ordering::Relaxed), expected, "{} to {}, {writer:?}", from.0, to.0);
            }
        }
    });
}

/// Leads the call from the one to the other, while `act` happens at moment `at`; whether there was such a moment.
fn update([from, to]: [(u64, Function); 2], act: usize, at: i64) -> (Result<jumplabel::Outcome, Error>, bool) {
    ACT.store(0, Ordering::Relaxed);
    HOOK.update(from.1).unwrap();
    LEGAL[0].store(from.0, Ordering::Relaxed);
    LEGAL[1].store(to.0, Ordering::Relaxed);
    MOMENTS.store(at, Ordering::Relaxed);
    ACT.store(act, Ordering::Relaxed);
    let result = HOOK.update(to.1);
    ACT.store(0, Ordering::Relaxed);
    (result, MOMENTS.load(Ordering::Relaxed) < 0)
}

/// With each writer that works, from each target to each other one.
fn for_each_change(mut body: impl FnMut([(u64, Function); 2])) {
    let changes = changes();
    for writer in writers::all() {
        set_writer(writer);
        changes.iter().for_each(|&change| body(change));
    }
}

/// The old target or the new one, and both are met.
#[test]
fn a_call_at_each_step() {
    passes(|| {
        install(AtMoments);
        for_each_change(|change| {
            update(change, CALL, -1).0.unwrap();
            assert_eq!(HOOK(0), change[1].0);
        });
        assert_eq!(SEEN.load(Ordering::Relaxed), 0b11110);
    });
}

#[test]
fn a_raw_clone_at_each_step() {
    passes(|| {
        install(AtMoments);
        let mut clones = 0;
        for_each_change(|change| {
            for at in 0.. {
                let (result, happened) = update(change, CLONE, at);
                assert_eq!((result.is_ok(), HOOK(0)), (true, change[1].0));
                if !happened {
                    break;
                }
                clones += 1;
            }
        });
        println!("{clones} clones");
        assert!(clones > 100);
    });
}

/// Refuses the write, or the core sync, of each step, and looks at what is left.
fn refusals(act: usize) {
    install(AtMoments);
    let mut refused = 0;
    for_each_change(|change| {
        for at in 0.. {
            HOOK.update(change[0].1).unwrap();
            let before = bytes();
            let (result, happened) = update(change, act, at);
            if !happened {
                break;
            }
            // Another writer may have done it.
            let expected = match result {
                Ok(_) => change[1],
                Err(error) => {
                    assert_eq!(bytes(), before, "not as before: {error:?} at moment {at}");
                    refused += 1;
                    change[0]
                }
            };
            assert!(HOOK(0) == expected.0 && std::ptr::fn_addr_eq(HOOK.query(), expected.1));
            HOOK.update(change[1].1).unwrap();
            assert_eq!(HOOK(0), change[1].0);
        }
    });
    println!("{refused} refused");
    assert!(refused > 30);
}

#[test]
fn a_write_refused_at_each_step() {
    passes(|| refusals(REFUSE_WRITE));
}

#[test]
fn broken_twin_does_not_write_back() {
    Scenario::new().fails("not as before", || {
        DROPS_UNDO.store(true, Ordering::Relaxed);
        refusals(REFUSE_WRITE);
    });
}

/// Beside another thread: alone, a process needs no core sync.
#[test]
fn a_core_sync_refused_at_each_step() {
    passes(|| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
            let result = std::panic::catch_unwind(|| {
                install(AtMoments);
                for_each_change(|change| {
                    for at in 0.. {
                        let (result, happened) = update(change, REFUSE_SYNC, at);
                        let expected = if result.is_ok() { change[1] } else { change[0] };
                        assert_eq!(HOOK(0), expected.0, "{result:?}");
                        assert!(std::ptr::fn_addr_eq(HOOK.query(), expected.1));
                        if !happened {
                            break;
                        }
                    }
                });
            });
            stop.store(true, Ordering::Relaxed);
            result.unwrap();
        });
    });
}

/// What callers may rely on: `number << 16 | before << 8 | after`, as in the torture.
static PROMISE: AtomicU64 = AtomicU64::new(0x0101);

/// Calls until told to stop; every result is one that was promised. How many calls.
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

/// Updates the call so often, round all targets, and says so to callers.
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

/// 30,000 updates, or JUMPLABEL_UPDATES, while two threads call.
#[test]
fn many_updates_under_running_threads() {
    passes(|| {
        let updates =
            std::env::var("JUMPLABEL_UPDATES").map_or(rounds(30_000) as u64, |number| number.parse().unwrap());
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
fn signal_handlers_that_call_and_update() {
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
            while HANDLED.load(Ordering::SeqCst) < rounds(500) as u64 {
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

/// The target leads the call elsewhere, and returns to its caller all the same.
#[test]
fn an_update_from_the_target() {
    static_call! { static ONCE: Function = first; }
    extern "C" fn first(x: u64) -> u64 {
        ONCE.update(then).unwrap();
        x + ONCE(10)
    }
    extern "C" fn then(x: u64) -> u64 {
        x + 100
    }
    assert_eq!([ONCE(1), ONCE(1)], [111, 101]);
}

/// A sealed call stays where it is, alone and in a batch, and the batch changes nothing else.
#[test]
fn sealed() {
    static_call! { static SEALED: Function = one; }
    static_key! { static BESIDE: false; }
    SEALED.update(two).unwrap();
    SEALED.seal().unwrap();
    assert!(SEALED.raw().is_sealed());
    assert_eq!([SEALED.update(one), SEALED.reset()], [Err(Error::Sealed); 2]);
    assert_eq!(Batch::new().enable(&BESIDE).set(&SEALED, one).commit(), Err(Error::Sealed));
    assert_eq!(SEALED.update(two).map(|outcome| outcome.sites), Ok(0));
    assert!(SEALED(0) == 2 && !BESIDE.is_enabled());
}
