//! What a platform must give.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;
use core::time::Duration;

use super::instances::RUNTIME;
use super::{Body, Extent, Failure, Image, Place, Summary, WriteReport, WriterKind, WriterList};
use crate::error::{Error, Refusal};
use crate::format::Runtime;

/// What [`Platform::lock`] passes to [`Platform::unlock`]: two words, such as a signal mask or an interrupt state.
pub type Token = [u64; 2];

/// What a platform tells the library, from [`Platform::start`] on.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// This process was forked from another. `in_mid_flip`: somebody may have been flipping at that moment.
    pub forked: fn(in_mid_flip: bool),
    /// The process ends, while other threads go on. Asks `keep` to keep each object that could be unloaded, by its record.
    pub ending: fn(keep: fn(usize) -> bool),
}

/// The part of a [`Held`] for the platform.
#[derive(Clone, Copy, Debug)]
pub enum PlatformState {}
/// For the layer of sites.
pub(crate) enum Objects {}
/// For the layer of transactions.
pub(crate) enum Patch {}

/// The lock is held by this thread, and this is the one right to what it guards for `Of`.
///
/// ```text
///   Lock ──► Held<Objects>    nobody loads or unloads objects
///        ──► Held<Patch>      the lists of the transaction
///        ──► Held<PlatformState>   what the platform keeps between flips
/// ```
///
/// There is one of each, so that a layer can use its own while it calls the layers below it.
pub struct Held<Of = PlatformState> {
    platform: &'static dyn Platform,
    /// Of the thread that holds the lock.
    of: PhantomData<(Of, *const ())>,
}

impl<Of> Held<Of> {
    /// # Safety
    /// This thread holds the lock of `platform` as long as this is used, and there is no other for `Of`.
    pub(crate) unsafe fn new(platform: &'static dyn Platform) -> Self {
        Held { platform, of: PhantomData }
    }

    /// The platform whose lock it is.
    #[must_use]
    pub fn platform(&self) -> &'static dyn Platform {
        self.platform
    }
}

/// What the patcher needs from the system that it runs on.
///
/// [`Held`] stands for the lock: a method that is given one is called with the lock held.
///
/// # Safety
/// From `lock` to `unlock`, no other caller in the process has the lock, whichever instance of the library it uses. No method unwinds.
/// `open` lets `body` write to exactly the given sites, and leaves the protection of all memory as it was. No method runs code that
/// has sites. No method calls the dynamic loader while the lock is held.
pub unsafe trait Platform: Sync {
    /// Takes the process-wide lock; nothing may interrupt this thread with a flip until `unlock`.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread holds it, [`Error::OutOfMemory`] if there is no memory for it,
    /// [`Error::NoPlatform`] if there is no platform; [`Error::Denied`] if the system refuses to keep signals away.
    fn lock(&self) -> Result<Token, Error>;

    /// As [`lock`](Self::lock), for what nobody can refuse, such as an object that goes: it does without what `lock` may be denied.
    ///
    /// # Errors
    /// As `lock`, but for [`Error::Denied`].
    fn lock_anyway(&self) -> Result<Token, Error> {
        self.lock()
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The token is from the `lock` that this thread called last.
    unsafe fn unlock(&self, token: Token);

    /// Zeroed memory, aligned to a page, from somewhere that has no sites (not the program's allocator). Called with and
    /// without the lock.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// As [`allocate`](Self::allocate), and zeroed again in a process that is forked from this one, if the system can do that (Linux 4.14).
    fn allocate_wiped(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.allocate(bytes)
    }

    /// Takes memory back.
    ///
    /// # Safety
    /// The memory is from `allocate` or `allocate_wiped`, with the same size.
    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize);

    /// Bytes of a page.
    fn page_size(&self) -> usize;

    /// A clock, for [`Outcome::time`](crate::Outcome::time).
    fn now(&self) -> Duration;

    /// The writers to try for such a transaction, in order.
    fn writers(&self, summary: &Summary, held: &mut Held) -> WriterList;

    /// Makes `extents` writable, runs `body`, makes what it wrote visible to all processors, and restores the
    /// pages. What `body` wrote counts once this has returned `Ok`: a writer may write to copies, and put them in the place of the code
    /// behind `body`. On an error of its own, no site has changed.
    ///
    /// # Errors
    /// What was refused.
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

    /// Whether some page that was opened could not get its protection back, not even now: what [`open`](Self::open) reports if it
    /// succeeds.
    fn left_writable(&self, _held: &mut Held) -> bool {
        false
    }

    /// Does ahead what the first [`open`](Self::open) for `kind` does.
    ///
    /// # Errors
    /// What was refused: `open` would refuse, too.
    fn prepare(&self, _kind: WriterKind, _held: &mut Held) -> Result<(), Refusal> {
        Ok(())
    }

    /// Makes every processor serialise that runs code of this process, as [`Writer::sync`] does, with no writer open: after a
    /// count was published that sites load, and once more after a flip that reported [`Visibility::Eventual`].
    ///
    /// # Errors
    /// The system still refuses.
    fn core_sync(&self, _held: &mut Held) -> Result<(), Refusal> {
        Err(Refusal::NOT_TRIED)
    }

    /// Whether the calling thread is the only one that runs code of this process. False if the platform cannot tell.
    fn is_alone(&self, _held: &mut Held) -> bool {
        false
    }

    /// Whether the last core sync was not refused: then it is worth to try another. Called with and without the lock.
    fn is_synced(&self) -> bool {
        true
    }

    /// Picks the writer for all flips from now on; `None` goes back to the platform's own choice.
    fn set_writer(&self, _kind: Option<WriterKind>) {}

    /// The first object of this instance of the library is loaded. A constructor calls this, without the lock; and again, if an object is
    /// loaded after the last one went. A platform that is set later is started then.
    ///
    /// # Safety
    /// `callbacks` are the library's: only the library calls this, or a platform that passes it on.
    unsafe fn start(&self, _in_program: bool, _callbacks: &'static Callbacks) {}

    /// Where the object of the record at this address lies, in words that [`image`](Self::image) understands; words of 0 if the platform
    /// cannot tell. Called without the lock, when the object is loaded, or the platform is set.
    fn place(&self, _record: usize) -> Place {
        Place { words: [0; 3], in_program: false, guarded: false }
    }

    /// The bounds of an object, by its words; `None` if the platform cannot tell. Tables are checked against them.
    ///
    /// # Safety
    /// The words are 0, or from [`place`](Self::place), for an object that is still loaded.
    unsafe fn image(&self, _words: [usize; 3]) -> Option<Image> {
        None
    }

    /// Whether `address` lies in an object that has a record, whether it is registered or its constructors are still to run. Asked
    /// without the lock, of what lies in no registered object: then a change is refused as [`Error::TooEarly`]. Kernels (targets without an
    /// operating system) are not asked.
    fn has_record(&self, _address: usize) -> bool {
        false
    }

    /// Whether a function can lie at `address`, which is in no object with a table: code is mapped there, or the platform cannot tell.
    /// Called with and without the lock.
    fn is_code(&self, _address: usize) -> bool {
        true
    }

    /// The addresses around `address`, where code is mapped, that can be read; empty if it cannot. The library asks before it reads code,
    /// because a load that faults would end the program. `far`: it has asked often in this transaction, so look farther than is cheap.
    /// Called with the lock held.
    fn readable(&self, _address: usize, _far: bool) -> Range<usize> {
        0..usize::MAX
    }

    /// The name of the function at `address`, if the platform knows it: for people. Called without the lock.
    fn symbol(&self, _address: usize) -> Option<&'static CStr> {
        None
    }

    /// What lies at `addresses` is about to be unloaded: do not give anything there its protection back later.
    fn unload(&self, _addresses: &Range<usize>, _held: &mut Held) {}

    /// The last object of this instance is about to be unloaded. The lock is released before the code goes.
    ///
    /// # Safety
    /// Nobody uses anything of this instance any more.
    unsafe fn stop(&self, _held: &mut Held) {}

    /// The first instance of the library; the others follow. A kernel has one. Called with the lock held.
    fn runtimes(&self) -> *const Runtime {
        &raw const RUNTIME
    }

    /// Whether this process was forked from one that could flip at that moment. Called behind each `lock`; true once in
    /// a process.
    fn was_forked(&self, _held: &mut Held) -> bool {
        false
    }

    /// Calls `start`, which starts a thread of the library's own. Blocks all signals meanwhile, so that the thread is not given the
    /// program's; and first keeps the object that contains this instance from being unloaded. Called without the lock.
    fn start_thread(&self, start: &mut dyn FnMut()) {
        start();
    }
}
