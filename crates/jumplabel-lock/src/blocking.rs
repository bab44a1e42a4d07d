//! The two tables of operations, `UNLOCK` and `SLOW`, and the order in which they change.

use std::ffi::OsString;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use jumplabel::{Error, ops};

use super::{FREE, HELD, Word, spin};

/// The state of a lock that is held if a thread sleeps on it, or is about to.
const SLEPT_ON: u8 = 2;

ops! {
    /// The way to give a lock back.
    pub static UNLOCK: Unlock = {
        /// No thread may sleep, so a store is enough.
        Spin,
        /// A thread may sleep, so it is woken.
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
    /// The way in which a thread waits if it finds a lock held.
    pub static SLOW: Slow = {
        /// The thread tries again.
        Spin,
        /// The thread sleeps.
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

/// True while threads may begin to sleep.
static MAY_SLEEP: AtomicBool = AtomicBool::new(false);
/// The number of threads that sleep, or that have not yet read whether they may sleep.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// Held during a change, so that two changes do not overlap.
static CHANGING: Mutex<()> = Mutex::new(());

/// Makes waiters sleep or spin from now on. The caller must hold no lock, because this waits until no thread sleeps on one.
///
/// # Errors
/// Those of [`jumplabel::Ops::set`]. After an error, some waiters may spin and others sleep; the locks still work.
pub fn set(waiters: Slow) -> Result<(), Error> {
    let _changing = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if waiters == Slow::Block {
        UNLOCK.set(Unlock::Block)?;
        MAY_SLEEP.store(true, Ordering::SeqCst);
        return SLOW.set(Slow::Block).map(drop);
    }
    SLOW.set(Slow::Spin)?;
    MAY_SLEEP.store(false, Ordering::SeqCst);
    // A thread that counts itself in `SLEEPERS` after that store finds that it may not sleep.
    while SLEEPERS.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
    UNLOCK.set(Unlock::Spin).map(drop)
}

/// Whether waiters spin or sleep.
pub fn query() -> Slow {
    SLOW.query()
}

/// A broken twin of [`set`] for the test: it changes the table of waiters first, and the table of unlocks after `between`.
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

/// Calls [`set`] with the value of the variable `LOCK_WAITERS`, `spin` or `block`. Does nothing if it is not set. Call it before the first thread
/// starts.
///
/// # Errors
/// Those of [`set`]; [`Refused::Unknown`] if the variable has another value. Then nothing changes.
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
    // SAFETY: `word` is the word of a lock.
    unsafe { wait(word) };
}

#[inline(always)]
pub(super) fn unlock(word: &Word) {
    // SAFETY: `word` is the word of a lock that the caller holds.
    unsafe { release(&raw const word.state) };
}

/// Gives a lock back, and wakes a thread if one sleeps on it. On x86-64, the closed arm of `Block` has subtracted 1 from the state before.
unsafe extern "C" fn release_and_wake(state: *const AtomicU8) {
    // SAFETY: the caller of `release` passes the state of a lock. A lock lives as long as threads wait for it.
    let word = unsafe { &*state };
    let before = word.swap(FREE, Ordering::Release);
    // So 1 means that the state was 2: a thread sleeps.
    if before != FREE && (before == SLEPT_ON || cfg!(all(target_arch = "x86_64", not(miri)))) {
        futex(state, libc::FUTEX_WAKE, 1);
    }
}

unsafe extern "C" fn wait_by_spinning(word: *const Word) {
    // SAFETY: the caller of `wait` passes a lock's word.
    spin(unsafe { &*word });
}

unsafe extern "C" fn wait_asleep(word: *const Word) {
    // SAFETY: the caller of `wait` passes a lock's word.
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
        // A thread that takes the lock by spinning wakes nobody when it gives the lock back. So all sleepers are woken here, and spin.
        futex(&raw const word.state, libc::FUTEX_WAKE, i32::MAX as u32);
    }
    SLEEPERS.fetch_sub(1, Ordering::SeqCst);
    if !taken {
        spin(word);
    }
}

/// Calls `futex` for the word whose first byte is `state`. The word's other bytes are 0.
fn futex(state: *const AtomicU8, operation: i32, number: u32) {
    const { assert!(cfg!(target_endian = "little") && HELD == 1) };
    // SAFETY: the call only wakes threads, or sleeps until the word changes or a thread wakes it.
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
