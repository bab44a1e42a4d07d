//! Keys with a rate-limited `dec`: a key goes off at most once in an interval, however often its last user leaves and another user comes (Linux:
//! include/linux/jump_label_ratelimit.h).
//!
//! ```text
//!            dec_deferred                 dec_deferred                   interval passed, or flush
//!   n users ─────────────► n - 1   1 user ─────────────► the dec is due ──────────────────────────► off      (n > 1)
//!
//!   While a dec is due, the count is m + 1: m users, and L, the user that has left by dec_deferred and is still counted.
//!     event                what happens                                          count    is the dec still due?
//!     inc, dec             m grows or shrinks by one (dec: if m > 0)             m + 1    yes
//!     dec_deferred         m > 0: m shrinks by one; m = 0: nothing               m + 1    yes
//!     interval, flush      L is counted off; if m = 0, the key goes off          m        no
//!     enable    m = 0      the caller takes L's place: the key stays on          1        no
//!               m > 0      it is refused (`Counted`)                             m + 1    yes
//!     disable   m = 0      the key goes off at once                              0        no
//!               m > 0      it is refused (`Counted`)                             m + 1    yes
//!     dec       m = 0      like disable: this dec has no matching inc            0        no
//!     seal                 L is counted off, then the key is sealed              m        no
//!     any, with an error   nothing                                               m + 1    yes: the worker tries after the interval
//! ```
//!
//! So a due dec always counts off the user that has left, and no other user: a key that any user still holds stays on. A flag of the key
//! (`RawKey::is_due`) says that a dec is due. The flag changes only under the lock, together with the count. (Linux has no such flag. Its work item
//! counts off one user, whichever user that is by then.)
//!
//! The worker is a thread that exists while any dec is due. The process-wide lock guards the worker's list of keys, so a forked child finds a
//! complete list. The child starts its own worker at its next `dec_deferred`. Before that, `flush` in the child carries out a due dec.

use core::ops::Deref;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use super::Key;
use crate::error::Error;
use crate::patch::{self, Lock, Outcome, Request};
use crate::raw::count::{self, Change};
use crate::raw::key::RawKey;

/// A key whose [`dec_deferred`](Self::dec_deferred) turns it off at most once in an interval. Declare it with [`static_key!`](crate::static_key):
/// `static NET: false, deferred Duration::from_secs(1);`. Dereferences to [`RawKey`]. With `OR_LOAD`, the key also works where the system forbids all
/// changes of code, like an [`OrLoadKey`](crate::OrLoadKey).
#[repr(C)]
pub struct DeferredKey<const DEFAULT: bool, const OR_LOAD: bool = false> {
    raw: RawKey,
    timer: Timer,
}

/// The fields of a deferred key after its `RawKey`. C's `struct static_key_deferred` has the same fields.
#[repr(C)]
struct Timer {
    /// The interval in nanoseconds.
    interval: u64,
    /// The time at which the worker carries out the due dec, in nanoseconds of the platform's clock. Changed under the lock.
    due: AtomicU64,
    /// Whether the key is on the list ([`LIST`]) of any instance of the library.
    listed: AtomicBool,
    next: AtomicPtr<Node>,
}

impl Timer {
    /// Sets the time at which the worker carries out the dec: one interval from now. Called under the lock.
    fn defer(&self, lock: &Lock) {
        // The shortest wait, in nanoseconds. Without it, a dec with a short interval that is refused again and again would keep a processor busy.
        const MOMENT: u64 = 1_000_000;
        self.due.store(nanos(lock.platform().now()).saturating_add(self.interval.max(MOMENT)), Ordering::Relaxed);
    }
}

/// The type that stands for any deferred key on the list. All `DeferredKey`s have the same layout, whatever their parameters.
type Node = DeferredKey<false>;

impl<const DEFAULT: bool, const OR_LOAD: bool> DeferredKey<DEFAULT, OR_LOAD> {
    /// Makes a key in its default state. Deferred decs turn the key off at most once in `interval`.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        let timer = Timer {
            interval: nanos(interval),
            due: AtomicU64::new(0),
            listed: AtomicBool::new(false),
            next: AtomicPtr::new(null_mut()),
        };
        DeferredKey { raw: RawKey::new(DEFAULT), timer }
    }

    /// Returns the key without its type, so that keys of different types fit into one list. Works in constants, too.
    #[must_use]
    pub const fn raw(&'static self) -> &'static RawKey {
        &self.raw
    }

    /// Counts off one user (Linux: `static_key_slow_dec_deferred`). If this user is the last one, the key goes off when the interval has passed.
    /// Until then the dec is *due*: the key's count stays 1, and further deferred decs do nothing. If another user comes meanwhile, the key stays on.
    /// `inc` counts the new user in addition; `enable` puts the new user in the place of the one that has left. `disable` and [`seal`](RawKey::seal)
    /// do not wait for the interval: they count off at once the user that has left.
    ///
    /// Costs a compare-and-swap. For the last user, it costs the lock and, if no worker runs, the start of a thread. Do not call it in signal
    /// handlers.
    ///
    /// # Errors
    /// * [`Error::Underflow`] if the key is off,
    /// * [`Error::Sealed`],
    /// * [`Error::Reentrant`] in the middle of a flip,
    /// * [`Error::OutOfMemory`] if there is no memory for the lock, or if no thread can be started. If no thread could be started, the dec is still
    ///   due, and [`flush`](Self::flush) carries it out.
    pub fn dec_deferred(&'static self) -> Result<(), Error> {
        let lock = loop {
            if count::fast(self.raw.word(), Change::Dec).is_some() {
                return Ok(());
            }
            let lock = patch::locked(&[Request::new(&self.raw, 0)])?;
            match self.count() {
                _ if self.is_sealed() => return Err(Error::Sealed),
                0 => return Err(Error::Underflow),
                1 => break lock,
                _ => {} // Another thread called `inc` in between.
            }
        };
        if !self.raw.is_due() {
            self.raw.set_due(true);
            self.timer.defer(&lock);
        }
        if !self.timer.listed.swap(true, Ordering::Relaxed) {
            self.timer.next.store(LIST.load(Ordering::Relaxed), Ordering::Relaxed);
            LIST.store(core::ptr::from_ref(self).cast_mut().cast(), Ordering::Relaxed);
        }
        drop(lock);
        worker::wake()
    }

    /// Carries out a due dec now (Linux: `static_key_deferred_flush`). If the worker is carrying it out, waits until the worker has done so. Takes
    /// the key off the worker's list until its next deferred dec, so call `flush` before the key's object is unloaded. Returns `Ok(None)` if no dec
    /// is due. Costs the lock.
    ///
    /// # Errors
    /// The errors of [`RawKey::dec`], and those of [`RawKey::seal`] if the lock cannot be taken. After any error, the dec is still due.
    pub fn flush(&self) -> Result<Option<Outcome>, Error> {
        // The worker does not release the lock between finding a key and carrying out its dec. So under the lock here, the dec is either still due or
        // already carried out.
        let mut lock = Lock::take()?;
        let outcome = self.raw.carry_out(&mut lock)?;
        unload(&(self.address()..self.address() + 1), &lock);
        Ok(outcome)
    }
}

impl<const DEFAULT: bool, const OR_LOAD: bool> Deref for DeferredKey<DEFAULT, OR_LOAD> {
    type Target = RawKey;
    fn deref(&self) -> &RawKey {
        &self.raw
    }
}

impl<const DEFAULT: bool, const OR_LOAD: bool> core::fmt::Debug for DeferredKey<DEFAULT, OR_LOAD> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.raw.fmt(f)
    }
}

// SAFETY: a `DeferredKey` is `repr(C)` and begins with a `RawKey`, which `new` makes with `DEFAULT`.
unsafe impl<const DEFAULT: bool, const OR_LOAD: bool> Key for DeferredKey<DEFAULT, OR_LOAD> {
    const DEFAULT: bool = DEFAULT;
    const OR_LOAD: bool = OR_LOAD;
}

/// The head of this instance's list of keys whose dec is due, or was due earlier. The list is changed and read under the lock.
static LIST: AtomicPtr<Node> = AtomicPtr::new(null_mut());

const fn nanos(time: Duration) -> u64 {
    let nanos = time.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

/// Returns a key on the list whose interval has passed. If there is none, returns an error: the time until the first interval passes, or `None` if
/// the list is empty. Called under the lock.
fn next(lock: &Lock) -> Result<&'static Node, Option<Duration>> {
    // First takes off the list all keys whose dec was carried out meanwhile: by this worker, by a flip, or by another instance of the library. While
    // such a key stayed on the list, its flag `listed` would keep all other instances from listing it.
    unlist(|key| !key.raw.is_due());
    let now = nanos(lock.platform().now());
    let mut soonest = None;
    // SAFETY: the list leads only to static keys, which `dec_deferred` put there. `unload` takes an object's keys off before the object is unloaded.
    let mut at = unsafe { LIST.load(Ordering::Relaxed).as_ref() };
    while let Some(key) = at {
        match key.timer.due.load(Ordering::Relaxed) {
            due if due <= now => return Ok(key),
            due => soonest = Some(soonest.map_or(due, |soonest: u64| soonest.min(due))),
        }
        // SAFETY: the list leads only to static keys, which `dec_deferred` put there. `unload` takes an object's keys off before the object is
        // unloaded.
        at = unsafe { key.timer.next.load(Ordering::Relaxed).as_ref() };
    }
    Err(soonest.map(|soonest| Duration::from_nanos(soonest - now)))
}

/// Takes the keys with these addresses off the list, because their object is being unloaded, or may be unloaded soon. Called under the lock.
pub(crate) fn unload(addresses: &core::ops::Range<usize>, _lock: &Lock) {
    unlist(|key| addresses.contains(&key.address()));
}

/// Takes off the list each key for which `which` returns true. Called under the lock.
fn unlist(which: impl Fn(&Node) -> bool) {
    let mut link = &LIST;
    // SAFETY: the list leads only to static keys, which `dec_deferred` put there. `unload` takes an object's keys off before the object is unloaded.
    while let Some(key) = unsafe { link.load(Ordering::Relaxed).as_ref() } {
        if which(key) {
            link.store(key.timer.next.load(Ordering::Relaxed), Ordering::Relaxed);
            key.timer.listed.store(false, Ordering::Relaxed);
        } else {
            link = &key.timer.next;
        }
    }
}

pub(crate) mod worker {
    use super::{AtomicU32, Error, Lock, Ordering, next};
    use crate::platform::platform;
    use crate::platform::threads::{self, Thread};

    static THREAD: Thread = Thread { name: c"jumplabel", body: begin };

    /// The number of the process in which the worker runs; 0 if there is no worker. While the worker is being started, the bit [`STARTING`] is set,
    /// too. In a forked child, the number can still be that of the parent: then the child has no worker.
    static RUNS_IN: AtomicU32 = AtomicU32::new(0);
    /// A bit that no process number has: it marks a worker that is being started.
    const STARTING: u32 = 1 << 31;

    /// Records, in a forked child, that there is no worker.
    #[cfg(jumplabel_sites)]
    pub(crate) fn forked() {
        RUNS_IN.store(0, Ordering::Relaxed);
    }

    /// Makes sure that a worker will look at the list soon. Starts a worker if there is none.
    pub(super) fn wake() -> Result<(), Error> {
        let me = threads::process();
        loop {
            let now = RUNS_IN.load(Ordering::Acquire);
            if now == me {
                return Ok(()); // The worker never sleeps longer than MOMENT, so it looks soon.
            }
            if now == me | STARTING {
                // Another thread is starting the worker, and this thread must know whether that succeeds. It sleeps instead of yielding: a thread
                // with a real-time priority yields only to threads of equal priority, and the other thread may have a lower priority.
                threads::pause(core::time::Duration::from_micros(50));
            } else if RUNS_IN.compare_exchange(now, me | STARTING, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return start();
            }
        }
    }

    fn start() -> Result<(), Error> {
        let mut started = false;
        platform().start_thread(&mut || started = THREAD.start());
        if started {
            return Ok(());
        }
        RUNS_IN.store(0, Ordering::Release);
        Err(Error::OutOfMemory)
    }

    /// The longest sleep of the worker. While the worker sleeps for a key with a long interval, a short interval of another key can begin and end.
    /// The worker then carries out the dec of that other key late by at most this time.
    const MOMENT: core::time::Duration = core::time::Duration::from_millis(20);

    fn begin() {
        RUNS_IN.store(threads::process(), Ordering::Release);
        run();
    }

    fn run() {
        loop {
            let Ok(mut lock) = Lock::take() else { return RUNS_IN.store(0, Ordering::Release) };
            match next(&lock) {
                Ok(key) => match key.raw.carry_out(&mut lock) {
                    Ok(_) => {}
                    // The library leaves no dec due at a key that is off or sealed. If some other code did, the dec is dropped, because a retry would
                    // fail, too.
                    Err(Error::Underflow | Error::Sealed) => key.raw.set_due(false),
                    // The key stays on, which harms no user. But the user that has left must still be counted off, and no later `dec` would do that.
                    // So the worker tries again after another interval.
                    Err(_) => key.timer.defer(&lock),
                },
                Err(Some(wait)) => {
                    drop(lock);
                    threads::pause(wait.min(MOMENT));
                }
                Err(None) => {
                    // The worker still holds the lock. So either `next` above has seen the key of a `dec_deferred`, or `wake` finds that there is no
                    // worker.
                    RUNS_IN.store(0, Ordering::Release);
                    return;
                }
            }
        }
    }
}
