//! The two tables, and the order in which they change.

use std::ffi::OsString;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use jumplabel::{Error, ops};

use super::{FREE, HELD, Word, spin};

/// Held, and somebody sleeps, or is about to.
const SLEPT_ON: u8 = 2;

ops! {
    /// How a lock is given back.
    pub static UNLOCK: Unlock = {
        /// Nobody sleeps.
        Spin,
        /// Somebody may.
        Block
    };

    /// Gives it back.
    ///
    /// # Safety
    /// `state` is that of a lock that the caller holds.
    unsafe fn release(state: *const AtomicU8) {
        Spin => release_and_wake, x86_64 unsafe { "{{disp32}} mov byte ptr [{state}], 0" };
        Block => release_and_wake, x86_64 unsafe { "lock dec byte ptr [{state}]\njnz {call}f" } else call;
    }
}

ops! {
    /// What a thread does that finds a lock held.
    pub static SLOW: Slow = {
        /// It tries again.
        Spin,
        /// It sleeps.
        Block
    };

    /// Takes it.
    ///
    /// # Safety
    /// `word` is a lock's.
    unsafe fn wait(word: *const Word) {
        Spin => wait_by_spinning;
        Block => wait_asleep;
    }
}

/// Whether threads may begin to sleep.
static MAY_SLEEP: AtomicBool = AtomicBool::new(false);
/// Those that do, or found that they may.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// One change at a time.
static CHANGING: Mutex<()> = Mutex::new(());

/// Has waiters sleep, or spin, from now on. The caller holds none of the locks: those who sleep are waited for.
///
/// # Errors
/// As [`jumplabel::Ops::set`]. On an error, waiters may do the one or the other; the lock is as good as before.
pub fn set(waiters: Slow) -> Result<(), Error> {
    let _changing = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if waiters == Slow::Block {
        UNLOCK.set(Unlock::Block)?;
        MAY_SLEEP.store(true, Ordering::SeqCst);
        return SLOW.set(Slow::Block).map(drop);
    }
    SLOW.set(Slow::Spin)?;
    MAY_SLEEP.store(false, Ordering::SeqCst);
    // Whoever counts itself later finds that it may not sleep.
    while SLEEPERS.load(Ordering::SeqCst) != 0 {
        std::thread::yield_now();
    }
    UNLOCK.set(Unlock::Spin).map(drop)
}

/// What waiters do.
pub fn query() -> Slow {
    SLOW.query()
}

/// For the broken twin of the torture: the slow way first.
///
/// # Errors
/// As [`set`].
#[doc(hidden)]
pub fn set_in_the_wrong_order(between: impl FnOnce()) -> Result<(), Error> {
    MAY_SLEEP.store(true, Ordering::SeqCst);
    SLOW.set(Slow::Block)?;
    between();
    UNLOCK.set(Unlock::Block).map(drop)
}

/// [`set`] by the variable `LOCK_WAITERS`: `spin`, also if it is not there, or `block`. Call it before the first thread starts.
///
/// # Errors
/// As [`set`], and [`Refused::Unknown`] if it is something else: waiters do what they did.
pub fn set_from_environment() -> Result<(), Refused> {
    let Some(value) = std::env::var_os("LOCK_WAITERS") else { return Ok(()) };
    let waiters = match value.to_str() {
        Some("spin") => Slow::Spin,
        Some("block") => Slow::Block,
        _ => return Err(Refused::Unknown(value)),
    };
    set(waiters).map_err(Refused::Locks)
}

/// Why waiters do not do what the variable says.
#[derive(Debug)]
pub enum Refused {
    /// It has another value.
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
    // SAFETY: a lock's.
    unsafe { wait(word) };
}

#[inline(always)]
pub(super) fn unlock(word: &Word) {
    // SAFETY: the caller's lock.
    unsafe { release(&raw const word.state) };
}

/// By whatever the state is: held, slept on, or, behind the `dec` of a closed arm, one less.
unsafe extern "C" fn release_and_wake(state: *const AtomicU8) {
    // SAFETY: the caller of `release` passes the state of a lock. A lock lives as long as threads wait for it.
    let word = unsafe { &*state };
    let before = word.swap(FREE, Ordering::Release);
    // The closed arm left 1 of 2.
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
        // Whoever takes it by trying wakes nobody later.
        futex(&raw const word.state, libc::FUTEX_WAKE, i32::MAX as u32);
    }
    SLEEPERS.fetch_sub(1, Ordering::SeqCst);
    if !taken {
        spin(word);
    }
}

/// The word that begins with the state: its other bytes are 0.
fn futex(state: *const AtomicU8, operation: i32, number: u32) {
    const { assert!(cfg!(target_endian = "little") && HELD == 1) };
    // SAFETY: wakes, or sleeps until the word changes or somebody wakes.
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
