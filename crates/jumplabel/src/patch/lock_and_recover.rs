//! Takes the lock. If a transaction was left unfinished, the next thread that takes the lock first finishes or undoes it.
//!
//! Before any object of this instance is registered, the instance knows no sites. So `demand_registered`, and with it `Lock::take`, returns the
//! error `TooEarly`. The finer check, whether the object of one patchable is registered, is in too_early.rs.

#[cfg(jumplabel_sites)]
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering;

use super::Lock;
use super::lock::NOTICES;
#[cfg(all(jumplabel_sites, not(target_os = "none")))]
use super::objects::repair_after_fork;
use crate::error::Error;
use crate::platform::instances::{self, NOTHING};
use crate::platform::notices::Notices;
use crate::platform::{self, Platform, Token};

/// Whether an object of this instance was ever registered. Before that, this instance knows no sites, so a flip would find none.
#[cfg(jumplabel_sites)]
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Records that an object is about to be registered.
#[cfg(jumplabel_sites)]
pub(crate) fn set_registered() {
    REGISTERED.store(true, Ordering::Release);
}

/// Returns an error if no object of this instance was ever registered.
pub(crate) fn demand_registered() -> Result<(), Error> {
    #[cfg(jumplabel_sites)]
    if !REGISTERED.load(Ordering::Acquire) {
        return Err(Error::TooEarly);
    }
    Ok(())
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread already holds the lock, [`Error::OutOfMemory`], [`Error::NoPlatform`] in a kernel that has not called
    /// [`set_platform`](crate::set_platform), [`Error::TooEarly`] before constructors run, [`Error::Denied`] if the system refuses to block signals
    /// or to tell the thread's number.
    pub fn take() -> Result<Lock, Error> {
        Lock::by(Platform::lock)
    }

    /// Waits for the lock, and takes it even if signals cannot be blocked. Use this function only for work that must be done, such as the work of a
    /// destructor. If a signal handler then runs on this thread and flips, its flip returns [`Error::Reentrant`].
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))] // Without sites, no object registers.
    pub(crate) fn take_anyway() -> Result<Lock, Error> {
        Lock::by(Platform::lock_anyway)
    }

    #[inline(never)]
    fn by(lock: fn(&'static dyn Platform) -> Result<Token, Error>) -> Result<Lock, Error> {
        let platform = platform::platform();
        // This check comes before any use of the C library: in an IFUNC resolver of a static program, the C library cannot find objects yet.
        if cfg!(jumplabel_user_space) {
            demand_registered()?;
        }
        let token = lock(platform)?;
        // SAFETY: this thread has just taken the lock, and has made no `Lock` of it yet.
        unsafe { recover_all(platform) };
        // SAFETY: this thread holds the lock until the drop, and every `Lock` that `recover_all` made is gone.
        let mut lock = unsafe { Lock::new(platform, token) };
        // A thread that ended while it held the lock may have left notices. They are dropped.
        *NOTICES.get(&mut lock.objects) = Notices::new();
        #[cfg(all(jumplabel_sites, not(target_os = "none")))]
        if platform.was_forked(&mut lock.platform_state) {
            repair_after_fork(&mut lock);
        }
        // In a kernel this check comes last, so that a kernel without a platform gets `NoPlatform` from `lock`.
        if !cfg!(jumplabel_user_space) {
            demand_registered()?;
        }
        Ok(lock)
    }
}

/// Undoes or finishes the transactions that instances of the library left unfinished.
///
/// # Safety
/// The lock of `platform` is held, and this instance uses no `Lock`.
unsafe fn recover_all(platform: &dyn Platform) {
    // SAFETY: the caller holds the lock. An instance is unloaded only after it has left the list, which takes the lock.
    for runtime in unsafe { instances::from(platform.runtimes()) } {
        if runtime.phase.load(Ordering::Acquire) != NOTHING {
            runtime.recover();
        }
    }
}
