//! The contract with the place that the library runs in: a lock, memory, what lies where, writers, core sync.
//!
//! ```text
//!              ┌──────────────────────── Text: the contract ────────────────────────┐
//!              │ lock, memory, clock   bounds of objects   writers -> open -> Writer   core sync │
//!              └─────────────────────────────────────────────────────────────────────┘
//!     linux (feature std)      your kernel (set_text)     portable (no sites: a lock, nothing else)
//! ```
//!
//! The engine above decides what is written, in which steps, and when it is undone. A [`Text`] sees [`Write`]s: an address and bytes. It
//! knows nothing of keys, states, kinds or instruction sets. A kernel implements [`Text`] over its own page tables and interrupts and
//! hands it to [`set_text`](crate::set_text); tests hand over broken ones and must then fail.

pub(crate) mod copies;
mod held;
pub(crate) mod list;
mod place;
#[cfg(windows)]
mod windows;
mod write;

use core::ops::Range;
use core::ptr::NonNull;
use core::time::Duration;

pub use crate::error::WriterKind;
use crate::error::{Errno, Error};
pub use crate::format::Runtime;
pub use copies::RUNTIME;
pub(crate) use held::{Guarded, Objects, Patch};
pub use held::{Held, Platform};
pub use place::{Image, Place, SEGMENTS};
pub use write::{Extent, Write};

// Without sites no object registers, so that a part of it is never called.
#[cfg(jumplabel_linux)]
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
mod linux;
#[cfg(jumplabel_linux)]
use linux as platform;
#[cfg(jumplabel_linux)]
pub use linux::{core_sync_by_signal, core_sync_handler};

#[cfg(not(jumplabel_linux))]
mod portable;
#[cfg(not(jumplabel_linux))]
use portable as platform;

/// When other threads see a flip. What needed no flip reports what the last flip of the key did, until a core sync has
/// succeeded: each change that takes the lock tries one, and so does an `inc` that does not, where the last one succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// At once: every check that starts after the flip returned takes the new arm.
    #[default]
    Immediate,
    /// Soon: core sync was refused by the system, so that a processor may finish what it has already fetched.
    Eventual,
}

/// What went less than well in a flip that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// A page could not be given its protection back (a seccomp filter installed in mid-flip, a limit on mappings).
    pub left_writable: bool,
}

/// What [`Text::open`] reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// When other threads see it.
    pub visibility: Visibility,
    /// What went less than well.
    pub warnings: Warnings,
}

/// Why a writer did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It refused, and all sites are as before; where core sync was refused on the way back, some are in a state in
    /// between that does the same.
    Refused(Errno),
    /// Core sync was refused between two steps. The sites are as after `Refused`.
    Unsynced(Errno),
    /// It refused, and refused to undo what it had written.
    Stuck {
        /// The first site that was not restored.
        address: usize,
        /// What it met.
        errno: Errno,
    },
}

/// Pages between two sites that cost less to open with them (65 ns each) than another pair of system calls would, with an
/// interrupt of the other processors each.
pub const SPAN_GAP_PAGES: usize = 16;

/// What a writer is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Sites to change.
    pub sites: usize,
    /// Pages that they begin on.
    pub pages: usize,
    /// Groups of sites with no more than [`SPAN_GAP_PAGES`] between neighbours.
    pub spans: usize,
    /// How many times something is written at a site at most, with a core sync after each.
    pub steps: u32,
    /// Core sync was refused between two steps, and the steps were taken back: only a writer that needs none will do.
    pub unsynced: bool,
}

/// Writers in the order in which they are to be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writers([Option<WriterKind>; 3]);

impl Writers {
    /// At most three.
    #[must_use]
    pub fn of(kinds: &[WriterKind]) -> Writers {
        let mut writers = Writers::default();
        writers.0.iter_mut().zip(kinds).for_each(|(place, kind)| *place = Some(*kind));
        writers
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = WriterKind> + use<> {
        self.0.into_iter().flatten()
    }
}

/// What [`Text::lock`] hands to [`Text::unlock`]: two words, such as a signal mask or an interrupt state.
pub type Token = [u64; 2];

/// Writes the bytes of one transaction.
pub trait Writer {
    /// Carries `writes` out, in order, and does what caches need. On a refusal: which one, and why; those before it are carried out.
    ///
    /// # Safety
    /// They lie in the extents that the writer was opened for.
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Errno)>;

    /// Makes every processor that runs this code serialise: nothing fetched before is executed after.
    ///
    /// # Errors
    /// Where another thread may go on running what it fetched before.
    fn sync(&mut self) -> Result<(), Errno>;
}

/// What is done with a [`Writer`] while it is open.
pub type Body<'a> = dyn FnMut(&mut dyn Writer) -> Result<(), Failure> + 'a;

/// What a platform calls the library for, from [`Text::start`] on.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// In a child that was made by a copy of this process. `unsettled`: somebody may have been flipping while it was copied.
    pub forked: fn(unsettled: bool),
    /// The process ends, while other threads go on: asks `keep` for the record of each object that could be unloaded.
    pub ending: fn(keep: fn(usize) -> bool),
}

/// What the patcher needs of the place that it runs in.
///
/// [`Held`] stands for the lock: who is given one is called with the lock held.
///
/// # Safety
/// `lock` excludes all other callers of this trait in the process, whichever copy of the library they use, until
/// `unlock`. No method unwinds. `open` lets `body` write to exactly the given sites and leaves the protection of all memory as it was. None
/// of the methods runs code that has sites, nor, with the lock held, calls the dynamic loader.
pub unsafe trait Text: Sync {
    /// Takes the process-wide lock; nothing may interrupt this thread with a flip until `unlock`.
    ///
    /// # Errors
    /// [`Error::Reentrant`] where this thread holds it, [`Error::OutOfMemory`] where there is none for it,
    /// [`Error::NoText`] where there is no platform.
    fn lock(&self) -> Result<Token, Error>;

    /// Releases the lock.
    ///
    /// # Safety
    /// With the token of the `lock` that this thread called last.
    unsafe fn unlock(&self, token: Token);

    /// Zeroed memory, aligned to a page, from somewhere that has no sites (not the program's allocator). Called with and
    /// without the lock.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Takes memory back.
    ///
    /// # Safety
    /// From `allocate`, with the same size.
    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize);

    /// Bytes of a page.
    fn page_size(&self) -> usize;

    /// A clock, for [`Outcome::time`](crate::Outcome::time).
    fn now(&self) -> Duration;

    /// The writers to try for such a transaction, in order.
    fn writers(&self, summary: &Summary, held: &mut Held) -> Writers;

    /// Makes `extents` writable, runs `body`, makes what it wrote visible to all processors, and restores the
    /// pages. An error from `body`, or of its own, means that no site has changed.
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

    /// Does ahead what [`open`](Self::open) does the first time that it is called for `kind`.
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
    /// Where that is still refused.
    fn core_sync(&self, _held: &mut Held) -> Result<(), Errno> {
        Err(Errno::NONE)
    }

    /// Whether the last core sync was not refused, so that it is worth to try another. Called with and without the lock.
    fn is_synced(&self) -> bool {
        true
    }

    /// Picks the writer for all flips from now on; `None` goes back to the platform's own choice.
    fn set_writer(&self, _kind: Option<WriterKind>) {}

    /// The first object of this copy of the library is loaded: called without the lock, by a constructor, and again if another is loaded
    /// after the last one went. A platform that is set later is started then.
    ///
    /// # Safety
    /// `hooks` are the library's: nobody else calls this, but a platform that passes it on.
    unsafe fn start(&self, _in_program: bool, _hooks: &'static Hooks) {}

    /// The object of the record at this address: where it is, in words that [`image`](Self::image) understands; words of 0 if it does not
    /// know. Called without the lock, when the object is loaded, or the platform is set.
    fn place(&self, _record: usize) -> Place {
        Place { words: [0; 3], in_program: false, guarded: false }
    }

    /// The bounds of an object, by its words; `None` if nobody knows. Tables are checked against them.
    ///
    /// # Safety
    /// The words are 0, or from [`place`](Self::place), for an object that is still loaded.
    unsafe fn image(&self, _words: [usize; 3]) -> Option<Image> {
        None
    }

    /// What lies at `addresses` is about to be unloaded: nothing there is to be given its protection back later.
    fn unload(&self, _addresses: &Range<usize>, _held: &mut Held) {}

    /// The last object of this copy is about to be unloaded. The lock is released before the code goes.
    ///
    /// # Safety
    /// Nothing of this copy is used any more.
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

    /// Calls `start`, which starts a thread of the library's own: with all signals blocked, so that it is not given the program's, and
    /// after the object that contains this copy was kept from being unloaded. Called without the lock.
    fn start_thread(&self, start: &mut dyn FnMut()) {
        start();
    }
}

/// The platform in use.
pub(crate) fn text() -> &'static dyn Text {
    custom::get().unwrap_or(&platform::TEXT)
}

/// Picks the writer for all flips from now on, like the environment variable `JUMPLABEL_WRITER` (which a program that
/// runs with raised privileges ignores): `None` goes back to the automatic choice, and so does `Custom`. For tests and
/// measurements, and for the strict mode, [`WriterKind::Swap`].
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

/// The built-in platform, for one of your own that changes only a part of it.
#[must_use]
pub fn builtin() -> &'static dyn Text {
    &platform::TEXT
}
