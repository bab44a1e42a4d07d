//! The process-wide lock, as users and the engine hold it.

use core::mem::ManuallyDrop;
use core::sync::atomic::Ordering;

#[cfg(jumplabel_prefixes)]
use crate::error::Errno;
use crate::error::Error;
use crate::text::copies::{self, NOTHING};
use crate::text::{self, Held, Objects, Patch, Platform, Text, Token};

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
    text: &'static dyn Text,
    token: Token,
    pub(crate) objects: Held<Objects>,
    pub(super) patch: Held<Patch>,
    pub(crate) platform: Held<Platform>,
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread holds it, [`Error::OutOfMemory`], [`Error::NoText`] in a kernel that has not
    /// called [`set_text`](crate::set_text).
    pub fn take() -> Result<Lock, Error> {
        let text = text::text();
        let token = text.lock()?;
        // SAFETY: the lock is held.
        unsafe { recover_all(text) };
        #[cfg_attr(not(jumplabel_sites), allow(unused_mut))] // Without sites, none can disagree with its key.
        // SAFETY: this thread holds the lock until the drop, and what `recover_all` had of it is gone.
        let mut lock = unsafe { Lock::new(text, token) };
        #[cfg(jumplabel_sites)]
        if text.was_copied(&mut lock.platform) {
            super::repair_copy(&mut lock);
        }
        Ok(lock)
    }

    /// The lock that another copy of the library holds for this one. It must not be dropped.
    ///
    /// # Safety
    /// It is held as long as this is used, and nothing else that stands for it is in use in this copy.
    pub(super) unsafe fn borrowed() -> ManuallyDrop<Lock> {
        // SAFETY: by the contract.
        ManuallyDrop::new(unsafe { Lock::new(text::text(), [0; 2]) })
    }

    /// # Safety
    /// As for [`borrowed`](Self::borrowed).
    unsafe fn new(text: &'static dyn Text, token: Token) -> Lock {
        // SAFETY: by the contract; one of each.
        let (objects, patch, platform) = unsafe { (Held::new(text), Held::new(text), Held::new(text)) };
        Lock { text, token, objects, patch, platform }
    }

    pub(crate) fn text(&self) -> &'static dyn Text {
        self.text
    }

    /// Reads the tables of all objects again, because their bounds ([`Text::image`]) have changed: for example, code was freed, and its
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
        if self.text.is_alone(&mut self.platform) {
            return Ok(());
        }
        Err(Error::MultiThreaded { core_sync: Errno::NONE, swap: Errno::NONE })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: taken by `take`, on this thread, and released once.
        unsafe { self.text.unlock(self.token) };
    }
}

/// Undoes or finishes what copies of the library had begun.
///
/// # Safety
/// The lock of `text` is held, and nothing that stands for it is in use in this copy.
unsafe fn recover_all(text: &dyn Text) {
    // SAFETY: by the contract.
    for runtime in unsafe { copies::from(text.runtimes()) } {
        if runtime.phase.load(Ordering::Acquire) != NOTHING {
            runtime.recover();
        }
    }
}
