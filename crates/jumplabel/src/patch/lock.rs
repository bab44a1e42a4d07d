//! [`Lock`]: the process-wide lock, while a user or the library holds it.

#[cfg(jumplabel_prefixes)]
use crate::error::{Error, Refusal};
use crate::platform::notices::Notices;
use crate::platform::{self, Guarded, Held, Objects, Patch, Platform, PlatformState, Token};
use crate::site::readable;
use core::mem::ManuallyDrop;

/// The process-wide lock, held. Until it is dropped, no other thread flips, and no object that has sites is loaded or unloaded (Linux:
/// `jump_label_lock`).
///
/// Take the lock to do several flips and queries without flips of others in between. (For a set of changes that must be all or nothing, use a
/// [`Batch`](crate::Batch).) While you hold the lock, flip with [`RawKey::enable_locked`](crate::RawKey::enable_locked) and similar functions.
/// Functions that take the lock themselves return [`Error::Reentrant`](crate::Error::Reentrant) on this thread. On other threads, these functions
/// wait for the lock.
///
/// Do not call the dynamic loader while you hold the lock: constructors wait for this lock while they hold the loader's lock. A forked child does not
/// hold the lock, and must neither use nor drop its copy of the `Lock`.
///
/// On Linux, taking and dropping the lock costs three system calls. While a thread holds the lock, all signals of that thread except SIGSYS are
/// blocked, and the thread cannot be cancelled. The signals stay blocked in a forked child until the child unblocks them, so fork before you take the
/// lock. If a thread ends without dropping the lock, a thread that waits takes the lock over after 100 ms.
pub struct Lock {
    token: Token,
    pub(crate) objects: Held<Objects>,
    pub(super) patch: Held<Patch>,
    pub(crate) platform_state: Held<PlatformState>,
}

/// The notices of the changes that the holder of the lock has made so far.
pub(super) static NOTICES: Guarded<Notices, Objects> = Guarded::new(Notices::new());

impl Lock {
    /// A `Lock` for code that is called with the lock held, usually by another instance of the library. The result must not be dropped, because that
    /// would release the lock.
    ///
    /// # Safety
    /// The lock is held as long as the result is used. During that time this instance uses no other `Lock`.
    pub(super) unsafe fn borrowed() -> ManuallyDrop<Lock> {
        // SAFETY: the caller says that the lock is held during this time, and that this instance uses no other `Lock`.
        ManuallyDrop::new(unsafe { Lock::new(platform::platform(), [0; 2]) })
    }

    /// # Safety
    /// The contract of [`borrowed`](Self::borrowed).
    pub(super) unsafe fn new(platform: &'static dyn Platform, token: Token) -> Lock {
        // SAFETY: the caller guarantees that the lock is held during this time, and that this instance uses no other `Lock`. So there is only one
        // `Held` of each type.
        let (objects, patch, platform_state) =
            unsafe { (Held::new(platform), Held::new(platform), Held::new(platform)) };
        readable::forget();
        Lock { token, objects, patch, platform_state }
    }

    /// Takes the notices that would be sent when the lock is released. The caller must send them.
    #[cfg(jumplabel_threads)]
    pub(crate) fn take_notices(&mut self) -> Notices {
        core::mem::replace(NOTICES.get(&mut self.objects), Notices::new())
    }

    pub(crate) fn platform(&self) -> &'static dyn Platform {
        self.platform_state.platform()
    }

    /// Makes the next flip read the tables of all objects again. Call this function if the bounds of an object ([`Platform::image`]) have changed.
    /// For example, code may have been freed; its sites must then never be written again.
    ///
    /// Frees the index of each object, and allocates nothing. The next flip builds the indexes again, so that flip costs as much as the first flip.
    pub fn read_tables_anew(&mut self) {
        #[cfg(jumplabel_sites)]
        crate::site::object::all(&self.objects).for_each(|object| crate::site::index::discard(object, &self.objects));
    }

    /// Returns an error if the process has other threads, or if the system does not say whether it has any.
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
        // SAFETY: `take` took the lock on this thread. The lock is released once, here.
        unsafe { self.platform().unlock(self.token) };
        notices.send();
    }
}
