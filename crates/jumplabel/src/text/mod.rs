//! The contract with the place that the library runs in: a lock, memory, what lies where, writers, core sync.
//!
//! ```text
//!   ┌────────────────────────────── Text: the contract ───────────────────────────────┐
//!   │ lock, memory, clock   bounds of objects   writers -> open -> Writer   core sync │
//!   └─────────────────────────────────────────────────────────────────────────────────┘
//!     linux (feature linux) your kernel (set_text)   portable (no sites: a lock, nothing else)
//! ```
//!
//! The engine above decides what is written, in which steps, and when it is undone. A [`Text`] sees [`Write`]s: an address and bytes. It
//! knows nothing of keys, states, kinds or instruction sets. A kernel implements [`Text`] over its own page tables and interrupts, and
//! hands it to [`set_text`](crate::set_text). Tests hand over broken ones, and must then fail.

mod bounds;
pub(crate) mod copies;
mod held;
pub(crate) mod list;
#[cfg(windows)]
mod windows;
mod write;
mod writer;

use core::ffi::CStr;
use core::ops::Range;
use core::ptr::NonNull;
use core::time::Duration;

pub use crate::error::WriterKind;
use crate::error::{Errno, Error};
pub use crate::format::Runtime;
pub use bounds::{Image, Place, SEGMENTS};
#[doc(hidden)] // What `Text::runtimes` returns unless it is overridden.
pub use copies::RUNTIME;
pub(crate) use held::{Guarded, Objects, Patch};
pub use held::{Held, Platform};
pub use write::{Extent, Write};
pub use writer::{Body, Failure, SPAN_GAP_PAGES, Summary, Visibility, Warnings, Writer, Writers, Written};

// Without sites no object registers, so a part of `linux` is never called.
#[cfg(jumplabel_linux)]
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
mod linux;
#[cfg(jumplabel_linux)]
use linux as platform;
#[cfg(jumplabel_short_engine)]
pub(crate) use linux::abort;
#[cfg(jumplabel_linux)]
pub use linux::{core_sync_by_signal, core_sync_handler};

#[cfg(not(jumplabel_linux))]
mod portable;
#[cfg(not(jumplabel_linux))]
use portable as platform;

/// What [`Text::lock`] passes to [`Text::unlock`]: two words, such as a signal mask or an interrupt state.
pub type Token = [u64; 2];

/// What a platform tells the library, from [`Text::start`] on.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// This process is a child, a copy of the process before. `in_mid_flip`: somebody may have been flipping while it was copied.
    pub forked: fn(in_mid_flip: bool),
    /// The process ends, while other threads go on. Asks `keep` to keep each object that could be unloaded, by its record.
    pub ending: fn(keep: fn(usize) -> bool),
}

/// What the patcher needs from the system that it runs on.
///
/// [`Held`] stands for the lock: a method that is given one is called with the lock held.
///
/// # Safety
/// From `lock` to `unlock`, no other caller in the process has the lock, whichever copy of the library it uses. No method unwinds.
/// `open` lets `body` write to exactly the given sites, and leaves the protection of all memory as it was. No method runs code that
/// has sites. No method calls the dynamic loader while the lock is held.
pub unsafe trait Text: Sync {
    /// Takes the process-wide lock; nothing may interrupt this thread with a flip until `unlock`.
    ///
    /// # Errors
    /// [`Error::Reentrant`] if this thread holds it, [`Error::OutOfMemory`] if there is no memory for it,
    /// [`Error::NoText`] if there is no platform.
    fn lock(&self) -> Result<Token, Error>;

    /// Releases the lock.
    ///
    /// # Safety
    /// The token is from the `lock` that this thread called last.
    unsafe fn unlock(&self, token: Token);

    /// Zeroed memory, aligned to a page, from somewhere that has no sites (not the program's allocator). Called with and
    /// without the lock.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// As [`allocate`](Self::allocate), and zeroed again in a copy of this process, if the system can do that (Linux 4.14).
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
    fn writers(&self, summary: &Summary, held: &mut Held) -> Writers;

    /// Makes `extents` writable, runs `body`, makes what it wrote visible to all processors, and restores the
    /// pages. On an error, from `body` or of its own, no site has changed.
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
    ) -> Result<Written, Failure>;

    /// Whether some page that was opened could not get its protection back, not even now: what [`open`](Self::open) reports if it
    /// succeeds.
    fn left_writable(&self, _held: &mut Held) -> bool {
        false
    }

    /// Does ahead what the first [`open`](Self::open) for `kind` does.
    ///
    /// # Errors
    /// What was refused: `open` would refuse, too.
    fn prepare(&self, _kind: WriterKind, _held: &mut Held) -> Result<(), Errno> {
        Ok(())
    }

    /// Makes every processor serialise that runs code of this process, as [`Writer::sync`] does, with no writer open: after a
    /// count was published that sites load, and once more after a flip that reported [`Visibility::Eventual`].
    ///
    /// # Errors
    /// The system still refuses.
    fn core_sync(&self, _held: &mut Held) -> Result<(), Errno> {
        Err(Errno::NONE)
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

    /// The first object of this copy of the library is loaded. A constructor calls this, without the lock; and again, if an object is
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

    /// Whether a function can lie at `address`, which is in no object with a table: code is mapped there, or the platform cannot tell.
    /// Called with and without the lock.
    fn is_code(&self, _address: usize) -> bool {
        true
    }

    /// The name of the function at `address`, if the platform knows it: for people. Called without the lock.
    fn symbol(&self, _address: usize) -> Option<&'static CStr> {
        None
    }

    /// What lies at `addresses` is about to be unloaded: do not give anything there its protection back later.
    fn unload(&self, _addresses: &Range<usize>, _held: &mut Held) {}

    /// The last object of this copy is about to be unloaded. The lock is released before the code goes.
    ///
    /// # Safety
    /// Nobody uses anything of this copy any more.
    unsafe fn stop(&self, _held: &mut Held) {}

    /// The first copy of the library; the others follow. A kernel has one. Called with the lock held.
    fn runtimes(&self) -> *const Runtime {
        &raw const RUNTIME
    }

    /// Whether this process is a copy of another that could flip while it was copied. Called behind each `lock`; true once in
    /// a process.
    fn was_copied(&self, _held: &mut Held) -> bool {
        false
    }

    /// Calls `start`, which starts a thread of the library's own. Blocks all signals meanwhile, so that the thread is not given the
    /// program's; and first keeps the object that contains this copy from being unloaded. Called without the lock.
    fn start_thread(&self, start: &mut dyn FnMut()) {
        start();
    }
}

/// The platform in use.
pub(crate) fn text() -> &'static dyn Text {
    custom::get().unwrap_or(&platform::TEXT)
}

/// Picks the writer for all flips from now on, as the environment variable `JUMPLABEL_WRITER` does (which the library ignores in a
/// program with raised privileges). `None` goes back to the automatic choice, and so does `Custom`. For tests and measurements, and
/// for programs that never want a running page modified: [`WriterKind::Swap`].
pub fn set_writer(kind: Option<WriterKind>) {
    text().set_writer(kind);
}

pub(crate) mod custom {
    use crate::text::Text;
    use core::sync::atomic::{AtomicPtr, Ordering};

    static CUSTOM: AtomicPtr<&'static dyn Text> = AtomicPtr::new(core::ptr::null_mut());

    pub(crate) fn set(text: &'static &'static dyn Text) {
        CUSTOM.store(core::ptr::from_ref(text).cast_mut(), Ordering::Release);
    }

    pub(super) fn get() -> Option<&'static dyn Text> {
        // SAFETY: null, or a reference for ever.
        unsafe { CUSTOM.load(Ordering::Acquire).as_ref() }.copied()
    }
}

/// The built-in platform: for a platform of your own that changes only a part of it.
#[must_use]
pub fn builtin() -> &'static dyn Text {
    &platform::TEXT
}
