//! How code bytes are written, and how every processor gets to see them: writers, core sync, the lock.
//!
//! ```text
//!              ┌────────────── Text: the contract ──────────────┐
//!              │ lock, memory, choose, open -> Writer, core sync │
//!              └────────────────────────────────────────────────┘
//!     linux (feature std)      your kernel (set_text)     portable (no sites: a lock, nothing else)
//! ```
//!
//! The engine above decides what is written, in which steps, and when it is undone. A [`Text`] only carries it out. A
//! kernel implements [`Text`] over its own page tables and interrupts and hands it to [`set_text`]; tests hand over broken
//! ones and must then fail.

pub(crate) mod list;

use core::ptr::NonNull;
use core::time::Duration;

use crate::error::{Errno, Error};
use crate::key::RawKey;
use crate::patch::{EditList, Failure, Step, plan::Summary};
use crate::site::object::Runtime;

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

/// The mechanism that writes code bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriterKind {
    /// `pwrite` to /proc/self/mem: cheapest for few sites.
    Procmem,
    /// Pages made writable for the batch: cheapest for many.
    Mprotect,
    /// A private copy of the pages, edited, moved over the text: never modifies a page that is being executed.
    Swap,
    /// A kernel's own.
    Custom,
}

impl WriterKind {
    /// Its name, as `JUMPLABEL_WRITER` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WriterKind::Procmem => "procmem",
            WriterKind::Mprotect => "mprotect",
            WriterKind::Swap => "swap",
            WriterKind::Custom => "custom",
        }
    }
}

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

/// What [`Text::lock`] hands to [`Text::unlock`]: two words, such as a signal mask or an interrupt state.
pub type Token = [u64; 2];

/// Writes the bytes of one transaction.
pub trait Writer {
    /// Writes the piece that `step` has at each of `edits`, in order. On a refusal: which one, and why; the pieces before
    /// it are written.
    ///
    /// # Safety
    /// The writer was opened for a list that contains `edits`.
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)>;

    /// Makes every processor that runs this code serialise: nothing fetched before is executed after.
    ///
    /// # Errors
    /// Where another thread may go on running what it fetched before.
    fn sync(&mut self) -> Result<(), Errno>;
}

/// What the patcher needs of the place that it runs in.
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

    /// The writer to try for these edits at this attempt, counted from 0; `None` where there is none left. The count begins
    /// again when [`Summary::unsynced`] is set.
    fn choose(&self, summary: &Summary, attempt: u32) -> Option<WriterKind>;

    /// Makes the pages of `edits` writable, runs `body`, makes what it wrote visible to all processors, and restores the
    /// pages. An error from `body`, or of its own, means that no site has changed.
    ///
    /// # Errors
    /// What was refused.
    ///
    /// # Safety
    /// The lock is held. `edits` are sites of loaded code, in the order of their addresses.
    unsafe fn open(
        &self,
        kind: WriterKind,
        edits: &EditList,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), Failure>,
    ) -> Result<Written, Failure>;

    /// Makes every processor serialise that runs code of this process, as [`Writer::sync`] does: once more, after a flip that
    /// reported [`Visibility::Eventual`]. Called with the lock held.
    ///
    /// # Errors
    /// Where that is still refused.
    fn core_sync(&self) -> Result<(), Errno> {
        Err(Errno::NONE)
    }

    /// Whether the last core sync was not refused, so that it is worth to try another. Called with and without the lock.
    fn is_synced(&self) -> bool {
        true
    }

    /// Does ahead what [`open`](Self::open) does the first time that it is called for `kind`. Called with the lock held.
    ///
    /// # Errors
    /// What was refused: `open` would refuse, too.
    fn prepare(&self, _kind: WriterKind) -> Result<(), Errno> {
        Ok(())
    }

    /// A clock, for [`Outcome::time`](crate::Outcome::time).
    fn now(&self) -> Duration;

    /// The first copy of the library; the others follow. A kernel has one. Called with the lock held.
    fn runtimes(&self) -> *const Runtime {
        &raw const crate::site::object::RUNTIME
    }

    /// Whether this process is a copy of another that could flip while it was copied. Called with the lock held, behind each
    /// `lock`; true once in a process.
    fn was_copied(&self) -> bool {
        false
    }

    /// The last object of this copy is about to be unloaded. The lock is held, and is released before the code goes.
    ///
    /// # Safety
    /// Nothing of this copy is used any more.
    unsafe fn stop(&self) {}
}

/// The platform in use.
pub(crate) fn text() -> &'static dyn Text {
    custom::get().unwrap_or(&platform::TEXT)
}

/// Called by the constructor of the first object of this copy.
#[cfg(jumplabel_sites)]
pub(crate) fn start(is_main_program: bool) {
    platform::start(is_main_program);
}

/// The object at `addresses` is about to be unloaded: nothing there is to be given its protection back later. The lock is
/// held.
#[cfg(jumplabel_sites)]
pub(crate) fn forget(addresses: &core::ops::Range<usize>) {
    platform::forget(addresses);
}

/// Blocks all signals of the calling thread, for a thread that it is about to start.
#[cfg(feature = "std")]
pub(crate) fn block_signals() -> Token {
    platform::block_signals()
}

/// Goes back to the mask in `token`.
#[cfg(feature = "std")]
pub(crate) fn restore_signals(token: Token) {
    platform::restore_signals(token);
}

/// Where the object is that `address` lies in. Not under the lock: calls the dynamic loader.
#[cfg(jumplabel_sites)]
pub(crate) fn place(address: usize) -> Place {
    platform::place(address)
}

/// An object in a process.
#[derive(Clone, Copy, Debug)]
#[cfg(jumplabel_sites)]
pub(crate) struct Place {
    /// What [`image`] makes its bounds of.
    pub(crate) words: [usize; 3],
    /// It is the program, which is never unloaded.
    pub(crate) in_program: bool,
    /// Its code has a protection that a change of protection would take away (aarch64: `PROT_BTI`).
    pub(crate) guarded: bool,
}

/// The bounds of an object, by what [`place`] said of it; `None` where the platform has none.
pub(crate) fn image(place: [usize; 3]) -> Option<Image> {
    platform::image(place)
}

/// Keeps the object that contains this copy from being unloaded. Not under the lock: calls the dynamic loader.
#[cfg(feature = "std")]
pub(crate) fn keep_loaded() {
    platform::keep_copy();
}

/// Where an object lies in memory.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(jumplabel_sites), allow(dead_code))] // Nothing is unloaded there.
pub(crate) struct Image {
    /// From its first segment to its last. There may be holes between them.
    pub(crate) all: (usize, usize),
    /// Its segments, and whether each is executable; those that are too many are taken for one.
    pub(crate) segments: [((usize, usize), bool); SEGMENTS],
}

/// How many segments are told apart. A linker makes four or five.
pub(crate) const SEGMENTS: usize = 8;

impl Image {
    /// Whether `bytes` bytes of code lie at `address`.
    pub(crate) fn contains_code(&self, address: usize, bytes: usize) -> bool {
        self.segments.iter().any(|&(segment, executable)| executable && within(segment, address, bytes))
    }

    /// Whether a key, or a pointer to one, can lie at `address`.
    pub(crate) fn contains_key(&self, address: usize) -> bool {
        address.is_multiple_of(align_of::<RawKey>())
            && self.segments.iter().any(|&(segment, _)| within(segment, address, size_of::<RawKey>()))
    }
}

fn within((start, end): (usize, usize), address: usize, bytes: usize) -> bool {
    start <= address && address.checked_add(bytes).is_some_and(|last| last <= end)
}

/// Picks the writer for all flips from now on, like the environment variable `JUMPLABEL_WRITER` (which a program that
/// runs with raised privileges ignores): `None` goes back to the automatic choice, and so does `Custom`. For tests and
/// measurements, and for the strict mode, [`WriterKind::Swap`].
pub fn set_writer(kind: Option<WriterKind>) {
    platform::set_writer(kind);
}

/// Replaces the platform: what a kernel does before its first flip. Registers the kernel's own table, whether or not its
/// constructors (`.init_array`) are run.
///
/// # Safety
/// Before the first flip, or with nobody flipping. `text` keeps the contract of [`Text`].
pub unsafe fn set_text(text: &'static &'static dyn Text) {
    custom::set(text);
    #[cfg(jumplabel_sites)]
    crate::site::object::register_own();
}

mod custom {
    use super::Text;
    use core::sync::atomic::{AtomicPtr, Ordering};

    static CUSTOM: AtomicPtr<&'static dyn Text> = AtomicPtr::new(core::ptr::null_mut());

    pub(super) fn set(text: &'static &'static dyn Text) {
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
