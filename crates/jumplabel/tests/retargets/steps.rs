//! At each step of an update, from each target to each other one: the call is made, the process is forked, a write or a core sync is
//! refused.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use jumplabel::platform::{Write, Writer};
use jumplabel::{Batch, Error, Refusal, set_writer};
#[cfg(target_arch = "x86_64")]
use jumplabel_testing::scenario::Scenario;
use jumplabel_testing::scenario::{emulator, passes, reap};
use jumplabel_testing::twin::{Twin, install};
use jumplabel_testing::writers;

use super::{Function, HOOK, KEY, changes, clone, one, two};

/// The bytes of the trampoline.
fn bytes() -> [u8; 15] {
    // SAFETY: the trampoline, which is that long.
    unsafe { (*HOOK as *const () as *const [u8; 15]).read_volatile() }
}

/// A platform that acts at each moment of an update: before and after each write, and after each core sync.
struct AtMoments;

/// The number of moments until [`ACT`] happens; below 0, it does not happen.
static MOMENTS: AtomicI64 = AtomicI64::new(-1);
static ACT: AtomicUsize = AtomicUsize::new(0);
const CALL: usize = 1;
const CLONE: usize = 2;
const REFUSE_WRITE: usize = 3;
const REFUSE_SYNC: usize = 4;
/// The legal results: the old one, and the new one.
static LEGAL: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Whether a write was refused, so that all later writes are the way back; and whether the twin drops these.
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

impl Twin for AtMoments {
    fn begin(&self) {
        REFUSED.store(false, Ordering::Relaxed);
    }
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        moment();
        if now(REFUSE_WRITE) {
            REFUSED.store(true, Ordering::Relaxed);
            return Err((0, Refusal::errno(libc::EPERM)));
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
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
        if now(REFUSE_SYNC) {
            return Err(Refusal::errno(libc::EPERM));
        }
        note(CORE_SYNC);
        let result = writer.sync();
        moment();
        result
    }
}

/// The events so far, as the digits of a number.
static EVENTS: AtomicU64 = AtomicU64::new(0);
const OPCODE: u64 = 1;
const TAIL: u64 = 2;
const CORE_SYNC: u64 = 9;

fn note(event: u64) {
    EVENTS.store(EVENTS.load(Ordering::Relaxed) % 1_000_000 * 10 + event, Ordering::Relaxed);
}

/// A core sync follows each step, and the bytes after the opcode change only while the site has another opcode. Hardly any processor shows the
/// effect of another order. If a site is a word, there is one step.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn steps_and_core_syncs() {
    passes(|| {
        install(AtMoments);
        let [one, two, three, four] = super::targets();
        // If the target is out of reach, the jump of x86 keeps its old target: a change back to that takes one step, and to another one two.
        let [there, out, again, elsewhere] =
            if cfg!(target_arch = "x86_64") { [19_29_19, 19, 19, 29_19] } else { [29; 4] };
        let changes = [
            ([one, two], there),
            ([two, three], out),
            ([three, four], 0),
            ([four, two], again),
            ([two, two], 0),
            ([two, three], out),
            ([three, one], elsewhere),
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

/// Leads the call from one target to the other, while `act` happens at moment `at`. Also returns whether there was such a moment.
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

/// Each call reaches the old target or the new one, and both are met.
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
    if emulator().is_some() {
        return println!("skipped: an emulator cannot do that");
    }
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
        assert!(clones > if cfg!(target_arch = "x86_64") { 100 } else { 30 });
    });
}

/// Refuses the write, or the core sync, of each step, and looks at the result.
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
            // Another writer may have made the change.
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
    assert!(refused > if cfg!(target_arch = "x86_64") { 30 } else { 10 });
}

#[test]
fn a_write_refused_at_each_step() {
    passes(|| refusals(REFUSE_WRITE));
}

/// If a site is a word, nothing was written that could be taken back.
#[test]
#[cfg(target_arch = "x86_64")]
fn broken_twin_does_not_write_back() {
    Scenario::new().fails("not as before", || {
        DROPS_UNDO.store(true, Ordering::Relaxed);
        refusals(REFUSE_WRITE);
    });
}

/// This runs beside another thread: a process of one thread needs no core sync.
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
