//! The guarantees to other threads about a key that nobody may patch, and about one that is patched in some flips and refused in others.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::thread;

use jumplabel::platform::{Body, Extent, Failure, Held, WriteReport, builtin};
use jumplabel::{
    Error, Outcome, Refusal, Visibility, WriterKind, prepare, static_branch_likely, static_branch_unlikely, static_key,
};
use jumplabel_testing::scenario::{passes, repeats, slowness};
use jumplabel_testing::twin::{Twin, install};

static_key! {
    static KEY: false, or_load;
    static ON: true, or_load;
}

/// A platform that refuses every write, or some, and notes the counts at which a core sync was made.
struct Moody {
    refuses: fn(u32) -> bool,
    /// Whether core syncs are left out that no writer makes.
    forgets: bool,
}

static OPENED: AtomicU32 = AtomicU32::new(0);
/// The count of `KEY` at the last core sync.
static SYNCED_AT: AtomicI32 = AtomicI32::new(-1);

impl Twin for Moody {
    fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        if (self.refuses)(OPENED.fetch_add(1, Ordering::Relaxed)) {
            return Err(Failure::Refused(Refusal::errno(libc::EACCES)));
        }
        SYNCED_AT.store(KEY.count(), Ordering::Relaxed);
        // SAFETY: called as `Platform::open` is.
        unsafe { builtin().open(kind, extents, held, body) }
    }
    fn core_sync(&self, held: &mut Held) -> Result<(), Refusal> {
        if self.forgets {
            return Ok(());
        }
        SYNCED_AT.store(KEY.count(), Ordering::Relaxed);
        builtin().core_sync(held)
    }
}

fn all() -> [bool; 2] {
    [static_branch_likely!(KEY), static_branch_unlikely!(KEY)]
}

/// The number of times that a count was published that sites load, without a core sync after it: in flips that are refused, and in flips that are
/// not.
fn unsynced(forgets: bool) -> usize {
    install(Moody { refuses: |opened| opened < 40, forgets });
    let (mut unsynced, mut loading) = (0, 0);
    for round in 0..40 {
        let on = round % 2 == 0;
        let outcome = if on { KEY.enable() } else { KEY.disable() }.unwrap();
        assert_eq!((all(), outcome.visibility), ([on; 2], Visibility::Immediate));
        let loads = outcome.loading > 0;
        unsynced += usize::from(loads && SYNCED_AT.load(Ordering::Relaxed) != i32::from(on));
        loading += usize::from(loads);
    }
    assert!((5..30).contains(&loading), "{loading} of 40 flips were refused");
    unsynced
}

#[test]
fn a_core_sync_follows_the_count() {
    passes(|| assert_eq!(unsynced(false), 0));
}

#[test]
fn broken_twin_forgets_the_core_sync() {
    passes(|| assert!(unsynced(true) > 0));
}

const THREADS: usize = 3;

/// Each thread takes the key, checks it, and gives it back. Returns how many checks found the key off in between.
fn found_off(take: impl Fn() -> Result<Outcome, Error> + Sync, check: impl Fn() -> bool + Sync) -> usize {
    let off = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..repeats(400) {
                    take().unwrap();
                    for _ in 0..3 {
                        off.fetch_add(usize::from(!check()), Ordering::Relaxed);
                        thread::yield_now();
                    }
                    KEY.dec().unwrap();
                }
            });
        }
    });
    off.into_inner()
}

/// The platform patches nothing at all, or everything from some moment on.
const MOODS: [fn(u32) -> bool; 2] = [|_| true, |opened| opened < 300];

#[test]
fn inc_holds_until_dec() {
    passes(|| {
        for refuses in MOODS {
            install(Moody { refuses, forgets: false });
            assert_eq!(found_off(|| KEY.inc(), || all() == [true; 2] && KEY.is_enabled()), 0);
            assert_eq!((KEY.count(), all()), (0, [false; 2]));
        }
    });
}

/// One thread turns the key on. Before it does anything else, a second thread comes by `inc`, and checks the key. Returns whether the second thread
/// found the key on, as `inc` promises.
fn second_finds(check: fn() -> bool, behind_the_flip: fn()) -> bool {
    let (on, checked) = (Barrier::new(2), Barrier::new(2));
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            KEY.inc().unwrap();
            on.wait();
            checked.wait();
            behind_the_flip();
        });
        on.wait();
        KEY.inc().unwrap();
        let found = check();
        checked.wait();
        found
    });
    KEY.dec().unwrap();
    KEY.dec().unwrap();
    found
}

/// The twin: sites have a word of their own, which the thread that turns the key on stores after the flip. Threads that come by the count do not
/// find the key on.
#[test]
fn broken_twin_has_a_word_behind_the_flip() {
    static WORD: AtomicBool = AtomicBool::new(false);
    passes(|| {
        for refuses in MOODS {
            install(Moody { refuses, forgets: false });
            assert!(second_finds(|| all() == [true; 2], || {}));
            assert!(!second_finds(|| WORD.load(Ordering::SeqCst), || WORD.store(true, Ordering::SeqCst)));
            WORD.store(false, Ordering::SeqCst);
        }
    });
}

/// When `enable` or `disable` has returned, no thread finds the old arm. A thread that has found the new arm of a check, after a flip that nobody
/// could patch, does not find the old arm again.
#[test]
fn flips_are_seen() {
    passes(|| {
        for refuses in MOODS {
            install(Moody { refuses, forgets: false });
            static DONE: AtomicU32 = AtomicU32::new(0);
            static STOP: AtomicBool = AtomicBool::new(false);
            DONE.store(0, Ordering::SeqCst);
            STOP.store(false, Ordering::SeqCst);
            thread::scope(|scope| {
                let readers: Vec<_> = (0..2)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut looks = 0;
                            while !STOP.load(Ordering::SeqCst) {
                                // The number is even while the key is off, odd while it is on, and the same before and after if no flip began in
                                // between.
                                let before = DONE.load(Ordering::SeqCst);
                                let seen = [all(), [static_branch_likely!(ON), static_branch_unlikely!(ON)]];
                                let flipping = DONE.load(Ordering::SeqCst) != before;
                                let on = before % 4 == 2;
                                assert!(
                                    flipping || before % 2 == 1 || seen == [[on; 2], [!on; 2]],
                                    "{before}: {seen:?}"
                                );
                                looks += 1;
                            }
                            looks
                        })
                    })
                    .collect();
                for round in 0..repeats(600) {
                    let on = round % 2 == 0;
                    DONE.fetch_add(1, Ordering::SeqCst);
                    jumplabel::Batch::new().set(&KEY, on).set(&ON, !on).commit().unwrap();
                    DONE.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
                STOP.store(true, Ordering::SeqCst);
                assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
            });
        }
    });
}

static HANDLED: AtomicU32 = AtomicU32::new(0);
static WRONG: AtomicU32 = AtomicU32::new(0);
static FLIPPED: AtomicUsize = AtomicUsize::new(0);

/// Takes the key, checks it, and gives it back. In the middle of another flip, it can only check.
extern "C" fn handler(_signal: i32) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
    match KEY.inc() {
        Ok(_) => {
            let right = all() == [true; 2] && KEY.dec().is_ok();
            WRONG.fetch_add(u32::from(!right), Ordering::SeqCst);
        }
        Err(Error::Reentrant) => {}
        Err(_) => _ = WRONG.fetch_add(1, Ordering::SeqCst),
    }
}

/// Signal handlers flip and check, between flips by threads.
#[test]
fn in_signal_handlers() {
    passes(|| {
        install(Moody { refuses: |opened| opened < 3000, forgets: false });
        // SAFETY: a handler that flips, which is what is tested, and signals to this thread.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        }
        thread::scope(|scope| {
            // SAFETY: this thread, which outlives the one below.
            let this = unsafe { libc::pthread_self() } as usize; // musl: a pointer
            let storm = scope.spawn(move || {
                while FLIPPED.load(Ordering::SeqCst) < repeats(500) || HANDLED.load(Ordering::SeqCst) < 50 {
                    // SAFETY: as above.
                    assert_eq!(unsafe { libc::pthread_kill(this as libc::pthread_t, libc::SIGUSR1) }, 0);
                    // The pause is longer than the handler takes. Otherwise nothing else would get on.
                    thread::sleep(std::time::Duration::from_micros(500) * slowness());
                }
            });
            while !storm.is_finished() {
                KEY.inc().unwrap();
                assert_eq!(all(), [true; 2]);
                KEY.dec().unwrap();
                FLIPPED.fetch_add(1, Ordering::SeqCst);
            }
        });
        assert_eq!((WRONG.load(Ordering::SeqCst), KEY.count(), all()), (0, 0, [false; 2]));
    });
}

/// A child of fork has the count that the key had, and goes on by itself.
#[test]
fn in_a_child_of_fork() {
    use jumplabel_testing::scenario::{fork, reap};
    passes(|| {
        install(Moody { refuses: |_| true, forgets: false });
        KEY.enable().unwrap();
        reap(fork(|| all() == [true; 2] && KEY.disable().is_ok() && all() == [false; 2] && prepare().is_err()));
        assert_eq!(all(), [true; 2]);
    });
}
