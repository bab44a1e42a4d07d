//! The two tables of operations, [`UNLOCK`] and [`SLOW`], and the order in which [`set`] changes them.

use std::ffi::OsString;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use jumplabel::{Error, ops};

use super::{FREE, HELD, Word, spin};

/// The state of a lock that is held and on which a thread sleeps, or is about to sleep.
const SLEPT_ON: u8 = 2;

ops! {
    /// How a thread gives a lock back.
    pub static UNLOCK: Unlock = {
        /// By a store: no thread sleeps.
        Spin,
        /// By an instruction that notices if a thread sleeps on the lock; such a thread is woken.
        Block
    };

    /// Gives the lock back.
    ///
    /// # Safety
    /// `state` belongs to a lock that the caller holds.
    unsafe fn release(state: *const AtomicU8) {
        Spin => release_and_wake, x86_64 unsafe { "{{disp32}} mov byte ptr [{state}], 0" };
        Block => release_and_wake, x86_64 unsafe { "lock dec byte ptr [{state}]\njnz {call}f" } else call;
    }
}

ops! {
    /// How a thread waits if it finds a lock held.
    pub static SLOW: Slow = {
        /// The thread tries again and again.
        Spin,
        /// The thread sleeps until it is woken.
        Block
    };

    /// Waits for the lock, and takes it.
    ///
    /// # Safety
    /// `word` is the word of a lock.
    unsafe fn wait(word: *const Word) {
        Spin => wait_by_spinning;
        Block => wait_asleep;
    }
}

/// Whether threads may begin to sleep.
static MAY_SLEEP: AtomicBool = AtomicBool::new(false);
/// The number of threads in [`wait_asleep`] that sleep, or that may still begin to sleep.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// Held during a change, so that two changes do not overlap.
static CHANGING: Mutex<()> = Mutex::new(());

/// Makes threads that wait for a lock sleep or spin from now on. The caller must hold no lock: if `waiters` is `Spin`, this function waits until no
/// thread sleeps on a lock.
///
/// # Errors
/// Those of [`jumplabel::Ops::set`]. After an error, some threads may spin and others sleep; the locks still work.
pub fn set(waiters: Slow) -> Result<(), Error> {
    let _changing = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if waiters == Slow::Block {
        UNLOCK.set(Unlock::Block)?;
        MAY_SLEEP.store(true, Ordering::SeqCst);
        return SLOW.set(Slow::Block).map(drop);
    }
    SLOW.set(Slow::Spin)?;
    MAY_SLEEP.store(false, Ordering::SeqCst);
    // A thread that counts itself in `SLEEPERS` after the store to `MAY_SLEEP` does not sleep. So once the count has been 0, no thread sleeps any
    // more.
    while SLEEPERS.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
    UNLOCK.set(Unlock::Spin).map(drop)
}

/// Returns how threads wait now: whether they spin or sleep.
pub fn query() -> Slow {
    SLOW.query()
}

/// A broken copy of [`set`] for a test: it changes the table `SLOW` first, then calls `between`, and then changes the table `UNLOCK`.
///
/// # Errors
/// Those of [`set`].
#[doc(hidden)]
pub fn set_in_the_wrong_order(between: impl FnOnce()) -> Result<(), Error> {
    MAY_SLEEP.store(true, Ordering::SeqCst);
    SLOW.set(Slow::Block)?;
    between();
    UNLOCK.set(Unlock::Block).map(drop)
}

/// Calls [`set`] as the environment variable `LOCK_WAITERS` says: `spin` or `block`. Does nothing if the variable is not set. Call this before the
/// first thread starts.
///
/// # Errors
/// [`Refused::Locks`] with an error of [`set`]. [`Refused::Unknown`] if the variable has another value; then nothing has changed.
pub fn set_from_environment() -> Result<(), Refused> {
    let Some(value) = std::env::var_os("LOCK_WAITERS") else { return Ok(()) };
    let waiters = match value.to_str() {
        Some("spin") => Slow::Spin,
        Some("block") => Slow::Block,
        _ => return Err(Refused::Unknown(value)),
    };
    set(waiters).map_err(Refused::Locks)
}

/// The reason why the value of the variable `LOCK_WAITERS` has no effect.
#[derive(Debug)]
pub enum Refused {
    /// The variable has an unknown value.
    Unknown(OsString),
    /// The tables could not be changed.
    Locks(Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unknown(value) => {
                write!(f, "LOCK_WAITERS is {value:?}: set it to spin or to block, or do not set it")
            }
            Refused::Locks(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}

#[inline(always)]
pub(super) fn slow(word: &Word) {
    // SAFETY: a `Word` is always the word of a lock, and the reference keeps the lock alive.
    unsafe { wait(word) };
}

#[inline(always)]
pub(super) fn unlock(word: &Word) {
    // SAFETY: only the drop of a guard calls this. The guard holds the lock to which `word` belongs.
    unsafe { release(&raw const word.state) };
}

/// Gives a lock back, and wakes a thread if one sleeps on the lock. On x86-64, the instruction of `Block` calls this only if a thread may sleep,
/// after it has subtracted 1 from the state.
unsafe extern "C" fn release_and_wake(state: *const AtomicU8) {
    // SAFETY: the caller of `release` passes the state of a lock that it holds, so the lock lives.
    let word = unsafe { &*state };
    let before = word.swap(FREE, Ordering::Release);
    // On x86-64, 1 stands for a state of 2 before the subtraction: a thread sleeps.
    if before != FREE && (before == SLEPT_ON || cfg!(all(target_arch = "x86_64", not(miri)))) {
        futex(state, libc::FUTEX_WAKE, 1);
    }
}

unsafe extern "C" fn wait_by_spinning(word: *const Word) {
    // SAFETY: the caller of `wait` guarantees that `word` is the word of a lock.
    spin(unsafe { &*word });
}

unsafe extern "C" fn wait_asleep(word: *const Word) {
    // SAFETY: the caller of `wait` guarantees that `word` is the word of a lock.
    let word = unsafe { &*word };
    SLEEPERS.fetch_add(1, Ordering::SeqCst);
    let mut taken = false;
    while !taken && MAY_SLEEP.load(Ordering::SeqCst) {
        taken = word.state.swap(SLEPT_ON, Ordering::Acquire) == FREE;
        if !taken {
            futex(&raw const word.state, libc::FUTEX_WAIT, SLEPT_ON.into());
        }
    }
    if !taken {
        // This thread may no longer sleep. It takes the lock by spinning, and then wakes nobody when it gives the lock back. So it wakes all threads
        // that sleep on the lock; they spin, too.
        futex(&raw const word.state, libc::FUTEX_WAKE, i32::MAX as u32);
    }
    SLEEPERS.fetch_sub(1, Ordering::SeqCst);
    if !taken {
        spin(word);
    }
}

/// Calls the system's `futex` for the word of a lock. `state` is the first byte of the word; the other bytes are 0.
fn futex(state: *const AtomicU8, operation: i32, number: u32) {
    const { assert!(cfg!(target_endian = "little") && HELD == 1) };
    // SAFETY: `state` is the first byte of a `Word`: four aligned bytes. The call only reads the word, sleeps, or wakes threads.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            state,
            operation | libc::FUTEX_PRIVATE_FLAG,
            number,
            std::ptr::null::<libc::timespec>(),
        )
    };
}
