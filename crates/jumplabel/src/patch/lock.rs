//! The process-wide lock, as users and the engine hold it.

use core::mem::ManuallyDrop;
#[cfg(jumplabel_sites)]
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering;

use crate::error::Error;
#[cfg(jumplabel_prefixes)]
use crate::error::Refusal;
use crate::platform::instances::{self, NOTHING};
use crate::platform::{self, Held, Objects, Patch, Platform, PlatformState, Token};
use crate::site::readable;

/// The process-wide lock, held: nobody else flips, and no object that has sites is loaded or unloaded (Linux:
/// `jump_label_lock`).
///
/// Take it for several flips and queries, with nobody in between. (If a set of changes shall be all or nothing, use a
/// [`Batch`](crate::Batch).) While you hold it, flip with [`RawKey::enable_locked`](crate::RawKey::enable_locked) and the like.
/// Functions that take the lock themselves return [`Error::Reentrant`] on this thread, and wait on others.
///
/// Costs three system calls to take and drop. All signals of the thread but SIGSYS are blocked meanwhile, and it cannot be cancelled.
/// Under it, do not call the dynamic loader: its constructors wait for this lock while they hold the loader's. A child of
/// `fork` does not hold it, and must neither use nor drop it; all signals stay blocked there until it unblocks them, so fork
/// before you take it. On Linux, if a thread ends without dropping it, whoever waits takes it over after 100 ms.
pub struct Lock {
    platform: &'static dyn Platform,
    token: Token,
    pub(crate) objects: Held<Objects>,
    pub(super) patch: Held<Patch>,
    pub(crate) platform_state: Held<PlatformState>,
}

/// Whether an object of this instance was ever registered. Until then, the sites of its keys are not known: a flip would find none.
#[cfg(jumplabel_sites)]
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// An object is about to be registered.
#[cfg(jumplabel_sites)]
pub(crate) fn set_registered() {
    REGISTERED.store(true, Ordering::Release);
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread holds it, [`Error::OutOfMemory`], [`Error::NoPlatform`] in a kernel that has not
    /// called [`set_platform`](crate::set_platform), [`Error::TooEarly`] before constructors run, [`Error::Denied`] if the system refuses
    /// to block signals.
    pub fn take() -> Result<Lock, Error> {
        Lock::by(Platform::lock)
    }

    /// Waits for the lock, and takes it even if signals cannot be blocked: for what nobody can refuse. A handler that comes then and flips
    /// gets [`Error::Reentrant`].
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))] // Without sites, no object registers.
    pub(crate) fn take_anyway() -> Result<Lock, Error> {
        Lock::by(Platform::lock_anyway)
    }

    #[inline(never)]
    fn by(lock: fn(&'static dyn Platform) -> Result<Token, Error>) -> Result<Lock, Error> {
        let platform = platform::platform();
        let token = lock(platform)?;
        // SAFETY: the lock is held.
        unsafe { recover_all(platform) };
        #[cfg_attr(not(jumplabel_sites), allow(unused_mut))] // Without sites, none can disagree with its key.
        // SAFETY: this thread holds the lock until the drop, and what `recover_all` had of it is gone.
        let mut lock = unsafe { Lock::new(platform, token) };
        #[cfg(jumplabel_sites)]
        if platform.was_forked(&mut lock.platform_state) {
            super::objects::repair_after_fork(&mut lock);
        }
        #[cfg(jumplabel_sites)]
        if !REGISTERED.load(Ordering::Acquire) {
            return Err(Error::TooEarly);
        }
        Ok(lock)
    }

    /// The lock that another instance of the library holds for this one. It must not be dropped.
    ///
    /// # Safety
    /// It is held as long as this is used, and nothing else that stands for it is in use in this instance.
    pub(super) unsafe fn borrowed() -> ManuallyDrop<Lock> {
        // SAFETY: by the contract.
        ManuallyDrop::new(unsafe { Lock::new(platform::platform(), [0; 2]) })
    }

    /// # Safety
    /// As for [`borrowed`](Self::borrowed).
    unsafe fn new(platform: &'static dyn Platform, token: Token) -> Lock {
        // SAFETY: by the contract; one of each.
        let (objects, patch, platform_state) =
            unsafe { (Held::new(platform), Held::new(platform), Held::new(platform)) };
        readable::forget();
        Lock { platform, token, objects, patch, platform_state }
    }

    pub(crate) fn platform(&self) -> &'static dyn Platform {
        self.platform
    }

    /// Reads the tables of all objects again, because their bounds ([`Platform::image`]) have changed: for example, code was freed, and its
    /// sites must not be written any more.
    ///
    /// Costs as much as the first flip: the index of each object is built again. Frees memory, and takes none.
    pub fn read_tables_anew(&mut self) {
        #[cfg(jumplabel_sites)]
        crate::site::object::all(&self.objects).for_each(|object| crate::site::index::discard(object, &self.objects));
    }

    /// Refuses if the process has other threads, or the system does not tell.
    #[cfg(jumplabel_prefixes)]
    pub(crate) fn demand_one_thread(&mut self) -> Result<(), Error> {
        if self.platform.is_alone(&mut self.platform_state) {
            return Ok(());
        }
        Err(Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap: Refusal::NOT_TRIED })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: taken by `take`, on this thread, and released once.
        unsafe { self.platform.unlock(self.token) };
    }
}

/// Undoes or finishes what instances of the library had begun.
///
/// # Safety
/// The lock of `platform` is held, and nothing that stands for it is in use in this instance.
unsafe fn recover_all(platform: &dyn Platform) {
    // SAFETY: by the contract.
    for runtime in unsafe { instances::from(platform.runtimes()) } {
        if runtime.phase.load(Ordering::Acquire) != NOTHING {
            runtime.recover();
        }
    }
}
