//! The process-wide lock, as users and the engine hold it.

#[cfg(jumplabel_prefixes)]
use crate::error::{Error, Refusal};
use crate::platform::{self, Held, Objects, Patch, Platform, PlatformState, Token};
use crate::site::readable;
use core::mem::ManuallyDrop;

/// The process-wide lock, held: nobody else flips, and no object that has sites is loaded or unloaded (Linux:
/// `jump_label_lock`).
///
/// Take it for several flips and queries, with nobody in between. (If a set of changes shall be all or nothing, use a
/// [`Batch`](crate::Batch).) While you hold it, flip with [`RawKey::enable_locked`](crate::RawKey::enable_locked) and the like.
/// Functions that take the lock themselves return [`Error::Reentrant`](crate::Error::Reentrant) on this thread, and wait on others.
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

impl Lock {
    /// The lock that another instance of the library holds for this one. It must not be dropped.
    ///
    /// # Safety
    /// It is held as long as this is used, and nothing else that stands for it is in use in this instance.
    pub(super) unsafe fn borrowed() -> ManuallyDrop<Lock> {
        // SAFETY: another instance holds the lock meanwhile, and the caller uses nothing else that stands for it.
        ManuallyDrop::new(unsafe { Lock::new(platform::platform(), [0; 2]) })
    }

    /// # Safety
    /// As for [`borrowed`](Self::borrowed).
    pub(super) unsafe fn new(platform: &'static dyn Platform, token: Token) -> Lock {
        // SAFETY: the caller says that the lock is held meanwhile, and that nothing else stands for it. One of each.
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
