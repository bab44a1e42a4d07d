//! The trait `Platform`: what the library needs from the system on which it runs.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;
use core::time::Duration;

use super::instances::RUNTIME;
use super::notifiers::{self, Notifiers};
use super::{Body, Extent, Failure, Image, Place, Summary, WriteReport, WriterKind, WriterList};
use crate::error::{Error, Refusal};
use crate::format::Runtime;

/// The data that [`Platform::lock`] passes to [`Platform::unlock`]: two words, such as a signal mask or an interrupt state.
pub type Token = [u64; 2];

/// The functions that a platform calls to report events to the library. The platform gets them from [`Platform::start`].
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// Reports that this process was forked. `in_mid_flip` is true if a thread of the parent may have been flipping at that moment.
    pub forked: fn(in_mid_flip: bool),
    /// Reports that the process ends, while other threads continue. The function calls `keep` for each object that could be unloaded, with the
    /// address of the object's record. `keep` keeps the object loaded, and returns whether that was possible.
    pub ending: fn(keep: fn(usize) -> bool),
}

/// The mark of the platform's [`Held`].
#[derive(Clone, Copy, Debug)]
pub enum PlatformState {}
/// The mark of the [`Held`] of the layer of sites.
pub(crate) enum Objects {}
/// The mark of the [`Held`] of the layer of transactions.
pub(crate) enum Patch {}

/// Shows that this thread holds the lock. Only the holder of a `Held<Of>` may use the data that the lock guards for the layer `Of`.
///
/// ```text
///   Lock ──► Held<Objects>         nobody loads or unloads objects
///        ──► Held<Patch>           the lists of the transaction
///        ──► Held<PlatformState>   what the platform keeps between flips
/// ```
///
/// There is one `Held` for each layer. So a layer can use its own `Held` while it calls the layers below it.
pub struct Held<Of = PlatformState> {
    platform: &'static dyn Platform,
    /// Makes a `Held` stay on the thread that holds the lock.
    of: PhantomData<(Of, *const ())>,
}

impl<Of> Held<Of> {
    /// # Safety
    /// This thread holds the lock of `platform` as long as the result is used. During that time there is no other `Held<Of>`.
    pub(crate) unsafe fn new(platform: &'static dyn Platform) -> Self {
        Held { platform, of: PhantomData }
    }

    /// The platform whose lock is held.
    #[must_use]
    pub fn platform(&self) -> &'static dyn Platform {
        self.platform
    }
}

/// The system on which the patcher runs: everything that the patcher needs from it.
///
/// A method with a parameter of type [`Held`] is called with the lock held.
///
/// # Safety
/// * From `lock` to `unlock`, no other caller in the process has the lock, in any instance of the library.
/// * No method unwinds.
/// * `open` lets `body` write to exactly the given sites, and leaves the protection of all memory as it was.
/// * No method runs code that has sites.
/// * No method calls the dynamic loader while the lock is held.
pub unsafe trait Platform: Sync {
    /// Takes the process-wide lock. Until `unlock`, no code that flips, such as a signal handler, can interrupt this thread.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread already holds the lock, [`Error::OutOfMemory`] if there is no memory for the lock, [`Error::NoPlatform`]
    /// if there is no platform, [`Error::Denied`] if the system refuses to block signals.
    fn lock(&self) -> Result<Token, Error>;

    /// Like [`lock`](Self::lock), for work that must be done, such as the work for an object that is being unloaded. If the system refuses
    /// something that `lock` needs, this takes the lock nevertheless.
    ///
    /// # Errors
    /// The errors of `lock`, except [`Error::Denied`].
    fn lock_anyway(&self) -> Result<Token, Error> {
        self.lock()
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// `token` is from this thread's last call of `lock` or `lock_anyway`.
    unsafe fn unlock(&self, token: Token);

    /// Returns zeroed memory, aligned to 64 bytes; `None` if there is none. The code that allocates it must have no sites, so it cannot be the
    /// program's allocator. Called with and without the lock.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Like [`allocate`](Self::allocate). In addition, the memory becomes zero again in a forked child, if the system can do that (Linux 4.14).
    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.allocate(bytes)
    }

    /// Frees memory of this platform.
    ///
    /// # Safety
    /// The memory came from `allocate` or `allocate_wiped`, with the same size.
    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize);

    /// The size of a page in bytes.
    fn page_size(&self) -> usize;

    /// The time of a clock, for [`Outcome::time`](crate::Outcome::time) and for deferred keys.
    fn now(&self) -> Duration;

    /// The writers to try for a transaction with this summary, in this order.
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList;

    /// Makes `extents` writable, runs `body`, makes the bytes that `body` wrote visible to all processors, and restores the pages. These bytes
    /// count only after this function has returned `Ok`: a writer may write to copies, and replace the code by the copies after `body` has
    /// returned. If this function fails for a reason other than `body`, no site has changed.
    ///
    /// # Errors
    /// The reason of the refusal.
    ///
    /// # Safety
    /// `extents` are of loaded code, in the order of their addresses, and do not overlap.
    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure>;

    /// Tries to restore the protection of pages that an earlier [`open`](Self::open) could not restore. Returns whether the protection of any page
    /// is still not restored. An `open` that succeeds also tries this, and its report has the answer.
    fn left_writable(&self, _held: &mut Held) -> bool {
        false
    }

    /// Does now the part of the first [`open`](Self::open) for `kind` that is not writing, so that `open` need not do it.
    ///
    /// # Errors
    /// The reason of the refusal. `open` would be refused, too.
    fn prepare(&self, _kind: WriterKind, _held: &mut Held) -> Result<(), Refusal> {
        Ok(())
    }

    /// Makes every processor that runs code of this process serialise, like [`Writer::sync`](crate::platform::Writer::sync), but while no writer
    /// is open. Called after the library has published a count that sites load. Also called to try once more after a flip that reported
    /// [`Visibility::Eventual`](crate::Visibility::Eventual).
    ///
    /// # Errors
    /// The system refuses.
    fn core_sync(&self, _held: &mut Held) -> Result<(), Refusal> {
        Err(Refusal::NOT_TRIED)
    }

    /// Whether the calling thread is the only one that runs code of this process. False if the platform does not know.
    fn is_alone(&self, _held: &mut Held) -> bool {
        false
    }

    /// False if the last core sync was refused, so that another try is probably useless. Called with and without the lock.
    fn is_synced(&self) -> bool {
        true
    }

    /// Picks the writer for all flips from now on; `None` goes back to the platform's own choice.
    fn set_writer(&self, _kind: Option<WriterKind>) {}

    /// Starts the platform, because the first object of this instance of the library is loaded. `in_program` is true if this object is the program
    /// or the kernel. The object's constructor calls this, without the lock. It calls this again if an object is loaded after the last one was
    /// unloaded. If a platform is set later, it is started at that moment.
    ///
    /// # Safety
    /// `callbacks` are the library's own. So only the library calls this, or a platform that passes the call on to another.
    unsafe fn start(&self, _in_program: bool, _callbacks: &'static Callbacks) {}

    /// The position in memory of the object whose record is at this address, in words that [`image`](Self::image) understands. The words are 0 if
    /// the platform does not know. Called without the lock, when the object is loaded or the platform is set.
    fn place(&self, _record: usize) -> Place {
        Place { words: [0; 3], in_program: false, guarded: false }
    }

    /// The bounds of the object that has these words. `None` if the platform does not know. The library checks tables against the bounds.
    ///
    /// # Safety
    /// The words are 0, or came from [`place`](Self::place), for an object that is still loaded.
    unsafe fn image(&self, _words: [usize; 3]) -> Option<Image> {
        None
    }

    /// Whether `address` lies in an object that has a record, even if the object is not registered yet because its constructors still have to
    /// run. The library asks this about a patchable that lies in no registered object. If the answer is true, the library refuses the change
    /// with [`Error::TooEarly`]. Called without the lock. Kernels (targets without an operating system) are not asked.
    fn has_record(&self, _address: usize) -> bool {
        false
    }

    /// Whether a function can lie at `address`, which is in no object with a table. True if code is mapped there, or if the platform does not know
    /// whether it is. Called with and without the lock.
    fn is_code(&self, _address: usize) -> bool {
        true
    }

    /// The range of addresses around `addresses.start` that can be read. It is empty if `addresses.start` cannot be read. The library asks only
    /// about mapped code, before it reads that code, because a load that faults would end the program. It will probably read most of `addresses`.
    /// So the platform should answer for all of them, if it can do that at once. It may also answer for fewer or more. Called with the lock held.
    fn readable(&self, _addresses: Range<usize>) -> Range<usize> {
        0..usize::MAX
    }

    /// The name of the function at `address`, for people. `None` if the platform does not know it. Called without the lock.
    fn symbol(&self, _address: usize) -> Option<&'static CStr> {
        None
    }

    /// Forgets everything about `addresses`, because the object there is about to be unloaded. After this, the platform must not change the
    /// protection of pages there.
    fn unload(&self, _addresses: &Range<usize>, _held: &mut Held) {}

    /// Stops the platform, because the last object of this instance is about to be unloaded. The lock is released before the code is
    /// unloaded.
    ///
    /// # Safety
    /// Nothing of this instance is used any more.
    unsafe fn stop(&self, _held: &mut Held) {}

    /// The first instance of the library in the list of instances. A kernel has only one. Called with the lock held.
    fn runtimes(&self) -> *const Runtime {
        &raw const RUNTIME
    }

    /// The table of functions to call when a key or a mode has changed. A kernel has only one table. `None` if there is no memory for it. Called
    /// with and without the lock.
    #[doc(hidden)]
    fn notifiers(&self) -> Option<&'static Notifiers> {
        Some(&notifiers::OWN)
    }

    /// A number that only the calling thread has. 0 if the platform does not know one. Then a function of [`on_change`](crate::on_change) that
    /// flips, and so causes its own next call, goes on without an end. Called with and without the lock.
    fn thread(&self) -> usize {
        0
    }

    /// Whether this process was forked while a thread of its parent may have been flipping. Called after each `lock`. The answer is true only
    /// once in a process.
    fn was_forked(&self, _held: &mut Held) -> bool {
        false
    }

    /// Makes sure that the object that contains this instance is never unloaded. Called without the lock.
    fn stay(&self) {}

    /// Calls `start`, which starts a thread of the library's own. Before that, does what [`stay`](Self::stay) does. Blocks all signals during the
    /// call, so that the new thread takes no signals that are meant for the program. Called without the lock.
    fn start_thread(&self, start: &mut dyn FnMut()) {
        start();
    }
}
