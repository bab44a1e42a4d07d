//! Flips where a program is not quite itself: in signal handlers that interrupt flips, in constructors, in handlers at exit.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use jumplabel::platform::{Token, Writer};
use jumplabel::{Error, Refusal, set_writer, static_branch_unlikely, static_key};

use crate::scenario::{Scenario, emulator, fork, passes, reap, rounds, slowness};
use crate::twin::{PrivateLock, Twin, install};
use crate::writers;

crate::pages::pages! { sites: 2 keys, 8 sites, every 1 pages, at 0 }
crate::pages::pages! { handlers: 2 keys, 4 sites, every 1 pages, at 4094 }

static HANDLED: AtomicU32 = AtomicU32::new(0);
static WRONG: AtomicU32 = AtomicU32::new(0);

/// Flips keys of its own, and the key that the main thread flips.
extern "C" fn flip(_signal: i32) {
    HANDLING.fetch_add(1, Ordering::SeqCst);
    let count = HANDLED.fetch_add(1, Ordering::SeqCst);
    let on = count.is_multiple_of(2);
    for result in [handlers().set(on), sites().keys[1].inc(), sites().keys[1].dec()] {
        if !matches!(result, Ok(_) | Err(Error::Reentrant | Error::Underflow)) {
            WRONG.fetch_add(1, Ordering::SeqCst);
        }
    }
    if ONE_BY_ONE.load(Ordering::SeqCst) {
        set_timer(PAUSE);
    }
    HANDLING.fetch_sub(1, Ordering::SeqCst);
}

/// Threads in the handler.
static HANDLING: AtomicU32 = AtomicU32::new(0);

/// Whether the handler asks for the next signal: on a slow machine, it takes longer than the pause, and nothing else would
/// get on.
static ONE_BY_ONE: AtomicBool = AtomicBool::new(false);

/// The time from one signal to the next, in microseconds.
const PAUSE: i16 = 700;

/// 0: no more signals.
fn set_timer(pause: i16) {
    let value = libc::timeval { tv_sec: 0, tv_usec: pause.into() };
    let none = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let interval = if ONE_BY_ONE.load(Ordering::SeqCst) { none } else { value };
    let timer = libc::itimerval { it_interval: interval, it_value: value };
    // SAFETY: a timer of this process, whose signal has a handler.
    assert_eq!(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) }, 0);
}

/// A timer that interrupts whoever runs, while this thread flips.
fn storm(flips: usize) {
    ONE_BY_ONE.store(slowness() > 1, Ordering::SeqCst);
    // SAFETY: a handler that flips, which is what is tested.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = flip as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
    }
    set_timer(PAUSE);
    let mut round = 0;
    while round < flips || HANDLED.load(Ordering::SeqCst) < rounds(200) as u32 {
        set_writer(writers::turn(round / 2));
        let on = round % 2 == 0;
        assert!(if on { sites().keys[0].enable() } else { sites().keys[0].disable() }.is_ok());
        assert!((0..8).step_by(2).all(|number| sites().check(number) == on));
        round += 1;
    }
    // SAFETY: drops what is pending.
    unsafe { libc::signal(libc::SIGALRM, libc::SIG_IGN) };
    set_timer(0);
    std::thread::sleep(std::time::Duration::from_millis(20)); // A thread may be on its way into the handler.
    while HANDLING.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
    assert_eq!(WRONG.load(Ordering::SeqCst), 0);
    assert!(handlers().agree());
    println!("{round} flips, {} signals", HANDLED.load(Ordering::SeqCst));
}

#[test]
fn timer_signals_that_flip() {
    passes(|| {
        storm(rounds(2000));
        assert!(sites().agree());
    });
}

/// The signal reaches all threads, and all of them flip.
#[test]
fn timer_signals_on_many_threads() {
    passes(|| {
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        sites().keys[1].inc().unwrap();
                        assert!((1..8).step_by(2).all(|number| sites().check(number)));
                        sites().keys[1].dec().unwrap();
                    }
                });
            }
            storm(rounds(500));
            stop.store(true, Ordering::Relaxed);
        });
        assert!(sites().agree() && sites().keys[1].count() == 0);
    });
}

/// A lock that a handler can interrupt which wants the lock.
#[derive(Default)]
struct Interruptible(PrivateLock);

impl Twin for Interruptible {
    fn lock(&self) -> Result<Token, Error> {
        Ok(self.0.take())
    }
    fn unlock(&self, _token: Token) {
        self.0.release();
    }
}

#[test]
fn broken_twin_signals_are_not_blocked() {
    Scenario::new().hangs(|| {
        install(Interruptible::default());
        storm(usize::MAX);
    });
}

/// The line of /proc/self/status that names the signals with a handler.
fn caught() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find(|line| line.starts_with("SigCgt:")).unwrap().to_owned()
}

/// Flips with each writer, with threads, children and a dec that is left to the worker. `handler` may install a signal handler.
fn handlers_stay_as_they_are(handler: impl FnOnce()) {
    static_key! { static LATER: false, deferred std::time::Duration::from_millis(1); }
    let before = caught();
    for writer in writers::all() {
        set_writer(writer);
        for on in [true, false, true] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
        sites().restore_pristine();
        std::thread::scope(|scope| {
            scope.spawn(|| sites().set(true).unwrap());
        });
    }
    LATER.enable().unwrap();
    LATER.dec_deferred().unwrap();
    while LATER.is_enabled() {
        std::thread::yield_now();
    }
    reap(fork(|| sites().set(false).is_ok()));
    handler();
    assert_eq!(caught(), before, "a signal handler was installed");
}

#[test]
fn no_handler_is_installed() {
    passes(|| handlers_stay_as_they_are(|| ()));
}

#[test]
fn broken_twin_installs_a_handler() {
    // SAFETY: a handler of this file's; nothing sends the signal.
    let install = || unsafe {
        libc::signal(libc::SIGTRAP, flip as *const () as usize);
    };
    Scenario::new().fails("a signal handler was installed", || handlers_stay_as_they_are(install));
}

/// Whether this process is to run `test`, which is one of those below, before Rust's runtime has started.
fn is(test: &std::ffi::CStr) -> bool {
    // SAFETY: a look at the environment, in the only thread.
    let name = unsafe { libc::getenv(c"JUMPLABEL_SCENARIO".as_ptr()) };
    // SAFETY: a string of the environment.
    !name.is_null() && unsafe { std::ffi::CStr::from_ptr(name) } == test
}

/// 0 not run, 1 all was well, 2 it was not.
static BEFORE_ALL: AtomicI32 = AtomicI32::new(0);
static BEFORE_MAIN: AtomicI32 = AtomicI32::new(0);

/// Flips there and back, and on again.
fn flips() -> i32 {
    let well = [true, false, true].iter().all(|&on| sites().set(on).is_ok() && sites().all(on) && sites().agree());
    if well { 1 } else { 2 }
}

extern "C" fn first_constructor() {
    if is(c"signals::constructors") {
        BEFORE_ALL.store(flips(), Ordering::SeqCst);
    }
}

extern "C" fn constructor() {
    if is(c"signals::constructors") {
        BEFORE_MAIN.store(flips(), Ordering::SeqCst);
    }
}

extern "C" fn destructor() {
    if is(c"signals::exit") && flips() != 1 {
        // SAFETY: the end, with a number that the test knows.
        unsafe { libc::_exit(42) };
    }
}

#[used]
#[unsafe(link_section = ".init_array.00101")]
static FIRST_CONSTRUCTOR: extern "C" fn() = first_constructor;
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;
#[used]
#[unsafe(link_section = ".fini_array.00101")]
static LAST_DESTRUCTOR: extern "C" fn() = destructor;

/// Before main: with the priority of other constructors, and before all of them.
#[test]
fn constructors() {
    passes(|| {
        assert!(sites().agree() && sites().all(true));
        assert_eq!(BEFORE_MAIN.load(Ordering::SeqCst), 1);
        assert_eq!(
            BEFORE_ALL.load(Ordering::SeqCst),
            1,
            "a constructor with a priority met sites that were not there yet"
        );
        sites().set(false).unwrap();
        assert!(sites().all(false));
    });
}

/// After main: handlers of `atexit`, then destructors.
#[test]
fn exit() {
    passes(|| {
        // SAFETY: a handler as long-lived as the program.
        assert_eq!(unsafe { libc::atexit(destructor) }, 0);
        sites().set(true).unwrap();
    });
}

/// In the middle of a flip all signals are blocked except SIGSYS and those that the C library keeps for itself. Afterwards, the thread blocks the
/// same signals as before.
#[test]
fn blocked_in_mid_flip() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    struct Looks;
    impl Twin for Looks {
        fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
            SEEN.store(mask(), Ordering::Relaxed);
            writer.sync()
        }
    }
    fn mask() -> u64 {
        let mut now = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: only asks.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), now.as_mut_ptr());
            (1..=64)
                .fold(0, |mask, signal| mask | (libc::sigismember(now.as_ptr(), signal).max(0) as u64) << (signal - 1))
        }
    }
    passes(|| {
        install(Looks);
        let before = mask();
        MASKED.enable().unwrap();
        assert!(masked());
        // Signals that are never blocked: the kernel's own, SIGSYS, and the C library's. qemu-user puts the last two in the place of the C
        // library's.
        let never = [libc::SIGKILL, libc::SIGSTOP, libc::SIGSYS, 32, 33, 34].into_iter();
        let never = never.chain([63, 64].into_iter().filter(|_| emulator().is_some()));
        let may_come = never.fold(0, |mask, signal| mask | 1_u64 << (signal - 1));
        let free = !SEEN.load(Ordering::Relaxed) & !may_come;
        assert_eq!(free, 0, "signals that interrupt a flip");
        assert_eq!(mask(), before);
    });
}

static_key! { static MASKED: false; }

fn masked() -> bool {
    static_branch_unlikely!(MASKED)
}
