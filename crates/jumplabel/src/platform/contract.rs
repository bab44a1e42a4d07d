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

/// The functions that a platform calls to report events to the library. The platform gets them from [`Platform::start`]. In kernels (targets
/// without an operating system), no process is forked or ends, and the functions do nothing.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// Reports that this process is a forked child. `in_mid_flip` is true if a thread of the parent may have been flipping at the time of the fork.
    pub forked: fn(in_mid_flip: bool),
    /// Reports that the process is about to end. Other threads may still run. For each object that could be unloaded, the callback calls `keep` with
    /// the address of the object's record. `keep` keeps that object loaded, and returns false if it cannot.
    pub ending: fn(keep: fn(usize) -> bool),
}

/// The type parameter of the [`Held`] with which the platform uses its own data.
#[derive(Clone, Copy, Debug)]
pub enum PlatformState {}
/// The type parameter of the [`Held`] with which the library uses the lists of loaded objects.
pub(crate) enum Objects {}
/// The type parameter of the [`Held`] with which the layer `patch` uses the lists of a transaction.
pub(crate) enum Patch {}

/// Proof that this thread holds the lock. Only code that has a `Held<Of>` may use the data that the lock guards for the layer `Of`.
///
/// ```text
///   Lock ──► Held<Objects>         nobody loads or unloads objects
///        ──► Held<Patch>           the lists of the transaction
///        ──► Held<PlatformState>   what the platform keeps between flips
/// ```
///
/// Each layer has its own `Held`. So a layer can keep its `Held` borrowed while it calls a lower layer with another one.
pub struct Held<Of = PlatformState> {
    platform: &'static dyn Platform,
    /// The raw pointer keeps the `Held` on the thread that holds the lock, because it makes the type neither `Send` nor `Sync`.
    of: PhantomData<(Of, *const ())>,
}

impl<Of> Held<Of> {
    /// Makes a `Held`.
    ///
    /// # Safety
    /// This thread holds the lock of `platform` while the result is used. During that time, no other `Held<Of>` exists.
    pub(crate) unsafe fn new(platform: &'static dyn Platform) -> Self {
        Held { platform, of: PhantomData }
    }

    /// The platform whose lock is held.
    #[must_use]
    pub fn platform(&self) -> &'static dyn Platform {
        self.platform
    }
}

/// The system on which the library runs, with everything that the patcher needs from that system.
///
/// A method with a parameter of type [`Held`] is called with the lock held.
///
/// # Safety
/// * From `lock` to `unlock`, no other caller in the process holds the lock, whichever instance of the library it belongs to.
/// * No method unwinds.
/// * `open` changes only the bytes that `body` writes. It restores the protection of all memory, or reports
///   [`left_writable`](super::Warnings::left_writable).
/// * No method runs code that has sites.
/// * No method calls the dynamic loader while the lock is held.
pub unsafe trait Platform: Sync {
    /// Takes the process-wide lock. Until `unlock`, no code that may flip, such as a signal handler, can interrupt this thread.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread already holds the lock, [`Error::OutOfMemory`] if there is no memory for the lock, [`Error::NoPlatform`]
    /// if there is no platform, [`Error::Denied`] if the system refuses to block signals or to tell the thread's number.
    fn lock(&self) -> Result<Token, Error>;

    /// Takes the lock like [`lock`](Self::lock), but even in the cases in which `lock` returns [`Error::Denied`]. The library calls this for work
    /// that must be done, for example when an object is unloaded.
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

    /// Returns zeroed memory, aligned to 64 bytes. `None` if there is no memory. This function must not run the program's allocator, because that may
    /// contain sites. Called with and without the lock.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Returns memory like [`allocate`](Self::allocate). If the system supports it (Linux 4.14), the memory is zero again in a forked child.
    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.allocate(bytes)
    }

    /// Frees memory that this platform allocated.
    ///
    /// # Safety
    /// The memory came from `allocate` or `allocate_wiped`. `bytes` is the size that was asked for, or a smaller one that rounds up to the same whole
    /// pages ([`page_size`](Self::page_size)).
    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize);

    /// The size of a page in bytes.
    fn page_size(&self) -> usize;

    /// The time of a clock. The library uses differences of such times, for [`Outcome::time`](crate::Outcome::time) and for deferred keys.
    fn now(&self) -> Duration;

    /// The writers to try for a transaction with this summary, the first one first.
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList;

    /// Makes `extents` writable, runs `body`, makes the bytes that `body` wrote visible to all processors, and restores the pages. The writes of
    /// `body` have taken effect only when this function returns `Ok`: a writer may write to copies of the pages, and replace the pages by the copies
    /// after `body` has returned. If this function fails although `body` has succeeded, no site has changed, except after [`Failure::Stuck`].
    ///
    /// # Errors
    /// The reason of the failure, and the state in which the sites are.
    ///
    /// # Safety
    /// `extents` lie in loaded code, are sorted by address, and do not overlap.
    unsafe fn open(
        &self,
        kind: WriterKind,
        extents: &[Extent],
        held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure>;

    /// Tries to restore the protection of pages that an earlier [`open`](Self::open) could not restore. Returns true if a page still does not have
    /// its own protection. Each `open` that succeeds also does this; its answer is in [`Warnings::left_writable`](super::Warnings::left_writable).
    fn left_writable(&self, _held: &mut Held) -> bool {
        false
    }

    /// Prepares the writer `kind` without a change of any site, for example by its self-test. Otherwise, the first [`open`](Self::open) for `kind`
    /// does this work.
    ///
    /// # Errors
    /// The reason why the writer cannot be used. `open` would be refused, too.
    fn prepare(&self, _kind: WriterKind, _held: &mut Held) -> Result<(), Refusal> {
        Ok(())
    }

    /// Makes every processor that runs code of this process serialise, like [`Writer::sync`](crate::platform::Writer::sync), but while no writer is
    /// open. The library calls this after it has changed a value that sites load. It also calls this to try again after a flip that reported
    /// [`Visibility::Eventual`](crate::Visibility::Eventual).
    ///
    /// # Errors
    /// The reason why the system refuses.
    fn core_sync(&self, _held: &mut Held) -> Result<(), Refusal> {
        Err(Refusal::NOT_TRIED)
    }

    /// Whether the calling thread is the only one that runs code of this process. False if the platform does not know.
    fn is_alone(&self, _held: &mut Held) -> bool {
        false
    }

    /// False if the system refused the last core sync. Another try would then probably be refused, too. Called with and without the lock.
    fn is_synced(&self) -> bool {
        true
    }

    /// Picks the writer for all flips from now on. `None` restores the platform's own choice.
    fn set_writer(&self, _kind: Option<WriterKind>) {}

    /// Starts the platform when the first object of this instance of the library is loaded. `in_program` is true if that object is the program or the
    /// kernel. The object's constructor calls this function, without the lock. If all objects of the instance are unloaded, and another one is loaded
    /// later, the library calls this function again. A platform that is set after the first object was loaded is started when it is set.
    ///
    /// # Safety
    /// `callbacks` are the library's own. So only the library calls this, or a platform that passes the call on to another platform.
    unsafe fn start(&self, _in_program: bool, _callbacks: &'static Callbacks) {}

    /// The position in memory of the object whose record is at this address. The position consists of words that [`image`](Self::image) understands.
    /// The words are 0 if the platform does not know the position. Called without the lock, when the object is loaded or the platform is set.
    fn place(&self, _record: usize) -> Place {
        Place { words: [0; 3], in_program: false, guarded: false }
    }

    /// The bounds of the object that has these words. `None` if the platform does not know them. The library checks the object's table against the
    /// bounds. Called with the lock held.
    ///
    /// # Safety
    /// The words are 0, or came from [`place`](Self::place), for an object that is still loaded.
    unsafe fn image(&self, _words: [usize; 3]) -> Option<Image> {
        None
    }

    /// Whether `address` lies in an object that has a record. The object need not be registered: its constructor may still have to run. The library
    /// asks this about a patchable (a key, a call, a mode) that lies in no registered object. If the answer is true, and the object is still not
    /// registered after that, the library refuses the change with [`Error::TooEarly`]. Called without the lock. Never called for a target without an
    /// operating system (a kernel).
    fn has_record(&self, _address: usize) -> bool {
        false
    }

    /// Whether a function can lie at `address`: true if code is mapped there, or if the platform does not know. The library asks this about an
    /// address that lies in no object with a table. Called with and without the lock.
    fn is_code(&self, _address: usize) -> bool {
        true
    }

    /// A range of addresses that can be read and that contains `addresses.start`. The range is empty if `addresses.start` cannot be read. The library
    /// asks this before it reads mapped code, because a load that faults would end the program. The library will probably read most of `addresses`.
    /// So the range should cover `addresses`, if the platform can find that out at once. The range may also be shorter or longer. Called with the
    /// lock held.
    fn readable(&self, _addresses: Range<usize>) -> Range<usize> {
        0..usize::MAX
    }

    /// The name of the function at `address`, for messages to people. `None` if the platform does not know the name. Called without the lock.
    fn symbol(&self, _address: usize) -> Option<&'static CStr> {
        None
    }

    /// Forgets everything about `addresses`, because the object there is about to be unloaded. After this call, the platform must not change the
    /// protection of these pages.
    fn unload(&self, _addresses: &Range<usize>, _held: &mut Held) {}

    /// Stops the platform, because the last object of this instance is about to be unloaded. The library still releases the lock after this call,
    /// before the code is unloaded.
    ///
    /// # Safety
    /// After this call, the instance only releases the lock.
    unsafe fn stop(&self, _held: &mut Held) {}

    /// The first instance in the list of all instances of the library. A kernel has only one instance. Called with the lock held.
    fn runtimes(&self) -> *const Runtime {
        &raw const RUNTIME
    }

    /// The table of functions to call when a key or a mode has changed. `None` if there is no memory for the table. All instances of the library in a
    /// process share one table. Called with and without the lock.
    #[doc(hidden)]
    fn notifiers(&self) -> Option<&'static Notifiers> {
        Some(&notifiers::OWN)
    }

    /// A number that only the calling thread has. 0 if the platform knows no such number. In that case the library cannot limit how deep flips nest:
    /// if a function of [`on_change`](crate::on_change) flips the key that it hears of, it is called again without end. Called with and without the
    /// lock.
    fn thread(&self) -> usize {
        0
    }

    /// Whether this process was forked while a thread of its parent may have been flipping. Called after each `lock`. In such a process, only the
    /// first call returns true. In kernels (targets without an operating system), the library does not call it.
    fn was_forked(&self, _held: &mut Held) -> bool {
        false
    }

    /// Makes sure that the object that contains this instance is never unloaded. Called without the lock, unless a caller of
    /// [`on_change`](crate::on_change) holds it.
    fn stay(&self) {}

    /// Calls `start`, which starts a thread that runs code of the library. First makes sure that this code is never unloaded (see
    /// [`stay`](Self::stay)). Blocks all signals during the call of `start`, so that the new thread takes no signal that is meant for the program.
    /// Called without the lock.
    fn start_thread(&self, start: &mut dyn FnMut()) {
        start();
    }
}
