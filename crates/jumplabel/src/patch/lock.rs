//! The process-wide lock, as its holder has it: a user, or the library.

#[cfg(jumplabel_prefixes)]
use crate::error::{Error, Refusal};
use crate::platform::notices::Notices;
use crate::platform::{self, Guarded, Held, Objects, Patch, Platform, PlatformState, Token};
use crate::site::readable;
use core::mem::ManuallyDrop;

/// The process-wide lock, held. Until it is dropped, nobody else flips, and no object that has sites is loaded or unloaded (Linux:
/// `jump_label_lock`).
///
/// Take the lock if you do several flips and queries, and nobody else must flip in between. (If a set of changes shall be all or nothing,
/// use a [`Batch`](crate::Batch).) While you hold the lock, flip with [`RawKey::enable_locked`](crate::RawKey::enable_locked) and the like.
/// Functions that take the lock themselves return [`Error::Reentrant`](crate::Error::Reentrant) on this thread. On other threads they wait
/// for the lock.
///
/// To take and drop the lock costs three system calls. While a thread holds the lock, all its signals but SIGSYS are blocked, and the
/// thread cannot be cancelled. Do not call the dynamic loader while you hold the lock: constructors wait for this lock while they hold the
/// loader's lock. A child of `fork` does not hold the lock, and must neither use nor drop it. All signals stay blocked in the child until
/// the child unblocks them, so fork before you take the lock. On Linux, if a thread ends without dropping the lock, a thread that waits for
/// it takes it over after 100 ms.
pub struct Lock {
    token: Token,
    pub(crate) objects: Held<Objects>,
    pub(super) patch: Held<Patch>,
    pub(crate) platform_state: Held<PlatformState>,
}

/// The notices of what the holder of the lock has changed.
pub(super) static NOTICES: Guarded<Notices, Objects> = Guarded::new(Notices::new());

impl Lock {
    /// The lock as this instance of the library has it while another instance, which holds the lock, calls this one. The result must not be
    /// dropped, because that would release the lock.
    ///
    /// # Safety
    /// The lock is held as long as the result is used. Meanwhile this instance uses no other `Lock`.
    pub(super) unsafe fn borrowed() -> ManuallyDrop<Lock> {
        // SAFETY: another instance holds the lock meanwhile, and the caller uses no other `Lock`.
        ManuallyDrop::new(unsafe { Lock::new(platform::platform(), [0; 2]) })
    }

    /// # Safety
    /// As for [`borrowed`](Self::borrowed).
    pub(super) unsafe fn new(platform: &'static dyn Platform, token: Token) -> Lock {
        // SAFETY: the caller guarantees that the lock is held meanwhile, and that this instance uses no other `Lock`. So there is one
        // `Held` of each type.
        let (objects, patch, platform_state) =
            unsafe { (Held::new(platform), Held::new(platform), Held::new(platform)) };
        readable::forget();
        Lock { token, objects, patch, platform_state }
    }

    /// The notices that are to be sent when the lock is released. The caller sends them instead.
    #[cfg(jumplabel_threads)]
    pub(crate) fn take_notices(&mut self) -> Notices {
        core::mem::replace(NOTICES.get(&mut self.objects), Notices::new())
    }

    pub(crate) fn platform(&self) -> &'static dyn Platform {
        self.platform_state.platform()
    }

    /// Reads the tables of all objects again. Call this function if the bounds of an object ([`Platform::image`]) have changed: for
    /// example, if code was freed, so that the sites in it must not be written any more.
    ///
    /// Frees the index of each object, and takes no memory. The next flip builds the indexes again, so it costs as much as the first one.
    pub fn read_tables_anew(&mut self) {
        #[cfg(jumplabel_sites)]
        crate::site::object::all(&self.objects).for_each(|object| crate::site::index::discard(object, &self.objects));
    }

    /// Returns an error if the process has other threads, or if the system does not tell.
    #[cfg(jumplabel_prefixes)]
    pub(crate) fn demand_one_thread(&mut self) -> Result<(), Error> {
        if self.platform().is_alone(&mut self.platform_state) {
            return Ok(());
        }
        Err(Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap: Refusal::NOT_TRIED })
    }
}

impl Drop for Lock {
    #[inline(never)]
    fn drop(&mut self) {
        let mut notices = core::mem::replace(NOTICES.get(&mut self.objects), Notices::new());
        // SAFETY: `take` took the lock on this thread, and it is released once, here.
        unsafe { self.platform().unlock(self.token) };
        notices.send();
    }
}
